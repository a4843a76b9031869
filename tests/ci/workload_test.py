"""The check around real runs: a loop that waits for each batch, before and after a change."""
import os
import shutil
import sys
import unittest

from harness import CheckTest

CLI = os.environ.get("STALLCAST_CLI") or shutil.which("stallcast")

TRAIN = """
import time

import stallcast

class Loader:
    batch_size = {batch}

    def __iter__(self):
        for _ in range(240):
            time.sleep({wait_s})
            yield [0] * self.batch_size

for batch in stallcast.wrap(Loader(), workers=0):
    time.sleep(0.006)
    stallcast.step()
"""


class Workload(CheckTest):
    def train(self, side, wait_s=0.002, batch=8, text=None):
        (self.folder / side / "train.py").write_text(text or TRAIN.format(wait_s=wait_s, batch=batch))

    def run_check(self, *words, **environment):
        # PYTHONPATH is the check's alone: what the job imports is what `profile` gives it.
        return self.check("run", "--stallcast", CLI, "--base", "base", "--head", "head", "--output", self.output,
                          "--command", f"{sys.executable} train.py", "--warm-up", "false", *words, **environment)

    def test_a_head_that_waits_longer_fails(self):
        self.train("base")
        self.train("head", wait_s=0.008)
        self.assert_status(self.run_check("--rounds", 1, "--options=--phases as_is"), 1)
        page = self.page()
        self.assertIn("Failed: a condition holds beyond noise in 1 of 1 round.", page)
        self.assertIn("`as_is_wait_frac`", page)
        self.assertNotIn(str(self.folder), page)
        for side in ("base", "head"):
            self.assertTrue((self.output / "round-1" / side / "report.html").is_file())

    def test_the_same_on_both_sides_passes(self):
        self.train("base")
        self.train("head")
        self.assert_status(self.run_check("--rounds", 2), 0)
        self.assertIn("Passed: a condition holds beyond noise in no round.", self.page())

    def test_another_batch_size_is_refused(self):
        self.train("base")
        self.train("head", batch=16)
        self.assert_status(self.run_check("--rounds", 1), 5)
        page = self.page()
        self.assertIn("Not judged", page)
        self.assertIn("batch_size", page.split("###")[0])
        self.assert_status(self.run_check("--rounds", 1, "--on-unjudged", "warn"), 0)

    def test_a_number_that_is_not_measured_is_not_judged(self):
        self.train("base")
        self.train("head")
        self.assert_status(self.run_check("--rounds", 1, "--fail-on", "fetch_frac>+5%"), 5)
        self.assertIn("fetch_frac", self.page().split("###")[0])

    def test_a_head_that_breaks_fails(self):
        self.train("base")
        self.train("head", text="raise SystemExit(4)")
        self.assert_status(self.run_check("--rounds", 1), 1)
        self.assertIn("ended with status 4 on the head", self.page())

    def test_wrong_options_of_profile_are_nobodys_fault(self):
        self.train("base")
        self.train("head")
        self.assert_status(self.run_check("--options=--phases nonsense"), 5)
        self.assertIn("Not judged: ", self.page())


if __name__ == "__main__":
    if not CLI:
        print("STALLCAST_CLI names no stallcast")
        sys.exit(77)
    unittest.main()
