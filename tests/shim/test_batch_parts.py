"""Loops without a loader whose batches several functions make, one after the other."""

from harness import main
from loop_job import GET_BATCH, LoopTest


class BatchPartsTest(LoopTest):
    def parts_of(self, consumer):
        """(the loader that gives batches, names of the functions of its parts)"""
        loaders = consumer.texts["loader"]
        (main,) = [text for text in loaders if text.get("part_of") is None]
        parts = [text for text in loaders if text.get("part_of") is not None]
        self.assertEqual({part["part_of"] for part in parts}, {main["loader_id"]})
        return main, [part["function"] for part in parts]

    def test_several_functions_that_make_a_batch(self):
        consumer = self.both("""
def inputs():
    return data[:4]
def targets():
    return torch.zeros(4, dtype=torch.long)
for step in range(40):
    train(inputs(), targets())
""")
        main, parts = self.parts_of(consumer)
        self.assertEqual((main["function"], main["dataset_type"], parts), ("targets", "inputs + targets", ["inputs"]))
        self.assertEqual(len(consumer.deliveries()), 2 * 35)

    def test_a_function_for_each_target_of_a_batch(self):
        consumer = self.both("""
def inputs():
    return data[:4]
def target(number):
    for _ in range(2000): pass
    return torch.tensor([number % 2])
for step in range(40):
    train(inputs(), torch.cat([target(number) for number in range(4)]))
""")
        main, parts = self.parts_of(consumer)
        self.assertEqual((main["function"], main["dataset_type"], parts), ("inputs", "inputs + target", ["target"]))

    def test_functions_that_pass_a_batch_on(self):
        consumer = self.both("""
def load(number):
    return data[number % 25 * 4:][:4].numpy(), torch.arange(4) % 2
def normalised(x):
    return torch.from_numpy(x) / 255
def flipped(x):
    return x.flip(0)
for step in range(40):
    x, y = load(step)
    train(flipped(normalised(x)), y)
""")
        main, parts = self.parts_of(consumer)
        self.assertEqual(main["dataset_type"], "load + normalised + flipped")
        self.assertEqual(sorted(parts), ["load", "normalised"])
        self.assertEqual([wait.samples for wait in consumer.deliveries()], [0, 0, 4] * 35)

    def test_batches_of_a_class_of_the_script_s(self):
        fields = ":\n    x: object\n    y: object"
        by_key = 'batch["x"], batch["y"]'
        kinds = {
            "class Batch(typing.NamedTuple)" + fields: ("Batch(x, y)", "batch.x, batch.y"),
            "@dataclasses.dataclass\nclass Batch" + fields: ("Batch(x, y)", "batch.x, batch.y"),
            "class Batch(dict): pass": ("Batch(x=x, y=y)", by_key),
            "class Batch(collections.UserDict): pass": ("Batch(x=x, y=y)", by_key),
        }
        for definition, (make, parts_of) in kinds.items():
            with self.subTest(definition):
                consumer = self.both("""
import collections, dataclasses, typing
DEFINITION
def normalised(batch):
    x, y = PARTS
    x = x / 2
    return MAKE
def load(number):
    x, y = data[number % 25 * 4:][:4], torch.zeros(4, dtype=torch.long)
    return MAKE
for step in range(40):
    batch = normalised(load(step))
    train(*(PARTS))
""".replace("DEFINITION", definition).replace("MAKE", make).replace("PARTS", parts_of))
                main, parts = self.parts_of(consumer)
                self.assertEqual((main["dataset_type"], parts), ("load + normalised", ["load"]))
                self.assertEqual([wait.samples for wait in consumer.deliveries()], [0, 4] * 35)

    def test_what_is_called_for_each_of_a_batch_gives_none(self):
        consumer = self.both("""
def read(number):
    return data[number % 100]
def stacked(rows):
    return torch.stack(rows)
def noise():
    return torch.rand(4, 8)
for step in range(40):
    x = stacked([read(step + number) for number in range(4)])
    train(x, torch.zeros(4, dtype=torch.long))
    loss_of(noise(), torch.zeros(4, dtype=torch.long))
    loss_of(noise(), torch.zeros(4, dtype=torch.long))
""")
        main, parts = self.parts_of(consumer)
        self.assertEqual((main["function"], sorted(set(parts))), ("stacked", ["noise", "read"]))

    MASKED = """
class Masked(torch.nn.Module):
    def forward(self, x, mask):
        return x + 0 * mask.sum()
masked = Masked()
def causal_mask(length):
    return torch.tril(torch.ones(length, length))
for step in range(40):
    x, y = BATCH
    train(masked(x, causal_mask(5)), y)
"""

    def test_functions_of_which_each_may_give_the_batch(self):
        consumer = self.both(GET_BATCH + self.MASKED.replace("BATCH", 'get_batch("train")'))
        (mark,) = self.marks(consumer, "no batch function")
        self.assertIn("causal_mask", mark["reason"])
        self.assertEqual(consumer.waits, [])

    def test_what_a_model_is_given_beside_a_batch_of_the_loop_s_own(self):
        consumer = self.both(self.MASKED.replace("BATCH", "data[step:step + 4], torch.zeros(4, dtype=torch.long)"))
        (mark,) = self.marks(consumer, "no batch function")
        self.assertIn("within the loop itself", mark["reason"])
        self.assertEqual(consumer.waits, [])

    def test_a_module_that_is_a_dataclass(self):
        """Its own parameters are none of what it is given."""
        consumer = self.both(GET_BATCH + """
import dataclasses
@dataclasses.dataclass(eq=False)
class Scaled(torch.nn.Module):
    size: int
    def __post_init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(self.size))
    def forward(self, x):
        return inner(x) * self.scale.mean()
inner, model = model, Scaled(7)
for step in range(40):
    train(*get_batch("train"))
""")
        (mark,) = self.marks(consumer, "batch function")
        self.assertEqual(mark["name"], "get_batch")

    def test_functions_whose_arrays_are_copied(self):
        """As a copy to a device is: what the model is given is as long as what they make."""
        consumer = self.both("""
def load():
    return data[:4].double()
def normalised(x):
    return x / 255
def weights():
    return torch.ones(2)
for step in range(40):
    x = normalised(load()).float()
    train(x, (weights().sum() * torch.zeros(4)).long())
""")
        main, parts = self.parts_of(consumer)
        self.assertEqual((main["dataset_type"], parts), ("load + normalised", ["load"]))
        self.assertEqual({mark["proven"] for mark in self.marks(consumer, "batch function")}, {False})

    def test_several_functions_that_are_not_called_in_each_step_are_told_and_not_timed(self):
        consumer = self.both("""
def load():
    return data[:8]
def shuffled(x):
    return x[torch.randperm(8)]
for step in range(40):
    if step % 2 == 0:
        rows = shuffled(load())
    train(rows[step % 2 * 4:][:4].clone(), torch.zeros(4, dtype=torch.long))
""")
        (mark,) = self.marks(consumer, "no batch function")
        self.assertIn("load", mark["reason"])
        self.assertIn("shuffled", mark["reason"])
        self.assertIn("script.py:", mark["at"])
        self.assertEqual(consumer.waits, [])


if __name__ == "__main__":
    main()
