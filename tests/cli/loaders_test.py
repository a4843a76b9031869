#!/usr/bin/env python3
"""Loaders that are not PyTorch's, from the script to the answer: marked loops, and tf.data by a scripted module."""
import json
import pathlib
import sys
import textwrap
import unittest

from harness import PYTHON, CliTest

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "shim"))
from scripted_tf import MODULES  # noqa: E402

LOOP = """
import os, sys, time
import stallcast

def batches():
    for number in range(120):
        batch = []
        for name in ("a", "b"):
            with stallcast.sample(number):
                with open(name + ".bin", "rb", buffering=0) as file:
                    batch.append(file.read())
        until = time.thread_time() + 0.004
        while time.thread_time() < until:
            pass
        yield batch

seen = 0
for batch in stallcast.wrap(batches(), WORKERSsamples=2):
    time.sleep(0.002)
    seen += len(batch[0])
print(seen)
"""

TF_LOOP = """
import time
from tensorflow.python.data.ops import iterator_ops

class Slow(iterator_ops.RangeDataset):
    def make(self):
        for number in range(120):
            time.sleep(0.006)
            yield iterator_ops.Array([number] * 4)

seen = 0
for batch in Slow():
    time.sleep(0.004)
    seen += sum(batch)
print(seen)
"""


class Loaders(CliTest):
    def setUp(self):
        super().setUp()
        for name in "ab":
            (self.folder / (name + ".bin")).write_bytes(b"x" * 1000)

    def run_script(self, content, expected, phases="as_is"):
        script = self.folder / "train.py"
        script.write_text(content)
        done = self.profile(PYTHON, script, phases=phases)
        self.assert_status(done, 0)
        self.assertTrue(done.stdout.startswith(expected + b"\n"), done.stdout[:200])
        return json.loads((self.out / "profile.json").read_text())

    def test_a_loop_that_makes_its_batches_is_divided(self):
        profile = self.run_script(LOOP.replace("WORKERS", "workers=0, "), b"120000")
        job, stalls = profile["job"], profile["stalls"]
        self.assertEqual((job["framework"], job["loader_kind"], job["composition"]), ("python", "python", "serial"))
        self.assertEqual(job["num_workers"], 0)
        self.assertEqual(profile["ranks"][0]["batches"], 120)
        self.assertGreater(stalls["as_is_wait_frac"]["mean"], 0.3)
        self.assertGreater(stalls["as_is_prep_frac"]["mean"], 0.8 * stalls["as_is_wait_frac"]["mean"])
        self.assertEqual(profile["dataset"]["files"], 2)
        self.assertEqual(profile["dataset"]["bytes_per_sample"], 1000)

    def test_a_loop_that_does_not_say_is_measured_and_not_divided(self):
        profile = self.run_script(LOOP.replace("WORKERS", ""), b"120000")
        self.assertGreater(profile["stalls"]["as_is_wait_frac"]["mean"], 0.3)
        self.assertIsNone(profile["stalls"]["as_is_prep_frac"])
        self.assertEqual(profile["job"]["composition"], "unknown")

    def test_phases_are_refused_and_the_loop_goes_on(self):
        self.run_script(LOOP.replace("WORKERS", "workers=0, "), b"120000", phases="cold,cached")
        self.assertIn("python makes its batches", self.issues()["phases-unsupported"]["detail"])

    def test_tf_data(self):
        for name, content in MODULES.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(content))
        profile = self.run_script(TF_LOOP, b"%d" % (4 * sum(range(120))))
        job = profile["job"]
        self.assertEqual((job["framework"], job["loader_kind"], job["composition"]),
                         ("tensorflow", "tf.data", "overlapped"))
        wait = profile["stalls"]["as_is_wait_frac"]["mean"]
        self.assertGreater(wait, 0.4)
        for setting, status, words in (("workers=4", 2, b"threads of its own"), ("cache=50%", 5, b"side by side")):
            asked = self.cli("whatif", self.out, "--set", setting)
            self.assertEqual(asked.returncode, status, asked.stderr)
            self.assertIn(words, asked.stderr)
        answer = self.cli("whatif", self.out, "--set", "gpu_speedup=4", "--json")
        self.assert_status(answer, 0)
        (prediction,) = json.loads(answer.stdout)["predictions"]
        found = profile["rates"]["as_is_samples_per_s"]["mean"]
        self.assertAlmostEqual(prediction["throughput_samples_per_s"]["mean"] / found, 1.0, delta=0.1)
        self.assertIn(prediction["bound"], ("loader", "prep"))
        advice = self.cli("recommend", self.out)
        self.assert_status(advice, 0)
        self.assertNotIn(b"DataLoader", advice.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
