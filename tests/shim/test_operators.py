"""Operators: found in data sets, timed where their class is called, and left as they are."""

from harness import ShimTest, main

# Classes of a script's own: a plain chain, one that is not, one that sleeps, one that reads.
PRELUDE = """
import os, pickle, sys, time, traceback
import torch
from torch.utils.data import DataLoader, Dataset, Subset, ConcatDataset

def spin(ms):
    end = time.thread_time() + ms / 1e3
    while time.thread_time() < end:
        pass

class Chain:
    def __init__(self, *transforms):
        self.transforms = list(transforms)
    def __call__(self, value):
        for each in self.transforms:
            value = each(value)
        return value

class Backwards:
    def __init__(self, *transforms):
        self.transforms = list(transforms)
    def __call__(self, value):
        for each in reversed(self.transforms):
            value = each(value)
        return value

class Spin:
    def __init__(self, ms):
        self.ms = ms
    def __call__(self, value):
        spin(self.ms)
        return value

class Other(Spin):
    def __call__(self, value):
        return super().__call__(value)

class Sleep:
    def __call__(self, value):
        time.sleep(0.003)
        return value

class Fails:
    def __call__(self, value):
        raise ValueError("of the script")

def plain_function(value):
    spin(2)
    return value

class Data(Dataset):
    def __init__(self, transform, samples=12):
        self.transform = transform
        self.samples = samples
    def __len__(self):
        return self.samples
    def __getitem__(self, index):
        value = torch.tensor([float(index)])
        spin(1)
        return self.transform(value) if self.transform else value

def run(data, workers=1, **options):
    for batch in DataLoader(data, batch_size=4, num_workers=workers, **options):
        print(batch.tolist())
"""
SAMPLE, COLLATE = 1, 2


