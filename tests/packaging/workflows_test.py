"""The workflows in .github/workflows, which cannot be run here: they parse, their shell parses, what they use of others
is pinned to a commit, they may not more than they need, and nothing that a stranger writes gets into a shell. Run as
`workflows_test.py SOURCES`."""

import os
import pathlib
import re
import subprocess
import sys
import unittest

try:
    import yaml
except ImportError:
    print("skipped: no python3-yaml here")
    sys.exit(77)

SOURCES = pathlib.Path(sys.argv[1]).resolve()
del sys.argv[1]
WORKFLOWS = sorted((SOURCES / ".github/workflows").glob("*.yml"))


def jobs_of(path):
    yield from yaml.safe_load(path.read_text())["jobs"].items()


def steps():
    """Each step with where it stands."""
    for path in WORKFLOWS:
        for name, job in jobs_of(path):
            for number, step in enumerate(job["steps"]):
                yield f"{path.name}: {name}: step {number}", step


class Workflows(unittest.TestCase):
    def test_there_are_some(self):
        self.assertIn("tests.yml", [path.name for path in WORKFLOWS])
        self.assertIn("release.yml", [path.name for path in WORKFLOWS])

    def test_each_step_runs_or_uses(self):
        for where, step in steps():
            with self.subTest(where):
                self.assertEqual(len({"run", "uses"} & set(step)), 1)

    def test_shell_parses(self):
        for where, step in steps():
            if "run" in step:
                with self.subTest(where):
                    done = subprocess.run(["bash", "-n"], input=step["run"], stdout=subprocess.PIPE,
                                          stderr=subprocess.STDOUT, text=True, check=False)
                    self.assertEqual(done.returncode, 0, done.stdout)

    def test_nothing_is_put_into_a_shell(self):
        for where, step in steps():
            with self.subTest(where):
                self.assertNotIn("${{", step.get("run", ""), "give it by env:, where a shell does not read it")

    def test_actions_are_pinned_to_commits(self):
        for where, step in steps():
            if "uses" in step:
                with self.subTest(where):
                    self.assertRegex(step["uses"], r"^[\w.-]+/[\w./-]+@[0-9a-f]{40}$")

    def test_permissions_are_few(self):
        for path in WORKFLOWS:
            with self.subTest(path.name):
                self.assertEqual(yaml.safe_load(path.read_text())["permissions"], {"contents": "read"})
            for name, job in jobs_of(path):
                with self.subTest(f"{path.name}: {name}"):
                    self.assertLessEqual(set(job.get("permissions", {}).items()),
                                         {("contents", "read"), ("contents", "write"), ("id-token", "write")})
                    if job.get("permissions"):
                        self.assertNotIn("checkout", str(job["steps"]), "what may write runs none of our code")

    def test_our_programs_that_they_run_are_there(self):
        for where, step in steps():
            for program in re.findall(r"(?:^|\s)((?:\.ci|tests|packaging|samples)/[\w/]+)", step.get("run", "")):
                with self.subTest(where):
                    self.assertTrue(os.access(SOURCES / program, os.X_OK), program)


if __name__ == "__main__":
    unittest.main()
