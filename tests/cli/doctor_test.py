#!/usr/bin/env python3
"""doctor: what scripts read of it, that it leaves nothing behind, and that it sees what is taken away."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from harness import PYTHON, CliTest

CHECKS = ["capture_library", "python_shim", "python_torch", "run_folder", "proc_io", "page_cache", "staging_memory",
          "shared_memory", "cores", "cgroup", "kernel_limits", "open_files", "clock", "perf_events", "gpu", "cupti"]


class Doctor(CliTest):
    def ask(self, *words, status=0):
        done = self.cli("doctor", *words, "--json")
        self.assert_status(done, status)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["can_profile"], status == 0)
        return {check["id"]: check for check in answer["checks"]}

    def test_json_keeps_the_contract(self):
        done = self.cli("doctor", "--json")
        self.assert_status(done, 0)
        answer = json.loads(done.stdout)
        self.assertEqual(set(answer), {"schema_version", "can_profile", "checks"})
        self.assertEqual(answer["schema_version"], 1)
        self.assertEqual([check["id"] for check in answer["checks"]], CHECKS)
        for check in answer["checks"]:
            with self.subTest(check["id"]):
                self.assertEqual(set(check), {"id", "state", "seen", "consequence", "hint", "required"})
                self.assertIn(check["state"], ("ok", "limited", "missing"))
                self.assertTrue(check["seen"])
                self.assertEqual(bool(check["consequence"]), check["state"] != "ok", check)
        self.assertEqual({check["id"] for check in answer["checks"] if check["required"]},
                         {"capture_library", "python_shim", "run_folder"})

    def test_text_has_a_line_for_each_check(self):
        done = self.cli("doctor")
        self.assert_status(done, 0)
        lines = done.stdout.decode().splitlines()
        for name in CHECKS:
            self.assertEqual(sum(line.split("  ")[0].strip() in ("ok", "limited", "missing") and
                                 line[9:].startswith(name.replace("_", " ") + " ") for line in lines), 1, name)

    def test_nothing_stays_behind(self):
        folder = self.folder / "data"
        folder.mkdir()
        checks = self.ask(folder)
        self.assertIn(str(folder), checks["page_cache"]["seen"])
        self.assertEqual(list(folder.iterdir()), [])
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_without_python_on_path(self):
        tools = self.folder / "bin"
        tools.mkdir()
        (tools / "cat").symlink_to(shutil.which("cat"))
        self.environment["PATH"] = str(tools)
        checks = self.ask()
        self.assertEqual(checks["python_torch"]["state"], "missing")
        self.assertEqual(checks["python_shim"]["state"], "limited")
        self.assertEqual(checks["capture_library"]["state"], "ok")

    def test_a_python_that_drops_the_path(self):
        tools = self.folder / "bin"
        tools.mkdir()
        (tools / "cat").symlink_to(shutil.which("cat"))
        wrapper = tools / "python3"
        wrapper.write_text('#!/bin/sh\nexec "%s" -E "$@"\n' % PYTHON)
        wrapper.chmod(0o755)
        self.environment["PATH"] = str(tools)
        checks = self.ask(status=3)
        self.assertEqual(checks["python_shim"]["state"], "missing")

    def test_a_system_that_the_library_does_not_get_into(self):
        tools = self.folder / "bin"
        tools.mkdir()
        stranger = tools / "cat"
        stranger.write_text("#!/bin/sh\necho nothing\n")
        stranger.chmod(0o755)
        self.environment["PATH"] = str(tools)
        self.assertEqual(self.ask(status=3)["capture_library"]["state"], "missing")

    def test_no_place_for_recordings(self):
        self.environment["TMPDIR"] = str(self.folder / "absent")
        checks = self.ask(status=3)
        self.assertEqual(checks["run_folder"]["state"], "missing")
        self.assertEqual(checks["page_cache"]["state"], "limited")

    def test_data_in_memory_cannot_be_made_cold(self):
        kind = subprocess.run(["stat", "-f", "-c", "%T", "/dev/shm"], stdout=subprocess.PIPE, check=False).stdout.strip()
        if kind != b"tmpfs" or not os.access("/dev/shm", os.W_OK):
            self.skipTest("/dev/shm is no tmpfs that can be written")
        folder = pathlib.Path(tempfile.mkdtemp(prefix="stallcast-doctor-test-", dir="/dev/shm"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        self.assertEqual(self.ask(folder)["page_cache"]["state"], "limited")

    def test_fewer_cpus(self):
        one = min(os.sched_getaffinity(0))
        cores = json.loads(self.cli("doctor", "--json", preexec_fn=lambda: os.sched_setaffinity(0, {one})).stdout)["checks"]
        (check,) = [check for check in cores if check["id"] == "cores"]
        self.assertEqual(check["state"], "limited")

    def test_a_path_that_is_no_folder(self):
        self.assert_status(self.cli("doctor", self.folder / "absent"), 4)


if __name__ == "__main__":
    unittest.main(verbosity=2)
