#!/usr/bin/env python3
"""--emulate-with kernel: what may be asked for; and, as root, that the job alone is limited and its groups go away."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import unittest

from harness import CLI, PATIENCE_S, PYTHON, CliTest, as_nobody

RATE = 4_000_000
SIZE = 12_000_000
BOTH = ("storage_bandwidth=5MB/s", "cpus=0.9")

# Evicts its file and reads it all, twice: before it asks for a batch, and as one. It says how long each took and which
# groups it is in.
READER = """
import os, sys, time
import stallcast

def read(name):
    with open(name, "rb", buffering=0) as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        begin = time.monotonic()
        while file.read(1 << 16):
            pass
        return time.monotonic() - begin

def batches():
    time.sleep(0.3)  # for the tool to see that a batch was asked for
    yield read(sys.argv[1])

print("start", read(sys.argv[1]))
for seconds in stallcast.wrap(batches(), workers=0):
    print("seconds", seconds)
print(open("/proc/self/cgroup").read())
"""
BURNER = """
import time
begin = time.monotonic()
while time.process_time() < 0.6:
    pass
print("took", time.monotonic() - begin)
print(open("/proc/self/cgroup").read())
"""
WAITER = """
import os, pathlib, sys, time
pathlib.Path(sys.argv[1]).write_text(open("/proc/self/cgroup").read())
while not os.path.exists(sys.argv[2]) and os.path.isdir(os.path.dirname(sys.argv[2])):
    time.sleep(0.02)
"""


def names_in(text):
    """Names of runs' groups in the text of a /proc/PID/cgroup."""
    return set(re.findall(r"stallcast-[0-9a-f]{8}-[0-9a-f]{16}", text))


def groups(names=None):
    """Control groups with these names, or any run's, wherever they are mounted. Other tests may have some, too."""
    found = []
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        left, right = line.split(" - ", 1)
        if right.split(" ")[0] in ("cgroup", "cgroup2"):
            for folder, _, _ in os.walk(left.split(" ")[4]):
                name = os.path.basename(folder)
                if name in (names_in(name) if names is None else names):
                    found.append(folder)
    return found


