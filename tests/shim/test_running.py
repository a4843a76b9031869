"""Loops whose batches generators make: these are timed in the pass under way, and harmed by nothing that watches them."""

import sys

from harness import main
from loop_job import GET_BATCH, HEAD, LoopTest


class RunningTest(LoopTest):
    def test_a_generator_is_timed_in_the_pass_under_way_and_in_later_ones(self):
        consumer = self.both("""
def batches():
    for start in range(0, 40, 4):
        yield data[start:start + 4], torch.zeros(4, dtype=torch.long)
for epoch in range(3):
    for x, y in batches():
        train(x, y)
""")
        (mark,) = self.marks(consumer, "batch function")
        self.assertEqual((mark["name"], mark["generator"]), ("batches", True))
        # Seen in steps 4 and 5 of 10.
        self.assertEqual(len(consumer.deliveries()), 25)
        self.assertEqual({wait.samples for wait in consumer.deliveries()}, {4})
        self.assertEqual(len(consumer.waits), 28)  # each pass has its end

    def test_a_generator_that_is_never_made_anew(self):
        consumer = self.both("""
import gc, sys, traceback
def batches(last):
    try:
        for start in range(last):
            yield data[start:start + 4], torch.zeros(4, dtype=torch.long)
        raise KeyError("no more")
    finally:
        print("closed")
def run():
    iterator = batches(12)
    for step in range(20):
        try:
            x, y = next(iterator)
        except KeyError as error:
            print(error, sys.version_info < (3, 11) or [frame.name for frame in traceback.extract_tb(error.__traceback__)])
            break
        train(x, y)
    print(next(iterator, "over"), sys.getrefcount(iterator), len(gc.get_referrers(iterator)))
run()
another = batches(50)
for step in range(4):
    train(*next(another))
del another
print("after it")
""")
        self.assertEqual(len(consumer.deliveries()), 11)  # seven of the one that had begun

    def test_a_generator_that_no_function_makes(self):
        consumer = self.both("""
for epoch in range(2):
    for x, y in ((data[start:start + 4], torch.zeros(4, dtype=torch.long)) for start in range(30)):
        train(x, y)
""")
        (mark,) = self.marks(consumer, "batch function")
        self.assertTrue(mark["generator"])
        self.assertIn("genexpr", mark["name"])
        self.assertEqual(len(consumer.deliveries()), 2 * 30 - 5)

    def test_generators_of_a_function_that_is_made_anew_for_each_pass(self):
        consumer = self.both("""
def epoch():
    def batches():
        for start in range(20):
            yield data[start:start + 4], torch.zeros(4, dtype=torch.long)
    for x, y in batches():
        train(x, y)
for number in range(3):
    epoch()
""")
        self.assertEqual(len(consumer.deliveries()), 3 * 20 - 5)
        self.assertEqual(len(consumer.waits), len(consumer.deliveries()) + 3)  # an end of each pass

    def test_a_function_that_is_made_anew_for_each_pass(self):
        """Until Python 3.12 it is found again once some steps in a row were made without it."""
        consumer = self.both("""
def epoch(scale):
    def get():
        return scale * data[:4], torch.zeros(4, dtype=torch.long)
    for step in range(20):
        train(*get())
for number in range(3):
    epoch(number)
""")
        missed = 5 if sys.version_info >= (3, 12) else 5 + 2 * 2
        self.assertEqual(len(consumer.deliveries()), 3 * 20 - missed)
        self.assertEqual(self.marks(consumer, "batch function lost"), [])

    def test_a_function_that_is_made_anew_for_each_step(self):
        consumer = self.both("""
def one(scale):
    def get():
        return scale * data[:4], torch.zeros(4, dtype=torch.long)
    train(*get())
for number in range(40):
    one(number)
""")
        if sys.version_info >= (3, 12):
            self.assertEqual(len(consumer.deliveries()), 35)
            return
        self.assertEqual(len(self.marks(consumer, "batch function lost")), 2)  # with its evaluation
        self.assertEqual(consumer.deliveries(), [])
        self.assertIn("made anew in each step", self.marks(consumer, "no batch function")[0]["reason"])

    def test_an_evaluation_s_calls_are_none_of_the_steps(self):
        consumer = self.both("""
def one(scale):
    def get():
        return scale * data[:4], torch.zeros(4, dtype=torch.long)
    train(*get())
    if scale % 3 == 0:
        with torch.no_grad():
            for number in range(3):
                model(get()[0])
for number in range(40):
    one(number)
""")
        if sys.version_info < (3, 12):
            self.assertEqual(len(self.marks(consumer, "batch function lost")), 2)
            return
        names = {text["loader_id"]: text["dataset_type"] for text in consumer.texts["loader"]}
        passes = {text["iterator_id"]: names[text["loader_id"]] for text in consumer.texts["iterator"]}
        given = [passes[wait.iterator_id] for wait in consumer.deliveries()]
        self.assertEqual(given.count("one.<locals>.get"), 35)
        self.assertEqual(given.count("one.<locals>.get without gradients"), len(given) - 35)

    def test_a_nested_function_that_calls_another_one_is_one(self):
        consumer = self.both("""
def main():
    def load(number):
        return data[number:number + 4]
    def labels(number):
        load(number)
        return torch.randint(2, (4,))
    for step in range(40):
        y = labels(step)
        train(load(step), y)
main()
""")
        self.assertEqual([wait.samples for wait in consumer.deliveries()], [0, 4] * 35)

    def test_a_nested_function_that_fails_is_not_taken_for_another_thread_s(self):
        consumer = self.both("""
import threading
def main():
    fails = [False]
    def get(size):
        if fails[0]:
            raise OSError("its own")
        return data[:size], torch.zeros(size, dtype=torch.long)
    for step in range(30):
        if step >= 10:
            fails[0] = True
            try:
                get(4)
            except OSError:
                pass
            fails[0] = False
            other = threading.Thread(target=get, args=(7,))
            other.start()
            other.join()
        train(*get(4))
main()
""")
        self.assertEqual([wait.samples for wait in consumer.deliveries()], [4] * 25)

    def test_a_nested_function_that_is_made_once_is_followed_no_further(self):
        consumer = self.both("""
def main():
    def load(number):
        return data[number:number + 4]
    def normalised(x):
        return x / 255
    for step in range(40):
        train(normalised(load(step)), torch.zeros(4, dtype=torch.long))
main()
""")
        self.assertEqual([wait.samples for wait in consumer.deliveries()], [0, 4] * 35)
        self.assertEqual(self.marks(consumer, "batch function lost"), [])

    def test_generators_of_one_code_that_ask_each_other_are_one(self):
        consumer = self.both("""
def rows():
    for start in range(40):
        yield data[start:start + 4]
def mapped(function, source):
    for item in source:
        yield function(item)
for x in mapped(lambda x: x + 1, mapped(lambda x: 2 * x, rows())):
    train(x, torch.zeros(4, dtype=torch.long))
""")
        self.assertEqual(self.marks(consumer, "batch function")[0]["name"], "mapped")
        self.assertEqual(len(consumer.deliveries()), 35)

    def test_generators_in_another_thread_are_not_the_training_s(self):
        consumer = self.both("""
import threading
def batches(last):
    for start in range(last):
        yield data[start:start + 4], torch.zeros(4, dtype=torch.long)
iterator = batches(30)
for step in range(30):
    x, y = next(iterator)
    train(x, y)
    other = threading.Thread(target=list, args=(batches(3),))
    other.start()
    other.join()
""")
        self.assertEqual(len(consumer.deliveries()), 25)

    def test_parameters_are_no_batches(self):
        consumer = self.both("""
penalty = torch.nn.Identity()
def train(x, y):
    (loss_of(x, y) + sum(penalty(p).square().sum() for p in model.parameters())).backward()
    optimizer.step()
    optimizer.zero_grad()
for step in range(40):
    train(data[step:step + 4], torch.zeros(4, dtype=torch.long))
""")
        self.assertEqual(self.marks(consumer, "batch function"), [])

    def test_a_generator_of_a_library(self):
        self.write("site-packages/shards.py", """
class Shards:
    def __init__(self, rows, count):
        self.rows, self.count = rows, count
    def __iter__(self):
        for start in range(self.count):
            yield self.rows[start:start + 4], (self.rows[start:start + 4, 0] > 0).long()
class Fetcher:
    def __init__(self, source):
        self.iterator = iter(source)
    def __iter__(self):
        return self
    def __next__(self):
        return next(self.iterator), "of a batch"
""")
        consumer = self.both("""
import os, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages"))
import shards
for epoch in range(2):
    for (x, y), _ in shards.Fetcher(shards.Shards(data, 12)):
        train(x, y)
""")
        (mark,) = self.marks(consumer, "batch function")
        self.assertEqual((mark["name"], mark["proven"]), ("Shards.__iter__", True))
        self.assertEqual(len(consumer.deliveries()), 19)

    def test_garbage_is_not_collected_within_what_watches(self):
        """Python 3.11 ends with a collection that goes through the frame of a generator which is about to give something.
        From 3.12 on they come between two instructions alone, in here as well."""
        self.both(GET_BATCH + """
import gc, sys
def collects(phase, info):
    frame = sys._getframe()
    while frame is not None and sys.version_info < (3, 12):
        if frame.f_code.co_filename.endswith("watch.py") and frame.f_code.co_name == "_event":
            print("collected within it")
        frame = frame.f_back
gc.set_threshold(1)
gc.callbacks.append(collects)
for step in range(10):
    train(*get_batch("train"))
    sum(float(p.detach().sum()) for p in model.parameters())
gc.callbacks.clear()
""")

    def test_generators_that_are_watched_while_garbage_is_collected(self):
        """Python 3.11.2 ends with it where the locals of their frames were asked for."""
        path = self.write("script.py", HEAD + GET_BATCH + """
import gc, random
from stallcast_shim.steps import watch
def modules(module, memo=None, prefix=""):
    if memo is None:
        memo = set()
    if module not in memo:
        memo.add(module)
        yield prefix, module
        for name, child in module._modules.items():
            for item in modules(child, memo, prefix + name):
                yield item
def members(of, get):
    memo = set()
    for prefix, module in modules(of):
        for name, value in get(module):
            if value is not None and value not in memo:
                memo.add(value)
                yield prefix + name, value
def parameters(of):
    for name, value in members(of, lambda module: module._parameters.items()):
        yield value
model = torch.nn.Sequential(torch.nn.Sequential(model, torch.nn.ReLU()), torch.nn.Linear(2, 2))
random.seed(1)
for step in range(60):
    gc.set_threshold(random.choice([1, 2, 3, 5, 11, 50, 200, 700]), random.choice([1, 2, 10]), random.choice([1, 2, 10]))
    seen = watch.Watch(torch)
    assert seen.begin()
    for part in range(2):
        train(*get_batch("train"))
        for parameter in parameters(model):
            parameter.grad = None
    seen.end()
    assert not seen.is_lost
print("done")
""")
        result = self.python(path)
        self.assertEqual((result.status, result.out, result.err), (0, "done\n", ""))


if __name__ == "__main__":
    main()
