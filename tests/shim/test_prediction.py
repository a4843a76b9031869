"""What a pass will draw is told without drawing it: the same lists, and every generator as before."""

import random
import sys

import harness

sys.path.insert(0, harness.SHIM)


def begun(sampler, samples):
    from stallcast_shim.states.prediction import Prediction as Told

    told = Told(sampler)
    told.begin(samples)
    return told


class Prediction(harness.ShimTest):
    NEEDS = "torch"

    def samplers(self):
        import torch
        from torch.utils.data import (BatchSampler, RandomSampler, SequentialSampler, SubsetRandomSampler,
                                      WeightedRandomSampler)
        from torch.utils.data.distributed import DistributedSampler

        data = Numbers(53)
        yield "sequential", BatchSampler(SequentialSampler(data), 8, False)
        yield "default generator", BatchSampler(RandomSampler(data), 8, False)
        yield "its own generator", BatchSampler(RandomSampler(data, generator=torch.Generator().manual_seed(3)), 8, True)
        yield "with replacement", BatchSampler(RandomSampler(data, replacement=True, num_samples=70), 8, False)
        yield "subset", BatchSampler(SubsetRandomSampler(list(range(5, 40))), 8, False)
        yield "weighted", BatchSampler(WeightedRandomSampler([1.0, 2.0, 3.0] * 9, 30), 8, False)
        yield "distributed", BatchSampler(DistributedSampler(data, 2, 1, seed=5), 8, False)
        yield "single", RandomSampler(data)

    def states(self):
        import torch

        return torch.get_rng_state().tolist(), random.getstate()

    def test_lists_are_those_that_are_drawn(self):
        import torch

        for name, sampler in self.samplers():
            with self.subTest(name):
                torch.manual_seed(11)
                random.seed(11)
                before = self.states()
                told = begun(sampler, 53)
                self.assertIsNone(told.why_not)
                ahead = told.lists(0, 100)
                self.assertEqual(self.states(), before)
                drawn = []
                for number, index in enumerate(sampler):
                    torch.rand(3)  # the script draws meanwhile
                    told.drawn(number, index)
                    drawn.append(index)
                self.assertIsNone(told.why_not)
                self.assertEqual(ahead, drawn)

    def test_two_passes_are_as_without_it(self):
        import torch

        for name, _ in self.samplers():
            with self.subTest(name):
                seen = []
                for tells in (False, True):
                    torch.manual_seed(12)
                    sampler = dict(self.samplers())[name]
                    lists = []
                    for _ in range(2):
                        told = begun(sampler, 53) if tells else None
                        for number, index in enumerate(sampler):
                            lists.append(index)
                            if tells:
                                told.lists(number + 1, 3)
                                told.drawn(number, index)
                    seen.append((lists, self.states()[0]))
                self.assertEqual(seen[0], seen[1])

    def test_it_can_begin_in_the_middle_of_a_pass(self):
        import torch
        from stallcast_shim.states.prediction import Prediction as Told

        for name, sampler in self.samplers():
            with self.subTest(name):
                torch.manual_seed(13)
                told, drawn = Told(sampler), []
                for number, index in enumerate(sampler):
                    told.drawn(number, index)
                    drawn.append(index)
                    torch.rand(2)
                    if number == 2:
                        before = self.states()
                        told.begin(53)
                        ahead = told.lists(3, 100)
                        self.assertEqual(self.states(), before)
                self.assertIsNone(told.why_not)
                self.assertEqual(ahead, drawn[3:])
                self.assertEqual(told.lists(1, 2), drawn[1:3])

    def test_a_pass_that_nobody_asks_about_keeps_few_lists(self):
        from stallcast_shim.states.prediction import Prediction as Told
        from torch.utils.data import BatchSampler, SequentialSampler

        sampler = BatchSampler(SequentialSampler(range(1000)), 1, False)
        told = Told(sampler)
        for number, index in enumerate(sampler):
            told.drawn(number, index)
        told.begin(1000)
        self.assertIn("too many", told.why_not)
        self.assertEqual(told.lists(999, 1), [])

    def test_a_list_that_is_changed_after_it_was_drawn_is_as_it_was(self):
        from stallcast_shim.states.prediction import Prediction as Told
        from torch.utils.data import BatchSampler, SequentialSampler

        sampler = BatchSampler(SequentialSampler(range(40)), 4, False)
        told = Told(sampler)
        for number, index in enumerate(sampler):
            told.drawn(number, index)
            index.reverse()  # as a data set's __getitems__ may do
            if number == 3:
                break
        told.begin(40)
        self.assertIsNone(told.why_not)
        self.assertEqual(told.lists(4, 1), [[16, 17, 18, 19]])

    def test_an_order_of_too_many_samples_is_not_copied(self):
        from torch.utils.data import BatchSampler, RandomSampler

        told = begun(BatchSampler(RandomSampler(range(50000000)), 4, False), 50000000)
        self.assertIn("too many samples", told.why_not)
        self.assertEqual(told.lists(0, 1), [])

    def test_no_other_devices_generator_is_touched(self):
        import torch
        from torch.utils.data import BatchSampler, RandomSampler

        if not hasattr(torch, "set_default_device"):
            self.skipTest("this torch has no default device")
        sampler = BatchSampler(RandomSampler(range(40)), 4, False)
        before = self.states()
        with torch.device("meta"):
            told = begun(sampler, 40)
            self.assertEqual(told.lists(0, 1), [])
        self.assertIn("default device", told.why_not)
        self.assertEqual(self.states(), before)

    def test_what_is_drawn_after_the_first_list_leaves_the_default_generator_alone(self):
        """Another thread of the script may draw from it at any time."""
        import torch

        for name, sampler in self.samplers():
            with self.subTest(name):
                told = begun(sampler, 53)
                told.lists(0, 1)
                real, torch.set_rng_state = torch.set_rng_state, None
                try:
                    self.assertGreater(len(told.lists(0, 100)), 3)
                finally:
                    torch.set_rng_state = real
                self.assertIsNone(told.why_not)

    def test_one_that_is_steered_is_given_up(self):
        from torch.utils.data import BatchSampler, SequentialSampler

        told = begun(BatchSampler(SequentialSampler(range(40)), 4, False), 40)
        told.drawn(0, [0, 1, 2, 3])
        self.assertIsNone(told.why_not)
        told.drawn(1, [4, 5, 6, 9])
        self.assertIn("something else", told.why_not)
        self.assertEqual(told.lists(2, 2), [])

    def test_a_sampler_of_the_users_own_is_never_run(self):
        from torch.utils.data import BatchSampler, RandomSampler

        class Mine(RandomSampler):
            def __iter__(self):
                raise AssertionError("it was run")

        told = begun(BatchSampler(Mine(range(40)), 4, False), 40)
        self.assertIn("Mine", told.why_not)

    def test_the_length_of_the_users_data_set_is_not_asked_again(self):
        from torch.utils.data import BatchSampler, RandomSampler

        data = Numbers(40)
        sampler = BatchSampler(RandomSampler(data), 4, False)
        asked = data.asked
        begun(sampler, 40).lists(0, 10)
        self.assertEqual(data.asked, asked)


class Numbers:
    def __init__(self, samples):
        self.samples = samples
        self.asked = 0

    def __len__(self):
        self.asked += 1
        return self.samples


if __name__ == "__main__":
    harness.main()
