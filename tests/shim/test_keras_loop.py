"""Loops of Keras and TensorFlow that are the script's own: scripted modules of their names and shape. Jobs with the real
ones are in tests/frameworks."""

import unittest

import scripted_tf
from harness import ShimTest, has_module, main

FUNCTIONS = """
class OptionalXlaContext:
    def __init__(self, is_compiled):
        pass

    def __enter__(self):
        pass

    def __exit__(self, kind, value, traceback):
        pass

class Function:
    operations = ()  # of its graph

    def __init__(self, function):
        self._function, self._traced = function, False

    def _list_all_concrete_functions(self):
        self.graph, self.get_operations = self, lambda: self.operations
        return [self]

    def __call__(self, *args, **kwds):
        with OptionalXlaContext(None):
            result = self._call(*args, **kwds)
        return result

    def _call(self, *args, **kwargs):
        import tensorflow
        if tensorflow.tracing or self._traced:
            return self._function(*args, **kwargs) if tensorflow.tracing else args[0].total()
        tensorflow.tracing, self._traced = True, True
        try:
            return self._function(*args, **kwargs)
        finally:
            tensorflow.tracing = False
"""
OPTIMIZERS = """
class BaseOptimizer:
    gradient_accumulation_steps = None

    def apply(self, grads, trainable_variables=None):
        return len(self._filter_empty_gradients(grads))

    def _filter_empty_gradients(self, grads):
        return grads

class SGD(BaseOptimizer):
    def apply_gradients(self, pairs):
        return self.apply([gradient for gradient, _ in pairs])
"""
LAYERS = """
import functools

def filter_traceback(function):
    @functools.wraps(function)
    def error_handler(*args, **kwargs):
        return function(*args, **kwargs)
    return error_handler

class Layer:
    @filter_traceback
    def __call__(self, values):
        return values.total()
"""
TENSORFLOW = """
__version__ = "9.9"
tracing = False

def executing_eagerly():
    return not tracing
"""
OPS = """
class EagerTensor:
    def __init__(self, values):
        self._values = list(values)

    @property
    def shape(self):
        return (len(self._values),)

    def total(self):
        return sum(self._values)
"""
MODULES = {
    "tensorflow/__init__.py": TENSORFLOW,
    "tensorflow/python/eager/__init__.py": "",
    "tensorflow/python/eager/polymorphic_function/__init__.py": "",
    "tensorflow/python/eager/polymorphic_function/polymorphic_function.py": FUNCTIONS,
    "tensorflow/python/framework/__init__.py": "",
    "tensorflow/python/framework/ops.py": OPS,
    "keras/src/backend/tensorflow/on_batch.py": "def data(values):\n    yield values\n",
    "keras/src/backend/config.py": "import os\n\ndef backend():\n    return os.environ['KERAS_BACKEND']\n",
    "keras/src/optimizers/__init__.py": "",
    "keras/src/optimizers/base_optimizer.py": OPTIMIZERS,
    "keras/src/layers/__init__.py": "",
    "keras/src/layers/layer.py": LAYERS,
}
HEAD = """
import os, random, traceback
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
from tensorflow.python.eager.polymorphic_function.polymorphic_function import Function
from tensorflow.python.framework.ops import EagerTensor
import keras.src.backend.config
from keras.src.optimizers.base_optimizer import SGD
from keras.src.layers.layer import Layer
random.seed(3)
model, optimizer = Layer(), SGD()
def get_batch(size=4):
    return EagerTensor(random.random() for _ in range(size))
def train(values):
    loss = model(values)
    optimizer.apply_gradients([(loss, None)])
    return loss
step, evaluate = Function(train), Function(lambda values: values.total())
"""


