#!/usr/bin/env python3
"""What the tool writes while it watches: ticks, overhead pairs, budgets; and a real PyTorch loader, where there is one."""
import json
import os
import subprocess
import unittest

from harness import JOB, PYTHON, CliTest

try:
    import torch  # noqa: F401
    HAS_TORCH = True
except ImportError:
    HAS_TORCH = False

TORCH_JOB = """
import torch, torch.utils.data as data
class Numbers(data.Dataset):
    def __len__(self): return 64
    def __getitem__(self, index): return torch.full((8,), float(index))
if __name__ == "__main__":
    total = 0.0
    for epoch in range(2):
        for batch in data.DataLoader(Numbers(), batch_size=4, num_workers=2, shuffle=True):
            total += float(batch.sum())
    print(total)
"""


class Ticks(CliTest):
    def test_the_recording_is_switched_off_and_on_to_price_it(self):
        self.environment["STALLCAST_OVERHEAD"] = "always"
        self.assert_status(self.profile(PYTHON, JOB, 350, 0.02), 0)
        ticks = [line for line in self.log() if line["kind"] == "tick"]
        states = [tick["recording"] for tick in ticks]
        self.assertIn(0, states)
        self.assertIn(1, states[states.index(0):])
        self.assertEqual([tick["t_ns"] for tick in ticks], sorted(tick["t_ns"] for tick in ticks))
        cpu = [tick["tree_cpu_ns"] for tick in ticks]
        self.assertEqual(cpu, sorted(cpu))
        self.assertGreater(cpu[-1], 0)
        busy = [tick for tick in ticks if tick["processes"] and tick["ranks"]]
        job = busy[-1]["processes"][0]
        self.assertEqual(job["pid"], busy[-1]["ranks"][0]["pid"])
        for key in ("ppid", "name", "cpu_ns", "run_delay_ns", "read_bytes", "rchar", "minor_faults", "major_faults",
                    "rss_bytes", "anon_bytes", "pss_bytes"):
            self.assertIn(key, job)

    def test_without_pairs_the_recording_stays_on(self):
        self.environment["STALLCAST_OVERHEAD"] = "off"
        self.assert_status(self.profile(PYTHON, JOB, 250, 0.02), 0)
        self.assertEqual({line["recording"] for line in self.log() if line["kind"] == "tick"}, {1})

    def test_a_time_budget_ends_the_recording_and_not_the_command(self):
        self.environment["STALLCAST_OVERHEAD"] = "off"
        done = self.profile(PYTHON, JOB, 200, 0.02, options=["--budget", "1s"])
        self.assert_status(done, 0)
        self.assertIn(b"batches 200", done.stdout)
        profile = json.loads((self.out / "profile.json").read_text())
        self.assertLess(profile["ranks"][0]["batches"], 200)

    def test_cores_that_others_use_are_seen(self):
        busy = subprocess.Popen([PYTHON, "-c", "while True: pass"])
        try:
            self.assert_status(self.profile(PYTHON, JOB, 250, 0.02), 0)
        finally:
            busy.kill()
            busy.wait()
        others = json.loads((self.out / "profile.json").read_text())["resources"]["other_processes_cpus"]
        self.assertGreater(others, 0.4)  # tests run beside it
        self.assertLessEqual(others, os.cpu_count())

    def test_children_count_after_their_end(self):
        burn = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
        self.assert_status(self.profile("sh", "-c", "sh -c '%s'; sh -c '%s'; exit 0" % (burn, burn)), 0)
        ticks = [line for line in self.log() if line["kind"] == "tick"]
        self.assertGreater(ticks[-1]["tree_cpu_ns"], 0)


@unittest.skipUnless(HAS_TORCH, "this Python does not import torch")
class Torch(CliTest):
    def test_an_unmodified_loader(self):
        script = self.folder / "train.py"
        script.write_text(TORCH_JOB)
        done = self.profile(PYTHON, script)
        self.assert_status(done, 0)
        self.assert_results()
        self.assertTrue(done.stdout.startswith(b"%.1f\n" % (2 * 8 * sum(range(64)))), done.stdout[:200])
        profile = json.loads((self.out / "profile.json").read_text())
        self.assertEqual(profile["job"]["framework"], "pytorch")
        self.assertEqual(profile["job"]["num_workers"], 2)
        self.assertEqual(profile["job"]["batch_size"], 4)
        self.assertEqual(profile["job"]["ranks_seen"], 1)
        self.assertEqual(profile["ranks"][0]["batches"], 32)
        self.assertNotIn("no-loader-found", self.issues())


if __name__ == "__main__":
    unittest.main(verbosity=2)
