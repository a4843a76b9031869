#!/usr/bin/env python3
"""Ctrl-C, SIGTERM and worse: the command gets each signal once, the report is still written, nothing stays behind."""
import json
import os
import pty
import signal
import struct
import subprocess
import unittest

from harness import CLI, JOB, PATIENCE_S, PYTHON, CliTest


class Signals(CliTest):
    def start_counting_job(self, **how):
        """A job that counts signals, once it iterates."""
        self.counts = self.folder / "counts"
        process = self.start(PYTHON, JOB, 0, 0.02, "count=%s" % self.counts, "until=%s" % (self.folder / "never"), **how)
        self.wait_until_iterating()
        return process

    def finish(self, process):
        out, errors = process.communicate(timeout=PATIENCE_S)
        self.stdout = out
        self.assertEqual(self.run_folders(), [], errors)
        return process.returncode

    def test_a_signal_to_us_alone_is_passed_on_once(self):
        for name in ("SIGINT", "SIGTERM"):
            with self.subTest(signal=name):
                self.out = self.folder / name
                process = self.start_counting_job()
                process.send_signal(getattr(signal, name))
                self.assertEqual(self.finish(process), 0)
                self.assertEqual(self.counts.read_text(), name + " 1\n")
                self.assert_results()
                self.assertTrue(self.log()[-1]["interrupted"])
                self.assertIn(b"batches", self.stdout)

    def test_other_signals_are_passed_on_and_end_nothing(self):
        process = self.start_counting_job()
        process.send_signal(signal.SIGUSR1)
        self.wait_for(lambda: "SIGUSR1 1" in self.counts.read_text(), "SIGUSR1")
        process.send_signal(signal.SIGHUP)
        self.wait_for(lambda: "SIGHUP 1" in self.counts.read_text(), "SIGHUP")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process), 0)
        self.assertEqual(self.counts.read_text(), "SIGHUP 1\nSIGUSR1 1\nSIGTERM 1\n")

    def test_a_command_without_a_handler_dies_of_the_signal_and_is_reported(self):
        process = self.start(PYTHON, "-S", JOB, 0, 0.02, "until=%s" % (self.folder / "never"))
        self.wait_until_iterating()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process), 128 + signal.SIGTERM)
        self.assert_results()

    def test_ctrl_c_in_a_terminal_reaches_the_command_once(self):
        self.counts = self.folder / "counts"
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.folder)
            os.environ.clear()
            os.environ.update(self.environment)
            os.execv(CLI, [CLI, "profile", "-o", str(self.out), "--phases", "as_is", "--", PYTHON, JOB, "0", "0.02",
                           "count=%s" % self.counts, "until=%s" % (self.folder / "never")])
        self.wait_until_iterating()
        os.write(terminal, b"\x03")
        try:
            while os.read(terminal, 65536):
                pass
        except OSError:  # the terminal's other side is closed
            pass
        _, status = os.waitpid(child, 0)
        os.close(terminal)
        self.assertEqual(os.waitstatus_to_exitcode(status) if hasattr(os, "waitstatus_to_exitcode") else status, 0)
        self.assertEqual(self.counts.read_text(), "SIGINT 1\n")
        self.assert_results()

    def test_signals_that_were_ignored_stay_ignored(self):
        self.counts = self.folder / "counts"
        process = self.start(PYTHON, "-c", "import signal, time; open('up', 'w'); time.sleep(1.5); "
                             "print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN)",
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN), options=["-q"])
        self.wait_for((self.folder / "up").exists, "the command")
        process.send_signal(signal.SIGHUP)
        self.assertEqual(self.finish(process), 0)
        self.assertEqual(self.stdout, b"True\n")


class Stop(CliTest):
    """--stop: the command is ended as Ctrl-C would end it, with force where that is not enough."""

    STOP = ("--stop", "--budget", "500ms")

    def outcome(self):
        return json.loads((self.out / "profile.json").read_text())["outcome"]

    def test_the_command_gets_one_ctrl_c_and_its_end_is_a_success(self):
        counts = self.folder / "counts"
        done = self.profile(PYTHON, JOB, 0, 0.01, "count=%s" % counts, "until=%s" % (self.folder / "never"), "exit=3",
                            options=self.STOP)
        self.assert_status(done, 0)
        self.assertEqual(counts.read_text(), "SIGINT 1\n")
        self.assertTrue(done.stdout.startswith(b"batches "))
        self.assert_results()
        self.assertTrue(self.log()[-1]["ended_by_us"])
        self.assertFalse(self.log()[-1]["interrupted"])
        self.assertEqual((self.outcome()["status"], self.outcome()["child_exit_code"]), ("measured", 3))
        self.assertIn("ended as asked", self.outcome()["words"])

    def test_a_command_that_ended_before_has_its_own_status(self):
        done = self.profile(PYTHON, JOB, 20, 0.01, "exit=3", options=("--stop", "--budget", "60s"))
        self.assert_status(done, 3)
        self.assertFalse(self.log()[-1]["ended_by_us"])
        self.assertEqual(self.outcome()["status"], "child_failed")

    def test_who_does_not_hear_is_told_again_and_then_killed(self):
        until = "until=%s" % (self.folder / "never")
        jobs = {}
        for ignored, number in (("SIGINT", signal.SIGTERM), ("SIGINT,SIGTERM", signal.SIGKILL)):
            self.out = self.folder / ignored
            jobs[number] = (self.out, self.start(PYTHON, JOB, 0, 0.01, until, "ignore=" + ignored, options=self.STOP))
        for number, (self.out, process) in jobs.items():
            with self.subTest(number=number):
                _, errors = process.communicate(timeout=PATIENCE_S)
                self.assertEqual(process.returncode, 0, errors)
                self.assertEqual(self.log()[-1]["signal"], number)
                self.assertEqual(self.outcome()["status"], "measured")

    def test_ctrl_c_reaches_the_commands_group_and_nobody_else(self):
        helper = self.folder / "helper"
        script = ("import os, subprocess, sys\n"
                  "null = subprocess.DEVNULL\n"
                  "daemon = subprocess.Popen(['sleep', '60'], start_new_session=True, stdout=null, stderr=null)\n"
                  "open(%r, 'w').write(str(daemon.pid))\n"
                  "os.execv(sys.executable, [sys.executable] + sys.argv[1:])" % str(helper))
        inner = [CLI, "profile", "-o", str(self.out), "-q", "--phases", "as_is", *self.STOP, "--", PYTHON, "-c", script, JOB,
                 "0", "0.01", "count=%s" % (self.folder / "counts"), "until=%s" % (self.folder / "never")]
        # A shell of the same process group, which Ctrl-C of a terminal would end as well.
        done = subprocess.run(["sh", "-c", '"$@"; echo "then $?"', "sh", *inner], cwd=self.folder, env=self.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              start_new_session=True, timeout=PATIENCE_S)
        self.assertTrue(done.stdout.endswith(b"then 0\n"), done)
        daemon = int(helper.read_text())
        os.kill(daemon, 0)  # it was to outlive the command, and does
        os.kill(daemon, signal.SIGKILL)
        self.assertIn("sleep", self.issues()["processes-left-running"]["detail"])

    def test_one_of_several_tools_cannot_stop_the_job(self):
        self.environment.update(RANK="0", WORLD_SIZE="2")
        done = self.profile("true", options=["--stop"])
        self.assert_status(done, 125)
        self.assertIn(b"--stop", done.stderr)


