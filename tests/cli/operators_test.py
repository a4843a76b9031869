#!/usr/bin/env python3
"""Cost per operator of a real job with torchvision's transforms: names, sums, what-if, reports."""
import json
import unittest

from harness import PYTHON, CliTest

try:
    import torch  # noqa: F401
    import torchvision
    TORCHVISION = torchvision.__version__
except ImportError:
    TORCHVISION = None

# Spins by the CPU clock, so that other jobs on the machine do not change what an operator takes.
JOB = """
import sys, time
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

class Spin:
    def __init__(self, ms):
        self.ms = ms
    def __call__(self, value):
        end = time.thread_time() + self.ms / 1e3
        while time.thread_time() < end:
            pass
        return value

def own(value):
    return Spin(2)(value)

class Images(Dataset):
    def __init__(self):
        self.transform = transforms.Compose([
            Spin(4), transforms.Resize(32), own, Spin(1), transforms.ToTensor(), transforms.Normalize([0.5] * 3, [0.5] * 3)])
    def __len__(self):
        return 400
    def __getitem__(self, index):
        return self.transform(Image.new("RGB", (64, 64)))

if __name__ == "__main__":
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for batch in DataLoader(Images(), batch_size=8, num_workers=int(sys.argv[1])):
        weight.grad = torch.ones(1)
        optimizer.step()
"""


@unittest.skipUnless(TORCHVISION, "this Python does not import torch and torchvision")
class Operators(CliTest):
    def operators(self, workers):
        script = self.folder / "train.py"
        script.write_text(JOB)
        self.environment["STALLCAST_OVERHEAD"] = "off"
        done = self.profile(PYTHON, script, workers, options=["--force"])
        self.assert_status(done, 0)
        profile = json.loads((self.out / "profile.json").read_text())
        self.assertNotIn("shim-failed", self.issues())
        return done, profile, {(row["name"], row["where"]): row for row in profile["operators"]}

    def assert_takes(self, row, ms):
        self.assertTrue(0.97 * ms <= 1e3 * row["cpu_s_per_sample"]["mean"] <= 1.15 * ms + 0.1, row["cpu_s_per_sample"])

    def test_names_times_and_sums(self):
        for workers in (1, 0):
            with self.subTest(workers=workers):
                done, profile, rows = self.operators(workers)
                self.assert_takes(rows["Spin", "transform[0]"], 4)
                self.assert_takes(rows["own", "transform[2]"], 2)
                self.assert_takes(rows["Spin", "transform[3]"], 1)
                for name, where in (("Resize", "[1]"), ("ToTensor", "[4]"), ("Normalize", "[5]")):
                    self.assertEqual(rows[name, "transform" + where]["calls_per_sample"], 1.0)
                self.assertEqual(rows["__getitem__", ""]["kind"], "getitem")
                self.assertEqual(rows["collate", ""]["kind"], "collate")
                self.assertAlmostEqual(sum(row["busy_frac"]["mean"] for row in profile["operators"]), 1.0)
                self.assertLess(abs(profile["operators"][-1]["busy_frac"]["mean"]), 0.03)
                self.assertNotIn("operators-do-not-add-up", self.issues())
                self.assertIn(b"Cost per operator", done.stdout)
                self.assertIn("Cost per operator", (self.out / "report.html").read_text())

    def test_what_if(self):
        self.operators(1)
        done = self.cli("whatif", self.out, "--json", "--sweep", "operator=transform[0]:x1,transform[0]:x2,transform[0]:off")
        self.assert_status(done, 0)
        rates = [answer["throughput_samples_per_s"]["mean"] for answer in json.loads(done.stdout)["predictions"]]
        self.assertGreater(rates[1], 1.1 * rates[0])
        self.assertGreater(rates[2], 1.1 * rates[1])
        wrong = self.cli("whatif", self.out, "--set", "operator=Resise:x2")
        self.assert_status(wrong, 2)
        self.assertIn(b"did you mean 'Resize'?", wrong.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
