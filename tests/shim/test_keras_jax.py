"""Model.fit of Keras on JAX: scripted modules of their names and shape. A job with the real ones is in tests/frameworks."""

import textwrap

from harness import ShimTest, main
from recording import END_OF_EPOCH
from test_jax_steps import API

ADAPTERS = """
    import queue, threading

    class PyDataset:
        def __init__(self, batches, workers=1):
            self.batches, self._workers, self._use_multiprocessing, self._max_queue_size = batches, workers, False, 4

        def __len__(self):
            print("asked for its length")
            return self.batches

        def __eq__(self, other):
            print("compared")
            return self is other

        def __hash__(self):
            print("hashed")
            return 1

        def __getitem__(self, number):
            return [[number] * 4]

    class PyDatasetAdapter:
        def __init__(self, dataset, shuffle):
            self.py_dataset, self.shuffle = dataset, shuffle
            self.enqueuer = object() if dataset._workers > 1 else None

        @property
        def num_batches(self):
            return len(self.py_dataset)

        def get_jax_iterator(self):
            batches = self.py_dataset.batches
            if self.enqueuer is None:
                for number in range(batches):
                    yield self.py_dataset[number]
            else:
                ahead = queue.Queue(4)
                threading.Thread(target=lambda: [ahead.put(self.py_dataset[i]) for i in range(batches)]).start()
                for number in range(batches):
                    yield ahead.get()

    class ArrayDataAdapter:
        num_batches = 3

        def __init__(self, arrays, shuffle):
            self._inputs, self._shuffle, self._batch_size, self._num_samples = arrays, shuffle, 4, len(arrays)

        def get_jax_iterator(self):
            return ([self._inputs[4 * number:4 * number + 4]] for number in range(self.num_batches))

    class GeneratorDataAdapter:
        def __init__(self, generator, shuffle):
            self.generator, self.num_batches = generator, 3

        def get_jax_iterator(self):
            return self.generator

    def adapter_of(source, shuffle):
        if isinstance(source, PyDataset):
            return PyDatasetAdapter(source, shuffle)
        return (ArrayDataAdapter if isinstance(source, list) else GeneratorDataAdapter)(source, shuffle)
"""
TRAINER = """
    from jax._src.api import value_and_grad
    from keras.src.adapters import adapter_of

    class EpochIterator:
        def __init__(self, source, shuffle=False):
            self.data_adapter = adapter_of(source, shuffle)
            self._num_batches = self.data_adapter.num_batches

        def enumerate(self):
            iterator = iter(self._get_iterator())
            for step in range(self._num_batches):
                yield step, iterator

    class JAXEpochIterator(EpochIterator):
        def _get_iterator(self):
            return self.data_adapter.get_jax_iterator()

    class Model:
        traced = False

        def fit(self, source, epochs=1, validation=None):
            epoch_iterator = JAXEpochIterator(source, shuffle=True)
            self._symbolic_build(epoch_iterator)
            for epoch in range(epochs):
                for step, iterator in epoch_iterator.enumerate():
                    (batch,) = next(iterator)
                    print(batch, self.train_step(batch))
                if validation is not None:
                    self.evaluate(validation)

        def _symbolic_build(self, epoch_iterator):
            for step, iterator in epoch_iterator.enumerate():
                return next(iterator)

        def evaluate(self, source):
            for step, iterator in JAXEpochIterator(source).enumerate():
                print("evaluated", next(iterator))

        def train_step(self, batch):
            if not self.traced:
                self.traced = True
                return value_and_grad(sum)(batch)
            return sum(batch), 1
"""
HEAD = """
from keras.src.adapters import PyDataset
from keras.src.backend.jax.trainer import Model
"""