class KilledTool(CliTest):
    def test_the_job_goes_on_and_analyze_recovers(self):
        self.kill_and_recover("as_is")

    def test_the_job_goes_on_where_phases_were_asked_for(self):
        self.kill_and_recover("cold,cached,synthetic,supply")

    def kill_and_recover(self, phases):
        done, until = self.folder / "done", self.folder / "until"
        process = self.start(PYTHON, JOB, 0, 0.01, "until=%s" % until, "done=%s" % done, phases=phases)
        def batches():
            folders = self.run_folders()
            ticks = self.ticks_with_batches(folders[0]) if folders else []
            return ticks and ticks[-1]["ranks"][0]["batches"] > 20
        self.wait_for(batches, "20 batches")
        process.kill()
        process.wait()
        until.write_text("")
        self.wait_for(lambda: done.exists() and done.read_text(), "the end of the job")
        folder = self.run_folders()[0]
        self.assertNotIn("end", [line["kind"] for line in self.log(folder)])
        recovered = self.cli("analyze", folder, "-o", self.out)
        self.assert_status(recovered, 0)
        profile = json.loads((self.out / "profile.json").read_text())
        self.assertEqual(profile["ranks"][0]["batches"], int(done.read_text()))
        self.assertTrue((self.out / "report.html").is_file())
        self.assertTrue(list((self.out / "recordings").glob("*.rec")))

    def test_a_tool_that_is_killed_while_the_recording_is_off_does_not_silence_the_job(self):
        self.environment["STALLCAST_OVERHEAD"] = "always"
        process = self.start(PYTHON, JOB, 0, 0.01, "until=%s" % (self.folder / "until"))

        def recording():
            control = b"".join(path.read_bytes() for path in self.temporary.glob("stallcast-*/control"))
            return struct.unpack_from("=8sII40sIiQI", control)[-1] if len(control) > 100 else None
        self.wait_until_iterating()  # the file is there, all of it 0, before the tool has written its first word
        self.wait_for(lambda: recording() == 0, "a stretch without recording")
        process.send_signal(signal.SIGSTOP)  # no edge may come between the look and the kill
        was_off = recording() == 0
        process.kill()
        process.wait()
        self.assertTrue(was_off)
        self.wait_for(lambda: recording() == 1, "the job to switch its recording on again")
        (self.folder / "until").write_text("")

    def test_analyze_of_nothing_names_the_folders_that_were_left(self):
        process = self.start(PYTHON, JOB, 0, 0.01, "until=%s" % (self.folder / "until"))
        self.wait_for(lambda: list(self.temporary.glob("stallcast-*/control")), "a run folder that can be analysed")
        process.kill()
        process.wait()
        (self.folder / "until").write_text("")
        done = self.cli("analyze", self.folder / "nothing")
        self.assert_status(done, 4)
        self.assertIn(str(self.run_folders()[0]).encode(), done.stderr)


class LeftBehind(CliTest):
    def test_a_process_that_outlives_the_command_is_named_and_left_alone(self):
        flag = self.folder / "flag"
        script = "sleep 30 > /dev/null 2>&1 & echo $! > %s; exit 0" % flag
        self.assert_status(self.profile("sh", "-c", script, options=["-q"]), 0)
        pid = int(flag.read_text())
        os.kill(pid, 0)  # still there
        os.kill(pid, signal.SIGKILL)
        self.assertIn("sleep", self.issues()["processes-left-running"]["detail"])

    def test_orphans_are_waited_for_and_counted(self):
        script = "(i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; exit 0) & exit 0"
        self.assert_status(self.profile("sh", "-c", script, options=["-q"]), 0)
        self.assertNotIn("processes-left-running", self.issues())


if __name__ == "__main__":
    unittest.main(verbosity=2)
