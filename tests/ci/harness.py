"""What the tests of the check share: the module as a job of a build service calls it, in folders of the test's own."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "probes" / "capture" / "python"
PATIENCE_S = 120
SERVICES = ("GITHUB_", "GITLAB_", "CI_", "STALLCAST_")


class CheckTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="stallcast-ci-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.output = self.folder / "result"
        self.summary = self.folder / "summary.md"
        for side in ("base", "head"):
            (self.folder / side).mkdir()
        # Nothing of a build service that runs these tests, and no proxy before our own server.
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith(SERVICES) and not key.lower().endswith("_proxy")}
        self.environment.update(PYTHONPATH=str(PACKAGE), PYTHONDONTWRITEBYTECODE="1", TMPDIR=str(self.folder),
                                GITHUB_STEP_SUMMARY=str(self.summary))

    def check(self, *words, **environment):
        """Runs `python -m stallcast.check`; stdout and stderr as text."""
        return subprocess.run([sys.executable, "-m", "stallcast.check", *map(str, words)], cwd=self.folder,
                              env={**self.environment, **environment}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, timeout=PATIENCE_S, check=False)

    def assert_status(self, done, status):
        self.assertEqual(done.returncode, status, done.stdout[-3000:] + done.stderr[-3000:])

    def page(self):
        return (self.output / "check.md").read_text(encoding="utf-8")
