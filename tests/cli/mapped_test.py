#!/usr/bin/env python3
"""Data that are read through maps of their files, end to end: what is told as found, and what cold and cached states
show of them."""
import json
import subprocess
import textwrap
import unittest

from harness import PYTHON, CliTest

try:
    import torch  # noqa: F401
    HAS_TORCH = True
except ImportError:
    HAS_TORCH = False

# Found out of memory, by whoever made it.
JOB = """
    import mmap, os, sys, time
    import numpy, torch
    from torch.utils.data import DataLoader, Dataset

    with open("data", "wb") as file:
        for _ in range(160):
            file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    data = numpy.memmap("data", dtype=numpy.uint8, mode="r")
    data._mmap.madvise(mmap.MADV_RANDOM)
    data = data.reshape(-1, 1 << 16)

    class Samples(Dataset):
        def __len__(self):
            return len(data)

        def __getitem__(self, index):
            time.sleep(0.003)
            return torch.from_numpy(data[index].astype(numpy.float32))

    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    epochs = 1000 if "epochs" in sys.argv else 1
    loader = DataLoader(Samples(), batch_size=16, num_workers=2, shuffle=True, persistent_workers=True)
    for epoch in range(epochs):
        for batch in loader:
            time.sleep(0.002)
            optimizer.step()
"""


@unittest.skipUnless(HAS_TORCH, "no torch for this python")
class Mapped(CliTest):
    """Page faults that wait for storage look like computing: what is not seen is not told."""

    def setUp(self):
        super().setUp()
        kind = subprocess.run(["stat", "-f", "-c", "%T", str(self.folder)], stdout=subprocess.PIPE, text=True, check=True)
        if kind.stdout.strip() in ("tmpfs", "ramfs"):
            self.skipTest("the folder for tests lies in memory: nothing comes from storage")
        self.job = self.folder / "job.py"
        self.job.write_text(textwrap.dedent(JOB))

    def profiled(self):
        return json.loads((self.out / "profile.json").read_text())

    def test_as_found_reading_and_preparing_are_not_told_apart(self):
        self.assert_status(self.profile(PYTHON, self.job), 0)
        self.assertIn("reads-unseen", self.issues())
        profile = self.profiled()
        self.assertGreater(profile["stalls"]["as_is_wait_frac"]["mean"], 0.2)
        for stall in ("as_is_fetch_frac", "as_is_prep_frac"):
            self.assertIsNone(profile["stalls"][stall])
            self.assertIn("maps", profile["absent"]["stalls." + stall])
        self.assertIsNone(profile["dataset"]["bytes_total"])
        self.assertIsNone(profile["resources"]["bytes_from_storage_frac"])
        asked = self.cli("whatif", self.out, "--set", "cache=100%")
        self.assert_status(asked, 5)
        self.assertIn(b"through maps of files", asked.stderr)

    def test_states_tell_them_apart_or_say_why_not(self):
        self.assert_status(self.profile(PYTHON, self.job, "epochs", phases="cold,cached,synthetic",
                                        options=("--budget", "30s", "--target", "20%", "--stop")), 0)
        profile = self.profiled()
        self.assertNotIn("shim-failed", self.issues())
        premises = {premise["phase"]: premise for premise in profile["premises"]}
        told = {}
        for state in ("cold", "cached", "synthetic"):
            rate = state + "_samples_per_s"
            told[state] = profile["rates"][rate] is not None
            self.assertTrue(told[state] or profile["absent"]["rates." + rate], state)
            if told[state] and state != "synthetic":
                self.assertTrue(premises[state]["holds"], premises)
                self.assertIn("page faults", premises[state]["check"])
        if told["cold"]:
            # 16 pages of 4 KiB each, or a few more: the kernel reads nothing around them here.
            self.assertAlmostEqual(profile["dataset"]["stored_bytes_per_sample"], 1 << 16, delta=1 << 13)
            self.assertEqual(profile["dataset"]["bytes_total"], 160 << 20)
            asked = self.cli("whatif", self.out, "--set", "layout=shards:64MiB")
            self.assert_status(asked, 5)
        if not all(told.values()):
            return
        self.assertIsNotNone(profile["stalls"]["fetch_frac"])
        self.assertNotIn("reads-unseen", self.issues())
        asked = self.cli("whatif", self.out, "--json", "--set", "cache=100%")
        self.assert_status(asked, 0)
        throughput = json.loads(asked.stdout)["predictions"][0]["throughput_samples_per_s"]
        cached = profile["rates"]["cached_samples_per_s"]
        self.assertLess(throughput["ci90_low"], cached["ci95_high"])
        self.assertGreater(throughput["ci90_high"], cached["ci95_low"])


if __name__ == "__main__":
    unittest.main()
