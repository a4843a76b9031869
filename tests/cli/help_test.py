#!/usr/bin/env python3
"""What tells people how to use the tool: help, manual page, completion."""
import pathlib
import re
import shutil
import subprocess
import unittest

from harness import CLI, CliTest

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "cli"
FIRST = ["profile", "report", "recommend", "whatif", "diff"]


class Help(CliTest):
    def lists(self):
        """The command lists of the help, by heading."""
        lists, heading = {}, None
        for line in self.cli("--help").stdout.decode().splitlines():
            if re.fullmatch(r"[A-Z].*:", line):
                heading = line[:-1]
            elif re.match(r"  [a-z]", line):
                lists.setdefault(heading, []).append(line.split()[0])
        return lists

    def commands(self):
        return [name for names in self.lists().values() for name in names]

    def complete(self, *words):
        """What bash would offer for the last of `words`."""
        script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _stallcast; printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "--norc", "-c", script, "bash", SOURCE / "completion/stallcast.bash", CLI, *words],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode().split()

    def test_the_five_commands_come_first(self):
        lists = self.lists()
        self.assertEqual(next(iter(lists.values())), FIRST)
        self.assertEqual(len(lists), 2)

    def test_the_manual_page_has_every_command_and_exit_status(self):
        page = (SOURCE / "stallcast.1").read_text()
        for name in self.commands():
            self.assertIn(f".TP\n.B {name}\n", page, f"cli/stallcast.1 does not describe {name}")
        for status in (0, 1, 2, 3, 4, 5, 70):
            self.assertIn(f".TP\n.B {status}\n", page)
        if shutil.which("man"):
            done = subprocess.run(["man", "--warnings=all", "-l", SOURCE / "stallcast.1"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, check=False, env={**self.environment, "MANPAGER": "cat", "LC_ALL": "C"})
            self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_completion_offers_what_the_help_lists(self):
        self.assertEqual(set(self.complete("")), {*self.commands(), "--help", "--version"})
        self.assertEqual(self.complete("rep"), ["report"])
        for name in self.commands():
            with self.subTest(name):
                options = self.cli(name, "--help").stdout.decode().split("Options:")[1]
                listed = set(re.findall(r"(?m)^  (?:-\w,)?(--[a-z-]+)", options))
                self.assertTrue(listed)
                self.assertLessEqual(listed, set(self.complete(name, "-")))

    def test_completion_of_values(self):
        self.assertIn("perfetto", self.complete("report", "out", "-f", ""))
        self.assertEqual(self.complete("diff", "a", "b", "-f", ""), ["text", "json", "md", "html"])
        self.assertEqual(self.complete("plan", "a", "-f", ""), ["text", "json", "html"])
        self.assertIn("workers=", self.complete("whatif", "out", "--set", "w"))
        offered = self.complete("whatif", "out", "--set", "")
        self.assertTrue({"workers=", "storage_latency=", "nodes=", "echo="} <= set(offered), offered)
        self.assertEqual(self.complete("verify", "out", "--set", ""),
                         ["workers=", "prefetch=", "cpus=", "storage_bandwidth=", "storage_iops=", "cache=", "cache_policy="])
        (self.folder / "my-profile").mkdir()
        self.assertEqual(self.complete("recommend", "my"), ["my-profile"])
        self.assertIn("bash", self.complete("profile", "--", "bas"))

    def test_the_zsh_completion_is_a_script_of_zsh(self):
        if shutil.which("zsh") is None:
            self.skipTest("no zsh here")
        subprocess.run(["zsh", "-n", SOURCE / "completion/_stallcast"], check=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
