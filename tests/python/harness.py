"""What the tests of the package `stallcast` share: the package as it lies in the tree, with the built command on PATH.

Environment (set by CMake): STALLCAST_CLI, the command; STALLCAST_TEST_SHIM, the folder that holds the package.
"""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

CLI = os.environ.get("STALLCAST_CLI") or shutil.which("stallcast") or sys.exit("STALLCAST_CLI names no stallcast")
SHIM = os.environ.get("STALLCAST_TEST_SHIM") or str(
    pathlib.Path(__file__).resolve().parents[2] / "probes" / "capture" / "python")
PATIENCE_S = 300
sys.path.insert(0, SHIM)

# A job that waits for `wait` of every `wait + loop` seconds.
JOB = """
import time, stallcast
class Batches:
    batch_size = 4
    def __init__(self, wait, batches):
        self.wait, self.batches = wait, batches
    def __iter__(self):
        for _ in range(self.batches):
            time.sleep(self.wait)
            yield [bytearray(10)] * 4
def train(wait, loop, batches=50):
    for batch in stallcast.wrap(Batches(wait, batches), workers=0):
        time.sleep(loop)
        stallcast.step()
"""


def needs(*modules):
    """Ends the program as skipped where this Python has not all of `modules`."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            print("skipped: this Python has no " + module)
            sys.exit(77)


class PackageTest(unittest.TestCase):
    """A test with a scratch folder, where temporary files lie as well."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="stallcast.package-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("STALLCAST_")}
        self.environment.update(TMPDIR=str(self.temporary), PYTHONPATH=SHIM, PYTHONDONTWRITEBYTECODE="1",
                                PATH=os.pathsep.join([os.path.dirname(CLI), os.environ.get("PATH", "")]))

    def write(self, name, content):
        path = self.folder / name
        path.write_text(textwrap.dedent(content))
        return path

    def run_python(self, *words, **how):
        """Runs Python to its end; stdout and stderr as text."""
        return self.run_command(sys.executable, *words, **how)

    def run_command(self, *command, environment=()):
        return subprocess.run([*map(str, command)], cwd=self.folder, env=dict(self.environment, **dict(environment)),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=PATIENCE_S, check=False)

    def profile(self, script, *options):
        """Runs `script` under `stallcast profile`, passively unless `options` say otherwise."""
        path = self.write("job.py", script)
        chosen = options or ("--phases", "as_is")
        done = self.run_command(CLI, "profile", "--quiet", "--force", "-o", self.folder / "out", *chosen, "--",
                                sys.executable, path)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def left_behind(self):
        return sorted(path.name for path in self.temporary.iterdir())
