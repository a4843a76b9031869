"""The numbers of the run that this process belongs to, while it goes on.

Nothing here counts by itself: `stallcast analyze` reads what was recorded so far, in a process of its own that gives
way to the job on the CPU. While a measured run makes its states (`profile` without `--phases as_is`) there are no numbers:
to analyse would disturb what is being measured.
"""

import os
import shutil
import struct
import subprocess
import tempfile
import weakref

from . import _program, _summary

_PATIENCE_S = 60  # for an analysis, which takes a second or two
_LEAST_URGENT = 19
# The control block (probes/record/control.hpp): its version, the mode of a run with states, and the lines of its ranks.
_ABI, _WITH_STATES = 7, 2
_HEAD = struct.Struct("<8sII")
_RANKS, _PHASES_AT, _LINE_BYTES = 64, 128 + 64 * 64, 64
_LINE = struct.Struct("<4Q8I")  # of a rank; armed: states are made of its batches; at_end: no more


def run_folder():
    """Where the processes of the run record; None outside of one."""
    folder = os.environ.get("STALLCAST_RUN_DIR", "")
    return folder if folder and os.path.isfile(os.path.join(folder, "control")) else None


def makes_states(folder):
    """Whether this run is at present bringing a loader into states."""
    with open(os.path.join(folder, "control"), "rb") as file:
        head = file.read(_PHASES_AT + _RANKS * _LINE_BYTES)
    _, abi, mode = _HEAD.unpack_from(head)
    if mode != _WITH_STATES or _has_let_go():
        return False
    if abi != _ABI:
        return True  # of another version: nobody knows
    for rank in range(_RANKS):
        fields = _LINE.unpack_from(head, _PHASES_AT + rank * _LINE_BYTES)
        armed, at_end = fields[4], fields[11]
        if armed and not at_end:
            return True
    return False


def _has_let_go():
    """Whether the tool says so to all processes of the run."""
    import ctypes

    try:
        return not ctypes.PyDLL(None).stallcast_phased()
    except AttributeError:
        return False  # the launcher dropped LD_PRELOAD


class Analysis:
    """One look at what was recorded so far."""

    def __init__(self, folder, program):
        self._place = tempfile.mkdtemp(prefix="stallcast.so-far-")
        started = []
        self._end = weakref.finalize(self, _clean, self._place, started, os.getpid())
        recordings = os.path.join(self._place, "recordings")
        os.mkdir(recordings)
        for entry in os.scandir(folder):  # links: a run's recordings may be large
            if entry.name != "control" and entry.is_file():
                os.symlink(entry.path, os.path.join(recordings, entry.name))
        self._process = subprocess.Popen(
            [program, "analyze", "--quiet", self._place], env=_program.environment(), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        started.append(self._process)
        os.setpriority(os.PRIO_PROCESS, self._process.pid, _LEAST_URGENT)

    def has_ended(self):
        return self._process.poll() is not None

    def numbers(self, patience_s=_PATIENCE_S):
        """What came of it; {} if nothing did."""
        try:
            if self._process.wait(patience_s) != 0:
                return {}
            return _summary.flat(_summary.read(self._place))
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return {}
        finally:
            self._end()


def _clean(place, processes, owner):
    """Where the training ends or forgets it. A worker that was forked meanwhile holds a copy, which ends nothing."""
    if os.getpid() != owner:
        return
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.wait()
    shutil.rmtree(place, ignore_errors=True)


def begin():
    """An analysis of the run so far; None outside a run, while states are made, or where there is no command."""
    folder = run_folder()
    program = _program.find() if folder else None
    if program is None or makes_states(folder):
        return None
    return Analysis(folder, program)


class Numbers:
    """For callbacks: asks in one moment and takes in a later one, so that the training waits for nothing.

    Nothing here raises.
    """

    def __init__(self):
        self._analysis = None

    def ask(self):
        """Begins to look at the run, unless that is being done."""
        if self._analysis is None:
            try:
                self._analysis = begin()
            except Exception:
                self._analysis = None

    def take(self):
        """What was asked for, once, as soon as it is there; else {}."""
        if self._analysis is None or not self._analysis.has_ended():
            return {}
        analysis, self._analysis = self._analysis, None
        return analysis.numbers()

    def last(self):
        """All of the run so far, waited for."""
        self._analysis = None
        return now()


def now():
    """The numbers of the run so far; {} where there are none."""
    try:
        analysis = begin()
        return analysis.numbers() if analysis is not None else {}
    except Exception:
        return {}
