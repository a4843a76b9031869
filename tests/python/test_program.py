"""Where the package finds the command, and what environment it starts it with."""

import os
import shutil
import unittest
from unittest import mock

from harness import CLI, PackageTest

from stallcast import _program


class FindTest(PackageTest):
    def executable(self, name, content="#!/bin/sh\n"):
        path = self.write(name, content)
        path.chmod(0o755)
        return str(path)

    def find(self, here, path="", **how):
        with mock.patch.object(_program, "_HERE", str(here)), mock.patch.dict(os.environ, {"PATH": path}):
            return _program.find(**how)

    def test_order(self):
        here = self.folder / "prefix" / "share" / "stallcast" / "python" / "stallcast"
        for folder in (here / "_tool" / "bin", self.folder / "prefix" / "bin", self.folder / "elsewhere"):
            folder.mkdir(parents=True)
        elsewhere = str(self.folder / "elsewhere")
        self.assertIsNone(self.find(here, elsewhere))
        on_path = self.executable("elsewhere/stallcast")
        self.assertEqual(self.find(here, elsewhere), on_path)
        self.assertEqual(self.find(here, os.pathsep.join(["", "/does/not/exist", elsewhere])), on_path)
        installed = self.executable("prefix/bin/stallcast")
        self.assertEqual(self.find(here, elsewhere), installed)
        of_wheel = self.executable("prefix/share/stallcast/python/stallcast/_tool/bin/stallcast")
        self.assertEqual(self.find(here, elsewhere), of_wheel)

    def test_what_cannot_be_executed_is_passed_over(self):
        here = self.folder / "stallcast"
        (here / "_tool" / "bin").mkdir(parents=True)
        self.write("stallcast/_tool/bin/stallcast", "")
        self.assertIsNone(self.find(here))

    def test_a_script_is_not_what_main_starts(self):
        (self.folder / "scripts").mkdir()
        (self.folder / "programs").mkdir()
        self.executable("scripts/stallcast")
        shutil.copy("/bin/true", self.folder / "programs" / "stallcast")
        path = os.pathsep.join([str(self.folder / "scripts"), str(self.folder / "programs")])
        self.assertEqual(self.find(self.folder, path), str(self.folder / "scripts" / "stallcast"))
        self.assertEqual(self.find(self.folder, path, binary=True), str(self.folder / "programs" / "stallcast"))

    def test_the_command_line(self):
        done = self.run_python("-m", "stallcast", "--version")
        self.assertEqual((done.returncode, done.stdout), (0, self.run_command(CLI, "--version").stdout))
        done = self.run_python("-m", "stallcast", environment={"PATH": "/does/not/exist"})
        self.assertEqual(done.returncode, 127)
        self.assertIn("there is no stallcast command here", done.stderr)


class EnvironmentTest(unittest.TestCase):
    def clean(self, **variables):
        with mock.patch.dict(os.environ, variables, clear=True):
            return _program.environment()

    def test_what_belongs_to_a_run_is_left_out(self):
        shim = os.path.dirname(os.path.dirname(_program.__file__))
        self.assertEqual(self.clean(STALLCAST_RUN_DIR="/run", STALLCAST_CAPTURE_LIB="/lib/ours.so",
                                    LD_PRELOAD="/lib/ours.so", PYTHONPATH=shim, HOME="/home"), {"HOME": "/home"})
        self.assertEqual(self.clean(STALLCAST_CAPTURE_LIB="/lib/ours.so", LD_PRELOAD="/lib/ours.so:/lib/theirs.so",
                                    PYTHONPATH=shim + ":/theirs", STALLCAST_GPU_LIB="/gpu.so",
                                    CUDA_INJECTION64_PATH="/gpu.so"),
                         {"LD_PRELOAD": "/lib/theirs.so", "PYTHONPATH": "/theirs"})

    def test_what_is_the_users_stays(self):
        theirs = {"LD_PRELOAD": "/lib/theirs.so", "PYTHONPATH": "/theirs", "STALLCAST_GPU_PROBE": "off",
                  "CUDA_INJECTION64_PATH": "/theirs.so", "TMPDIR": "/tmp"}
        self.assertEqual(self.clean(**theirs), theirs)


if __name__ == "__main__":
    unittest.main()
