"""DALI's iterators: a scripted plugin of the same names and shape, so that no DALI is needed. A job with the real one
is in tests/frameworks."""

from harness import ShimTest, main
from recording import END_OF_EPOCH, FIRST
from scripted_dali import MODULES

PIPELINE = """
from nvidia.dali.plugin.pytorch import DALIClassificationIterator, DALIGenericIterator, DALIRaggedIterator
from nvidia.dali.plugin.base_iterator import Array
class Pipeline:
    max_batch_size = 4
    num_threads = 3
    def run(self, begin):
        return {"data": Array(range(begin, min(begin + 4, 10)))}
"""


class DaliTest(ShimTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, content in MODULES.items():
            cls.write("fake/" + name, content)

    def fine(self, content):
        """Runs the script with and without the shim, which must look the same; the recordings of the one with it."""
        path = self.write("script.py", "")
        with open(path, "w") as file:
            file.write(PIPELINE + content)
        result = self.python(path, python_path=[self.folder + "/fake"])
        plain = self.python(path, python_path=[self.folder + "/fake"], shim=False)
        self.assertEqual((result.status, result.out, result.err), (plain.status, plain.out, plain.err))
        self.assert_fine(result)
        return result.run

    def test_passes(self):
        for kind in ("DALIGenericIterator", "DALIClassificationIterator"):
            consumer = self.fine(
                """
iterator = %s(Pipeline(), reader_name="Reader", auto_reset=True)
for epoch in range(2):
    for batch in iterator:
        print(batch)
"""
                % kind
            ).consumer
            self.assertEqual([wait.samples for wait in consumer.waits], [4, 4, 2, 0] * 2)
            self.assertEqual([wait.flags for wait in consumer.waits], [FIRST, 0, 0, END_OF_EPOCH] * 2)
            (text,) = consumer.texts["loader"]
            self.assertEqual((text["kind"], text["composition"], text["dataset_type"]), ("dali", "overlapped", "Reader"))
            self.assertEqual((text["batch_size"], text["dataset_samples"], text["threads"]), (4, 10, 3))
            self.assertIsNone(text["num_workers"])
            self.assertEqual([text["epoch"] for text in consumer.texts["iterator"]], [0, 1])
            self.assertEqual(consumer.texts["process"][-1]["framework"], "pytorch")

    def test_several_pipelines_and_a_class_of_the_user_s(self):
        consumer = self.fine(
            """
class Own(DALIGenericIterator):
    def __init__(self, *pipelines):
        super().__init__(list(pipelines))
    def __next__(self):
        return super().__next__()[0]["data"], 1
print(list(Own(Pipeline(), Pipeline())))
"""
        ).consumer
        self.assertEqual([wait.samples for wait in consumer.deliveries()], [8, 8, 4])
        self.assertEqual(consumer.texts["loader"][0]["batch_size"], 8)

    def test_ragged_batches_count_as_full(self):
        consumer = self.fine("print(len(list(DALIRaggedIterator([Pipeline(), Pipeline()]))))").consumer
        self.assertEqual([wait.samples for wait in consumer.deliveries()], [8, 8, 8])

    def test_an_iterator_that_nobody_iterates(self):
        run = self.fine("print(len(DALIGenericIterator(Pipeline())))")
        self.assertFalse(any(recording.waits for recording in run.recordings))

    def test_nothing_lives_longer(self):
        self.fine(
            """
import gc, weakref
gc.collect()
gc.disable()
iterator = DALIGenericIterator(Pipeline())
next(iterator)
watched = weakref.ref(iterator)
del iterator
print(watched() is None)
"""
        )

    def test_dynamic_mode_captured(self):
        consumer = self.fine(
            """
from nvidia.dali.experimental.dynamic._ops import Reader
class Numpy(Reader):
    pass
reader = Numpy()
for epoch in range(2):
    for values, labels in reader.next_epoch(batch_size=4, capture=True):
        print(values.numbers)
next(reader.next_epoch(4, capture=True))
"""
        ).consumer
        self.assertEqual([wait.samples for wait in consumer.waits], [4, 4, 2, 0] * 2 + [4])
        (text,) = consumer.texts["loader"]
        self.assertEqual((text["kind"], text["dataset_type"], text["batch_size"]), ("dali", "Numpy", 4))
        self.assertEqual([text["epoch"] for text in consumer.texts["iterator"]], [0, 1, 2])

    def test_dynamic_mode_as_it_is(self):
        path = self.write(
            "script.py",
            """
from nvidia.dali.experimental.dynamic._ops import Reader
try:
    from stallcast import wrap
except ImportError:
    wrap = lambda batches, workers: batches
reader = Reader()
def batches():
    for values, labels in reader.next_epoch(4):
        yield values.numbers
%s
""",
        )
        with open(path) as file:
            script = file.read()
        for loop, issues, samples in [
            ("for epoch in range(2): print([values.numbers for values, labels in reader.next_epoch(4)])",
             ["loader-not-followed"], []),
            ("print(list(wrap(batches(), workers=0)))", [], [0, 0, 0, 0]),
        ]:
            with open(path, "w") as file:
                file.write(script % loop)
            result = self.python(path, python_path=[self.folder + "/fake"])
            plain = self.python(path, python_path=[self.folder + "/fake"], shim=False)
            self.assertEqual((result.status, result.out, result.err), (0, plain.out, ""))
            self.assertEqual([issue["id"] for issue in result.run.issues], issues)
            waits = [wait for recording in result.run.recordings for wait in recording.waits]
            self.assertEqual([wait.samples for wait in waits], samples)
            for issue in result.run.issues:
                self.assertIn("without capture=True its operators are waited for wherever their", issue["detail"])


if __name__ == "__main__":
    main()
