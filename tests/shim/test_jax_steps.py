"""Steps of a JAX job: scripted modules of JAX's and Grain's names and shape, so that neither is needed. A job with the
real ones is in tests/frameworks."""

from harness import ShimTest, has_module, main
from scripted_grain import MODULES

API = """
def _check_scalar(value):
    if value is None:
        raise TypeError("no scalar")

def value_and_grad(function):
    def value_and_grad_f(*arguments):
        value = function(*arguments)
        _check_scalar(value)
        return value, 1
    return value_and_grad_f
"""

HEAD = """
from grain._src.python.options import ReadOptions
from grain._src.python.dataset.transformations import *
from jax._src.api import value_and_grad
def loader():
    return BatchMapDataset(SourceMapDataset(range(10)), 4).to_iter_dataset(ReadOptions(0, 0))
training, evaluation = loader(), loader()
traced = set()
def jitted(name, function, batch):
    if name not in traced:
        traced.add(name)
        return function(batch)
"""


class StepsTest(ShimTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        modules = {"jax/__init__.py": "", "jax/_src/__init__.py": "", "jax/_src/api.py": API}
        for name, content in {**MODULES, **modules}.items():
            cls.write("site-packages/" + name, content)

    def consumer(self, content, loads=True):
        path = self.write("script.py", "")
        with open(path, "w") as file:
            file.write(HEAD + content)
        result = self.python(path, python_path=[self.folder + "/site-packages"])
        plain = self.python(path, python_path=[self.folder + "/site-packages"], shim=False)
        self.assertEqual((result.status, result.out, result.err), (plain.status, plain.out, plain.err))
        self.assert_fine(result)
        return result.run.consumer if loads else result.run.recordings[0]

    def test_the_loader_that_trains(self):
        consumer = self.consumer(
            """
for epoch in range(2):
    for batch in training:
        print(jitted("train", value_and_grad(sum), batch))
    for batch in evaluation:
        print(jitted("evaluate", sum, batch))
"""
        )
        self.assertEqual(len(consumer.deliveries()), 12)
        self.assertEqual(len(consumer.steps), 6)
        waits = sorted(consumer.waits, key=lambda wait: wait.begin_ns)
        for step in consumer.steps:  # each between a batch of the training loader and what is asked for next
            before = [wait for wait in waits if wait.end_ns <= step.time_ns][-1]
            after = waits[waits.index(before) + 1]
            self.assertIn(before.iterator_id, (0, 2))
            self.assertTrue(before.samples)
            self.assertLessEqual(step.time_ns, after.begin_ns)

    def test_without_a_gradient_no_step_is_told(self):
        consumer = self.consumer("for batch in evaluation:\n    print(jitted('evaluate', sum, batch))\n")
        self.assertEqual((len(consumer.deliveries()), consumer.steps), (3, []))

    def test_what_was_traced_before_the_loop_tells_nothing(self):
        consumer = self.consumer("value_and_grad(sum)([1])\nprint(list(training))")
        self.assertEqual((len(consumer.deliveries()), consumer.steps), (3, []))

    def test_a_script_that_tells_its_steps(self):
        consumer = self.consumer(
            """
try:
    import stallcast
    step = stallcast.step
except ImportError:
    step = lambda: None
step()
for batch in training:
    jitted("train", value_and_grad(sum), batch)
"""
        )
        self.assertEqual(len(consumer.steps), 1)

    def test_a_loop_that_is_marked(self):
        consumer = self.consumer(
            """
try:
    from stallcast import wrap
except ImportError:
    wrap = lambda batches, workers: batches
def batches():
    yield [1]
    yield [2]
for batch in wrap(batches(), workers=0):
    print(jitted("train", value_and_grad(sum), batch))
for batch in wrap(batches(), workers=0):
    print(jitted("evaluate", sum, batch))
"""
        )
        self.assertEqual((len(consumer.deliveries()), len(consumer.steps)), (4, 2))

    def test_where_no_loader_is_there_the_place_is_told(self):
        consumer = self.consumer(
            """
def train(batch):
    return jitted("train", value_and_grad(sum), batch)
for batch in ([1], [2]):
    print(train(batch))
""",
            loads=False)
        (mark,) = [mark for mark in consumer.texts["mark"] if mark["what"] == "jax gradient"]
        self.assertRegex(mark["at"], r"script\.py:\d+$")
        self.assertEqual(consumer.steps, [])

    def test_what_jax_raises(self):
        self.consumer(
            """
try:
    next(iter(training)), value_and_grad(lambda batch: None)(1)
except TypeError as error:
    print(error)
"""
        )

    def test_torch_s_loader(self):
        if not has_module("torch"):
            self.skipTest("no torch")
        consumer = self.consumer(
            """
import sys, types
sys.modules["optax"] = types.ModuleType("optax")
from torch.utils.data import DataLoader
training, evaluation = DataLoader(range(10), 4, num_workers=2), DataLoader(range(10), 4)
for epoch in range(2):
    for batch in training:
        print(jitted("train", value_and_grad(sum), batch))
    for batch in evaluation:
        print(jitted("evaluate", sum, batch))
"""
        )
        self.assertEqual((len(consumer.deliveries()), len(consumer.steps)), (12, 6))
        self.assertEqual(consumer.texts["process"][-1]["framework"], "jax")


if __name__ == "__main__":
    main()
