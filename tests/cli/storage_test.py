#!/usr/bin/env python3
"""storage: real files of every kind, and what must not be read, waited for or dropped from memory."""
import json
import os
import pathlib
import socket
import sys
import unittest

from harness import CLI, CliTest, as_nobody

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))
from truth.files import evict, resident_fraction  # noqa: E402

MIB = 1 << 20


def lies_in_memory(path):
    mounts = [line.split(" - ") for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
    rows = [(left.split()[4], right.split()[0]) for left, right in mounts]
    return max((row for row in rows if str(path).startswith(row[0])), key=lambda row: len(row[0]))[1] == "tmpfs"


class Storage(CliTest):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "data"
        self.data.mkdir()

    def make(self, count, size, prefix="f"):
        paths = [self.data / f"{prefix}{number}.bin" for number in range(count)]
        for path in paths:
            path.write_bytes(os.urandom(size))
        return [str(path) for path in paths]

    def evict_or_skip(self, paths):
        if lies_in_memory(self.folder):
            self.skipTest("the scratch folder lies in memory: nothing can be cold there")
        try:
            evict(paths)
        except RuntimeError as reason:
            self.skipTest(f"files cannot be evicted here: {reason}")

    def ask(self, *words, path=None, budget="2s"):
        done = self.cli("storage", path or self.data, "--json", "--budget", budget, *words)
        self.assert_status(done, 0)
        answer = json.loads(done.stdout)
        for key in ("latency_s", "stream_bandwidth_bytes_per_s", "ceiling_bytes_per_s", "ceiling_files_per_s", "open_s",
                    "stat_s", "ceiling_metadata_per_s"):
            self.assertTrue(answer["fit"][key] is not None or answer["absent"]["fit." + key], key)
        return answer

    def measured(self, answer, **wanted):
        return [point for point in answer["points"] if point["rate_reads_per_s"] is not None
                and all(point[key] == value for key, value in wanted.items())]

    def test_many_small_files_cold_and_from_memory(self):
        paths = self.make(1500, 60_000)
        self.evict_or_skip(paths)
        answer = self.ask(budget="4s")
        self.assertEqual(answer["files"]["seen"], 1500)
        self.assertEqual(answer["files"]["total_bytes"], 1500 * 60_000)
        self.assertEqual(answer["files"]["small_files_frac"], 1)
        cold = self.measured(answer, read="whole_file", state="cold")
        self.assertIn(1, [point["in_flight"] for point in cold])
        self.assertGreater(len(cold), 2)
        for point in cold:
            self.assertEqual(point["method"], "evicted")
            self.assertTrue(all(premise["holds"] for premise in point["premises"]), point)
            self.assertEqual(point["read_size_bytes"], 60_000)
        self.assertTrue(self.measured(answer, state="resident"))
        self.assertGreater(len(self.measured(answer, read="metadata")), 3)
        self.assertLess(resident_fraction(paths), 0.02)  # the cache is left as it was found

    def test_few_large_files(self):
        paths = self.make(2, 48 * MIB)
        self.evict_or_skip(paths)
        answer = self.ask(budget="8s")
        self.assertFalse(self.measured(answer, read="whole_file"))
        for read in ("small_block", "large_block", "sequential"):
            reasons = [reason for place, reason in answer["absent"].items() if place.endswith("rate_reads_per_s")
                       and answer["points"][int(place.split("[")[1].split("]")[0])]["read"] == read]
            if not self.measured(answer, read=read, state="cold") and any("from a burst" in why for why in reasons):
                self.skipTest("this storage gives 96 MiB faster than a rate can be told from a burst")
            self.assertTrue(self.measured(answer, read=read, state="cold"), f"{read}: {reasons}")

    def test_what_was_in_memory_stays_there(self):
        paths = self.make(600, 100_000)  # a rate needs more than a burst
        self.evict_or_skip(paths)
        for path in paths[:300]:
            pathlib.Path(path).read_bytes()
        if resident_fraction(paths[:300]) < 1:
            self.skipTest("files do not stay in memory on this machine")
        answer = self.ask()
        self.assertTrue(self.measured(answer, read="whole_file", state="cold"))
        self.assertGreater(answer["files"]["resident_bytes_frac"], 0.4)
        self.assertGreater(resident_fraction(paths[:300]), 0.95)
        self.assertLess(resident_fraction(paths[300:]), 0.05)

    def test_all_in_memory_is_left_there_unless_told_otherwise(self):
        paths = self.make(400, 100_000)
        self.evict_or_skip(paths)
        for path in paths:
            pathlib.Path(path).read_bytes()
        if resident_fraction(paths) < 1:
            self.skipTest("files do not stay in memory on this machine")
        answer = self.ask()
        self.assertFalse(self.measured(answer, state="cold"))
        self.assertIsNone(answer["fit"]["latency_s"])
        self.assertIn("--evict", answer["absent"]["fit.latency_s"])
        self.assertGreater(resident_fraction(paths), 0.95)
        self.assertTrue(self.measured(self.ask("--evict", "all"), state="cold"))

    def test_tmpfs_has_nothing_cold(self):
        shm = pathlib.Path("/dev/shm")
        if not os.access(shm, os.W_OK) or not lies_in_memory(shm):
            self.skipTest("no /dev/shm in memory")
        data = shm / f"stallcast-test-{os.getpid()}"
        data.mkdir()
        self.addCleanup(lambda: [*map(os.unlink, data.iterdir()), data.rmdir()])
        for number in range(10):
            (data / str(number)).write_bytes(os.urandom(30_000))
        answer = self.ask(path=data)
        self.assertFalse(self.measured(answer, state="cold"))
        self.assertIn("tmpfs", answer["absent"]["fit.latency_s"])
        self.assertTrue(self.measured(answer, state="resident"))
        text = self.cli("storage", data, "--budget", "1s").stdout.decode()
        self.assertIn("not measured (the files lie in memory (tmpfs)", " ".join(text.split()))

    def test_a_path_that_is_one_file(self):
        paths = self.make(1, 2 * MIB)
        answer = self.ask("--evict", "all", path=paths[0])
        self.assertEqual(answer["files"]["seen"], 1)
        self.assertEqual(answer["path"], os.path.realpath(paths[0]))

    def test_pipes_sockets_and_loops_are_left_alone(self):
        self.make(5, 5000)
        os.mkfifo(self.data / "pipe")
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        here = os.getcwd()
        os.chdir(self.data)  # names of sockets are short
        self.addCleanup(os.chdir, here)
        listener.bind("socket")
        (self.data / "loop").symlink_to(self.data)
        (self.data / "round").symlink_to("round")
        (self.data / "dangling").symlink_to("nowhere")
        (self.data / "empty").touch()
        (self.data / os.fsdecode(b"\xff\n")).write_bytes(b"x" * 5000)
        answer = self.ask()
        self.assertEqual(answer["files"]["seen"], 7)
        self.assertEqual(answer["files"]["empty"], 1)
        self.assertEqual(answer["files"]["not_files"], 2)
        self.assertEqual(answer["files"]["dangling_links"], 2)

    def test_who_keeps_the_reads_in_flight(self):
        self.make(20, 40_000)
        self.assertEqual(self.ask(budget="1s")["engine"], "threads")
        answer = self.ask("--engine", "io_uring", budget="1s")
        told = [issue["detail"] for issue in answer["issues"] if issue["id"] == "no-io-uring"]
        self.assertEqual(answer["engine"], "threads" if told else "io_uring", told)

    def test_wrong_paths_and_wrong_words(self):
        self.assert_status(self.cli("storage", self.folder / "nowhere"), 4)
        os.mkfifo(self.folder / "pipe")
        self.assert_status(self.cli("storage", self.folder / "pipe"), 4)
        self.assert_status(self.cli("storage", self.data), 5)
        (self.data / "empty").touch()
        done = self.cli("storage", self.data, "--json")
        self.assert_status(done, 5)
        self.assertEqual(done.stdout, b"")
        self.assertIn(b"empty", done.stderr)
        for words in (["--budget", "20"], ["--budget", "1ms"], ["--evict", "none"], ["--engine", "aio"], []):
            done = self.cli("storage", *([self.data] if words else []), *words)
            self.assert_status(done, 2)

    def test_files_that_this_user_may_not_read(self):
        prefix = as_nobody()
        if prefix is None:
            self.skipTest("needs root and setpriv to be somebody else")
        for path in self.make(3, 5000):
            os.chmod(path, 0o600)
        command = [*prefix, CLI, "storage", str(self.data)]
        done = self.run_as(command)
        self.assert_status(done, 5)
        self.assertIn(b"Permission denied", done.stderr)
        for path in self.make(3, 50_000, prefix="open"):
            os.chmod(path, 0o644)
        done = self.run_as([*command, "--json", "--budget", "1s"])
        self.assert_status(done, 0)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["files"]["unreadable"], 3)
        self.assertIn("storage-unreadable", [issue["id"] for issue in answer["issues"]])

    def run_as(self, command):
        import subprocess
        return subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, timeout=120, check=False)

    def test_text_fits_a_terminal(self):
        self.make(20, 40_000)
        done = self.cli("storage", self.data, "--budget", "1s", "--evict", "all")
        self.assert_status(done, 0)
        lines = done.stdout.decode().splitlines()
        self.assertLessEqual(max(len(line) for line in lines), 80)
        self.assertEqual(done.stderr, b"")


if __name__ == "__main__":
    unittest.main(verbosity=2)
