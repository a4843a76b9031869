"""What the end-to-end tests share: the real CLI around real commands, each test in folders of its own."""
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import unittest

CLI = os.environ.get("STALLCAST_CLI") or shutil.which("stallcast") or sys.exit("STALLCAST_CLI names no stallcast")
JOB = str(pathlib.Path(__file__).with_name("marked_job.py"))
PYTHON = sys.executable
# How long something that must happen may take on a busy machine. Shorter than what a test file has in all, so that it is
# the test that says what did not happen.
PATIENCE_S = 150
RUN_S = 300  # how long a whole run may take there


class CliTest(unittest.TestCase):
    """A test with a scratch folder, and a $TMPDIR of its own in which nothing may stay behind."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="stallcast-cli-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.chmod(self.folder, 0o755)
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        os.chmod(self.temporary, 0o1777)
        self.out = self.folder / "out"
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("STALLCAST_")}
        self.environment["TMPDIR"] = str(self.temporary)

    def cli(self, *words, **how):
        """Runs the CLI to its end; stdout and stderr as bytes."""
        how.setdefault("env", self.environment)
        how.setdefault("cwd", self.folder)
        how.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run([CLI, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=RUN_S, check=False, **how)

    def profile(self, *command, options=(), phases="as_is", **how):
        """A passive run unless `phases` says otherwise."""
        return self.cli("profile", "-o", self.out, "--phases", phases, *options, "--", *command, **how)

    def start(self, *command, options=(), phases="as_is", **how):
        """Starts `profile` around a command and returns the process; passive unless `phases` says otherwise."""
        how.setdefault("env", self.environment)
        process = subprocess.Popen([CLI, "profile", "-o", str(self.out), "--phases", phases, *options, "--",
                                    *map(str, command)], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, **how)
        self.addCleanup(end, process)
        return process

    def wait_for(self, condition, what):
        """Waits until `condition()` is true and returns its value."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            value = condition()
            if value:
                return value
            time.sleep(0.02)
        return self.fail("waited in vain for " + what)

    def run_folders(self):
        return sorted(self.temporary.glob("stallcast-*"))

    def log(self, folder=None):
        """The lines of tool.jsonl."""
        path = (folder or self.out / "recordings") / "tool.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]

    def ticks_with_batches(self, folder):
        """Ticks of a run that may still go on: none before its log exists; a line being written is left out."""
        path = folder / "tool.jsonl"
        written = path.read_text().splitlines(keepends=True) if path.exists() else []
        lines = [json.loads(line) for line in written if line.endswith("\n")]
        return [line for line in lines if line["kind"] == "tick" and any(rank["batches"] for rank in line["ranks"])]

    def wait_until_iterating(self):
        """Waits until the one job that runs has had batches."""
        def iterating():
            folders = self.run_folders()
            return folders and self.ticks_with_batches(folders[0])
        self.wait_for(iterating, "the first batches")

    def issues(self):
        """Ids of the issues in profile.json."""
        profile = json.loads((self.out / "profile.json").read_text())
        return {issue["id"]: issue for issue in profile["issues"]}

    def assert_status(self, done, status):
        self.assertEqual(done.returncode, status, done.stderr.decode(errors="replace")[-4000:])

    def assert_results(self):
        """The three results are there, private, and nothing else stayed on disk."""
        self.assertTrue((self.out / "profile.json").is_file())
        self.assertTrue((self.out / "report.html").is_file())
        for path in [self.out, *self.out.rglob("*")]:
            expected = 0o700 if path.is_dir() else 0o600
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), expected, path)
        self.assertEqual(self.run_folders(), [])


def end(process):
    """Kills the tool where it still runs. Its job may hold the pipes: nobody waits for their end."""
    if process.poll() is None:
        process.kill()
    process.wait()
    process.stdout.close()
    process.stderr.close()


def as_nobody():
    """Arguments that run what follows as an ordinary user, or None where that cannot be done."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        return None
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
