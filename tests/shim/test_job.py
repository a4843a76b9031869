"""Real jobs: what the script sees is the same with and without the shim, and the records are what happened."""

import json
import os
import unittest

from harness import ShimTest, main
from recording import END_OF_EPOCH, FIRST, UNKNOWN

JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "job.py")


JOBS = {
    "no workers": {},
    "drop last": {"drop_last": True},
    "no batching": {"batch_size": None, "samples": 5, "shuffle": False, "epochs": 1},
    "getitems": {"getitems": True, "samples": 16, "epochs": 1},
    "evaluate": {"samples": 16, "evaluate": True},
    "iterable": {"iterable": True, "samples": 20, "epochs": 1},
    "fork 1": {"workers": 1, "context": "fork"},
    "fork 4": {"workers": 4, "context": "fork"},
    "spawn 2": {"workers": 2, "context": "spawn"},
    "forkserver 2": {"workers": 2, "context": "forkserver"},
    "persistent": {"workers": 2, "context": "fork", "persistent": True, "epochs": 3},
    "dict": {"workers": 2, "context": "fork", "batch": "dict", "batch_sampler": True},
    "namedtuple": {"workers": 2, "context": "fork", "batch": "namedtuple", "drop_last": True, "shuffle": False},
    "abandoned": {"workers": 2, "context": "fork", "stop_after": 2},
    "abandoned persistent": {"workers": 2, "context": "fork", "stop_after": 2, "persistent": True},
    "iterable workers": {"workers": 2, "context": "fork", "iterable": True, "samples": 40, "epochs": 1},
}
OVERTAKING = {"workers": 2, "context": "fork", "in_order": False, "epochs": 1}
QUIET = {"PYTHONWARNINGS": "ignore::UserWarning"}  # torch's advice about the number of workers