class KernelLimits(CliTest):
    def setUp(self):
        super().setUp()
        checks = {check["id"]: check for check in json.loads(self.cli("doctor", "--json").stdout)["checks"]}
        self.check = checks["kernel_limits"]

    def need_limits(self):
        if self.check["state"] != "ok":
            self.skipTest(self.check["seen"])

    def words(self, *settings):
        return [word for setting in settings for word in ("--emulate", setting)] + ["--emulate-with", "kernel"]

    def test_what_the_kernel_cannot_do_is_refused(self):
        for settings, says in (
                (["storage_latency=1ms"], ["each read", "the interposer can"]),
                (["cache=35%"], ["memory limit is no cache"]),
                (["cache_policy=page-cache"], ["memory limit is no cache"]),
                (["storage_iops=0.5/s"], ["whole number"]),
                (["cpus=0.001"], ["0.01"]),
                (["cpus=1.5x"], ["cpus=1.5"]),
                (["cpus=100000.5"], ["only"]),
                ([], ["is not given"])):
            with self.subTest(settings=settings):
                done = self.profile(PYTHON, "-c", "print('ran')", options=self.words(*settings))
                self.assert_status(done, 2)
                self.assertNotIn(b"ran", done.stdout)
                for text in says:
                    self.assertIn(text, done.stderr.decode())
                self.assertFalse(self.out.exists())

    def test_without_permission_it_says_what_would_unlock_it(self):
        nobody = as_nobody()
        if nobody is None:
            self.skipTest("no other user to be")
        self.out = self.temporary / "out"
        done = subprocess.run([*nobody, CLI, "profile", "-o", self.out, "--phases", "as_is",
                               *self.words("storage_bandwidth=5MB/s"), "--", PYTHON, "-c", "print('ran')"],
                              env=self.environment, cwd=self.temporary, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=PATIENCE_S, check=False)
        self.assert_status(done, 3)
        self.assertNotIn(b"ran", done.stdout)
        self.assertIn(b"hint", done.stderr)
        self.assertIn(b"--emulate-with", done.stderr)
        self.assertFalse(self.out.exists())

    def test_the_job_reads_no_faster_than_asked_and_the_profile_says_so(self):
        self.need_limits()
        data = self.folder / "data"
        data.write_bytes(os.urandom(SIZE))
        done = self.profile(PYTHON, "-c", READER, data, options=self.words("storage_bandwidth=4MB/s"))
        self.assert_status(done, 0)
        text = done.stdout.decode()
        emulation = json.loads((self.out / "profile.json").read_text())["emulation"]
        if emulation["request_bytes"] < SIZE:
            self.skipTest("the file's bytes did not come from a disk here (memory, or not evicted)")
        self.assertLess(emulation["request_bytes"], 1.5 * SIZE, "what was read before the first batch does not count")
        # A job's start is not what is limited.
        self.assertLess(float(re.search(r"start (\S+)", text).group(1)), 0.5 * SIZE / RATE)
        # What a token bucket may have saved up before the first read is less than a tenth.
        self.assertGreater(float(re.search(r"seconds (\S+)", text).group(1)), 0.9 * SIZE / RATE)
        self.assertTrue(names_in(text))
        self.assertEqual(groups(names_in(text)), [])
        self.assertEqual(emulation["with"], "kernel")
        self.assertEqual(emulation["settings"], {"storage_bandwidth": "4MB/s"})
        self.assertTrue(emulation["disks"])
        self.assertTrue(any(str(RATE) in control for control in emulation["controls"]), emulation)
        self.assertGreater(emulation["requests"], 0)
        for absent in ("hits", "misses", "hit_bytes_frac", "waited_s", "late_s", "stored_hits_s", "mapped_files"):
            self.assertIsNone(emulation[absent])
        self.assertIn(b"limited by the kernel", done.stdout)
        self.assertNotIn("emulation-limits-changed", self.issues())

    def test_a_job_without_batches_is_not_limited_and_the_profile_says_so(self):
        self.need_limits()
        done = self.profile(PYTHON, "-c", "pass", options=self.words("storage_bandwidth=4MB/s"))
        self.assert_status(done, 0)
        self.assertIn("emulation-never-began", self.issues())
        emulation = json.loads((self.out / "profile.json").read_text())["emulation"]
        self.assertFalse(emulation["controls"])
        self.assertIsNone(emulation["requests"])

    def test_part_of_a_cpu(self):
        self.need_limits()
        done = self.profile(PYTHON, "-c", BURNER, options=self.words("cpus=0.5"))
        self.assert_status(done, 0)
        profile = json.loads((self.out / "profile.json").read_text())
        self.assertGreater(float(re.search(rb"took (\S+)", done.stdout).group(1)), 0.9)
        self.assertEqual(profile["host"]["usable_cpus"], 0.5)
        self.assertEqual(profile["host"]["usable_cpus_limited_by"], "cgroup quota")
        self.assertGreater(profile["emulation"]["cpu_throttled_s"], 0.1)
        self.assertIsNone(profile["emulation"]["requests"])
        self.assertEqual(groups(names_in(done.stdout.decode())), [])

    def test_a_command_that_cannot_be_run_is_said_as_without_groups(self):
        self.need_limits()
        for command, status in (("/nonexistent", 127), (self.folder, 126), ("false", 1)):
            with self.subTest(command=command):
                done = self.profile(command, options=[*self.words("storage_bandwidth=5MB/s"), "--force"])
                self.assert_status(done, status)
                self.wait_for(lambda: not groups(), "the end of the groups")

    def start_waiter(self):
        """A job in groups of its own, and the folder of each."""
        self.inside, self.until = self.folder / "inside", self.folder / "until"
        tool = self.start(PYTHON, "-c", WAITER, self.inside, self.until, options=self.words(*BOTH))
        self.wait_for(lambda: self.inside.exists() and self.inside.read_text(), "the job")
        self.names = names_in(self.inside.read_text())
        self.assertTrue(self.names)
        self.assertFalse(names_in(pathlib.Path("/proc/%d/cgroup" % tool.pid).read_text()))
        self.assertTrue(groups(self.names))
        return tool

    def test_the_groups_are_gone_after_ctrl_c(self):
        self.need_limits()
        tool = self.start_waiter()
        tool.send_signal(signal.SIGINT)
        tool.communicate(timeout=PATIENCE_S)
        self.assertEqual(groups(self.names), [])

    def test_a_killed_tool_leaves_the_job_its_limits_and_nothing_after_it(self):
        self.need_limits()
        tool = self.start_waiter()
        tool.kill()
        tool.wait()
        time.sleep(0.3)  # time enough to do wrong
        self.assertTrue(groups(self.names), "the job goes on, under the limits that it was given")
        self.until.write_text("")
        self.wait_for(lambda: not groups(self.names), "the end of the groups")

    def test_groups_of_dead_runs_are_swept(self):
        self.need_limits()
        tool = self.start_waiter()
        old = [re.sub(r"stallcast-[0-9a-f]{8}", "stallcast-00000001", group) for group in groups(self.names)]
        for folder in old:
            os.mkdir(folder)
        self.until.write_text("")
        tool.communicate(timeout=PATIENCE_S)
        self.assert_status(self.profile("true", options=[*self.words(*BOTH), "--force"]), 0)
        self.assertEqual(groups(names_in("\n".join(old))), [])


if __name__ == "__main__":
    unittest.main()
