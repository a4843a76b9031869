#!/usr/bin/env python3
"""Warnings, end to end: a job that does what users do by accident, and one that does not."""
import os
import textwrap
import unittest

from harness import PATIENCE_S, PYTHON, CliTest

try:
    import torch  # noqa: F401
    HAS_TORCH = True
except ImportError:
    HAS_TORCH = False

JOB = """
    import os, sys, time
    import torch
    from torch.utils.data import DataLoader, Dataset, get_worker_info

    ILL = sys.argv[1] == "ill"
    kept = []

    class Samples(Dataset):
        def __len__(self):
            return 200000

        def __getitem__(self, index):
            slow = ILL and get_worker_info().id == 1
            time.sleep(0.004 if slow else 0.002)
            if ILL:
                kept.append(bytearray(os.urandom(1024)) * 64)
            return torch.zeros(8)

    def start(worker):
        if ILL:
            os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})

    loader = DataLoader(Samples(), batch_size=8, num_workers=2, worker_init_fn=start)
    begin = time.monotonic()
    for batch in loader:
        time.sleep(0.001)
        if time.monotonic() - begin > float(sys.argv[2]) or os.path.exists("enough"):
            break
"""


@unittest.skipUnless(HAS_TORCH, "no torch for this python")
@unittest.skipUnless(len(os.sched_getaffinity(0)) > 1, "one core: nothing to be pinned to")
class Warnings(CliTest):
    def warned(self, kind, seconds):
        job = self.folder / "job.py"
        job.write_text(textwrap.dedent(JOB))
        self.assert_status(self.profile(PYTHON, job, kind, seconds), 0)
        return self.details()

    def details(self):
        return {name: issue["detail"] for name, issue in self.issues().items()}

    def readings(self):
        """Of the memory of two workers, in the run under way."""
        return [(tick["t_ns"], [process["anon_bytes"] for process in tick["processes"]])
                for folder in self.run_folders() for tick in self.ticks_with_batches(folder)
                if len(tick["processes"] or []) > 2]

    def enough(self):
        """Growth is looked for over 10 s, in the last two thirds of the readings: one a second, unless they cost much."""
        readings = self.readings()
        return readings if len(readings) >= 10 and readings[-1][0] - readings[0][0] > 22e9 else None

    def test_affinity_a_slow_worker_and_a_leak(self):
        job = self.folder / "job.py"
        job.write_text(textwrap.dedent(JOB))
        running = self.start(PYTHON, job, "ill", PATIENCE_S)
        readings = self.wait_for(self.enough, "readings of the workers' memory")
        (self.folder / "enough").touch()
        running.communicate(timeout=PATIENCE_S)
        self.assertEqual(running.returncode, 0)
        warned = self.details()
        self.assertIn("may run on 1 of", warned["workers-pinned"])
        self.assertRegex(warned["slow-worker"], r"worker 1 takes \d\.\d times as long")
        self.assertIn("memory-growth", warned, readings)
        self.assertRegex(warned["memory-growth"], r"the memory of \d workers? grew by")

    def test_a_job_without_such_habits(self):
        warned = self.warned("well", 6)
        for habit in ("workers-pinned", "slow-worker", "memory-growth", "swapping", "not-pinned", "opencv-threads"):
            self.assertNotIn(habit, warned)


if __name__ == "__main__":
    unittest.main()
