"""Ray Data: a scripted module of the same names and shape, so that no Ray is needed. Jobs with the real one are in
tests/frameworks."""

from harness import ShimTest, main
from recording import END_OF_EPOCH, FIRST

ITERATOR = """
class _IterableFromIterator:
    def __init__(self, iterator_gen):
        self.iterator_gen = iterator_gen

    def __iter__(self):
        return self.iterator_gen()

class Table:
    def __init__(self, rows):
        self.num_rows = len(rows)

class DataIterator:
    def __init__(self, base):
        self._base_dataset = base

    def %(inner)s(self, *, batch_size=256, prefetch_batches=1, drop_last=False, local_shuffle_buffer_size=None):
        def batches():
            for at in range(0, 10, batch_size):
                yield {"id": list(range(at, min(10, at + batch_size)))}
        return _IterableFromIterator(batches)

    %(outer)s

    def iter_rows(self):
        batches = self.iter_batches(batch_size=5)
        return _IterableFromIterator(lambda: (row for batch in batches for row in batch["id"]))

class StreamSplitDataIterator(DataIterator):
    def __init__(self):
        pass

class Dataset:
    def iter_batches(self, **options):
        return DataIterator(self).iter_batches(**options)
"""

WORKER = """
class Node:
    def __init__(self, head):
        self.is_head = lambda: head

_global_node = None

def init(address=None, runtime_env=None):
    global _global_node
    _global_node = Node(address is None)
    return address
"""

OUTER = """def iter_batches(self, *, batch_size=256, **options):
        return self._iter_batches(batch_size=batch_size, **options)
"""


class RayTest(ShimTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for folder, names in (("fake", ("_iter_batches", OUTER)), ("old", ("iter_batches", ""))):
            for package in ("ray", "ray/data"):
                cls.write("%s/%s/__init__.py" % (folder, package), "")
            cls.write(folder + "/ray/_private/__init__.py", "")
            cls.write(folder + "/ray/_private/worker.py", WORKER)
            cls.write(folder + "/ray/data/iterator.py", ITERATOR % {"inner": names[0], "outer": names[1]})

    def same(self, content, folder="fake"):
        """Runs the script with and without the shim, which must look the same; the one with it."""
        path = self.write("script.py", "")
        with open(path, "w") as file:
            file.write("from ray.data.iterator import *\n" + content)
        result = self.python(path, python_path=[self.folder + "/" + folder])
        plain = self.python(path, python_path=[self.folder + "/" + folder], shim=False)
        self.assertEqual((result.status, result.out, result.err), (plain.status, plain.out, plain.err))
        self.assertEqual(plain.status, 0, plain.err)
        return result.run

    def consumer(self, content, folder="fake"):
        run = self.same(content, folder)
        self.assertEqual(run.issues, [])
        return run.consumer

    def test_batches(self):
        for folder in ("fake", "old"):  # as Ray has it now, and before 2.10
            consumer = self.consumer(
                """
dataset = Dataset()
for epoch in range(2):
    for batch in dataset.iter_batches(batch_size=4, prefetch_batches=3):
        print(batch)
""",
                folder,
            )
            self.assertEqual([wait.samples for wait in consumer.waits], [4, 4, 2, 0] * 2)
            self.assertEqual([wait.flags for wait in consumer.waits], [FIRST, 0, 0, END_OF_EPOCH] * 2)
            (text,) = consumer.texts["loader"]
            self.assertEqual((text["kind"], text["composition"], text["num_workers"]), ("ray.data", "unknown", None))
            self.assertEqual((text["batch_size"], text["read_ahead"], text["dataset_type"]), (4, 3, "Dataset"))
            self.assertEqual([text["epoch"] for text in consumer.texts["iterator"]], [0, 1])

    def test_a_trainer_s_share(self):
        consumer = self.consumer(
            """
share = StreamSplitDataIterator()
share._base_dataset = None
for epoch in range(2):
    print(list(share.iter_batches(batch_size=5, local_shuffle_buffer_size=7)))
"""
        )
        (text,) = consumer.texts["loader"]
        self.assertEqual((text["dataset_type"], text["shuffled"]), ("StreamSplitDataIterator", True))

    def test_rows_wait_for_their_batches(self):
        consumer = self.consumer("print(list(Dataset().iter_batches(batch_size=9)), list(DataIterator(1).iter_rows()))")
        self.assertEqual([wait.samples for wait in consumer.waits], [9, 1, 0, 5, 5, 0])

    def test_within_a_thread_that_python_has_not_started(self):
        run = self.same(
            """
import _thread, threading
over = threading.Lock()
over.acquire()
_thread.start_new_thread(lambda: (print(list(Dataset().iter_batches(batch_size=4))), over.release()), ())
over.acquire()
"""
        )
        self.assertFalse(any(recording.waits for recording in run.recordings))

    def test_a_cluster_that_ran_before_is_said(self):
        for arguments, issues in (
            ("", []),
            ("'192.0.2.1:6379'", ["ray-workers-unseen"]),
            ("'192.0.2.1:6379', runtime_env={'env_vars': {'STALLCAST_RUN_DIR': '1'}}", []),
        ):
            run = self.same("from ray._private.worker import init\nprint(init(%s))" % arguments)
            self.assertEqual([issue["id"] for issue in run.issues], issues)

    def test_a_failure_of_ours_is_one_issue(self):
        for name in ("_known", "adapters.Source", "adapters.counts_here"):
            run = self.same(
                """
import sys
module = sys.modules.get("stallcast_shim.loaders.ray_data")
def broken(*arguments, **options):
    raise ZeroDivisionError("of ours")
if module is not None:
    exec("module.%s = broken")
print(list(Dataset().iter_batches(batch_size=4)))
"""
                % name
            )
            self.assertEqual([issue["id"] for issue in run.issues], ["shim-failed"], name)


if __name__ == "__main__":
    main()
