"""The templates in samples/ci: their YAML, what they may do, and their scripts, run with what people may put in."""
import json
import pathlib
import re
import subprocess
import sys
import unittest

from harness import PATIENCE_S, ROOT, CheckTest

try:
    import yaml
except ImportError:
    print("yaml cannot be imported: apt install python3-yaml")
    sys.exit(77)

SAMPLES = ROOT / "samples" / "ci"
STUB = pathlib.Path(__file__).resolve().with_name("stub_python.py")
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
NASTY = "a 'b' \"c\" $(touch made) `touch made` ; touch made\n&& touch made"


def load(name):
    return yaml.safe_load((SAMPLES / name).read_text(encoding="utf-8"))


def words_of(call, option):
    return [word.split("=", 1)[1] for word in call["words"] if word.startswith(f"--{option}=")][0]


class Template(CheckTest):
    def setUp(self):
        super().setUp()
        self.calls = self.folder / "calls"
        programs = self.folder / "bin"
        programs.mkdir()
        # Its interpreter by its path: on this PATH `python3` is the stub itself.
        stub = f"#!{sys.executable}\n" + STUB.read_text(encoding="utf-8")
        for name in ("python3", "pip"):
            (programs / name).write_text(stub, encoding="utf-8")
            (programs / name).chmod(0o755)
        self.environment.update(PATH=f"{programs}:{self.environment['PATH']}", STUB_CALLS=str(self.calls))
        del self.environment["PYTHONPATH"]

    def shell(self, script, shell=("bash", "-e", "-o", "pipefail"), **environment):
        path = self.folder / "script"
        path.write_text(script)
        return subprocess.run([*shell, path], cwd=self.folder, env={**self.environment, **environment},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              universal_newlines=True, timeout=PATIENCE_S, check=False)

    def called(self):
        return [json.loads(line) for line in self.calls.read_text().splitlines()]

    def assert_parses(self, script):
        for shell in ("bash", "sh"):
            done = self.shell(script, (shell, "-n"))
            self.assertEqual((done.returncode, done.stdout), (0, ""), script)


class GitHub(Template):
    def setUp(self):
        super().setUp()
        self.action, self.workflow = load("github/action.yml"), load("github/data-wait.yml")
        self.steps = {step["name"]: step for step in self.action["runs"]["steps"]}
        self.job, = self.workflow["jobs"].values()

    def run_step(self, name, /, **inputs):
        """A step as GitHub runs it: expressions of `env` are replaced by the inputs, or by their defaults."""
        def value(match):
            key = match.group(1).replace("inputs.", "")
            return inputs.get(key, self.action["inputs"][key].get("default", ""))

        step = self.steps[name]
        environment = {key: EXPRESSION.sub(value, text) for key, text in step["env"].items()}
        return self.shell(step["run"], RUNNER_TEMP=str(self.folder), **environment)

    def test_no_expression_reaches_a_shell(self):
        steps = [*self.action["runs"]["steps"], *self.job["steps"]]
        scripts = [step["run"] for step in steps if "run" in step]
        self.assertGreaterEqual(len(scripts), 5)
        for script in scripts:
            self.assertNotIn("${{", script)
            self.assert_parses(script)
        for step in self.action["runs"]["steps"]:
            self.assertEqual(step["shell"], "bash")

    def test_actions_are_pinned_and_permissions_least(self):
        used = [step["uses"] for step in self.job["steps"] if "uses" in step]
        for name in used:
            self.assertRegex(name, r"\A(\./|[\w/-]+@[0-9a-f]{40}\Z)")
        self.assertEqual(self.workflow["permissions"], {})
        self.assertEqual(self.job["permissions"], {"contents": "read", "pull-requests": "write"})
        self.assertEqual(self.workflow[True], "pull_request")  # YAML reads the key `on` as true
        checkout = next(step for step in self.job["steps"] if step.get("uses", "").startswith("actions/checkout"))
        self.assertIs(checkout["with"]["persist-credentials"], False)

    def test_inputs_are_those_that_are_used(self):
        text = (SAMPLES / "github/action.yml").read_text(encoding="utf-8")
        self.assertEqual(set(re.findall(r"inputs\.([\w-]+)", text)), set(self.action["inputs"]))
        step = next(step for step in self.job["steps"] if step.get("uses", "").startswith("./"))
        self.assertLessEqual(set(step["with"]), set(self.action["inputs"]))
        required = {name for name, one in self.action["inputs"].items() if one.get("required")}
        self.assertLessEqual(required, set(step["with"]))

    def test_the_wheel_is_installed_by_version_or_as_a_file(self):
        for inputs, what in (({"version": "0.2.0"}, "stallcast==0.2.0"), ({"wheel": "a b.whl"}, "a b.whl"),
                             ({"version": NASTY}, f"stallcast=={NASTY}")):
            self.assert_status_of(self.run_step("Install stallcast", **inputs), 0)
            self.assertEqual(self.called()[-1]["words"][-2:], ["--", what])
        self.assert_status_of(self.run_step("Install stallcast"), 2)

    def assert_status_of(self, done, status):
        self.assertEqual(done.returncode, status, done.stdout)
        self.assertEqual([*self.folder.rglob("made")], [])

    def test_inputs_reach_the_check_as_they_are(self):
        self.run_step("Install stallcast", version="0")
        names = ("base", "head", "command", "options", "fail-on", "name", "output")
        inputs = {name: f"{name} {NASTY}" for name in names}
        self.assert_status_of(self.run_step("Run base and head, and compare", **inputs), 0)
        call = self.called()[-1]
        self.assertEqual({name: words_of(call, name) for name in names}, inputs)
        self.assertEqual((words_of(call, "rounds"), words_of(call, "on-unjudged")), ("2", "fail"))
        self.assertFalse(call["token"])

    def test_every_option_is_one_of_the_check(self):
        self.environment["PYTHONPATH"] = str(ROOT / "probes/capture/python")
        for task, name in (("run", "Run base and head, and compare"), ("post", "Write the comment")):
            known = self.check(task, "--help").stdout
            for option in re.findall(r"--[a-z][\w-]*", self.steps[name]["run"]):
                self.assertIn(option, known)

    def test_the_checks_status_is_the_steps(self):
        self.run_step("Install stallcast", version="0")
        for status in (1, 5):
            self.environment["STUB_STATUS"] = str(status)
            done = self.run_step("Run base and head, and compare", base="b", head="h", command="c")
            self.assert_status_of(done, status)

    def test_the_comment_alone_has_the_token_and_is_written_after_a_failure(self):
        self.run_step("Install stallcast", version="0")
        self.assert_status_of(self.run_step("Write the comment", token="secret"), 0)
        call = self.called()[-1]
        self.assertTrue(call["token"])
        self.assertNotIn("secret", " ".join(call["words"]))
        self.assertEqual(call["words"][:4], ["-I", "-m", "stallcast.check", "post"])  # -I: no module of the workspace
        self.assertIn("!cancelled()", self.steps["Write the comment"]["if"])
        with_token = [name for name, step in self.steps.items() if "inputs.token" in json.dumps(step)]
        self.assertEqual(with_token, ["Write the comment"])


