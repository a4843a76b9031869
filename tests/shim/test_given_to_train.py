"""Loops without a loader: what a model is given while it trains tells who makes the batches, also a library's function."""

import os

from harness import main
from loop_job import LoopTest


class GivenToTrainTest(LoopTest):
    ACTING = """
import collections, random
random.seed(3)
seen = collections.deque(maxlen=100)
class World:
    def act(self, state, action):
        for _ in range(2000): pass
        return (state * 0.9 + action * 0.1).reshape(1, 8)
def sample(size):
    kept = random.sample(seen, size)
    return torch.cat([state for state, _ in kept]), torch.tensor([action for _, action in kept])
world, state = World(), torch.ones(1, 8)
def go(explores):
    global state
    with torch.no_grad():
        action = random.randrange(2) if explores else int(model(state).argmax())
    seen.append((state, action))
    state = world.act(state, action)
for _ in range(20):
    go(True)
"""

    def test_what_a_model_acts_on_is_no_batch_of_its_training(self):
        for explores in (False, True):
            with self.subTest(explores=explores):
                consumer = self.both(self.ACTING + """
for step in range(30):
    go(%s)
    train(*sample(4))
""" % explores)
                self.assertEqual([mark["name"] for mark in self.marks(consumer, "batch function")], ["sample"])
                self.assertGreater(len(consumer.waits), 20)
                self.assertEqual({wait.samples for wait in consumer.waits}, {4})
        consumer = self.both(self.ACTING + """
for step in range(40):
    go(False)
    kept = random.sample(seen, 4)
    train(torch.cat([state for state, _ in kept]), torch.tensor([action for _, action in kept]))
""")
        (mark,) = self.marks(consumer, "no batch function")
        self.assertIn("within the loop itself", mark["reason"])

    def library(self):
        """Lines that import a module as it would be installed."""
        path = self.write("site-packages/library.py", """
            import torch

            class Memory:
                def __init__(self, data):
                    self.data = data

                def sample(self, size):
                    at = torch.randint(len(self.data), (size,))
                    return self.data[at], at % 2

            def times(size):
                return torch.rand(size)

            def halved(x):
                return x / 2
            """)
        return "import sys\nsys.path.insert(0, %r)\nimport library\n" % os.path.dirname(path)

    def test_a_function_of_a_library_that_the_loop_calls(self):
        consumer = self.both(self.library() + """
memory = library.Memory(data)
for step in range(30):
    train(*memory.sample(4))
    if step % 10 == 9:
        with torch.no_grad():
            print(loss_of(*memory.sample(4)).item())
""")
        (mark,) = self.marks(consumer, "batch function")
        self.assertEqual((mark["name"], mark["proven"]), ("Memory.sample", True))
        texts = {text["loader_id"]: text["dataset_type"] for text in consumer.texts["loader"]}
        passes = {text["iterator_id"]: texts[text["loader_id"]] for text in consumer.texts["iterator"]}
        waits = [passes[wait.iterator_id] for wait in consumer.waits]
        self.assertEqual((waits.count("Memory.sample"), waits.count("Memory.sample without gradients")), (25, 3))
        self.assertEqual({wait.samples for wait in consumer.waits}, {4})

    def test_what_a_library_makes_beside_or_of_the_loop_s_own_batch_is_none(self):
        for name, step in (("times", "model(data[ix], library.times(4))"), ("halved", "model(library.halved(data[ix]))")):
            with self.subTest(name):
                consumer = self.both(self.library() + """
class Timed(torch.nn.Sequential):
    def forward(self, x, times=None):
        return super().forward(x if times is None else x * times[:, None])
model = Timed(*model)
for step in range(40):
    ix = torch.randint(100, (4,))
    torch.nn.functional.cross_entropy(STEP, ix % 2).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
""".replace("STEP", step))
                (mark,) = self.marks(consumer, "no batch function")
                self.assertIn("within the loop itself", mark["reason"])

    def test_what_a_frozen_model_is_given_is_a_batch(self):
        consumer = self.both("""
frozen = torch.nn.Linear(8, 8)
def pictures():
    return data[torch.randint(100, (4,))]
for step in range(30):
    with torch.no_grad():
        x = frozen(pictures())
    train(x, torch.ones(4, dtype=torch.int64))
""")
        self.assertEqual([mark["name"] for mark in self.marks(consumer, "batch function")], ["pictures"])


if __name__ == "__main__":
    main()
