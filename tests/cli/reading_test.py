#!/usr/bin/env python3
"""Ways in which samples are read, end to end: out of one large file with what all of them need, by threads of the
sample's own, by a program that the loader starts."""
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

COMMON = """
    import concurrent.futures, os, subprocess, sys, time
    import torch
    from torch.utils.data import DataLoader, Dataset

    BYTES = 70_000
    LABELS = 40_000

    def make(path, parts):
        with open(path, "wb") as file:
            for size in parts:
                file.write(os.urandom(size))
            file.flush()
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def train(data, epochs, step_s=0.005):
        optimizer = torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), lr=0.1)
        loader = DataLoader(data, batch_size=8, num_workers=2, shuffle=True, persistent_workers=True)
        for epoch in range(epochs):
            for batch in loader:
                time.sleep(step_s)
                optimizer.step()
"""

# The labels are read with every sample, as HDF5 does it.
ONE_FILE = COMMON + """
    SAMPLES = 800
    make("data.bin", [BYTES] * SAMPLES + [LABELS])

    class Samples(Dataset):
        file = None

        def __len__(self):
            return SAMPLES

        def __getitem__(self, index):
            if self.file is None:
                self.file = os.open("data.bin", os.O_RDONLY)
            os.pread(self.file, LABELS, SAMPLES * BYTES)
            time.sleep(0.002)
            return len(os.pread(self.file, BYTES, index * BYTES))

    train(Samples(), 1000)
"""

THREADS = COMMON + """
    for number in range(320):
        make("%d.bin" % number, [BYTES])

    def view(number):
        with open("%d.bin" % (number % 320), "rb") as file:
            size = len(file.read())
        end = time.thread_time() + 0.004
        while time.thread_time() < end:
            pass
        return size

    class Samples(Dataset):
        pool = None

        def __len__(self):
            return 320

        def __getitem__(self, index):
            if self.pool is None:
                self.pool = concurrent.futures.ThreadPoolExecutor(2)
            return sum(self.pool.map(view, [index, index + 1]))

    train(Samples(), 2)
"""

PROGRAM = COMMON + """
    for number in range(320):
        make("%d.bin" % number, [10 * BYTES])

    class Samples(Dataset):
        def __len__(self):
            return 320

        def __getitem__(self, index):
            command = ["sh", "-c", "sleep 0.03; cat %d.bin" % index]
            return len(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)

    train(Samples(), 1)
"""


@unittest.skipUnless(HAS_TORCH, "no torch for this python")
class Reading(CliTest):
    def setUp(self):
        super().setUp()
        kind = subprocess.run(["stat", "-f", "-c", "%T", str(self.folder)], stdout=subprocess.PIPE, text=True, check=True)
        if kind.stdout.strip() in ("tmpfs", "ramfs"):
            self.skipTest("the folder for tests lies in memory: nothing comes from storage")

    def profiled(self, job, **how):
        path = self.folder / "job.py"
        path.write_text(textwrap.dedent(job))
        self.assert_status(self.profile(PYTHON, path, **how), 0)
        return json.loads((self.out / "profile.json").read_text())

    def test_what_every_sample_reads_again_is_fetched_once(self):
        profile = self.profiled(ONE_FILE, phases="cold,cached,synthetic",
                                options=("--budget", "20s", "--target", "50%", "--stop"))
        self.assertNotIn("shim-failed", self.issues())
        premises = {premise["phase"]: premise for premise in profile["premises"]}
        for phase in ("cold", "cached"):
            rate = phase + "_samples_per_s"
            if profile["rates"][rate] is None:
                self.assertTrue(profile["absent"]["rates." + rate])
            else:
                self.assertTrue(premises[phase]["holds"], premises)
        data = profile["dataset"]
        size = (self.folder / "data.bin").stat().st_size
        self.assertEqual((data["files"], data["layout"]), (1, "shards"))
        self.assertTrue(data["example_path"].endswith("/data.bin"), data)
        self.assertAlmostEqual(data["bytes_per_sample"], 110_000, delta=1000)
        self.assertEqual(data["bytes_total"], size)
        if profile["rates"]["cold_samples_per_s"] is not None:
            self.assertGreater(data["stored_bytes_per_sample"], 65_000)

    def test_threads_of_a_sample_read_and_compute_for_it(self):
        profile = self.profiled(THREADS)
        self.assertAlmostEqual(profile["dataset"]["bytes_per_sample"], 140_000, delta=1000)
        self.assertGreater(profile["resources"]["worker_cpu_s_per_sample"]["mean"], 0.007)
        self.assertNotIn("reads-unseen", self.issues())

    def test_what_a_program_reads_is_not_called_preparing(self):
        profile = self.profiled(PROGRAM)
        self.assertIn("reads-unseen", self.issues())
        self.assertGreater(profile["stalls"]["as_is_wait_frac"]["mean"], 0.2)
        for stall in ("as_is_fetch_frac", "as_is_prep_frac"):
            self.assertIsNone(profile["stalls"][stall])
            self.assertIn("the data come from other programs (", profile["absent"]["stalls." + stall])
        self.assertIsNone(profile["dataset"]["bytes_total"])


if __name__ == "__main__":
    unittest.main()