class GitLab(Template):
    def setUp(self):
        super().setUp()
        self.template = load("gitlab/data-wait.yml")
        self.project = self.folder / "project"
        self.repository()

    def git(self, *words):
        return subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=n@example.org", "-C", str(self.project),
                               *words], check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout.strip()

    def repository(self):
        """main: 1, 3; the branch leaves at 1; checked out is the merge of both."""
        self.project.mkdir()
        self.git("init", "-q", "-b", "main")
        self.git("commit", "-q", "--allow-empty", "-m", "1")
        self.first = self.git("rev-parse", "HEAD")
        self.git("checkout", "-q", "-b", "branch")
        self.git("commit", "-q", "--allow-empty", "-m", "2")
        self.git("checkout", "-q", "main")
        self.git("commit", "-q", "--allow-empty", "-m", "3")
        self.third = self.git("rev-parse", "HEAD")
        self.git("merge", "-q", "--no-ff", "-m", "4", "branch")

    def run_job(self, name, **variables):
        job = self.template[name]
        known = {**self.template[".stallcast"]["variables"], **job["variables"], "CI_PROJECT_DIR": str(self.project),
                 "CI_MERGE_REQUEST_DIFF_BASE_SHA": self.first, **variables}
        script = "\n".join([*self.template[".stallcast"]["before_script"], *job["script"]])
        return self.shell(f'cd "$CI_PROJECT_DIR"\n{script}\n', **known)

    def test_scripts_parse(self):
        for name in ("stallcast-check", "stallcast-comment"):
            self.assert_parses("\n".join(self.template[name]["script"]))
        self.assert_parses("\n".join(self.template[".stallcast"]["before_script"]))

    def test_both_sides_and_all_settings_reach_the_check(self):
        for kind, base in (("detached", self.first), ("merged_result", self.third), ("", self.first)):
            with self.subTest(kind):
                done = self.run_job("stallcast-check", CI_MERGE_REQUEST_EVENT_TYPE=kind, CHECK_COMMAND=NASTY,
                                    CHECK_OPTIONS=NASTY)
                self.assertEqual(done.returncode, 0, done.stdout)
                call = self.called()[-1]
                folder = words_of(call, "base")
                self.assertEqual(self.git("-C", folder, "rev-parse", "HEAD"), base)
                self.assertEqual((words_of(call, "command"), words_of(call, "options")), (NASTY, NASTY))
                self.assertEqual(words_of(call, "head"), str(self.project))
                self.assertEqual([*self.folder.rglob("made")], [])

    def test_the_checks_status_is_the_jobs(self):
        self.environment["STUB_STATUS"] = "5"
        self.assertEqual(self.run_job("stallcast-check").returncode, 5)

    def test_the_comment_is_written_apart_from_the_code(self):
        job = self.template["stallcast-comment"]
        self.assertEqual(job["variables"]["GIT_STRATEGY"], "none")
        self.assertEqual(job["rules"][0]["when"], "always")
        self.assertNotIn("environment", self.template["stallcast-check"])
        self.assertEqual(job["environment"]["action"], "access")
        self.assertEqual(self.run_job("stallcast-comment").returncode, 0)
        self.assertEqual(self.called()[-1]["words"][:4], ["-I", "-m", "stallcast.check", "post"])

    def test_every_option_is_one_of_the_check(self):
        self.environment["PYTHONPATH"] = str(ROOT / "probes/capture/python")
        for task, name in (("run", "stallcast-check"), ("post", "stallcast-comment")):
            known = self.check(task, "--help").stdout
            for option in re.findall(r"--[a-z][\w-]*(?==)", "\n".join(self.template[name]["script"])):
                self.assertIn(option, known)


if __name__ == "__main__":
    unittest.main()
