#!/usr/bin/env python3
"""Where CPU time goes, end to end: a job of JPEG files, where there is torch and the kernel allows perf_event_open."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import unittest

from harness import CLI, JOB, PYTHON, CliTest, as_nobody

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples" / "imagefolder"

try:
    import PIL  # noqa: F401
    import torch  # noqa: F401
    HAS_TORCH = True
except ImportError:
    HAS_TORCH = False


class Probe(CliTest):
    def cpu(self):
        return json.loads((self.out / "profile.json").read_text()).get("cpu")

    def skip_if_refused(self):
        """Skips where the kernel refused, naming the reason that the profile gives."""
        profile = json.loads((self.out / "profile.json").read_text())
        reason = profile["absent"].get("cpu.worker_samples", "")
        if "refused" in reason or "locked" in reason:
            self.skipTest(reason)


class Passive(Probe):
    def test_the_section_is_there_or_says_why_not(self):
        self.assert_status(self.profile(PYTHON, JOB, 50, 0.01), 0)
        self.assert_results()
        cpu = self.cpu()
        self.assertEqual(cpu["source"], "perf_event_open")
        absent = json.loads((self.out / "profile.json").read_text())["absent"]
        for key in ("worker_samples", "main_samples"):
            self.assertTrue(cpu[key] is not None or absent["cpu." + key])

    def test_switched_off_nothing_is_sampled(self):
        self.environment["STALLCAST_CPU_PROBE"] = "off"
        self.assert_status(self.profile(PYTHON, JOB, 20, 0.01), 0)
        self.assertIsNone(self.cpu())
        self.assertFalse((self.out / "recordings" / "cpu_samples").exists())

    def test_a_word_that_is_not_known_is_a_usage_error(self):
        self.environment["STALLCAST_CPU_PROBE"] = "sometimes"
        done = self.profile(PYTHON, JOB, 20, 0.01)
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"STALLCAST_CPU_PROBE", done.stderr)

    def test_the_status_of_the_command_is_its_own(self):
        self.assert_status(self.profile("sh", "-c", "exit 7"), 7)

    def test_a_killed_job_keeps_its_samples(self):
        done = self.profile("sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; kill -KILL $$")
        self.assertEqual(done.returncode, 128 + signal.SIGKILL)
        self.assertTrue((self.out / "recordings" / "cpu_samples").is_file())

    def test_a_killed_tool_does_not_touch_the_job(self):
        mark = self.folder / "done"
        begun = self.folder / "begun"
        tool = self.start(
            "sh", "-c", f"touch {begun}; sleep 1; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; touch {mark}"
        )
        self.wait_for(begun.exists, "the begin of the job")
        tool.send_signal(signal.SIGKILL)
        tool.wait()
        self.wait_for(mark.exists, "the end of the job")

    def test_many_short_processes(self):
        self.assert_status(self.profile("sh", "-c", "i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i+1)); done"), 0)
        self.assertTrue((self.out / "recordings" / "cpu_samples").is_file())

    def test_a_job_that_drops_privileges(self):
        drop = as_nobody()
        if drop is None:
            self.skipTest("not root, or no setpriv")
        done = self.profile(*drop, "sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
        self.assert_status(done, 0)

    def test_an_ordinary_user(self):
        drop = as_nobody()
        if drop is None:
            self.skipTest("not root, or no setpriv")
        self.out.mkdir()
        os.chown(self.out, 65534, 65534)
        tool = [CLI, "profile", "-o", self.out, "--phases", "as_is", "--", PYTHON, JOB, "100", "0.01"]
        done = subprocess.run([*drop, *tool], cwd="/", env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=120, check=False)
        if done.returncode in (126, 127):
            self.skipTest("an ordinary user may not run the tool where it lies")
        self.assert_status(done, 0)
        cpu = self.cpu()
        self.skip_if_refused()
        self.assertEqual(cpu["source"], "perf_event_open")


@unittest.skipUnless(HAS_TORCH, "this Python does not import torch and PIL")
class Photos(Probe):
    def make_photos(self):
        data = self.folder / "photos"
        subprocess.run([sys.executable, SAMPLES / "make_dataset.py", data, "--samples", "200"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        return data

    def test_workers_decode_photos(self):
        data = self.make_photos()
        done = self.profile(PYTHON, SAMPLES / "train.py", data, "--workers", "2", "--batch-size", "16",
                            "--epochs", "3")
        self.assert_status(done, 0)
        self.skip_if_refused()
        cpu = self.cpu()
        self.assertIsNotNone(cpu["worker_samples"])
        shares = {row["name"]: row["share_frac"] for row in cpu["workers_functions"]}
        self.assertIn("JPEG decode", shares)
        self.assertGreater(shares["JPEG decode"]["mean"], 0.1)
        self.assertLess(shares.get("unknown", {"mean": 0.0})["mean"], 0.05)
        self.assertAlmostEqual(sum(share["mean"] for share in shares.values()), 1.0, places=6)
        self.assertIn(b"JPEG decode", b" ".join(done.stdout.split()))
        self.assertIn("worker", {process["role"] for process in cpu["processes"]})
        self.assertGreater(cpu["counters"]["task_clock_s"], 0.0)
        again = self.folder / "again"
        shutil.copytree(self.out / "recordings", self.folder / "moved" / "recordings")
        self.assert_status(self.cli("analyze", self.folder / "moved", "-o", again, "-q"), 0)
        self.assertEqual(json.loads((again / "profile.json").read_text())["cpu"], cpu)


if __name__ == "__main__":
    unittest.main(verbosity=2)
