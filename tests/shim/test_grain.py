"""Grain: scripted modules of the same names and shape, so that no Grain is needed. Jobs with the real one are in
tests/frameworks."""

from harness import ShimTest, main
from recording import END_OF_EPOCH, FIRST
from scripted_grain import MODULES

PIPELINE = """
import threading
from grain._src.python.options import ReadOptions
from grain._src.python.dataset.dataset import DatasetIterator, IterDataset, WithOptionsIterDataset
from grain._src.python.dataset.transformations import *
class Pictures(list):
    pass
source = SourceMapDataset(Pictures(range(10)))
batches = BatchMapDataset(ShuffleMapDataset(source), 4)
serial = batches.to_iter_dataset(ReadOptions(0, 0))
"""


class GrainTest(ShimTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, content in MODULES.items():
            cls.write("fake/" + name, content)

    def same(self, content):
        """Runs the script with and without the shim, which must look the same; the one with it."""
        path = self.write("script.py", "")
        with open(path, "w") as file:
            file.write(PIPELINE + content)
        result = self.python(path, python_path=[self.folder + "/fake"])
        plain = self.python(path, python_path=[self.folder + "/fake"], shim=False)
        self.assertEqual((result.status, result.out, result.err), (plain.status, plain.out, plain.err))
        self.assertEqual(plain.status, 0, plain.err)
        return result.run

    def fine(self, content):
        run = self.same(content)
        self.assertEqual(run.issues, [])
        return run

    def nothing(self, content):
        self.assertFalse(any(recording.waits for recording in self.fine(content).recordings))

    def test_passes_of_a_map_dataset(self):
        consumer = self.fine("for epoch in range(2):\n    for batch in batches:\n        print(batch)\n").consumer
        self.assertEqual([wait.samples for wait in consumer.waits], [4, 4, 2, 0] * 2)
        self.assertEqual([wait.flags for wait in consumer.waits], [FIRST, 0, 0, END_OF_EPOCH] * 2)
        (text,) = consumer.texts["loader"]
        self.assertEqual((text["kind"], text["composition"], text["dataset_type"]), ("grain", "overlapped", "Pictures"))
        self.assertEqual((text["batch_size"], text["dataset_samples"], text["shuffled"]), (4, 10, True))
        self.assertEqual((text["threads"], text["read_ahead"], text["num_workers"]), (16, 500, None))
        self.assertEqual([text["epoch"] for text in consumer.texts["iterator"]], [0, 1])
        self.assertEqual(consumer.texts["process"][-1]["framework"], "python")

    def test_without_threads_next_makes_the_batch(self):
        consumer = self.fine("print(list(serial))").consumer
        (text,) = consumer.texts["loader"]
        self.assertEqual((text["composition"], text["num_workers"], text["drop_last"]), ("serial", 0, False))
        self.assertEqual(len(consumer.batches), 4)  # and the one that its end was found in

    def test_only_the_outermost_iterator_counts(self):
        content = "print(list(WithOptionsIterDataset(MapIterDataset(MapIterDataset(serial, len), str))))\n"
        consumer = self.fine(content).consumer
        self.assertEqual(len(consumer.deliveries()), 3)
        self.assertEqual(len(consumer.texts["loader"]), 1)
        self.assertEqual(consumer.texts["loader"][0]["stages"][1:3], ["MapIterDataset", "MapIterDataset"])

    def test_a_data_loader(self):
        consumer = self.fine(
            """
from grain._src.python.data_loader import DataLoader
loader = DataLoader(source._source, MapIterDataset(serial, lambda batch: batch))
for epoch in range(2):
    iterator = iter(loader)
    print(type(iterator), list(iterator), iterator.get_state())
"""
        ).consumer
        self.assertEqual([wait.samples for wait in consumer.waits], [4, 4, 2, 0] * 2)
        (text,) = consumer.texts["loader"]
        self.assertEqual((text["dataset_type"], text["dataset_samples"], text["loader_id"]), ("Pictures", 10, 0))

    def test_worker_processes_are_not_looked_into(self):
        consumer = self.fine("print(list(InterleaveIterDataset([ProcessPrefetchIterDataset(serial, 2)] * 3)))").consumer
        (text,) = consumer.texts["loader"]
        self.assertEqual((text["composition"], text["num_workers"], text["prefetch_factor"]), ("unknown", 3, 2))
        self.assertEqual(consumer.batches, [])

    def test_threads_anywhere_in_what_is_merged(self):
        consumer = self.fine(
            """
class Both(IterDataset):
    def __iter__(self):
        return self._parents[0].__iter__()
print(list(Both([serial, batches.to_iter_dataset(ReadOptions(3, 7))])))
"""
        ).consumer
        (text,) = consumer.texts["loader"]
        self.assertEqual((text["composition"], text["threads"], text["read_ahead"]), ("overlapped", 3, 7))
        interleaved = "interleaved = InterleaveIterDataset([serial, serial])\ninterleaved._iter_buffer_size = 2\n"
        (text,) = self.fine(interleaved + "print(list(interleaved))").consumer.texts["loader"]
        self.assertEqual((text["composition"], text["read_ahead"]), ("overlapped", 2))

    def test_states(self):
        consumer = self.fine(
            """
iterator = iter(serial)
print(next(iterator), iterator.get_state())
state = iterator.get_state()
print(list(iterator))
iterator.set_state(state)
print(list(iterator), iterator.get_state())
"""
        ).consumer
        self.assertEqual([wait.samples for wait in consumer.waits], [4, 4, 2, 0, 4, 2, 0])
        self.assertEqual([text["epoch"] for text in consumer.texts["iterator"]], [0, 1])

    def test_a_data_set_of_the_user_s_and_one_that_is_let_go(self):
        consumer = self.fine(
            """
class Mine(IterDataset):
    def __iter__(self):
        return Steps(self._parents[0].__iter__())
class Steps(DatasetIterator):
    def __next__(self):
        return next(self._parent), "mine"
print(Mine.defined, [next(iter(Mine(serial))) for epoch in range(2)])
"""
        ).consumer
        self.assertEqual([wait.samples for wait in consumer.waits], [4, 4])

    def test_a_dimension_for_devices(self):
        consumer = self.fine(
            "print(list(MapIterDataset(serial, lambda batch: Array([Array(batch[:2]), Array(batch[2:])]))))").consumer
        self.assertEqual([wait.samples for wait in consumer.deliveries()][:2], [4, 4])

    def test_single_samples_are_watched_once_they_are_slow(self):
        consumer = self.fine(
            """
import time
samples = RepeatMapDataset(source).to_iter_dataset(ReadOptions(0, 0))
for epoch in range(2):
    for number, sample in zip(range(20), samples):
        time.sleep(0.002)
        print(sample)
"""
        ).consumer
        self.assertEqual({wait.samples for wait in consumer.waits}, {1})
        self.assertEqual(len(consumer.waits), 11 + 20)  # once it is known, from the start
        self.assertEqual(consumer.texts["loader"][0]["dataset_samples"], 10)
        self.assertEqual(consumer.texts["loader"][0]["batch_size"], None)

    def test_single_samples_that_are_fast_are_let_go(self):
        run = self.same("print(sum(iter(SourceMapDataset(Pictures(range(400))).to_iter_dataset(ReadOptions(0, 0)))))\n")
        self.assertEqual([issue["id"] for issue in run.issues], ["items-not-watched"])
        self.assertFalse(any(recording.waits for recording in run.recordings))

    def test_threads_of_a_loader_do_not_wait(self):
        self.nothing(
            """
thread = threading.Thread(target=lambda: print(list(serial)), name="grain-thread-prefetch-1")
thread.start()
thread.join()
"""
        )

    def test_worker_processes_do_not_wait(self):
        self.nothing(
            """
import multiprocessing
def work():
    print(list(serial), flush=True)
work.__module__ = "grain._src.python.dataset.transformations.process_prefetch"
process = multiprocessing.get_context("fork").Process(target=work)
process.start()
process.join()
"""
        )

    def test_another_version(self):
        for name, content in MODULES.items():
            self.write("other/" + name, content.replace("MapDataset(", "OtherDataset("))
        script = self.write("import.py", "import grain._src.python.dataset.dataset\n")
        result = self.python(script, python_path=[self.folder + "/other"])
        (issue,) = result.run.issues
        self.assertEqual((result.status, issue["id"]), (0, "loader-not-followed"))
        self.assertIn("no MapDataset", issue["detail"])

    def test_a_failure_of_ours_is_one_issue(self):
        for name in ("describe", "_chain", "adapters.counts_here"):
            run = self.same(
                """
import sys
module = sys.modules.get("stallcast_shim.loaders.grain")
def broken(*arguments):
    raise ZeroDivisionError("of ours")
if module is not None:
    exec("module.%s = broken")
print(list(serial))
"""
                % name
            )
            self.assertEqual([issue["id"] for issue in run.issues], ["shim-failed"], name)


if __name__ == "__main__":
    main()