class Operators(ShimTest):
    def script(self, body, **options):
        path = self.write("script.py", "")
        with open(path, "w") as file:
            file.write(PRELUDE + body)
        return self.python(path, **options)

    def same(self, body):
        """Runs the script with and without the shim, which must look the same; what was recorded."""
        result = self.script(body)
        plain = self.script(body, shim=False)
        self.assertEqual((result.status, result.out, result.err), (plain.status, plain.out, plain.err))
        self.assertEqual(result.run.issues, [])
        return result.run

    def made(self, body):
        """As same(), of a script with one process that makes samples: its recording."""
        (maker,) = [recording for recording in self.same(body).recordings if recording.samples]
        return maker

    def times(self, maker, field="cpu_ns"):
        """(name, where) -> milliseconds of each call."""
        names = {**maker.part_names(), SAMPLE: ("sample", ""), COLLATE: ("collate", "")}
        found = {}
        for part in maker.parts:
            found.setdefault(names[part.number], []).append(getattr(part, field) / 1e6)
        return found

    def assert_spun(self, calls, times, ms):
        """CPU time, which other jobs do not add to; what surrounds the spinning is small."""
        self.assertEqual(len(times), calls)
        middle = sorted(times)[len(times) // 2]
        self.assertTrue(0.98 * ms <= middle <= 1.15 * ms + 0.1, (ms, times))


class OperatorsTest(Operators):
    NEEDS = "torch"

    def test_a_chain_adds_up(self):
        maker = self.made("run(Data(Chain(Spin(3), plain_function, Other(1), Sleep(), Spin(1))))")
        times = self.times(maker)
        self.assert_spun(12, times["Spin", "transform[0]"], 3)
        self.assert_spun(12, times["plain_function", "transform[1]"], 2)
        self.assert_spun(12, times["Other", "transform[2]"], 1)
        self.assert_spun(12, times["Sleep", "transform[3]"], 0)
        self.assert_spun(12, times["Spin", "transform[4]"], 1)
        self.assert_spun(12, times["Chain", "transform"], 0)
        self.assert_spun(12, times["sample", ""], 1)
        self.assertEqual(len(times["collate", ""]), 3)
        walls = {part.whole_ns: 0 for part in maker.parts if not part.flags}
        for part in maker.parts:
            if not part.flags:
                walls[part.whole_ns] += part.wall_ns + part.read_ns
        self.assertEqual(len(maker.samples), len(walls))
        for sample in maker.samples:  # all but what marking costs
            self.assertLessEqual(walls[sample.begin_ns], sample.wall_ns)
            self.assertGreater(walls[sample.begin_ns], 0.9 * sample.wall_ns)

    def test_functions_that_cannot_be_told_apart_stay_with_their_chain(self):
        maker = self.made("run(Data(Backwards(Spin(1), plain_function)))")
        times = self.times(maker)
        self.assert_spun(12, times["Spin", "transform[0]"], 1)
        self.assert_spun(12, times["Backwards", "transform"], 2)
        self.assertEqual({name for name, _ in times}, {"Spin", "Backwards", "sample", "collate"})

    def test_several_functions_and_nested_chains(self):
        maker = self.made("run(Data(Chain(plain_function, plain_function, Chain(Spin(1)), plain_function)))")
        times = self.times(maker)
        self.assert_spun(12, times["plain_function, plain_function", "transform[0-1]"], 4)
        self.assert_spun(12, times["plain_function", "transform[3]"], 2)
        self.assert_spun(12, times["Spin", "transform[2][0]"], 1)
        self.assert_spun(12, times["Chain", "transform"], 0)

    def test_without_workers_and_inside_other_data_sets(self):
        maker = self.made(
            "run(ConcatDataset([Subset(Data(Spin(2)), [0, 1, 2, 3]), Data(Chain(Other(1)), 4)]), workers=0)"
        )
        times = self.times(maker)
        self.assert_spun(4, times["Spin", "datasets[0].transform"], 2)
        self.assert_spun(4, times["Other", "datasets[1].transform[0]"], 1)

    def test_subsets(self):
        whole = "Data(Chain(Spin(2)))"
        subsets = {
            f"Subset({whole}, list(range(10)))": 10,
            f"Subset(Subset({whole}, list(range(11))), [*range(3, 11)])": 8,
        }
        for subset, samples in subsets.items():
            with self.subTest(subset):
                maker = self.made(f"run({subset})")
                self.assertEqual([sample.index for sample in maker.samples], list(range(samples)))
                self.assert_spun(samples, self.times(maker)["Spin", "transform[0]"], 2)

    def test_a_subset_of_what_makes_batches_itself_is_asked_once_a_batch(self):
        self.same(
            """
class Batches(Data):
    def __getitems__(self, indices):
        print("asked for", indices)
        return [self[index] for index in indices]

run(Subset(Batches(None), list(range(8))), workers=0)
"""
        )

    def test_without_any_operator(self):
        times = self.times(self.made("run(Data(None))"))
        self.assertEqual(set(times), {("sample", ""), ("collate", "")})

    def test_a_chain_made_at_the_first_sample(self):
        maker = self.made(
            """
class Late(Data):
    def __getitem__(self, index):
        self.transform = self.transform or Chain(Spin(1))
        return super().__getitem__(index)
run(Late(None))
"""
        )
        self.assert_spun(8, self.times(maker)["Spin", "transform[0]"], 1)  # from the second batch on

    def test_failures_of_the_script_pass_unchanged(self):
        self.same(
            """
try:
    run(Data(Chain(Spin(0.1), Fails())), workers=1)
except ValueError as error:
    print(str(error))  # the worker's traceback: no frame of ours
try:
    run(Data(Chain(Spin(0.1), Fails())), workers=0)
except ValueError as error:
    frames = traceback.extract_tb(error.__traceback__)
    print([frame.name for frame in frames if frame.filename == __file__])
"""
        )

    def test_objects_stay_as_they_are(self):
        self.made(
            """
chain = Chain(Spin(0.1), Other(0.1))
class Checks(Data):
    def __getitem__(self, index):
        assert type(chain) is Chain and type(chain.transforms) is list and len(chain.transforms) == 2
        assert isinstance(chain.transforms[0], Spin) and type(chain.transforms[1]) is Other
        copy = pickle.loads(pickle.dumps(chain))
        assert copy(1) == 1 and copy.transforms[0].ms == 0.1
        assert Spin.__call__.__name__ == "__call__" and type(Spin.__call__) is type(spin)
        assert chain.__call__(2) == 2 and Spin.__call__(chain.transforms[0], 3) == 3
        assert callable(chain) and chain.transforms[0].__call__.__self__ is chain.transforms[0]
        return super().__getitem__(index)
run(Checks(chain), workers=0)
"""
        )

    def test_a_data_set_with_wild_attributes(self):
        self.made(
            """
class Wild(Data):
    def __init__(self):
        super().__init__(None)
        self.transforms = self
        self.augment = [[self.__class__, len, lambda value: value, None, 5], {"a": Spin(1), 3: {}}]
        self.dataset = [self, 5, "text"]
        self.preprocess = property(lambda self: 1 / 0)
    def __call__(self):
        return None
run(Wild())
"""
        )


class TorchvisionTest(Operators):
    NEEDS = "torchvision"

    def test_torchvision(self):
        maker = self.made(
            """
from torchvision import transforms
from PIL import Image
class Images(Data):
    def __getitem__(self, index):
        return self.transform(Image.new("RGB", (64, 64), (index, 0, 0)))[0, 0, :1]
chain = transforms.Compose([
    transforms.Resize(48), transforms.RandomApply([transforms.RandomHorizontalFlip(1.0)], p=1.0),
    transforms.ToTensor(), transforms.Lambda(plain_function), transforms.Normalize([0.5] * 3, [0.5] * 3)])
before = repr(chain)
run(Images(chain))
assert repr(chain) == before
"""
        )
        times = self.times(maker)
        for name, where in (
            ("Compose", ""), ("Resize", "[0]"), ("RandomApply", "[1]"), ("RandomHorizontalFlip", "[1][0]"),
            ("ToTensor", "[2]"), ("Lambda(plain_function)", "[3]"), ("Normalize", "[4]"),
        ):
            self.assertEqual(len(times[name, "transform" + where]), 12, (name, where))
        self.assert_spun(12, times["Lambda(plain_function)", "transform[3]"], 2)

    def test_a_chain_that_nobody_holds(self):
        maker = self.made(
            """
from torchvision import transforms
class Images(Data):
    def __getitem__(self, index):
        return transforms.Compose([transforms.Lambda(plain_function)])(torch.tensor([float(index)]))
run(Images(None))
"""
        )
        self.assert_spun(12, self.times(maker)["Lambda", ""], 2)


class TorchvisionV2Test(Operators):
    NEEDS = "torchvision.transforms.v2"

    def test_torchvision_v2(self):
        maker = self.made(
            """
from torchvision.transforms import v2
class Images(Data):
    def __getitem__(self, index):
        return self.transform(torch.full((3, 64, 64), index, dtype=torch.uint8))[0, 0, :1]
chain = v2.Compose([
    v2.Resize(48), v2.RandomApply([v2.RandomHorizontalFlip(1.0)], p=1.0), v2.ToDtype(torch.float32, scale=True),
    v2.Lambda(plain_function), v2.Normalize([0.5] * 3, [0.5] * 3)])
before = repr(chain)
run(Images(chain))
assert repr(chain) == before
"""
        )
        times = self.times(maker)
        for name, where in (
            ("Compose", ""), ("Resize", "[0]"), ("RandomApply", "[1]"), ("RandomHorizontalFlip", "[1][0]"),
            ("ToDtype", "[2]"), ("Normalize", "[4]"),
        ):
            self.assertEqual(len(times[name, "transform" + where]), 12, (name, where))
        own = [spent for (name, _), spent in times.items() if name.startswith("Lambda")]
        self.assert_spun(12, own[0], 2)


if __name__ == "__main__":
    main()
