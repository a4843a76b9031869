"""Settings that the tool wants: the training loader gets them however it was made, every other loader stays as it is."""

import json
import textwrap

from harness import ShimTest, main

HEAD = """
import json, multiprocessing, sys
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler

class Numbers(Dataset):
    def __init__(self, samples=24):
        self.samples = samples
    def __len__(self):
        return self.samples
    def __getitem__(self, index):
        return torch.tensor([float(index)])

class Subclass(DataLoader):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.seen_in_init = self.num_workers

def show(loader):
    seen = sorted(int(value) for batch in loader for value in batch.flatten())
    print(json.dumps({"workers": loader.num_workers, "prefetch": loader.prefetch_factor,
                      "persistent": loader.persistent_workers, "seen": seen}))
"""

TRAINING = {"dataset_type": "Numbers", "dataset_samples": 24, "batch_size": 4, "shuffled": True, "drop_last": False}


def wish(workers=None, prefetch=None, **where):
    return {"num_workers": workers, "prefetch_factor": prefetch, "where": dict(TRAINING, **where)}


class OverrideTest(ShimTest):
    NEEDS = "torch"

    def make(self, call, wanted):
        """What the loader that `call` makes looks like, and how its run was recorded."""
        path = self.write("script.py", "")
        with open(path, "w") as file:
            body = "if __name__ == '__main__':\n" + textwrap.indent("show(%s)\n" % call, "    ")
            file.write(HEAD + body)
        result = self.python("-W", "ignore", path, wish=wanted)
        self.assertEqual((result.status, result.err), (0, ""))
        loader = json.loads(result.out.splitlines()[-1])
        self.assertEqual(loader["seen"], list(range(len(loader["seen"]))), "every sample comes once")
        return loader, result.run

    def assert_workers(self, run, count, prefetch=None):
        """The processes that were really started, and what the record says of the loader."""
        (text,) = run.consumer.texts["iterator"]
        self.assertEqual(len(text["worker_pids"]), count)
        (facts,) = run.consumer.texts["loader"]
        self.assertEqual(facts["num_workers"], count)
        if prefetch is not None:
            self.assertEqual(facts["prefetch_factor"], prefetch)

    def test_the_loader_gets_them_however_its_arguments_came(self):
        for call in (
            "DataLoader(Numbers(), batch_size=4, shuffle=True)",
            "DataLoader(Numbers(), 4, True)",
            "DataLoader(Numbers(), 4, True, None, None, 1)",
            "DataLoader(Numbers(), batch_size=4, shuffle=True, num_workers=1, prefetch_factor=3)",
            "DataLoader(Numbers(), batch_size=4, shuffle=True, num_workers=1, persistent_workers=True)",
            "DataLoader(Numbers(), batch_size=4, shuffle=True, num_workers=1, multiprocessing_context='spawn')",
            "DataLoader(Numbers(), batch_sampler=BatchSampler(RandomSampler(Numbers()), 4, False))",
            "Subclass(Numbers(), batch_size=4, shuffle=True, num_workers=1)",
        ):
            with self.subTest(call):
                loader, run = self.make(call, wish(2))
                self.assertEqual(loader["workers"], 2)
                self.assert_workers(run, 2, 3 if "prefetch_factor=3" in call else 2)
                self.assertEqual([issue["id"] for issue in run.issues], ["loader-settings-replaced"])

    def test_without_workers(self):
        for call in (
            "DataLoader(Numbers(), batch_size=4, shuffle=True, num_workers=2, prefetch_factor=4)",
            "DataLoader(Numbers(), 4, True, num_workers=2, persistent_workers=True)",
            "DataLoader(Numbers(), 4, True, num_workers=2, multiprocessing_context=multiprocessing.get_context('fork'))",
            "DataLoader(Numbers(), 4, True, num_workers=2, timeout=60)",
        ):
            with self.subTest(call):
                loader, run = self.make(call, wish(0))
                self.assertEqual((loader["workers"], loader["persistent"]), (0, False))
                self.assertEqual(loader["prefetch"], None if self.torch_version() >= (2, 0) else 2)
                self.assert_workers(run, 0)

    def test_a_prefetch_factor_alone(self):
        _, run = self.make("DataLoader(Numbers(), 4, True, num_workers=1)", wish(prefetch=5))
        self.assert_workers(run, 1, 5)
        loader, run = self.make("DataLoader(Numbers(), 4, True)", wish(prefetch=5))  # no workers, nothing to prefetch
        self.assert_workers(run, 0)
        self.assertEqual(loader["workers"], 0)

    def test_settings_that_are_there_already_are_no_news(self):
        _, run = self.make("DataLoader(Numbers(), 4, True, num_workers=2)", wish(2, 2))
        self.assert_workers(run, 2, 2)

    def test_other_loaders_stay_as_they_are(self):
        for call in (
            "DataLoader(Numbers(20), batch_size=4, shuffle=True)",  # another length
            "DataLoader(Numbers(), batch_size=4)",  # in order, as an evaluation reads
            "DataLoader(Numbers(), batch_size=6, shuffle=True)",
            "DataLoader(Numbers(), batch_size=4, shuffle=True, drop_last=True)",
            "DataLoader(torch.utils.data.Subset(Numbers(), range(24)), batch_size=4, shuffle=True)",
        ):
            with self.subTest(call):
                loader, run = self.make(call, wish(2, 4))
                self.assertEqual(loader["workers"], 0)
                self.assert_workers(run, 0)
                self.assertEqual(run.issues, [])

    def test_a_reloaded_loader_is_consistent_with_itself(self):
        # As Lightning and accelerate do it: a loader made anew from the attributes of another.
        call = (
            "(lambda made: DataLoader(made.dataset, batch_sampler=made.batch_sampler, num_workers=made.num_workers,"
            " prefetch_factor=made.prefetch_factor, persistent_workers=made.persistent_workers,"
            " multiprocessing_context=made.multiprocessing_context, timeout=made.timeout))"
            "(DataLoader(Numbers(), 4, True, num_workers=1, persistent_workers=True, timeout=60,"
            " multiprocessing_context='fork'))"
        )
        for workers in (0, 2):
            with self.subTest(workers=workers):
                _, run = self.make(call, wish(workers))
                self.assert_workers(run, workers)

    def test_an_override_that_cannot_be_read_changes_nothing(self):
        loader, run = self.make("DataLoader(Numbers(), 4, True)", [])
        self.assertEqual(loader["workers"], 0)
        self.assertEqual([issue["id"] for issue in run.issues], ["shim-failed"])


if __name__ == "__main__":
    main()
