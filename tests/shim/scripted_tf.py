"""What the adapters of tf.data and Keras look at, in modules of the same names: no TensorFlow is needed."""

ITERATOR_OPS = """
class errors:
    class OutOfRangeError(Exception):
        pass

class context:
    eager = True
    @classmethod
    def executing_eagerly(cls):
        return cls.eager

class OwnedIterator:
    def __init__(self, dataset=None, components=None, element_spec=None):
        if dataset is not None:
            self._dataset = dataset
        self._made = dataset.make() if dataset is not None else iter([5])

    def _next_internal(self):
        try:
            return next(self._made)
        except StopIteration:
            raise errors.OutOfRangeError()

    def get_next(self):
        return self._next_internal()

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return self._next_internal()
        except errors.OutOfRangeError:
            raise StopIteration

class Array(list):
    @property
    def shape(self):
        return (len(self),)

class DatasetV2:
    def __init__(self, inner=None, batch=None):
        self._input_dataset = inner
        if batch is not None:
            self._batch_size = batch

    def __iter__(self):
        return OwnedIterator(self)

    def make(self):
        return self._input_dataset.make()

    def cardinality(self):
        raise AssertionError("a tensor is made")

class RangeDataset(DatasetV2):
    _start, _stop, _step = 0, 10, 1

    def make(self):
        return iter(range(10))

class _ShuffleDataset(DatasetV2):
    pass

class _BatchDataset(DatasetV2):
    def make(self):
        content = list(self._input_dataset.make())
        return iter([(Array(content[i:i + 4]), Array(content[i:i + 4])) for i in (0, 4, 8)])

class _PrefetchDataset(DatasetV2):
    pass

def pipeline():
    return _PrefetchDataset(_BatchDataset(_ShuffleDataset(RangeDataset()), 4))
"""

DATASET_OPS = """
import time
from tensorflow.python.data.ops import iterator_ops

made_ns = []

class NumpyIterator:
    __slots__ = ["_iterator"]

    def __init__(self, dataset):
        self._iterator = iter(dataset)

    def __iter__(self):
        return self

    def __next__(self):
        batch = next(self._iterator)
        made_ns.append(time.monotonic_ns())
        return batch
"""

TRAINER = """
from tensorflow.python.data.ops.iterator_ops import OwnedIterator, errors

class TensorFlowTrainer:
    steps_per_execution = 1
    optimizer = None
    seen = None
    iterations = 0  # counted in the graph, whether or not a batch is there

    def train_step(self, data):
        self.seen.append(data)
        return len(data[0])

    def test_step(self, data):
        return -1

    def _make_function(self, step_function):
        def one_step_on_data(data):
            return step_function(data)

        def multi_step_on_iterator(iterator):
            iterator._in_graph = True
            self.iterations += 1
            return [one_step_on_data(next_in_graph(iterator)) for _ in range(self.steps_per_execution)][-1]

        def next_in_graph(iterator):
            try:
                return next(iterator._made)
            except StopIteration:
                raise errors.OutOfRangeError()

        def function(iterator):
            if isinstance(iterator, OwnedIterator):
                return multi_step_on_iterator(iterator)
            for step, data in zip(range(self.steps_per_execution), iterator):
                outputs = one_step_on_data(data)
                self.iterations += 1
            return outputs

        return function

    def fit(self, dataset, epochs):
        self.seen = []
        train = self._make_function(self.train_step)
        test = self._make_function(self.test_step)
        logs = []
        for _ in range(epochs):
            iterator = iter(dataset)
            try:
                while True:
                    logs.append(train(iterator))
            except errors.OutOfRangeError:
                pass
            logs.append(test(iter(dataset)))
        return logs
"""

SAVING = """
def save_model(model, filepath, overwrite=True):
    with open(filepath, "wb") as file:
        file.write(b"trained")

save_weights = save_model
"""

CHECKPOINT = """
class Checkpoint:
    def write(self, file_prefix, options=None):
        with open(file_prefix, "wb") as file:
            file.write(b"trained")
        return file_prefix

    def save(self, file_prefix, options=None):
        return self.write(file_prefix)
"""

MANAGEMENT = """
import os

class CheckpointManager:
    def __init__(self, directory):
        self._directory = directory
        self.latest_checkpoint = directory + "/latest"

    def save(self):
        os.remove(self._directory + "/old")
        return self._directory + "/written"
"""

MODULES = {
    "tensorflow/__init__.py": "__version__ = '9.9'\n",
    "tensorflow/python/__init__.py": "",
    "tensorflow/python/data/__init__.py": "",
    "tensorflow/python/data/ops/__init__.py": "",
    "tensorflow/python/data/ops/iterator_ops.py": ITERATOR_OPS,
    "tensorflow/python/data/ops/dataset_ops.py": DATASET_OPS,
    "tensorflow/python/checkpoint/__init__.py": "",
    "tensorflow/python/checkpoint/checkpoint.py": CHECKPOINT,
    "tensorflow/python/checkpoint/checkpoint_management.py": MANAGEMENT,
    "keras/__init__.py": "",
    "keras/src/saving/__init__.py": "",
    "keras/src/saving/saving_api.py": SAVING,
    "keras/src/__init__.py": "",
    "keras/src/backend/__init__.py": "",
    "keras/src/backend/tensorflow/__init__.py": "",
    "keras/src/backend/tensorflow/trainer.py": TRAINER,
}