class LoopTest(ShimTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, content in {**scripted_tf.MODULES, **MODULES}.items():
            cls.write("site-packages/" + name, content)

    def both(self, content, issues=()):
        path = self.write("script.py", HEAD + content + "\nprint(random.random())\n")
        result = self.python(path, python_path=[self.folder + "/site-packages"])
        plain = self.python(path, python_path=[self.folder + "/site-packages"], shim=False)
        self.assertEqual((result.status, result.out, result.err), (plain.status, plain.out, plain.err))
        if issues:
            self.assertEqual([issue["id"] for issue in result.run.issues], issues)
        else:
            self.assert_fine(result)
        return result.run.recordings

    def functions(self, recording):
        return {text["dataset_type"]: text["loader_id"] for text in recording.texts["loader"]}

    def test_calls_of_the_function_that_an_optimizer_was_traced_in(self):
        (recording,) = self.both("""
for number in range(20):
    print(step(get_batch()))
    if number % 5 == 4:
        print([evaluate(get_batch()) for _ in range(3)])
""")
        self.assertEqual(len(recording.steps), 20)
        self.assertEqual(recording.texts["process"][-1]["framework"], "tensorflow")
        self.assertEqual(list(self.functions(recording))[0], "get_batch")
        waits = [wait for wait in recording.waits]
        self.assertGreaterEqual(len(waits), 20 - 5)
        self.assertEqual({wait.samples for wait in waits}, {4})

    def test_eager_steps(self):
        (recording,) = self.both("for _ in range(20):\n    print(train(get_batch()))\n")
        self.assertEqual(len(recording.steps), 20)
        self.assertEqual(list(self.functions(recording)), ["get_batch"])
        self.assertEqual(len(recording.waits), 20 - 5)

    def test_a_generator_of_the_scripts(self):
        (recording,) = self.both("""
def batches():
    for _ in range(20):
        yield get_batch()
for values in batches():
    print(step(values))
""")
        self.assertEqual(len(recording.steps), 20)
        self.assertEqual(list(self.functions(recording)), ["batches"])

    def test_no_optimizer_no_steps(self):
        self.assertEqual(self.both("for _ in range(20):\n    print(evaluate(get_batch()), model(get_batch()))\n"), [])

    def test_gradients_that_are_accumulated(self):
        (recording,) = self.both("""
optimizer.gradient_accumulation_steps = 4
for _ in range(20):
    print(train(get_batch()))
for _ in range(20):
    print(step(get_batch()))
""")
        self.assertEqual(len(recording.steps), 10)

    def test_batches_of_a_step_whose_gradients_are_accumulated(self):
        (recording,) = self.both("""
optimizer.gradient_accumulation_steps = 4
for _ in range(80):
    print(step(get_batch()))
""")
        self.assertEqual(len(recording.steps), 20)
        self.assertEqual(list(self.functions(recording)), ["get_batch"])  # and none that evaluates

    @unittest.skipUnless(has_module("torch"), "torch is not installed")
    def test_steps_on_torch(self):
        (recording,) = self.both("""
os.environ["KERAS_BACKEND"] = "torch"
import torch
model = torch.nn.Linear(2, 1)
def get_batch():
    return torch.rand(4, 2)
def train(values):
    model(values).sum().backward()
    optimizer.apply_gradients([(parameter.grad, None) for parameter in model.parameters()])
for _ in range(20):
    train(get_batch())
""")
        self.assertEqual(len(recording.steps), 20)
        self.assertEqual(recording.texts["process"][-1]["framework"], "pytorch")
        self.assertIn("get_batch", self.functions(recording))

    def test_a_train_function_that_is_given_a_batch(self):
        """train_on_batch of Keras: no wait of fit that is unseen, and a step each."""
        (recording,) = self.both("""
from keras.src.backend.tensorflow.trainer import TensorFlowTrainer
from keras.src.backend.tensorflow.on_batch import data
class Model(TensorFlowTrainer):
    def train_step(self, data):
        return step(data)
train_function = Model()._make_function(Model().train_step)
for _ in range(20):
    values = get_batch()
    print(train_function(data(values)))
""")
        self.assertEqual(len(recording.steps), 20)
        self.assertEqual([issue["id"] for issue in recording.texts["issue"]], [])
        self.assertEqual(list(self.functions(recording)), ["get_batch"])

    def test_steps_of_fit_are_counted_once(self):
        (recording,) = self.both("""
from keras.src.backend.tensorflow.trainer import TensorFlowTrainer
from tensorflow.python.data.ops.iterator_ops import pipeline
class Model(TensorFlowTrainer):
    def train_step(self, data):
        return step(EagerTensor(data[0]))
    def test_step(self, data):
        return -1
print(Model().fit(pipeline(), 3))
""")
        self.assertEqual(len(recording.steps), 9)

    def test_calls_of_a_trace_without_an_optimizer_are_no_steps(self):
        (recording,) = self.both("""
step = Function(lambda values, training: train(values) if training else model(values))
flags = []
def either(values, training):
    step._traced = training in flags
    flags.append(training)
    return step(values, training)
for number in range(20):
    print(either(get_batch(), True), either(get_batch(), False))
""")
        self.assertEqual(len(recording.steps), 20)

    def test_functions_of_other_threads_do_not_train(self):
        recordings = self.both("""
import threading
begun, done = threading.Event(), threading.Event()
def prepare(values):
    begun.set()
    done.wait()
    return values.total()
def per_device():
    import tensorflow
    tensorflow.tracing = True  # as in a thread that traces for one device
    train(get_batch())
    tensorflow.tracing = False
def on_devices(values):
    thread = threading.Thread(target=per_device)
    thread.start()
    thread.join()
    return values.total()
other = threading.Thread(target=lambda: Function(prepare)(get_batch()))
other.start()
begun.wait()
import tensorflow
tensorflow.tracing = False
step = Function(on_devices)
for number in range(20):
    step(get_batch())
done.set()
other.join()
print(tensorflow.tracing)
""")
        self.assertEqual(recordings, [])  # which of the two it is is not known

    def test_a_loop_within_the_graph(self):
        (recording,) = self.both("""
from tensorflow.python.data.ops.iterator_ops import OwnedIterator, pipeline
def epoch(data):
    for values in data._made:
        train(EagerTensor(values[0]))
class Reduce:
    type = "ReduceDataset"
OwnedIterator.total = lambda self: 1
epoch = Function(epoch)
epoch.operations = [Reduce]
for _ in range(3):
    epoch(iter(pipeline()))
""", issues=["keras-waits-unseen"])
        self.assertEqual(len(recording.steps), 0)
        self.assertIn("within the graph", recording.texts["issue"][0]["detail"])

    def test_the_source_of_a_function_is_found_by_its_code(self):
        """As AutoGraph looks for it, also where a script is no file that its module's loader knows (runpy)."""
        self.both("""
import inspect
del __loader__
for _ in range(20):
    train(get_batch())
lines, number = inspect.findsource(get_batch)
print(lines[number])
""")

    def test_errors_have_their_own_traceback(self):
        (recording,) = self.both("""
def fail(values):
    optimizer.apply_gradients([(1, None)])
    if values.total() > 0:
        raise ValueError("of the script's")
failing = Function(fail)
for _ in range(3):
    try:
        failing(get_batch())
    except ValueError:
        print(traceback.format_exc())
""")
        self.assertEqual(len(recording.steps), 2)  # the first call raised, while it was traced


if __name__ == "__main__":
    main()
