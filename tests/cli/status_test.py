#!/usr/bin/env python3
"""Exit statuses and standard streams: a wrapped command behaves as it does without us."""
import os
import pathlib
import shutil
import subprocess
import unittest

from harness import CLI, JOB, PYTHON, CliTest


class Status(CliTest):
    def test_a_measured_command(self):
        done = self.profile(PYTHON, JOB, 30, 0.01)
        self.assert_status(done, 0)
        self.assert_results()
        self.assertTrue(done.stdout.startswith(b"batches 30\n"))
        self.assertGreater(len(done.stdout), 100)  # the report follows
        kinds = [line["kind"] for line in self.log()]
        self.assertEqual(kinds[:2], ["run", "host"])
        self.assertEqual(kinds[-1], "end")
        self.assertEqual(self.log()[0]["command"], [PYTHON, JOB, "30", "0.01"])
        self.assertEqual(self.ticks_with_batches(self.out / "recordings")[-1]["ranks"][0]["batches"], 30)
        self.assertEqual(len(list((self.out / "recordings").glob("*.rec"))), 1)

    def test_the_status_of_a_command_that_fails_and_a_report_of_what_was_measured(self):
        done = self.profile(PYTHON, JOB, 30, 0.01, "exit=3")
        self.assert_status(done, 3)
        self.assert_results()
        self.assertEqual(self.log()[-1]["exit_code"], 3)

    def test_a_command_that_a_signal_ends(self):
        for number in (9, 15, 11):
            with self.subTest(signal=number):
                self.out = self.folder / ("out%d" % number)
                self.assert_status(self.profile(PYTHON, JOB, 5, 0.01, "die=%d" % number), 128 + number)
                self.assert_results()
                self.assertEqual(self.log()[-1]["signal"], number)

    def test_not_found_is_127_and_leaves_nothing(self):
        done = self.profile("stallcast-no-such-command")
        self.assert_status(done, 127)
        self.assertIn(b"stallcast-no-such-command", done.stderr)
        self.assertFalse(self.out.exists())
        self.assertEqual(self.run_folders(), [])

    def test_nothing_is_announced_of_a_command_that_does_not_exist(self):
        done = self.cli("profile", "-o", self.out, "--", "stallcast-no-such-command")
        self.assert_status(done, 127)
        self.assertEqual(done.stderr.decode().splitlines(),
                         ["stallcast: cannot run stallcast-no-such-command: No such file or directory"])

    def test_a_mistyped_command_is_named_with_the_one_that_was_meant(self):
        for words, meant in ((["profil", "--", "true"], "did you mean 'profile'?"), (["wahtif"], "did you mean 'whatif'?"),
                             (["temperature"], "stallcast --help"), ([], "stallcast --help"),
                             (["--", "true"], "stallcast profile -- COMMAND")):
            with self.subTest(words):
                done = self.cli(*words)
                self.assert_status(done, 2)
                self.assertIn(meant, done.stderr.decode())

    def test_not_executable_is_126_and_leaves_nothing(self):
        plain = self.folder / "plain"
        plain.write_text("echo no\n")
        for command in (plain, self.folder):
            with self.subTest(command=command):
                self.assert_status(self.profile(command), 126)
                self.assertFalse(self.out.exists())
                self.assertEqual(self.run_folders(), [])

    def test_a_script_without_interpreter_line_runs_in_the_shell(self):
        script = self.folder / "script"
        script.write_text('test "$1" = "a b" && exit 5\n')
        script.chmod(0o755)
        self.assert_status(self.profile(script, "a b"), 5)

    def test_our_own_errors_are_125(self):
        for words in (["profile"], ["profile", "--bogus", "--", "true"], ["profile", "--phases", "cold,warm", "--", "true"],
                      ["profile", "--budget", "60", "--", "true"], ["profile", "--stop", "now", "--", "true"], ["profile", "--recording-budget", "x", "--", "true"]):
            with self.subTest(words=words):
                done = self.cli(*words)
                self.assert_status(done, 125)
                self.assertIn(b"hint:", done.stderr)
                self.assertEqual(done.stdout, b"")
        self.environment["STALLCAST_OVERHEAD"] = "sometimes"
        self.assert_status(self.profile("true"), 125)

    def test_usage_errors_of_other_commands_are_2(self):
        for words in ([], ["frobnicate"], ["report"], ["report", "--bogus", "x"]):
            with self.subTest(words=words):
                self.assert_status(self.cli(*words), 2)

    def test_version_and_help(self):
        self.assertRegex(self.cli("--version").stdout, rb"^stallcast \d+\.\d+\.\d+\n$")
        text = self.cli("--help").stdout.decode()
        self.assertLess(text.index("  profile "), text.index("  report "))
        self.assertLess(text.index("  report "), text.index("  analyze "))


