"""Loops without a loader: the function of the script that makes the batches is found, and its calls are timed."""

from harness import has_module, main
from loop_job import GET_BATCH, HEAD, LoopTest
from recording import UNKNOWN


class OwnLoopTest(LoopTest):
    def test_batches_that_a_function_makes(self):
        consumer = self.both(GET_BATCH + """
@torch.no_grad()
def evaluate():
    return sum(loss_of(*get_batch("val")).item() for _ in range(3))
x, y = get_batch("train")
for step in range(20):
    if step % 10 == 9:
        print(evaluate())
    loss = loss_of(x, y)
    x, y = get_batch("train")  # ahead of the backward pass
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
""")
        (mark,) = self.marks(consumer, "batch function")
        self.assertEqual((mark["name"], mark["proven"], mark["generator"]), ("get_batch", True, False))
        texts = {text["dataset_type"]: text for text in consumer.texts["loader"]}
        self.assertEqual(set(texts), {"get_batch", "get_batch without gradients"})
        text = texts["get_batch"]
        self.assertEqual((text["kind"], text["num_workers"], text["composition"]), ("function", 0, "serial"))
        self.assertEqual(text["function_line"], 1 + (HEAD + GET_BATCH).split("\n").index("def get_batch(split, *, size=4):"))
        number = {text["loader_id"]: text["dataset_type"] for text in consumer.texts["loader"]}
        passes = {text["iterator_id"]: number[text["loader_id"]] for text in consumer.texts["iterator"]}
        waits = [passes[wait.iterator_id] for wait in consumer.waits]
        # Seen in steps 4 and 5, timed from step 6 on: one batch a step; three in each of two evaluations.
        self.assertEqual((waits.count("get_batch"), waits.count("get_batch without gradients")), (15, 6))
        self.assertEqual({wait.samples for wait in consumer.waits}, {4})
        self.assertEqual({(batch.worker, batch.samples) for batch in consumer.batches}, {(UNKNOWN, 4)})

    def test_a_loader_that_only_evaluates(self):
        consumer = self.both(GET_BATCH + """
held = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data), batch_size=20)
def evaluate():
    with torch.no_grad():
        print(sum(model(x).sum().item() for x, in held))
evaluate()  # before the first step, as Lightning does
for step in range(48):
    train(*get_batch("train"))
    if step % 12 == 11:
        evaluate()
""")
        self.assertEqual(self.marks(consumer, "batch function")[0]["name"], "get_batch")
        number = {text["loader_id"]: text["dataset_type"] for text in consumer.texts["loader"]}
        passes = {text["iterator_id"]: number[text["loader_id"]] for text in consumer.texts["iterator"]}
        waits = [passes[wait.iterator_id] for wait in consumer.deliveries()]
        self.assertGreater(waits.count("get_batch"), 20)
        self.assertEqual(waits.count("TensorDataset"), 5 * 5)

    def test_steps_of_batches_that_a_loader_gave_before(self):
        consumer = self.both("""
batches = list(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data), batch_size=4))
def accuracy(x):
    with torch.no_grad():
        return (model(x) > 0).float()
for x, in batches + batches:
    train(x, torch.zeros(4, dtype=torch.long))
    print(accuracy(x).mean().item())
""")
        self.assertEqual(self.marks(consumer, "batch function"), [])

    def test_steps_of_parts_of_a_loader_s_batch(self):
        consumer = self.both("""
def part(x, number):
    return x[4 * number:4 * number + 4], torch.zeros(4, dtype=torch.long)
for epoch in range(2):
    for x, in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data), batch_size=50):
        for number in range(12):
            train(*part(x, number))
""")
        self.assertEqual(self.marks(consumer, "batch function"), [])
        self.assertEqual([wait.samples for wait in consumer.deliveries()], [50] * 4)

    def test_an_iterator_of_the_script(self):
        consumer = self.both("""
class Batches:
    def __init__(self):
        self.n = 0
    def __iter__(self):
        return self
    def __next__(self):
        if self.n == 15:
            raise StopIteration
        self.n += 1
        return {"x": data[self.n:self.n + 4], "y": torch.zeros(4, dtype=torch.long)}
for batch in Batches():
    train(batch["x"], batch["y"])
""")
        self.assertEqual(self.marks(consumer, "batch function")[0]["name"], "Batches.__next__")
        self.assertEqual(len(consumer.deliveries()), 10)

    def test_functions_in_functions(self):
        consumer = self.both("""
def run(size):
    held = data * 1.0
    def get_batch():
        ix = torch.randint(100, (size,))
        return held[ix], ix % 2
    for step in range(16):
        train(*get_batch())
run(4)
""")
        self.assertEqual(self.marks(consumer, "batch function")[0]["name"], "run.<locals>.get_batch")
        self.assertGreaterEqual(len(consumer.deliveries()), 10)

    def test_what_the_script_can_see_of_it(self):
        consumer = self.both(GET_BATCH + """
import inspect, sys, traceback, warnings
def get_batch(split: str, *, size: int = 4) -> tuple:
    "Of random rows."
    ix = torch.randint(100, (size,))
    return data[ix], (ix % 2)
def seen():
    return inspect.getsource(get_batch), str(inspect.signature(get_batch)), get_batch.__name__, get_batch.__doc__
before, same = seen(), get_batch
real = get_batch
def get_batch(split, *, size=4):
    warnings.warn("told of the caller", stacklevel=2)
    if split == "bad":
        raise KeyError(split)
    return real(split, size=size)
warnings.simplefilter("always")
def tell(message, category, filename, lineno, *rest):
    print(message, filename, lineno)
warnings.showwarning = tell
before = seen()
for step in range(12):
    train(*get_batch("train", size=3))
    try:
        get_batch("bad")
    except KeyError as error:
        print(error, sys.version_info < (3, 11) or [frame.name for frame in traceback.extract_tb(error.__traceback__)])
print(seen() == before)
""")
        self.assertEqual(self.marks(consumer, "batch function")[0]["name"], "get_batch")

    def test_batches_of_the_loop_itself(self):
        consumer = self.both("""
for step in range(40):
    ix = torch.randint(100, (4,))
    train(data[ix], ix % 2)
""")
        (mark,) = self.marks(consumer, "no batch function")
        self.assertIn("within the loop itself", mark["reason"])
        self.assertEqual(consumer.waits, [])

    def test_a_named_tuple_that_holds_a_batch_of_the_loop_s_own_makes_none(self):
        consumer = self.both("""
import typing
class Batch(typing.NamedTuple):
    x: object
    y: object
for step in range(40):
    ix = torch.randint(100, (4,))
    train(*Batch(data[ix], ix % 2))
""")
        (mark,) = self.marks(consumer, "no batch function")
        self.assertIn("within the loop itself", mark["reason"])
        self.assertEqual(consumer.waits, [])

    def test_metrics_are_no_batches(self):
        consumer = self.both(GET_BATCH + """
def predicted(x):
    with torch.no_grad():
        return (x @ torch.ones(8, 2)).argmax(1)
for step in range(20):
    x, y = get_batch("train")
    train(x, y)
    right = predicted(x)
""")
        self.assertEqual(self.marks(consumer, "batch function")[0]["name"], "get_batch")

    def test_the_profiler_of_a_script_stays(self):
        consumer = self.both(GET_BATCH + """
import sys
calls = []
def own(frame, event, argument):
    if event == "call" and frame.f_code.co_name == "get_batch":
        calls.append(1)
sys.setprofile(own)
for step in range(40):
    train(*get_batch("train"))
print(len(calls), sys.getprofile() is own)
sys.setprofile(None)
""")
        (mark,) = self.marks(consumer, "no batch function")
        self.assertIn("another profiler", mark["reason"])

    def test_a_loader_needs_no_watching(self):
        consumer = self.both("""
import sys
from torch.utils.data import DataLoader, TensorDataset
seen = set()
for epoch in range(4):
    for x, y in DataLoader(TensorDataset(data, torch.zeros(100, dtype=torch.long)), batch_size=10):
        train(x, y)
        seen.add(sys.getprofile())
print(seen)
""")
        self.assertEqual(self.marks(consumer, "batch function") + self.marks(consumer, "no batch function"), [])

    def test_nothing_of_ours_is_compiled(self):
        if self.torch_version() < (2, 1):
            self.skipTest("torch.compile of this version counts no frames")
        self.both(GET_BATCH + """
import torch._dynamo
model = torch.compile(model, backend="eager")
for step in range(16):
    train(*get_batch("train"))
print(sorted(torch._dynamo.utils.counters["frames"].items()))
""")

    def test_what_is_compiled_while_it_is_watched_stays_dynamic(self):
        """A size that a compiler has a symbol for is not asked."""
        if not has_module("torch._dynamo.convert_frame"):
            self.skipTest("torch.compile of this version counts no frames")
        self.both("""
import torch._dynamo
weights = model[0].weight
@torch.compile(backend="eager")
def penalty(x):
    return (x @ weights).square().mean()
def get_batch(size):
    ix = torch.randint(100, (size,))
    return data[ix], ix % 2
for step in range(12):
    x, y = get_batch(4 + step % 3)
    loss = loss_of(x, y)
    if step >= 3:
        torch._dynamo.mark_dynamic(x, 0)
        loss = loss + penalty(x)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(torch._dynamo.utils.counters["stats"])
""")

    def test_a_compiled_step_may_call_the_function(self):
        if self.torch_version() < (2, 1):
            self.skipTest("torch.compile of this version counts no frames")
        for batch in ("ix = torch.randint(100, (size,))", "torch._dynamo.graph_break(); ix = torch.randint(100, (size,))"):
            with self.subTest(batch=batch):
                self.both(GET_BATCH.replace("ix = torch.randint(100, (size,))", batch) + """
import torch._dynamo
@torch.compile(backend="eager")
def step_of():
    loss = loss_of(*get_batch("train"))
    loss.backward()
    return loss.detach() * 2
for step in range(40):
    if step % 2:
        print(step_of().item())
    else:
        loss_of(*get_batch("train")).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
""")

    def test_what_it_watches_lives_no_longer(self):
        self.both(GET_BATCH + """
import gc, weakref
gc.disable()
seen, alive = [], []
for step in range(16):
    x, y = get_batch("train")
    loss = loss_of(x, y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    seen.append((weakref.ref(x), weakref.ref(loss)))
    del x, y, loss
    alive.append(sum(one() is not None for pair in seen for one in pair))
print(alive)
""")

    def test_the_function_goes_to_other_processes_as_it_was(self):
        if not has_module("cloudpickle"):
            self.skipTest("no cloudpickle")
        self.both(GET_BATCH + """
import cloudpickle, os, subprocess, sys
for step in range(12):
    train(*get_batch("train"))
with open("function.pickle", "wb") as file:
    cloudpickle.dump(get_batch, file)
code = "import pickle; f = pickle.load(open('function.pickle', 'rb')); print(f('train', size=2)[0].shape)"
clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LD_PRELOAD")}
print(subprocess.run([sys.executable, "-c", code], env=clean, capture_output=True, text=True).stdout)
""")

    def test_the_script_ends_while_it_is_watched(self):
        for steps in (3, 4, 10):
            with self.subTest(steps=steps):
                self.both(GET_BATCH + """
import logging
logging.basicConfig()
for step in range(%d):
    train(*get_batch("train"))
""" % steps)

    def test_two_optimizers(self):
        consumer = self.both(GET_BATCH + """
other = torch.optim.SGD(model.parameters(), lr=0.001)
for step in range(30):
    x, y = get_batch("train")
    train(x, y)
    if step % 5 == 0:
        loss_of(x, y).backward()
        other.step()
        other.zero_grad(set_to_none=True)
""")
        self.assertEqual(self.marks(consumer, "batch function")[0]["name"], "get_batch")
        self.assertEqual(len(consumer.deliveries()), 25)


if __name__ == "__main__":
    main()
