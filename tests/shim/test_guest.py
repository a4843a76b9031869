"""A good guest: failures of the script reach it unchanged, failures of ours do not, and nothing lives longer."""

import signal

from harness import main
from training_script import TrainingScript


class GuestTest(TrainingScript):
    # --- the script's own failures ---

    def test_exceptions_of_a_data_set(self):
        # Without workers first: torch's own traceback keeps an iterator alive, and a forked worker would stumble over it.
        run = self.fine(
            """
try:
    for batch in DataLoader(Numbers(fails_at=5), batch_size=2):
        print(batch.tolist())
except KeyError as error:
    print(type(error), error.args, error.__cause__)
for workers in (0, 2):  # a script may go on after a bad batch
    iterator = iter(DataLoader(Numbers(fails_at=5), batch_size=2, num_workers=workers))
    for _ in range(7):
        try:
            print(next(iterator).tolist())
        except KeyError as error:
            print("skipped", error.args)
        except StopIteration:
            print("end")
"""
        )
        for iterator_id, numbers in ((0, [0, 1]), (1, [0, 1, 3, 4, 5]), (2, [0, 1, 3, 4, 5])):
            self.assertEqual([wait.batch for wait in run.consumer.deliveries(iterator_id)], numbers)
        failed = [batch.samples for worker in run.workers for batch in worker.batches if batch.batch == 2]
        self.assertEqual(failed, [0])

    def test_a_worker_that_is_killed(self):
        result = self.script(
            """
seen = 0
try:
    for batch in DataLoader(Numbers(dies_at=9), batch_size=2, num_workers=1):
        seen += 1
except (RuntimeError, OSError, EOFError) as error:  # which of them is a race in torch
    print("failed")
"""
        )
        self.assertEqual((result.status, result.out), (0, "failed\n"), result.err)
        self.assertEqual(result.run.issues, [])
        (worker,) = result.run.workers
        self.assertEqual([batch.batch for batch in worker.batches], [0, 1, 2, 3])

    def test_a_script_that_is_killed(self):
        result = self.script(
            """
for number, batch in enumerate(DataLoader(Numbers(), batch_size=2)):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
"""
        )
        self.assertEqual(result.status, -signal.SIGKILL)
        self.assertEqual(len(result.run.consumer.waits), 4)

    # --- ours ---

    def test_a_failure_of_ours_is_one_issue(self):
        body = """
if "stallcast_shim.torch_loader.wait" in sys.modules:
    def broken(*arguments):
        raise ZeroDivisionError("of ours")
    for module, name in %r:
        setattr(sys.modules["stallcast_shim." + module], name, broken)
for workers in (0, 1):
    for batch in DataLoader(Numbers(), batch_size=5, num_workers=workers):
        print(batch.tolist())
"""
        places = [("torch_loader." + module, name) for module, name in (
            ("wait", "_before"), ("wait", "_number"), ("wait", "_taken"), ("loader", "Pass"), ("fetcher", "_mark"))]
        for place in places + [("describe", "loader")]:
            result = self.same(body % [place])
            self.assertEqual([issue["id"] for issue in result.run.issues], ["shim-failed"], place)
            self.assertIn("ZeroDivisionError: of ours", result.run.issues[0]["detail"])

    def test_a_failure_of_ours_in_a_worker(self):
        result = self.same(
            """
if "stallcast_shim.torch_loader.worker" in sys.modules:
    sys.modules["stallcast_shim.torch_loader.worker"].sizes = None
for batch in DataLoader(Numbers(), batch_size=5, num_workers=1):
    print(batch.tolist())
"""
        )
        self.assertEqual([issue["id"] for issue in result.run.issues], ["shim-failed"])
        self.assertEqual(len(result.run.consumer.waits), 4)

    def test_not_preloaded(self):
        result = self.script("print(len(list(DataLoader(Numbers(), batch_size=5, num_workers=2))))", preload=False)
        self.assertEqual((result.status, result.out, result.err), (0, "3\n", ""))
        self.assertEqual({issue["id"] for issue in result.run.issues}, {"capture-not-preloaded"})
        self.assertEqual(len(result.run.consumer.deliveries()), 3)
        self.assertEqual(sum(len(worker.samples) for worker in result.run.workers), 12)

    # --- lifetimes ---

    def test_nothing_lives_longer(self):
        run = self.fine(
            """
gc.collect()
gc.disable()
for workers in (0, 1):
    data = Numbers()
    loader = DataLoader(data, batch_size=5, num_workers=workers, shuffle=True)
    iterator = iter(loader)
    batch = next(iterator)
    watched = [weakref.ref(thing) for thing in (data, loader, iterator, batch)]
    for name in ("batch", "iterator", "loader", "data"):
        del globals()[name]
        print(workers, name, [thing() is None for thing in watched])
"""
        )
        self.assertEqual(len(run.consumer.deliveries()), 2)

    # --- loaders in other places ---

    def test_a_loader_inside_a_data_set_is_part_of_a_sample(self):
        run = self.fine(
            """
class Outer(Numbers):
    def __init__(self):
        super().__init__(4)
        self.early = DataLoader(Numbers(), batch_size=3)
    def __getitem__(self, index):
        late = DataLoader(Numbers(), batch_size=3)
        return sum(batch.sum() for loader in (self.early, late) for batch in loader)
for workers in (0, 1):
    print([batch.tolist() for batch in DataLoader(Outer(), batch_size=2, num_workers=workers)])
"""
        )
        self.assertEqual(len(run.consumer.texts["loader"]), 2)
        self.assertEqual([wait.samples for wait in run.consumer.waits], [2, 2, 0] * 2)
        for recording in run.workers + [run.consumer]:
            self.assertEqual([sample.index for sample in recording.samples], [0, 1, 2, 3])
            self.assertEqual([batch.samples for batch in recording.batches], [2, 2])

    def test_threads_that_iterate_at_the_same_time(self):
        run = self.fine(
            """
import threading
def consume(workers):
    for _ in range(3):
        assert len(list(DataLoader(Numbers(100), batch_size=10, num_workers=workers))) == 10
threads = [threading.Thread(target=consume, args=(workers,)) for workers in (0, 0, 0)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
        )
        passes = [text["iterator_id"] for text in run.consumer.texts["iterator"]]
        self.assertEqual(sorted(passes), list(range(9)))
        for iterator_id in passes:
            waits = run.consumer.deliveries(iterator_id)
            self.assertEqual([(wait.batch, wait.samples) for wait in waits], [(number, 10) for number in range(10)])

    def test_ranks_in_spawned_and_forked_processes(self):
        run = self.fine(
            """
import multiprocessing
def train(rank, loader):
    os.environ["RANK"] = str(rank)
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for batch in loader:
        weight.grad = torch.ones(1)
        optimizer.step()
if __name__ == "__main__":
    loader = DataLoader(Numbers(), batch_size=4)
    train(0, loader)
    for method in ("fork", "spawn"):
        process = multiprocessing.get_context(method).Process(target=train, args=(1, loader))
        process.start()
        process.join()
        assert process.exitcode == 0
"""
        )
        self.assertEqual(len(run.recordings), 3)
        for recording in run.recordings:
            self.assertEqual(recording.role, "consumer")
            self.assertEqual(len(recording.texts["loader"]), 1)
            self.assertEqual(len(recording.texts["iterator"]), 1)
            self.assertEqual((len(recording.deliveries()), len(recording.steps)), (3, 3))
        self.assertEqual(sorted(recording.texts["process"][-1]["rank"] or 0 for recording in run.recordings), [0, 1, 1])

    # --- steps ---

    def test_steps_of_any_optimizer(self):
        run = self.fine(
            """
weight = torch.nn.Parameter(torch.ones(1))
def closure():
    weight.grad = torch.ones(1)
    return (weight * 1.0).sum()
optimizers = [torch.optim.SGD([weight], lr=0.1), torch.optim.Adam([weight], lr=0.1), torch.optim.LBFGS([weight])]
class Own(torch.optim.SGD):
    def step(self, closure=None):
        return super().step(closure)
optimizers.append(Own([weight], lr=0.1))
for optimizer in optimizers:
    optimizer.step(closure)
optimizers[0].step()
"""
        )
        (recording,) = run.recordings
        own_counts_twice = len(recording.steps) - 5
        self.assertIn(own_counts_twice, (0, 1))
        gradients = [text for text in recording.texts["mark"] if text["what"] == "gradients"]
        self.assertEqual([text["bytes"] for text in gradients], [4, 4, 4, 4])  # once of each optimizer
        self.assertEqual(gradients[1]["optimizer"], "Adam")

    def test_what_a_prepared_batch_takes(self):
        run = self.fine(
            """
class Pairs(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        return {"image": torch.zeros(3, 5, dtype=torch.uint8), "label": torch.tensor(index), "name": "x"}
for _ in range(2):
    for batch in DataLoader(Pairs(), batch_size=4):
        pass
"""
        )
        (recording,) = run.recordings
        prepared = [text for text in recording.texts["mark"] if text["what"] == "prepared"]
        self.assertEqual([(text["bytes"], text["samples"]) for text in prepared], [(4 * 15 + 4 * 8, 4)] * 2)

    def test_what_the_sampler_takes(self):
        run = self.fine(
            """
import time
class Slow(torch.utils.data.Sampler):
    def __init__(self):
        pass
    def __iter__(self):
        for index in range(40):
            time.sleep(0.001)
            yield index
    def __len__(self):
        return 40
for _ in range(2):
    for batch in DataLoader(Numbers(40), batch_size=2, sampler=Slow(), num_workers=2):
        pass
"""
        )
        consumer = run.consumer
        last = {text["iterator_id"]: text for text in consumer.texts["mark"] if text["what"] == "sampler"}
        self.assertEqual([text["draws"] for text in last.values()], [20, 20])
        for text in last.values():
            self.assertGreaterEqual(text["ns"], 40 * 1_000_000)

    def test_iterators_that_are_given_up(self):
        run = self.fine(
            """
loader = DataLoader(Numbers(40), batch_size=2, num_workers=2)
for _ in range(3):
    next(iter(loader))
whole = list(loader)
"""
        )
        consumer = run.consumer
        given_up = [text["iterator_id"] for text in consumer.texts["mark"] if text["what"] == "given up"]
        passes = [text["iterator_id"] for text in consumer.texts["iterator"]]
        self.assertEqual(len(passes), 4)
        self.assertEqual(given_up, passes[:3])

    def test_a_data_set_that_draws_from_a_loader_of_its_own(self):
        run = self.fine(
            """
class Queue(Dataset):
    def __init__(self, workers):
        self.source = iter(DataLoader(Numbers(40), batch_size=2, num_workers=workers))
    def __len__(self):
        return 8
    def __getitem__(self, index):
        return next(self.source)
for workers in (2, 0):
    for batch in DataLoader(Queue(workers), batch_size=2):
        pass
list(DataLoader(Numbers(8), batch_size=2, num_workers=2))  # a loader beside it is none within
"""
        )
        consumer = run.consumer
        nested = [text for text in consumer.texts["mark"] if text["what"] == "nested loader"]
        self.assertEqual([(text["num_workers"], text["dataset_type"], text["batches"]) for text in nested],
                         [(2, "Numbers", batches) for batches in (1, 2, 4)])
        kinds = {text["loader_id"]: text["dataset_type"] for text in consumer.texts["loader"]}
        self.assertEqual({kinds[text["loader_id"]] for text in nested}, {"Queue"})

    def test_samples_of_a_loader_that_leaves_batching_to_its_data_set(self):
        result = self.script(
            """
class Batches(torch.utils.data.IterableDataset):
    def __iter__(self):
        for _ in range(3):
            yield torch.zeros(6, 3, 8, 8), torch.zeros(6)
for batch in DataLoader(Batches(), batch_size=None, num_workers=1):
    pass
"""
        )
        self.assertEqual((result.status, result.err), (0, ""))
        run = result.run
        self.assertEqual([wait.samples for wait in run.consumer.waits], [6, 6, 6, 0])
        self.assertEqual([issue["id"] for issue in run.issues], ["samples-counted"])
        self.assertIn("6 in the first batch", run.issues[0]["detail"])


if __name__ == "__main__":
    main()
