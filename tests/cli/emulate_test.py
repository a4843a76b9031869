#!/usr/bin/env python3
"""--emulate: what may be asked for, and that the job and its profile show it."""
import json
import os
import unittest

from harness import JOB, PYTHON, CliTest

READER = """
import sys
for epoch in range(3):
    for name in sys.argv[1:]:
        with open(name, "rb", buffering=0) as file:
            file.read()
"""


class Emulate(CliTest):
    def refused(self, *settings, says, options=()):
        words = [word for setting in settings for word in ("--emulate", setting)]
        done = self.profile(PYTHON, "-c", "print('ran')", options=(*words, *options))
        self.assertEqual(done.returncode, 2, done.stderr)
        for text in says:
            self.assertIn(text, done.stderr.decode())
        self.assertNotIn(b"ran", done.stdout)
        self.assertFalse(self.out.exists())
        self.assertEqual(self.run_folders(), [])

    def test_what_cannot_be_asked_for(self):
        for settings, says in (
                (["storage_bandwidth=200"], ["storage_bandwidth", "MB/s"]),
                (["storage_bandwidth=0MB/s"], ["storage_bandwidth"]),
                (["storage_bandwidth"], ["KEY=VALUE"]),
                (["storage_latency=2"], ["storage_latency", "ms"]),
                (["storage_latency=-2ms"], ["storage_latency"]),
                (["storage_latency=1h"], ["storage_latency"]),
                (["storage_iops=500"], ["storage_iops", "/s"]),
                (["storage_bandwith=1MB/s"], ["did you mean 'storage_bandwidth'"]),
                (["gpus=2"], ["cannot be emulated"]),
                (["storage_bandwidth=1MB/s", "storage_bandwidth=2MB/s"], ["twice"]),
                (["storage_bandwidth=1MB/s", "cache=35"], ["cache", "35%"]),
                (["storage_bandwidth=1MB/s", "cache=135%"], ["cache"]),
                (["cache=35%"], ["no storage is emulated", "storage_bandwidth=200MB/s"]),
                (["storage_bandwidth=1MB/s", "cache_policy=lru"], ["cache=35%"]),
                (["storage_bandwidth=1MB/s", "cache=35%", "cache_policy=page-cache"], ["no exact model", "lru"]),
                (["storage_bandwidth=1MB/s", "cache=35%", "cache_policy=lri"], ["did you mean 'lru'"]),
                (["cpus=0"], ["cpus"]),
                (["cpus=1.5"], ["cpus"]),
                (["cpus=100000"], ["only"])):
            with self.subTest(settings=settings):
                self.refused(*settings, says=says)
        self.refused("storage_latency=1ms", says=["not known"], options=("--emulate-with", "magic"))

    def data(self, files, size):
        names = [str(self.folder / ("data%d" % number)) for number in range(files)]
        for name in names:
            with open(name, "wb") as file:
                file.write(os.urandom(size))
        return names

    def emulation(self, *settings, command):
        words = [word for setting in settings for word in ("--emulate", setting)]
        done = self.profile(*command, options=words)
        self.assert_status(done, 0)
        return done, json.loads((self.out / "profile.json").read_text())

    def test_a_job_reads_from_the_storage_that_was_asked_for(self):
        names = self.data(40, 50000)
        done, profile = self.emulation("storage_bandwidth=100MB/s", "storage_latency=1ms", "cache=50%",
                                       command=(PYTHON, "-c", READER, *names))
        emulation = profile["emulation"]
        self.assertEqual(emulation["with"], "interposer")
        self.assertEqual(emulation["settings"],
                         {"storage_bandwidth": "100MB/s", "storage_latency": "1ms", "cache": "50%"})
        self.assertEqual(emulation["hits"] + emulation["misses"], 120)
        self.assertEqual(emulation["misses"] % 3, 0)  # MinIO: the same files in each epoch
        self.assertTrue(54 <= emulation["hits"] <= 66, emulation)
        self.assertEqual(emulation["requests"], emulation["misses"])
        self.assertEqual(emulation["request_bytes"], emulation["misses"] * 53248)
        self.assertGreaterEqual(emulation["waited_s"], emulation["misses"] * 0.001)
        self.assertIn(b"storage emulated", done.stdout)
        self.assertIn("storage emulated", (self.out / "report.html").read_text())

    def test_fewer_cpus(self):
        count = "import os; print('cpus', len(os.sched_getaffinity(0)))"
        done, profile = self.emulation("cpus=1", command=(PYTHON, "-c", count))
        self.assertIn(b"cpus 1\n", done.stdout)
        self.assertEqual(profile["host"]["usable_cpus"], 1)
        self.assertEqual(profile["emulation"]["settings"], {"cpus": "1"})

    def test_nothing_is_said_where_nothing_is_emulated(self):
        done = self.profile(PYTHON, JOB, 30, 0.01)
        self.assert_status(done, 0)
        self.assertNotIn("emulation", json.loads((self.out / "profile.json").read_text()))
        self.assertNotIn(b"emulated:", done.stdout)


if __name__ == "__main__":
    unittest.main()
