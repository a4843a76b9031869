#!/usr/bin/env python3
"""Where results go: what is refused, what is replaced, full disks, ordinary users."""
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import unittest

from harness import CLI, JOB, PATIENCE_S, PYTHON, CliTest, as_nobody

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"


class Output(CliTest):
    def test_a_folder_with_content_is_refused_and_untouched(self):
        self.out.mkdir()
        (self.out / "thesis").write_text("years")
        done = self.profile("true")
        self.assert_status(done, 125)
        self.assertIn(b"--force", done.stderr)
        self.assertEqual(os.listdir(self.out), ["thesis"])
        self.assertEqual(self.run_folders(), [])

    def test_force_replaces_ours_only(self):
        self.assert_status(self.profile(PYTHON, JOB, 20, 0.01), 0)
        first = (self.out / "profile.json").read_text()
        old = sorted(path.name for path in (self.out / "recordings").iterdir())
        (self.out / "thesis").write_text("years")
        (self.out / "recordings/notes.txt").write_text("mine")
        self.assert_status(self.profile(PYTHON, JOB, 25, 0.01, options=["--force"]), 0)
        self.assertNotEqual((self.out / "profile.json").read_text(), first)
        self.assertEqual((self.out / "thesis").read_text(), "years")
        self.assertEqual((self.out / "recordings/notes.txt").read_text(), "mine")
        new = sorted(path.name for path in (self.out / "recordings").iterdir())
        self.assertEqual(set(old) & set(new), {"tool.jsonl", "cpu_samples"})

    def test_a_forced_run_that_cannot_start_keeps_the_old_results(self):
        self.assert_status(self.profile(PYTHON, JOB, 20, 0.01), 0)
        before = {path: path.read_bytes() for path in self.out.rglob("*") if path.is_file()}
        self.assert_status(self.profile("stallcast-no-such-command", options=["--force"]), 127)
        self.assertEqual(before, {path: path.read_bytes() for path in self.out.rglob("*") if path.is_file()})

    def test_a_file_is_refused_even_by_force(self):
        self.out.write_text("a file")
        self.assert_status(self.profile("true", options=["--force"]), 125)
        self.assertEqual(self.out.read_text(), "a file")

    def test_without_o_the_next_free_name_is_taken_and_named(self):
        for name in ("stallcast-profile", "stallcast-profile-2"):
            done = self.cli("profile", "--", "true")
            self.assert_status(done, 0)
            self.assertIn((name + "/profile.json").encode(), done.stderr)
            self.assertTrue((self.folder / name / "report.html").is_file())

    def test_a_place_that_cannot_be_written(self):
        done = self.cli("profile", "-o", "/proc/stallcast/out", "--", "true")
        self.assert_status(done, 125)
        self.assertIn(b"hint:", done.stderr)
        self.assertEqual(self.run_folders(), [])

    def test_a_tmpdir_that_does_not_exist(self):
        self.environment["TMPDIR"] = str(self.folder / "nowhere")
        done = self.profile("true")
        self.assert_status(done, 125)
        self.assertIn(b"TMPDIR", done.stderr)
        self.assertFalse(self.out.exists())


class Again(CliTest):
    def test_report_in_every_format(self):
        self.assert_status(self.profile(PYTHON, JOB, 30, 0.01), 0)
        for name in ("text", "json", "html", "md", "csv", "perfetto", "openmetrics"):
            with self.subTest(format=name):
                done = self.cli("report", self.out, "--format", name)
                self.assert_status(done, 0)
                self.assertTrue(done.stdout)
                written = self.folder / ("report." + name)
                self.assert_status(self.cli("report", self.out, "-f", name, "-o", written), 0)
                self.assertEqual(written.read_bytes(), done.stdout)
        self.assert_status(self.cli("report", self.out / "profile.json"), 0)
        self.assert_status(self.cli("report", self.out, "--format", "pdf"), 2)
        self.assert_status(self.cli("report", self.folder / "nothing"), 4)

    def test_a_report_for_others_and_where_it_cannot_go(self):
        profile = GOLDEN / "fetch-bound.json"
        before = os.umask(0o022)
        try:
            self.assert_status(self.cli("report", profile, "-f", "openmetrics", "-o", self.folder / "job.prom"), 0)
        finally:
            os.umask(before)
        # A textfile collector reads it under a name of its own.
        self.assertEqual(stat.S_IMODE(os.stat(self.folder / "job.prom").st_mode), 0o644)
        for name in ("text", "json", "html", "md", "csv", "perfetto", "openmetrics"):
            with self.subTest(format=name):
                with open("/dev/full", "wb") as full:
                    done = subprocess.run([CLI, "report", profile, "-f", name], stdout=full, stderr=subprocess.PIPE,
                                          env=self.environment, check=False)
                self.assertEqual(done.returncode, 3)
                self.assertIn(b"cannot write to stdout", done.stderr)
                done = self.cli("report", profile, "-f", name, "-o", "/dev/full")
                self.assert_status(done, 3)
                self.assertIn(b"/dev/full", done.stderr)
                reading, writing = os.pipe()
                os.close(reading)
                done = subprocess.run([CLI, "report", profile, "-f", name], stdout=writing, stderr=subprocess.PIPE,
                                      env=self.environment, check=False)
                os.close(writing)
                self.assertIn(done.returncode, (3, -signal.SIGPIPE))
                done = self.cli("report", profile, "-f", name, "-o", self.folder / "nowhere" / "report")
                self.assert_status(done, 3)
        self.assertEqual(self.cli("report", profile, "-o", "/dev/stdout").stdout, self.cli("report", profile).stdout)
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/full").st_mode))

    def test_analyze_again_gives_the_same_profile(self):
        self.assert_status(self.profile(PYTHON, JOB, 30, 0.01), 0)
        first = json.loads((self.out / "profile.json").read_text())
        self.assert_status(self.cli("analyze", self.out), 0)
        self.assertEqual(json.loads((self.out / "profile.json").read_text()), first)
        self.assert_status(self.cli("analyze", self.out / "recordings", "-o", self.folder / "other"), 0)
        self.assertEqual(json.loads((self.folder / "other/profile.json").read_text()), first)

    def test_variables_for_a_launcher(self):
        done = self.cli("env", "--out", self.folder / "runs")
        self.assert_status(done, 0)
        script = 'eval "$1"; shift; "$@"'
        job = subprocess.run(["sh", "-c", script, "sh", done.stdout.decode(), PYTHON, JOB, "30", "0.01"], check=False,
                             env=self.environment, stdout=subprocess.PIPE)
        self.assertEqual(job.stdout, b"batches 30\n")
        folder = next((self.folder / "runs").iterdir())
        self.assert_status(self.cli("analyze", folder, "-o", self.out), 0)
        self.assertEqual(json.loads((self.out / "profile.json").read_text())["ranks"][0]["batches"], 30)