class Streams(CliTest):
    def test_binary_stdout_is_untouched(self):
        data = bytes(range(256)) * 4096
        (self.folder / "data").write_bytes(data)
        quiet = self.profile("cat", self.folder / "data", options=["-q"])
        self.assert_status(quiet, 0)
        self.assertEqual(quiet.stdout, data)
        self.out = self.folder / "loud"
        loud = self.profile("cat", self.folder / "data")
        self.assertEqual(loud.stdout[:len(data)], data)

    def test_stdin_is_the_commands(self):
        self.assertEqual(self.profile("cat", options=["-q"], stdin=None, input=b"one\0two").stdout, b"one\0two")

    def test_64_megabytes_of_stderr(self):
        script = "import sys\nfor _ in range(1024): sys.stderr.write('e' * 65536)"
        with open(self.folder / "stderr", "wb") as errors:
            done = subprocess.run([CLI, "profile", "-o", str(self.out), "-q", "--phases", "as_is", "--", PYTHON,
                                   "-c", script], check=False,
                                  cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=errors)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout, b"")
        head = (self.folder / "stderr").read_bytes()[:64 << 20]
        self.assertEqual(head.count(b"e"), 64 << 20)

    def test_a_command_that_reads_our_arguments_does_not_lose_any(self):
        words = ["--force", "-o", "--", "x", "--help", "report"]
        done = self.profile(PYTHON, "-c", "import sys; print(sys.argv[1:])", *words, options=["-q"])
        self.assertEqual(done.stdout.decode().strip(), str(words))

    def test_no_descriptor_of_ours_reaches_the_command(self):
        script = "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd')))"
        plain = subprocess.run([PYTHON, "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
        self.assertEqual(self.profile(PYTHON, "-c", script, options=["-q"]).stdout, plain.stdout)


class NoLoader(CliTest):
    def test_a_command_without_a_loader_is_told_how_to_mark_its_steps(self):
        done = self.profile("sh", "-c", "exit 0")
        self.assert_status(done, 0)
        self.assert_results()
        hint = self.issues()["no-loader-found"]["hint"]
        self.assertIn("stallcast.wrap", hint)
        self.assertIn("stallcast/capture.h", hint)

    def test_isolated_python(self):
        for command in ([PYTHON, "-I", "-c", "import time; time.sleep(0.1)"],
                        ["sh", "-c", "%s -E -c 'import time; time.sleep(3)'; true" % PYTHON]):
            with self.subTest(command=command):
                self.out = self.folder / ("out%d" % len(command))
                self.assert_status(self.profile(*command), 0)
                self.assertIn("python-isolated", self.issues())
                self.assertIn("no-loader-found", self.issues())

    def test_a_static_binary(self):
        static = shutil.which("ldconfig", path="/sbin:/usr/sbin:" + os.environ.get("PATH", ""))
        if static is None or b"INTERP" in subprocess.run(["readelf", "-l", static], stdout=subprocess.PIPE,
                                                         check=False).stdout:
            self.skipTest("no statically linked program was found")
        self.assert_status(self.profile(static, "-p"), 0)
        self.assertIn("static-binary", self.issues())

    def test_an_environment_that_was_stripped(self):
        done = self.profile("env", "-i", PYTHON, "-c", "import time; time.sleep(3)")
        self.assert_status(done, 0)
        self.assertIn("environment-stripped", self.issues())


class Environment(CliTest):
    def test_a_secret_is_recorded_nowhere(self):
        secret = "hunter2-7d1f9a"
        self.environment["API_TOKEN"] = secret
        self.environment["OMP_NUM_THREADS"] = "3"
        self.assert_status(self.profile(PYTHON, JOB, 20, 0.01), 0)
        for path in self.out.rglob("*"):
            if path.is_file():
                self.assertNotIn(secret.encode(), path.read_bytes(), path)
        self.assertEqual(self.log()[1]["environment"]["OMP_NUM_THREADS"], "3")

    def test_a_preloaded_library_stays(self):
        maps = pathlib.Path("/proc/self/maps").read_text().splitlines()
        libraries = [line.split()[-1] for line in maps if "/libz.so" in line or "/libm.so" in line or "/libm-" in line]
        if not libraries:
            self.skipTest("this interpreter has no library mapped that could be preloaded")
        self.environment["LD_PRELOAD"] = libraries[0]
        done = self.profile("sh", "-c", 'echo "$LD_PRELOAD"; cat /proc/self/maps', options=["-q"])
        self.assert_status(done, 0)
        self.assertEqual(done.stdout.splitlines()[0].split(b":")[-1], libraries[0].encode())
        self.assertIn(b"libstallcast_capture.so", done.stdout.splitlines()[0])
        self.assertIn(libraries[0].encode(), done.stdout.split(b"\n", 1)[1])

    def test_a_sitecustomize_of_the_user_still_runs(self):
        (self.folder / "site").mkdir()
        (self.folder / "site/sitecustomize.py").write_text("import builtins\nbuiltins.mine = 'mine ran'\n")
        self.environment["PYTHONPATH"] = str(self.folder / "site")
        done = self.profile(PYTHON, "-c", "print(mine)", options=["-q"])
        self.assertEqual(done.stdout, b"mine ran\n", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
