"""Hugging Face's datasets: scripted modules of the same names and shape, so that the library is not needed. Jobs with
the real one are in tests/frameworks."""

from harness import ShimTest, main
from recording import END_OF_EPOCH, FIRST
from scripted_datasets import MODULES

HEAD = """
import time
from datasets.arrow_dataset import Dataset
from datasets.iterable_dataset import IterableDataset
dataset = Dataset(range(10))
"""


class DatasetsTest(ShimTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, content in MODULES.items():
            cls.write("fake/" + name, content)

    def same(self, content):
        """Runs the script with and without the shim, which must look the same; the one with it."""
        path = self.write("script.py", "")
        with open(path, "w") as file:
            file.write(HEAD + content)
        result = self.python(path, python_path=[self.folder + "/fake"])
        plain = self.python(path, python_path=[self.folder + "/fake"], shim=False)
        self.assertEqual((result.status, result.out, result.err), (plain.status, plain.out, plain.err))
        self.assertEqual(plain.status, 0, plain.err)
        return result.run

    def fine(self, content):
        run = self.same(content)
        self.assertEqual(run.issues, [])
        return run

    def test_batches(self):
        consumer = self.fine("for epoch in range(2):\n    print(list(Dataset(range(10)).iter(4)))\n").consumer
        self.assertEqual([wait.samples for wait in consumer.waits], [4, 4, 2, 0] * 2)
        self.assertEqual([wait.flags for wait in consumer.waits], [FIRST, 0, 0, END_OF_EPOCH] * 2)
        self.assertEqual(len(consumer.batches), 8)
        (text,) = consumer.texts["loader"]  # made anew for each epoch, and the same
        self.assertEqual((text["kind"], text["composition"], text["num_workers"]), ("datasets", "serial", 0))
        self.assertEqual((text["batch_size"], text["dataset_samples"], text["shuffled"]), (4, 10, False))
        self.assertEqual((text["dataset_name"], text["split"], text["dataset_type"]), ("pets", "train", "Dataset"))
        self.assertEqual([text["epoch"] for text in consumer.texts["iterator"]], [0, 1])

    def test_a_stream_and_its_state(self):
        consumer = self.fine(
            """
stream = IterableDataset()
for batch in stream.iter(batch_size=4):
    print(batch.num_rows, stream.state_dict())
"""
        ).consumer
        self.assertEqual([wait.samples for wait in consumer.waits], [4, 4, 2, 0])
        (text,) = consumer.texts["loader"]
        self.assertEqual((text["stages"], text["shuffled"]), (["ShuffledExamples", "Examples"], True))
        self.assertEqual((text["composition"], text["num_workers"]), ("serial", 0))

    def test_a_stream_that_reads_ahead_in_threads(self):
        for stage in ("CyclingMultiSourcesExamplesIterable", "InterleavedShards", "MappedExamples"):
            consumer = self.fine(
                """
import datasets.iterable_dataset as module
stream = IterableDataset()
stream._ex_iterable = module.%s()
print(len(list(stream.iter(batch_size=4))))
"""
                % stage
            ).consumer
            (text,) = consumer.texts["loader"]
            self.assertEqual((text["composition"], text["num_workers"]), ("overlapped", None), stage)
            self.assertEqual((consumer.batches, text["stages"]), ([], [stage, "Examples"]))

    def test_two_data_sets_are_two_loaders(self):
        consumer = self.fine("print(list(dataset.iter(4)), list(dataset.iter(5)))").consumer
        self.assertEqual([text["batch_size"] for text in consumer.texts["loader"]], [4, 5])

    def test_examples_are_watched_once_they_are_slow(self):
        consumer = self.fine(
            """
for epoch in range(2):
    for example in Dataset(range(20)):
        time.sleep(0.002)
        print(example)
"""
        ).consumer
        self.assertEqual([len([w for w in consumer.waits if w.iterator_id == n]) for n in (0, 1)], [12, 21])
        self.assertEqual({wait.samples for wait in consumer.deliveries()}, {1})

    def test_examples_that_are_fast_are_let_go(self):
        run = self.same("print(sum(row['value'] for row in Dataset(range(2000))))")
        self.assertEqual([issue["id"] for issue in run.issues], ["items-not-watched"])
        self.assertFalse(any(recording.waits for recording in run.recordings))

    def test_what_the_library_iterates_is_no_loop(self):
        run = self.fine("print(list(dataset.map(lambda row: {'value': time.sleep(0.002)}).iter(99)))")
        self.assertEqual([wait.samples for wait in run.consumer.waits], [10, 0])

    def test_the_generator_is_the_library_s(self):
        self.fine(
            """
for rows in (iter(dataset), dataset.iter(3)):
    print(type(rows), next(rows))
rows = iter(dataset)
print(next(rows), rows.send("a word"), rows.close(), dataset.closed)
rows = iter(dataset)
next(rows)
try:
    rows.throw(KeyError("mine"))
except KeyError as error:
    print(error, dataset.closed)
rows = iter(dataset)
next(rows)
del rows
print(dataset.closed, sorted(vars(dataset)))
"""
        )

    def test_within_another_loader_s_wait(self):
        consumer = self.fine(
            """
try:
    import stallcast
    wrap = stallcast.wrap
except ImportError:
    wrap = lambda batches, **options: batches
for batch in wrap(map(lambda batch: batch, dataset.iter(4)), workers=0, samples=4):
    print(batch)
"""
        ).consumer
        self.assertEqual(len(consumer.deliveries()), 3)
        self.assertEqual([text["kind"] for text in consumer.texts["loader"]], ["python"])

    def test_a_failure_of_ours_is_one_issue(self):
        for name in ("describe", "counting.rows_of", "adapters.counts_here"):
            run = self.same(
                """
import sys
module = sys.modules.get("stallcast_shim.loaders.datasets_iter")
def broken(*arguments):
    raise ZeroDivisionError("of ours")
if module is not None:
    exec("module.%s = broken")
print(list(dataset.iter(4)))
"""
                % name
            )
            self.assertEqual([issue["id"] for issue in run.issues], ["shim-failed"], name)


if __name__ == "__main__":
    main()
