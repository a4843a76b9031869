"""Runs scripts with and without the shim, as the tool would, and reads what was recorded.

Environment (set by CMake): STALLCAST_TEST_LIB, the capture library; STALLCAST_TEST_SHIM, the folder of sitecustomize.
"""

import contextlib
import importlib.util
import json
import mmap
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

from recording import Run

LIBRARY = os.environ["STALLCAST_TEST_LIB"]
SHIM = os.environ["STALLCAST_TEST_SHIM"]
TIMEOUT_S = 120
# What newer interpreters say of the scripts: they fork beside threads; torch compiles slowly on 3.13.0.
IGNORED_WARNINGS = "This process", "Guards may run slower"


_CONTROL_BYTES = 2 << 20  # more than the block takes
_HEARTBEAT_AT = 64
_SEGMENTS_AT = 128 + 64 * 64 + 64 * 64  # behind the lines of 64 ranks, of 64 bytes each, twice


def write_control(folder, segments=None):
    """The head of the control block of probes/record/control.hpp, recording switched on; all behind it is zero but the
    segments, where states are to be made: tuples (first, batches, phase, round, at_once, argument, seed, made_as)."""
    mode, count = (1, 0) if segments is None else (2, len(segments))
    head = struct.pack("<8sII40sIiQIIQQQII", b"STALLCTL", 7, mode, b"test", 0, os.getpid(), 0, 1, 0, 1 << 30, 0, 0, count, 0)
    with open(os.path.join(folder, "control"), "wb") as file:
        file.write(head)
        file.seek(_SEGMENTS_AT)
        for first, batches, phase, number, at_once, argument, seed, made_as in segments or ():
            file.write(struct.pack("<QQIIIIII", first, argument, batches, phase, number, at_once, seed, made_as))
        file.truncate(_CONTROL_BYTES)


class Heartbeat:
    """The tool's sign of life in a control block, for as long as the block lasts, or for that many seconds."""

    def __init__(self, folder, seconds=None):
        self._until = None if seconds is None else time.monotonic() + seconds
        self._path = os.path.join(folder, "control")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat)

    def __enter__(self):
        self._thread.start()

    def __exit__(self, *exception):
        self._stop.set()
        self._thread.join()

    def _beat(self):
        with open(self._path, "r+b") as file, mmap.mmap(file.fileno(), _CONTROL_BYTES) as control:
            while True:
                struct.pack_into("<Q", control, _HEARTBEAT_AT, time.monotonic_ns())
                if self._stop.wait(0.1) or (self._until is not None and time.monotonic() > self._until):
                    return


class Result:
    """How a script ended and what was recorded of it (run: None without the shim)."""

    def __init__(self, finished, run):
        self.status = finished.returncode
        self.out = finished.stdout
        self.err = finished.stderr
        self.run = run


def has_module(name):
    """Whether a module, or one within a package, could be imported."""
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:  # of the package
        return False


class ShimTest(unittest.TestCase):
    """Tests with a folder of their own. NEEDS names a module without which its class is skipped."""

    NEEDS = None

    @classmethod
    def setUpClass(cls):
        if cls.NEEDS is not None and not has_module(cls.NEEDS):
            raise unittest.SkipTest("%s has no %s" % (sys.executable, cls.NEEDS))
        cls.folder = tempfile.mkdtemp(prefix="stallcast-shim-")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)

    @staticmethod
    def torch_version():
        import torch

        return tuple(int(part) for part in torch.__version__.split(".")[:2])

    @classmethod
    def write(cls, name, content):
        path = os.path.join(cls.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(textwrap.dedent(content))
        return path

    @classmethod
    def python(cls, *arguments, shim=True, preload=True, python_path=(), environment=None, wish=None,
               segments=None, alive=True):
        """Runs this interpreter with `arguments` the way the tool does; `wish` is the content of loader.json. `segments`: states
        are made, by a tool that shows signs of life where it is `alive`: a number, for so many seconds."""
        env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "STALLCAST"))}
        env.pop("LD_PRELOAD", None)
        run_folder = None
        path = list(python_path)
        if shim:
            run_folder = tempfile.mkdtemp(prefix="run-", dir=cls.folder)
            write_control(run_folder, segments)
            if wish is not None:
                with open(os.path.join(run_folder, "loader.json"), "w") as file:
                    json.dump(wish, file)
            path.insert(0, SHIM)
            env.update(STALLCAST_RUN_DIR=run_folder, STALLCAST_CAPTURE_LIB=LIBRARY)
            if preload:
                env["LD_PRELOAD"] = LIBRARY
        if path:
            env["PYTHONPATH"] = os.pathsep.join(path)
        env["PYTHONWARNINGS"] = ",".join("ignore:" + message for message in IGNORED_WARNINGS)
        env.update(environment or {})
        seconds = None if alive is True else alive
        with Heartbeat(run_folder, seconds) if segments is not None and alive else contextlib.nullcontext():
            finished = subprocess.run(
                [sys.executable, *arguments],
                env=env,
                cwd=cls.folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                universal_newlines=True,
                timeout=TIMEOUT_S,
            )
        return Result(finished, Run(run_folder) if shim else None)

    def assert_fine(self, result):
        """The script succeeded, nothing was printed beyond its own output, and the shim found nothing to report."""
        self.assertEqual((result.status, result.err), (0, ""))
        if result.run is not None:
            self.assertEqual(result.run.issues, [])


def main():
    """Runs the tests of the calling file; status 77 where all of them were skipped, which ctest counts as skipped."""
    result = unittest.main(exit=False, verbosity=2).result
    if not result.wasSuccessful():
        sys.exit(1)
    if result.skipped and (result.testsRun == 0 or len(result.skipped) >= result.testsRun):
        sys.exit(77)
