"""Loops without a loader whose batches several functions give by turns."""

from harness import main
from loop_job import LoopTest

LOADS = """
def load_a():
    return data[:4], torch.zeros(4, dtype=torch.long)
def load_b():
    return data[4:7], torch.ones(3, dtype=torch.long)
"""


class ByTurnsTest(LoopTest):
    def given(self, content):
        """{function: samples of each of its batches}, what is a part of another's batch, optimizer steps"""
        consumer = self.both(LOADS + content)
        names = {text["loader_id"]: text["function"] for text in consumer.texts["loader"]}
        parts = {text["function"] for text in consumer.texts["loader"] if text.get("part_of") is not None}
        of = {text["iterator_id"]: names[text["loader_id"]] for text in consumer.texts["iterator"]}
        found = {}
        for wait in consumer.deliveries():
            found.setdefault(of[wait.iterator_id], []).append(wait.samples)
        return found, parts, len(consumer.steps)

    def test_one_after_the_other(self):
        given, parts, steps = self.given("""
for step in range(40):
    train(*(load_a() if step % 2 else load_b()))
""")
        self.assertEqual(steps, 40)
        self.assertEqual({name: set(samples) for name, samples in given.items()}, {"load_a": {4}, "load_b": {3}})
        self.assertEqual(sum(map(len, given.values())), 35)
        self.assertEqual(parts, set())

    def test_two_that_each_step_has_with_an_optimizer_of_its_own(self):
        """As of a GAN: real samples for one network, noise for the other."""
        given, parts, _ = self.given("""
other = torch.optim.SGD(model.parameters(), lr=0.001)
def noise():
    return torch.rand(4, 8)
for step in range(40):
    train(*load_a())
    model(noise()).sum().backward()
    other.step()
    other.zero_grad(set_to_none=True)
""")
        self.assertEqual((set(given), parts), ({"load_a", "noise"}, {"noise"}))

    def test_one_that_comes_later(self):
        given, _, _ = self.given("""
for step in range(400):
    train(*(load_a() if step < 100 else load_b()))
""")
        self.assertEqual(len(given["load_a"]), 95)
        self.assertGreater(len(given["load_b"]), 100)

    def test_one_now_and_then(self):
        given, _, _ = self.given("""
for step in range(600):
    train(*(load_b() if step % 10 == 9 else load_a()))
""")
        self.assertGreater(len(given["load_a"]), 500)
        self.assertGreater(len(given["load_b"]), 40)

    def test_parts_of_batches_that_come_later(self):
        given, parts, _ = self.given("""
def scaled(batch):
    return batch[0] * 2, batch[1]
for step in range(400):
    train(*scaled(load_a() if step < 100 else load_b()))
""")
        self.assertEqual(parts, {"load_a", "load_b"})
        self.assertEqual(len(given["scaled"]), 395)
        self.assertGreater(len(given["load_b"]), 100)
        self.assertEqual(set(given["load_b"]), {0})
        self.assertLess(len(given["load_a"]), 100)

    def test_batches_that_serve_several_steps(self):
        given, _, steps = self.given("""
for step in range(400):
    if step % 4 == 0:
        batch = load_a()
    train(*batch)
""")
        self.assertEqual((list(given), steps), (["load_a"], 400))


if __name__ == "__main__":
    main()