class JobTest(ShimTest):
    NEEDS = "torch"

    @classmethod
    def setUpClass(cls):
        """One process runs every job without the shim."""
        super().setUpClass()
        plain = cls.python(JOB, json.dumps(list(JOBS.values())), shim=False, environment=QUIET)
        assert plain.status == 0, plain.err
        cls.plain = dict(zip(JOBS, plain.out.splitlines()))

    def run_job(self, options):
        result = self.python(JOB, json.dumps([options]), environment=QUIET)
        self.assert_fine(result)
        return result

    def job(self, name):
        """Runs the job with the shim, compares what it saw with the run without, and gives its recordings."""
        result = self.run_job(JOBS[name])
        self.assertEqual(result.out.splitlines(), [self.plain[name]])
        return result.run

    def assert_passes(self, consumer, sizes_of_passes, ended=True):
        """Each pass delivered batches 0, 1, ... of these sizes, first and last flagged."""
        passes = [text["iterator_id"] for text in consumer.texts["iterator"]]
        self.assertEqual(len(passes), len(sizes_of_passes))
        for iterator_id, sizes in zip(passes, sizes_of_passes):
            waits = [wait for wait in consumer.waits if wait.iterator_id == iterator_id]
            flags = [FIRST] + [0] * (len(sizes) - 1) + [END_OF_EPOCH] * ended
            self.assertEqual([wait.flags for wait in waits], flags)
            self.assertEqual([wait.batch for wait in waits], list(range(len(sizes) + ended)))
            self.assertEqual([wait.samples for wait in waits], sizes + [0] * ended)
            for wait in waits:
                self.assertLessEqual(wait.begin_ns, wait.end_ns)

    def assert_made(self, run, sizes_of_passes):
        """The workers of each pass made each of its batches once, with every sample of the data set marked."""
        consumer = run.consumer
        nth = {}
        for text, sizes in zip(consumer.texts["iterator"], sizes_of_passes):
            made = {}
            for pid in text["worker_pids"]:
                worker = run.worker(pid)
                number = nth.get(pid, 0)
                nth[pid] = number + 1
                for batch in worker.batches:
                    if batch.iterator_id == number:
                        self.assertNotIn(batch.batch, made)
                        made[batch.batch] = batch.samples
                        self.assertLessEqual(batch.asked_ns, batch.begin_ns)
                        self.assertLess(batch.begin_ns, batch.end_ns)
                        self.assertLessEqual(batch.end_ns, batch.put_ns)
                        self.assertGreater(batch.collate_ns, 0)
            self.assertEqual([made[number] for number in sorted(made)], sizes)
            self.assertEqual(sorted(made), list(range(len(sizes))))

    def indices(self, recordings):
        return sorted(sample.index for recording in recordings for sample in recording.samples)

    # --- without workers ---

    def test_no_workers(self):
        consumer = self.job("no workers").consumer
        sizes = [8] * 6 + [2]
        self.assert_passes(consumer, [sizes, sizes])
        self.assertEqual(self.indices([consumer]), sorted(list(range(50)) * 2))
        self.assertEqual([step.step for step in consumer.steps], list(range(14)))
        self.assertEqual({wait.ready for wait in consumer.waits}, {UNKNOWN})
        waits = {(wait.iterator_id, wait.batch): wait for wait in consumer.deliveries()}
        self.assertEqual(len(consumer.batches), 14)
        for batch in consumer.batches:
            wait = waits[batch.iterator_id, batch.batch]
            self.assertEqual((batch.worker, batch.samples), (UNKNOWN, wait.samples))
            self.assertTrue(wait.begin_ns <= batch.begin_ns <= batch.end_ns <= wait.end_ns)

    def test_description(self):
        run = self.job("drop last")
        consumer = run.consumer
        self.assert_passes(consumer, [[8] * 6] * 2)
        process = consumer.texts["process"][-1]
        self.assertEqual((process["role"], process["framework"]), ("consumer", "pytorch"))
        self.assertGreater(process["torch_threads"], 0)
        self.assertRegex(process["torch"], r"^\d+\.\d+")
        (loader,) = consumer.texts["loader"]
        expected = {
            "kind": "map",
            "dataset_type": "Numbers",
            "batch_size": 8,
            "num_workers": 0,
            "prefetch_factor": None,
            "pin_memory": False,
            "persistent_workers": False,
            "in_order": True,
            "drop_last": True,
            "shuffled": True,
            "dataset_samples": 50,
            "multiprocessing_context": None,
            "batches": 6,
            "batch_sampler_type": "BatchSampler",
            "sampler_type": "RandomSampler",
        }
        self.assertEqual({key: loader[key] for key in expected}, expected)
        epochs = [(text["loader_id"], text["epoch"]) for text in consumer.texts["iterator"]]
        self.assertEqual(epochs, [(loader["loader_id"], 0), (loader["loader_id"], 1)])

    def test_without_automatic_batching(self):
        consumer = self.job("no batching").consumer
        self.assert_passes(consumer, [[1] * 5])
        self.assertEqual([sample.index for sample in consumer.samples], list(range(5)))
        (loader,) = consumer.texts["loader"]
        self.assertEqual((loader["batch_size"], loader["shuffled"], loader["batches"]), (None, False, 5))

    def test_getitems_makes_a_batch_as_a_whole(self):
        consumer = self.job("getitems").consumer
        self.assert_passes(consumer, [[8, 8]])
        self.assertEqual([batch.samples for batch in consumer.batches], [8, 8])
        self.assertEqual(consumer.samples, [])

    def test_train_and_evaluation_loaders(self):
        consumer = self.job("evaluate").consumer
        train, evaluation = [text["loader_id"] for text in consumer.texts["loader"]]
        order = [text["loader_id"] for text in consumer.texts["iterator"]]
        self.assertEqual(order, [train, evaluation, train, evaluation])
        self.assert_passes(consumer, [[8, 8], [3, 3]] * 2)
        self.assertEqual([text["shuffled"] for text in consumer.texts["loader"]], [True, False])

    def test_iterable_data_set(self):
        consumer = self.job("iterable").consumer
        self.assert_passes(consumer, [[8, 8, 4]])
        self.assertEqual([batch.samples for batch in consumer.batches], [8, 8, 4])
        self.assertEqual(consumer.samples, [])
        (loader,) = consumer.texts["loader"]
        self.assertEqual((loader["kind"], loader["shuffled"], loader["dataset_samples"]), ("iterable", None, None))

    # --- with workers ---

    def check_workers(self, context, workers):
        run = self.job("%s %d" % (context, workers))
        sizes = [[8] * 6 + [2]] * 2
        self.assert_passes(run.consumer, sizes)
        self.assert_made(run, sizes)
        self.assertEqual(self.indices(run.workers), sorted(list(range(50)) * 2))
        self.assertEqual(run.consumer.samples, [])
        self.assertEqual(len(run.consumer.steps), 14)
        self.assertEqual(len(run.workers), 2 * workers)
        for worker in run.workers:
            process = worker.texts["process"][-1]
            self.assertEqual((process["num_workers"], process["torch_threads"]), (workers, 1))
        for wait in run.consumer.waits:
            self.assertLessEqual(wait.ready, 2 * workers)
        (loader,) = run.consumer.texts["loader"]
        self.assertEqual((loader["multiprocessing_context"], loader["prefetch_factor"]), (context, 2))

    def test_one_worker_fork(self):
        self.check_workers("fork", 1)

    def test_four_workers_fork(self):
        self.check_workers("fork", 4)

    def test_two_workers_spawn(self):
        self.check_workers("spawn", 2)

    def test_two_workers_forkserver(self):
        self.check_workers("forkserver", 2)

    def test_persistent_workers(self):
        run = self.job("persistent")
        sizes = [[8] * 6 + [2]] * 3
        self.assert_passes(run.consumer, sizes)
        self.assert_made(run, sizes)
        self.assertEqual(len({tuple(text["worker_pids"]) for text in run.consumer.texts["iterator"]}), 1)
        self.assertEqual([text["epoch"] for text in run.consumer.texts["iterator"]], [0, 1, 2])

    def test_dict_batches_of_a_batch_sampler(self):
        run = self.job("dict")
        sizes = [[8] * 6 + [2]] * 2
        self.assert_passes(run.consumer, sizes)
        self.assert_made(run, sizes)
        (loader,) = run.consumer.texts["loader"]
        self.assertEqual((loader["batch_size"], loader["shuffled"], loader["sampler_type"]), (8, True, "RandomSampler"))

    def test_namedtuple_batches_drop_last(self):
        run = self.job("namedtuple")
        self.assert_passes(run.consumer, [[8] * 6] * 2)
        self.assert_made(run, [[8] * 6] * 2)
        self.assertEqual(run.consumer.texts["loader"][0]["shuffled"], False)

    def test_abandoned_passes(self):
        run = self.job("abandoned")
        self.assert_passes(run.consumer, [[8, 8]] * 2, ended=False)

    def test_abandoned_passes_of_persistent_workers(self):
        run = self.job("abandoned persistent")
        self.assert_passes(run.consumer, [[8, 8]] * 2, ended=False)
        second = [batch for worker in run.workers for batch in worker.batches if batch.iterator_id == 1]
        self.assertLessEqual({0, 1}, {batch.batch for batch in second})

    def test_iterable_data_set_with_workers(self):
        run = self.job("iterable workers")
        self.assertEqual(sorted(wait.samples for wait in run.consumer.deliveries()), [4, 4, 8, 8, 8, 8])
        made = {batch.batch: batch.samples for worker in run.workers for batch in worker.batches}
        for wait in run.consumer.deliveries():
            self.assertEqual(made[wait.batch], wait.samples)

    def test_batches_that_overtake(self):
        if self.torch_version() < (2, 6):
            self.skipTest("in_order came with torch 2.6")
        run = self.run_job(OVERTAKING).run
        made = {batch.batch: batch.samples for worker in run.workers for batch in worker.batches}
        delivered = {wait.batch: wait.samples for wait in run.consumer.deliveries()}
        self.assertEqual(delivered, made)
        self.assertEqual(run.consumer.texts["loader"][0]["in_order"], False)


if __name__ == "__main__":
    main()
