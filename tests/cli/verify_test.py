#!/usr/bin/env python3
"""verify and recommend --verify around a real training job: what is applied, what is checked, what is kept.

Whether a prediction agrees depends on the machine; that the status says what the verdict says does not.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from harness import CLI, PYTHON, CliTest

try:
    import numpy  # noqa: F401
    import PIL  # noqa: F401
    import torch  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "samples/imagefolder"
STATUS = {"agrees": 0, "disagrees": 1, "not_applied": 5, "not_comparable": 5, "not_measured": 5}


class VerifyTest(CliTest):
    """One small data set and one profile of a run with one worker for all tests."""

    @classmethod
    def setUpClass(cls):
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="stallcast-verify-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.data = cls.shared / "data"
        subprocess.run([PYTHON, SAMPLE / "make_dataset.py", cls.data, "--samples", "240", "--kind", "arrays20k", "--classes",
                        "2"], check=True, stdout=subprocess.DEVNULL)
        cls.before = cls.shared / "before"
        done = subprocess.run([CLI, "profile", "-q", "--phases", "as_is", "-o", cls.before, "--", *cls.job()],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        assert done.returncode == 0, done.stderr

    @classmethod
    def job(cls, *options):
        return [PYTHON, str(SAMPLE / "train.py"), str(cls.data), "--workers", "1", "--batch-size", "4", "--epochs", "3",
                "--accelerator-ms", "20", *options]

    def verify(self, *settings, job=None, options=()):
        """The verdict as JSON, with what stdout and status must be beside it."""
        words = ["--set", *settings] if settings else []
        done = self.cli("verify", self.before, *words, "--json", *options, "--", *(job or self.job()))
        answer = json.loads(done.stdout)  # the command prints too: to stderr
        self.assertIn(b"steady:", done.stderr)
        self.assert_status(done, STATUS[answer["verdict"]])
        self.assertEqual(answer["agrees"], {"agrees": True, "disagrees": False}.get(answer["verdict"]))
        self.assertEqual(answer["err_frac"] is None, answer["agrees"] is None)
        self.assertEqual(self.run_folders(), [], "nothing stays in $TMPDIR")
        return answer

    def premise(self, answer, check):
        (found,) = [premise for premise in answer["premises"] if premise["check"] == check]
        return found

    def assert_applied(self, answer, **expected):
        self.assertNotIn(answer["verdict"], ("not_applied", "not_measured"), answer["words"])
        for check, value in expected.items():
            self.assertEqual(self.premise(answer, check), {"check": check, "expected": value, "seen": value, "holds": True})


class Applied(VerifyTest):
    def test_workers_and_what_is_kept(self):
        profile = (self.before / "profile.json").read_bytes()
        answer = self.verify("workers=2", options=["-o", self.out])
        self.assert_applied(answer, num_workers="2", worker_processes="2", prefetch_factor="2")
        self.assertEqual(answer["predicted"]["scenario"], {"workers": "2"})
        self.assertEqual([key["key"] for key in answer["applied"]], ["workers"])
        self.assertEqual((self.before / "profile.json").read_bytes(), profile)
        self.assert_results()
        kept = json.loads((self.out / "profile.json").read_text())
        self.assertEqual(kept["job"]["num_workers"], 2)
        (point,) = [point for point in kept["points"] if point["method"] == "verify"]
        self.assertEqual(point["setting"], {"workers": "2"})
        self.assertEqual(point["estimate"]["mean"], kept["rates"]["as_is_samples_per_s"]["mean"])
        self.assertIn("loader-settings-replaced", self.issues())

    def test_no_workers(self):
        self.assert_applied(self.verify("workers=0"), num_workers="0", worker_processes="0")

    def test_prefetch_and_cpus(self):
        answer = self.verify("prefetch=5", "cpus=1")
        self.assert_applied(answer, num_workers="1", prefetch_factor="5", cpus="1")

    def evict(self):
        for path in self.data.rglob("*.npy"):
            with open(path, "rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def profile_cold(self, job, least):
        """A run that reads at least so much from storage: the model needs to know what that costs."""
        self.evict()
        cold = self.folder / "cold"
        self.assert_status(self.cli("profile", "-q", "--phases", "as_is", "-o", cold, "--", *job), 0)
        if (json.loads((cold / "profile.json").read_text())["resources"]["bytes_from_storage_frac"] or 0) < least:
            self.skipTest("data in memory cannot be evicted here")
        self.before = cold

    def test_storage_limited_by_the_kernel(self):
        checks = json.loads(self.cli("doctor", "--json").stdout)["checks"]
        (check,) = [check for check in checks if check["id"] == "kernel_limits"]
        if check["state"] != "ok":
            self.skipTest(check["seen"])
        job = self.job("--batch-size", "2", "--epochs", "1", "--accelerator-ms", "30")
        self.profile_cold(job, 0.8)
        self.evict()
        answer = self.verify("storage_bandwidth=10MB/s", job=job, options=["--emulate-with", "kernel"])
        self.assert_applied(answer, kernel_limits="storage_bandwidth=10MB/s", limits_at_the_end="as set",
                            limited_reads="all files")
        self.assertIn("storage_bytes", [premise["check"] for premise in answer["premises"]])

    def test_emulated_storage_with_a_cache(self):
        job = self.job("--batch-size", "2", "--epochs", "1", "--accelerator-ms", "30")
        self.profile_cold(job, 0.3)
        settings = ("storage_bandwidth=5MB/s", "cache=35%", "cache_policy=minio")
        answer = self.verify(*settings, job=job)
        self.assert_applied(answer, emulated_storage=" ".join(settings), emulated_reads="all")
        self.assertEqual([key["key"] for key in answer["applied"]], ["storage_bandwidth", "cache", "cache_policy"])
        self.assertNotIn("storage_bytes", [premise["check"] for premise in answer["premises"]])

    def test_nothing_set_checks_that_the_run_repeats(self):
        answer = self.verify()
        self.assert_applied(answer, num_workers="1", worker_processes="1")
        self.assertEqual(answer["applied"], [])

    def test_text(self):
        done = self.cli("verify", self.before, "--set", "workers=2", "--", *self.job())
        self.assertIn(done.returncode, (0, 1, 5), done.stderr)
        for word in (b"steady:", b"predicted ", b"measured ", b"verdict ", b"num_workers=2 in place of 1"):
            self.assertIn(word, done.stdout)

    def test_the_budget_ends_the_command(self):
        done = self.cli("verify", self.before, "--set", "workers=2", "--json", "--budget", "3s", "-o", self.out, "--",
                        *self.job("--epochs", "600"))
        answer = json.loads(done.stdout)
        self.assert_status(done, STATUS[answer["verdict"]])
        self.assertNotEqual(answer["outcome"]["child_exit_code"], 0)
        self.assertIn("ended as asked", answer["outcome"]["words"])
        self.assertIn("ended_by_us", (self.out / "recordings/tool.jsonl").read_text())


class NotApplied(VerifyTest):
    def assert_not_applied(self, answer, check):
        self.assertEqual(answer["verdict"], "not_applied")
        self.assertIsNone(answer["measured_samples_per_s"])
        self.assertFalse(self.premise(answer, check)["holds"])
        self.assertIn(check, answer["words"])
        self.assertTrue(answer["hint"])

    def test_another_loader_than_the_profiled_one_is_left_alone(self):
        answer = self.verify("workers=2", job=self.job("--batch-size", "6"))
        self.assert_not_applied(answer, "num_workers")
        self.assertEqual(self.premise(answer, "num_workers")["seen"], "1")

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one CPU cannot be fewer than two")
    def test_a_job_that_chooses_its_cpus_itself(self):
        answer = self.verify("cpus=2", job=self.job("--cpus", "1"))
        self.assert_not_applied(answer, "cpus")

    def test_another_loader_does_not_stand_for_the_run_as_found_either(self):
        answer = self.verify(job=self.job("--batch-size", "6"))
        self.assertEqual(answer["verdict"], "not_comparable")
        self.assertIn("batch_size", answer["words"])


class Refused(VerifyTest):
    def test_before_the_command_starts(self):
        started = self.folder / "started"
        command = ["touch", started]
        for words, hint in ((["--set", "batch=16"], b"stallcast diff"), (["--set", "cache=50%"], b"storage_bandwidth=200MB/s"),
                            (["--set", "storage_bandwidth=10MB/s"], b"emulated"), (["--set", "gpu_speedup=2x"], b"profile"),
                            (["--set", "cpus=100000"], b"may be used"), (["--set", "cpus=0.5"], b"whole"),
                            (["--set", "cache=50%", "--emulate-with", "kernel"], b"no cache"),
                            (["--set", "workers=0", "prefetch=2"], b"prefetch"), (["--set", "wrkers=2"], b"workers"),
                            (["--budget", "5"], b"unit"), (["--nonsense"], b"help")):
            with self.subTest(words=words):
                done = self.cli("verify", self.before, *words, "--", *command)
                self.assert_status(done, 2)
                self.assertEqual(done.stdout, b"")
                self.assertIn(hint, done.stderr)
        self.assert_status(self.cli("verify", self.before, "--set", "workers=2"), 2)
        self.assert_status(self.cli("verify", self.folder / "nothing", "--", *command), 4)
        (self.folder / "full").mkdir()
        (self.folder / "full/file").write_text("of the user")
        self.assert_status(self.cli("verify", self.before, "-o", self.folder / "full", "--", *command), 2)
        self.assertFalse(started.exists())
        self.assertEqual(self.run_folders(), [])

    def test_the_commands_own_status(self):
        for command, status in ((["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 137), (["/nonexistent"], 127),
                                ([self.folder], 126)):
            with self.subTest(command=command):
                self.assert_status(self.cli("verify", self.before, "--set", "workers=2", "--", *command), status)
        done = self.cli("verify", self.before, "--set", "workers=2", "--json", "--", "true")
        self.assert_status(done, 5)
        self.assertEqual(json.loads(done.stdout)["verdict"], "not_measured")
        self.assertEqual(self.run_folders(), [])


class Recommend(VerifyTest):
    def test_recommends_and_verifies_in_one_go(self):
        done = self.cli("recommend", self.before, "--verify", "--json", "--", *self.job())
        answer = json.loads(done.stdout)
        verification = answer["verification"]
        self.assert_status(done, STATUS[verification["verdict"]])
        wanted = {}
        if answer["change_loader"]:
            wanted = {"workers": str(answer["loader"]["num_workers"])}
            if answer["loader"]["num_workers"]:
                wanted["prefetch"] = str(answer["loader"]["prefetch_factor"])
        self.assertEqual(verification["predicted"]["scenario"], wanted)
        self.assertEqual(self.premise(verification, "num_workers")["seen"], wanted.get("workers", "1"))
        text = self.cli("recommend", self.before, "--verify", "--", *self.job()).stdout
        self.assertLess(text.index(b"DataLoader("), text.index(b"steady:"))
        self.assertLess(text.index(b"steady:"), text.index(b"verdict "))

    def test_a_command_without_verify_is_a_mistake(self):
        self.assert_status(self.cli("recommend", self.before, "--", "true"), 2)
        self.assert_status(self.cli("recommend", self.before, "--verify"), 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
