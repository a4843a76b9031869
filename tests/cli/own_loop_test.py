#!/usr/bin/env python3
"""Loops without a loader: what a function of the script takes is told as waiting; where none is found, what was seen."""
import json
import sys
import unittest

from harness import CliTest

try:
    import torch  # noqa: F401
except ImportError:
    print("this Python does not import torch")
    sys.exit(77)

HEAD = """
import time
import numpy, torch
torch.manual_seed(1)
torch.set_num_threads(1)
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
numpy.arange(1 << 20, dtype=numpy.uint16).tofile("tokens.bin")
def train(x):
    loss = model(x).pow(2).mean()
    loss.backward()
    time.sleep(0.002)
    optimizer.step()
    optimizer.zero_grad()
"""
FUNCTION = HEAD + """
def get_batch():
    data = numpy.memmap("tokens.bin", dtype=numpy.uint16, mode="r")
    places = torch.randint(len(data) - 64, (16,)).tolist()
    end = time.perf_counter() + 0.004
    while time.perf_counter() < end:
        x = torch.stack([torch.from_numpy(data[i:i + 64].astype(numpy.float32)) for i in places])
    return x / 65536
waited = []
for step in range(400):
    begin = time.perf_counter()
    x = get_batch()
    waited.append(time.perf_counter() - begin)
    train(x)
print(sum(waited[10:]) / len(waited[10:]))
"""
SEVERAL = FUNCTION.replace("""    return x / 65536
waited""", """    return x
def scaled(x):
    end = time.perf_counter() + 0.002
    while time.perf_counter() < end:
        scaled = x / 65536
    return scaled
waited""").replace("x = get_batch()", "x = scaled(get_batch())")
INLINE = HEAD + """
for step in range(60):
    train(torch.rand(16, 64))
"""


class OwnLoop(CliTest):
    def profile(self, content, phases="as_is"):
        script = self.folder / "train.py"
        script.write_text(content)
        out = self.folder / "out"
        done = self.cli("profile", "-q", "--phases", phases, "-o", out, "--", sys.executable, script, cwd=self.folder)
        self.assert_status(done, 0)
        return json.loads((out / "profile.json").read_text()), done.stdout, out

    def test_the_function_is_found_and_its_time_is_the_scripts_own(self):
        profile, output, out = self.profile(FUNCTION)
        self.assertEqual(profile["outcome"]["status"], "measured", profile["outcome"])
        job = profile["job"]
        self.assertEqual((job["loader_kind"], job["dataset_type"], job["num_workers"]), ("function", "get_batch", 0))
        own_s = float(output)
        told_s = profile["stalls"]["as_is_wait_frac"]["mean"] * profile["resources"]["step_s"]["mean"]
        # Both measure the same calls in the same run: the difference is what recording a call costs.
        self.assertLess(abs(told_s - own_s), 0.02 * own_s + 200e-6)
        answer = self.cli("whatif", out, "--set", "workers=1", "--json")
        self.assert_status(answer, 0)
        report = self.cli("report", out).stdout
        self.assertIn(b"get_batch", report)

    def test_of_several_functions_that_make_a_batch_all_is_told(self):
        profile, output, out = self.profile(SEVERAL)
        self.assertEqual(profile["job"]["dataset_type"], "get_batch + scaled")
        self.assertNotIn("several-loaders", [issue["id"] for issue in profile["issues"]])
        told_s = profile["stalls"]["as_is_wait_frac"]["mean"] * profile["resources"]["step_s"]["mean"]
        self.assertLess(abs(told_s - float(output)), 0.02 * float(output) + 200e-6)
        rate, step_s = profile["rates"]["as_is_samples_per_s"]["mean"], profile["resources"]["step_s"]["mean"]
        self.assertAlmostEqual(rate * step_s, 16, delta=0.5)
        self.assert_status(self.cli("whatif", out, "--set", "workers=1", "--json"), 0)

    def test_no_states_are_made_of_its_batches(self):
        profile, _, _ = self.profile(FUNCTION, phases="cold,cached,synthetic")
        issues = {issue["id"]: issue["detail"] for issue in profile["issues"]}
        self.assertIn("batches of a function are made by the loop itself", issues["phases-unsupported"])

    def test_where_nothing_is_found_the_report_says_what_was_seen(self):
        profile, _, out = self.profile(INLINE)
        self.assertEqual(profile["outcome"]["status"], "no_loader")
        seen = {one["what"]: one["words"] for one in profile["seen_instead"]}
        self.assertIn("60 optimizer steps", seen["steps"])
        self.assertIn("train.py:", seen["steps"])
        self.assertIn("within the loop itself", seen["batches"])
        report = self.cli("report", out).stdout.decode()
        self.assertIn("stallcast.wrap(batches", report)
        self.assertNotIn("no reason was recorded", report)


if __name__ == "__main__":
    unittest.main(verbosity=2)