class FullDisk(CliTest):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root can mount a small file system")

    def mount(self, size):
        """A $TMPDIR with just so much room."""
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + size, "tmpfs", str(self.temporary)], check=False,
                              stderr=subprocess.PIPE)
        if done.returncode != 0:
            self.skipTest("cannot mount a tmpfs: " + done.stderr.decode().strip())
        self.addCleanup(subprocess.run, ["umount", "-l", str(self.temporary)], check=False)

    def test_no_room_is_said_before_the_command_starts(self):
        self.mount("1m")
        done = self.profile("touch", self.folder / "ran")
        self.assert_status(done, 125)
        self.assertIn(b"free", done.stderr)
        self.assertFalse((self.folder / "ran").exists())
        self.assertFalse(self.out.exists())
        self.assertEqual(os.listdir(self.temporary), [])

    def test_little_room_bounds_the_recording_and_is_reported(self):
        self.mount("6m")
        done = self.profile(PYTHON, JOB, 90000, 0, options=["-q"])
        self.assert_status(done, 0)
        self.assertIn(b"batches 90000", done.stdout)
        self.assert_results()
        self.assertIn("recording-budget-reduced", self.issues())
        self.assertIn("recording-budget-exhausted", self.issues())

    def test_a_disk_that_fills_up_while_recording(self):
        self.mount("12m")
        done = self.profile(PYTHON, JOB, 400, 0.01, "fill=%s" % self.temporary, "crowd=30", options=["-q"])
        self.assert_status(done, 0)
        self.assertIn(b"batches 400", done.stdout)
        self.assertTrue((self.out / "profile.json").is_file())
        self.assertIn("tool-log-incomplete", self.issues())


class OrdinaryUser(CliTest):
    def setUp(self):
        super().setUp()
        self.user = as_nobody()
        if self.user is None:
            self.skipTest("needs root and setpriv to become somebody else")
        readable = subprocess.run([*self.user, CLI, "--version"], check=False, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        if readable.returncode != 0:
            self.skipTest("an ordinary user cannot reach the build folder")
        reach = subprocess.run([*self.user, PYTHON, JOB, "0", "0"], check=False, stderr=subprocess.PIPE)
        self.python = PYTHON if reach.returncode == 0 else shutil.which("python3", path="/usr/bin:/bin")
        if self.python is None:
            self.skipTest("an ordinary user cannot reach a Python")

    def profile_as_user(self, out, *command):
        return subprocess.run([*self.user, CLI, "profile", "-o", str(out), "--phases", "as_is", "--",
                               *map(str, command)], check=False,
                              cwd="/", env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=PATIENCE_S)

    def test_without_any_privilege(self):
        os.chmod(self.folder, 0o777)
        done = self.profile_as_user(self.out, self.python, JOB, 30, 0.01)
        self.assert_status(done, 0)
        self.assert_results()
        self.assertEqual(self.out.stat().st_uid, 65534)

    def test_a_folder_of_somebody_else_is_refused_before_the_command_starts(self):
        closed = self.folder / "closed"
        closed.mkdir(mode=0o755)
        marker = pathlib.Path(self.temporary) / "ran"
        for out in (closed, closed / "new"):
            with self.subTest(out=out):
                done = self.profile_as_user(out, "touch", marker)
                self.assert_status(done, 125)
                self.assertIn(b"-o DIR", done.stderr)
                self.assertFalse(marker.exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
