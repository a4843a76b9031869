"""PyG's and DGL's loaders: scripted modules of the same names and shape around torch's real loader. Jobs with the real
ones are in tests/frameworks."""

from harness import ShimTest, main
from recording import END_OF_EPOCH, FIRST

PYG = """
class DataLoaderIterator:
    def __init__(self, iterator, transform_fn):
        self.iterator, self.transform_fn = iterator, transform_fn

    def __iter__(self):
        return self

    def _reset(self, loader, first_iter=False):
        self.iterator._reset(loader, first_iter)

    def __next__(self):
        return self.transform_fn(next(self.iterator))
"""

DGL = """
import queue, threading

class _PrefetchingIter:
    def __init__(self, dataloader, dataloader_it, use_thread=False):
        self.dataloader, self.dataloader_it, self.use_thread = dataloader, dataloader_it, use_thread
        if use_thread:
            self.queue = queue.Queue(1)
            threading.Thread(target=self.entry, daemon=True).start()

    def entry(self):
        for batch in self.dataloader_it:
            self.queue.put(batch)
        self.queue.put(None)

    def __iter__(self):
        return self

    def __next__(self):
        batch = self.queue.get() if self.use_thread else next(self.dataloader_it)
        if batch is None:
            raise StopIteration
        return self.dataloader.fetch(batch)
"""

HEAD = """
import sys, time, torch
from torch_geometric.loader.base import DataLoaderIterator
from dgl.dataloading.dataloader import _PrefetchingIter

class Seeds(torch.utils.data.Dataset):
    def __len__(self):
        return 10
    def __getitem__(self, index):
        return index

class Loader(torch.utils.data.DataLoader):
    def fetch(self, batch):
        time.sleep(0.05)
        if 9 in batch and len(sys.argv) > 1:
            raise ValueError("no feature of 9")
        return batch.tolist()

class Pyg(Loader):
    def _get_iterator(self):
        return DataLoaderIterator(super()._get_iterator(), self.fetch)

class Dgl(Loader):
    use_thread = False
    def __iter__(self):
        return _PrefetchingIter(self, super().__iter__(), self.use_thread)
"""


class GraphsTest(ShimTest):
    NEEDS = "torch"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name in ("torch_geometric/__init__", "torch_geometric/loader/__init__", "dgl/__init__", "dgl/dataloading/__init__"):
            cls.write("fake/%s.py" % name, "")
        cls.write("fake/torch_geometric/loader/base.py", PYG)
        cls.write("fake/dgl/dataloading/dataloader.py", DGL)

    def consumer(self, content, *arguments):
        path = self.write("script.py", "")
        with open(path, "w") as file:
            file.write(HEAD + content)
        result = self.python(path, *arguments, python_path=[self.folder + "/fake"])
        plain = self.python(path, *arguments, python_path=[self.folder + "/fake"], shim=False)
        self.assertEqual((result.status, result.out, result.err), (plain.status, plain.out, plain.err))
        self.assert_fine(result)
        return result.run.consumer

    def check_passes(self, consumer):
        self.assertEqual([wait.samples for wait in consumer.waits], [4, 4, 2, 0] * 2)
        self.assertEqual([wait.flags for wait in consumer.waits], [FIRST, 0, 0, END_OF_EPOCH] * 2)
        for wait in consumer.deliveries():
            self.assertGreaterEqual(wait.end_ns - wait.begin_ns, 50000000)
        marks = [text["what"] for text in consumer.texts.get("mark", [])]
        self.assertNotIn("nested loader", marks)  # torch's iterator within is the one that is waited for

    def test_what_the_training_process_does_is_waiting(self):
        for kind in ("Pyg", "Dgl"):
            for options in ("num_workers=2", "num_workers=1, persistent_workers=True"):
                consumer = self.consumer(
                    """
loader = %s(Seeds(), 4, %s)
for epoch in range(2):
    for batch in loader:
        print(batch)
"""
                    % (kind, options)
                )
                self.check_passes(consumer)
                told = [text for text in consumer.texts["mark"] if text["what"] == "works in next"]
                self.assertEqual(told, [{"what": "works in next", "loader_id": 0}])

    def test_without_workers_it_is_part_of_the_making(self):
        consumer = self.consumer("print(list(Pyg(Seeds(), 4)))")
        for batch in consumer.batches[:3]:
            self.assertGreaterEqual(batch.end_ns - batch.begin_ns, 50000000)

    def test_a_thread_that_asks(self):
        consumer = self.consumer("Dgl.use_thread = True\nprint(list(Dgl(Seeds(), 4)))")
        self.assertEqual([wait.samples for wait in consumer.waits], [4, 4, 2, 0])
        self.assertLess(consumer.waits[1].end_ns - consumer.waits[1].begin_ns, 50000000)

    def test_workers_of_graphbolt_are_within_its_pipes(self):
        consumer = self.consumer(
            """
Loader.__module__ = "dgl.graphbolt.dataloader"
print(list(Loader(Seeds(), 4)))
"""
        )
        self.assertIsNone(consumer.texts["loader"][0]["num_workers"])
        self.assertEqual(self.consumer("print(list(Loader(Seeds(), 4)))").texts["loader"][0]["num_workers"], 0)

    def test_what_it_raises(self):
        self.consumer(
            """
try:
    print(list(Pyg(Seeds(), 4)))
except ValueError as error:
    print(error)
""",
            "broken",
        )


if __name__ == "__main__":
    main()