class KerasTest(ShimTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site = cls.folder + "/site-packages"
        modules = {"jax/__init__.py": "", "jax/_src/__init__.py": "", "jax/_src/api.py": API, "keras/__init__.py": "",
                   "keras/src/__init__.py": "", "keras/src/adapters.py": ADAPTERS, "keras/src/backend/__init__.py": "",
                   "keras/src/backend/jax/__init__.py": "", "keras/src/backend/jax/trainer.py": TRAINER}
        for name, content in modules.items():
            cls.write("site-packages/" + name, textwrap.dedent(content))

    def consumer(self, content):
        path = self.write("script.py", HEAD + content)
        result, plain = (self.python(path, python_path=[self.site], shim=shim) for shim in (True, False))
        self.assertEqual((result.status, result.out, result.err), (0, plain.out, ""))
        self.assert_fine(result)
        return result.run.recordings[0]

    def batches(self, consumer):
        """Of each loader: what it is, and batches of its passes."""
        passes = {}
        for wait in consumer.waits:
            if not wait.flags & END_OF_EPOCH:
                passes[wait.iterator_id] = passes.get(wait.iterator_id, 0) + 1
        texts = {text["loader_id"]: text for text in consumer.texts["loader"]}
        found = {}
        for one in consumer.texts["iterator"]:
            text = texts[one["loader_id"]]
            found.setdefault((text["dataset_type"], text["composition"]), []).append(passes.get(one["iterator_id"], 0))
        return found

    def test_a_pydataset_and_its_evaluation(self):
        consumer = self.consumer("Model().fit(PyDataset(5), 3, validation=PyDataset(2))")
        self.assertEqual(self.batches(consumer), {("PyDataset", "serial"): [5, 2] * 3})
        self.assertEqual(len(consumer.steps), 3 * 5)
        self.assertEqual(len(consumer.batches), 3 * (5 + 2) + 6)  # made within the waits; each pass ends with an empty one

    def test_passes_end_though_nobody_asks_for_more(self):
        consumer = self.consumer("Model().fit(PyDataset(5), 3)")
        self.assertEqual([wait.batch for wait in consumer.waits if wait.flags & END_OF_EPOCH], [5] * 3)
        self.assertEqual(len(consumer.steps), 3 * 5 - 1)  # nothing tells that the last of all is over

    def test_threads_make_batches_ahead(self):
        consumer = self.consumer("Model().fit(PyDataset(5, workers=2), 2)")
        self.assertEqual(self.batches(consumer), {("PyDataset", "overlapped"): [5, 5]})
        self.assertEqual(consumer.batches, [])

    def test_fits_one_after_the_other(self):
        """Nothing is traced in the second."""
        consumer = self.consumer("""
model, data = Model(), PyDataset(5)
for epoch in range(3):
    model.fit(data)
    model.evaluate(data)
""")
        self.assertEqual(len(consumer.steps), 3 * 5)
        self.assertEqual({text["loader_id"] for text in consumer.texts["loader"]}, {0, 1})

    def test_a_pydataset_for_each_fit(self):
        consumer = self.consumer("""
model = Model()
for epoch in range(3):
    model.fit(PyDataset(5))
""")
        self.assertEqual(len(consumer.steps), 3 * 5 - 1)
        self.assertEqual({text["loader_id"] for text in consumer.texts["loader"]}, {0})

    def test_arrays(self):
        consumer = self.consumer("Model().fit(list(range(12)), 2)")
        self.assertEqual(self.batches(consumer), {("arrays", "serial"): [3, 3]})
        (text,) = consumer.texts["loader"]
        self.assertEqual((text["kind"], text["batch_size"], text["dataset_samples"], text["shuffled"]), ("keras", 4, 12, True))

    def test_a_generator_is_left_to_others(self):
        consumer = self.consumer("Model().fit([[1, 2, 3, 4]] for number in range(12))")
        self.assertEqual([text for text in consumer.texts["loader"] if text["kind"] == "keras"], [])

    def test_a_pydataset_that_raises(self):
        consumer = self.consumer("""
import sys, traceback
class Raises(PyDataset):
    def __getitem__(self, number):
        return [[{0: 1, 1: 2}[number]]]
try:
    Model().fit(Raises(5))
except KeyError as error:
    if sys.version_info >= (3, 11):  # before it, a frame of ours stays
        print([frame.name for frame in traceback.extract_tb(error.__traceback__)])
""")
        self.assertEqual([wait.batch for wait in consumer.waits], [0, 1])
        self.assertEqual([batch.batch for batch in consumer.batches], [0, 1, 2])

    def test_a_pydataset_that_ends_early(self):
        consumer = self.consumer("""
import keras.src.adapters
keras.src.adapters.PyDatasetAdapter.get_jax_iterator = lambda self: iter([[[1, 2]], [[3, 4]]])
try:
    Model().fit(PyDataset(5))
except StopIteration as error:
    print(repr(error))
""")
        self.assertEqual([wait.batch for wait in consumer.waits], [0, 1, 2])
        self.assertEqual([wait.batch for wait in consumer.waits if wait.flags & END_OF_EPOCH], [2])


if __name__ == "__main__":
    main()
