"""What the phases of one process share: the schedule, the turns taken so far, the task that travels to a worker, the end.

phases.py carries the schedule out; worker.py reads a Task where its batch is made.
"""

import multiprocessing
import os
import sys
import time

from . import capture, phase_plan, replay
from .capture import calls


class Task:
    """An index list on its way to a worker, with what the worker must know. Pickled to spawned workers."""

    __slots__ = ("payload", "number", "phase", "segment", "round", "argument", "seed")

    def __init__(self, payload, number, segment):
        self.payload = payload
        self.number = number  # of the batch within its pass
        self.phase = segment.phase if segment else phase_plan.AS_IS
        self.segment = segment.index if segment else 0xFFFFFFFF
        self.round = segment.round if segment else 0
        self.argument = segment.argument if segment else 0
        self.seed = segment.seed if segment else 0

    def __getstate__(self):
        return tuple(getattr(self, name) for name in self.__slots__)

    def __setstate__(self, state):
        for name, value in zip(self.__slots__, state):
            setattr(self, name, value)

    def begin(self, iterator_id):
        calls.library.stallcast_phase_begin(
            self.phase, self.segment, self.round, self.argument, self.seed, iterator_id, self.number
        )


class Run:
    """What all passes of this process share."""

    def __init__(self):
        self.enabled = None  # asked once
        self.plan = None
        self.rounds = None
        self.turns = 0  # taken by the script since arming
        self.armed_loader = None
        self.phased = None  # the Phased that was made last
        self.ring = replay.Ring()
        self.last_ring = replay.Ring()  # of one batch: the last one of a pass
        self.steps_seen = False
        self.last_pass = None  # of the last wait
        self.missed = 0
        self.draw = None  # of the current pass
        self.worker_loops = set()  # modules whose worker loops understand a Task


run = Run()


def is_phased():
    if run.enabled is None:
        run.enabled = _bind()
    return run.enabled


def _bind():
    import ctypes

    library = calls.library
    if not calls.enabled or not hasattr(library, "stallcast_phased"):
        return False
    library.stallcast_phased.restype = ctypes.c_int
    if not library.stallcast_phased():
        return False
    u32, u64 = ctypes.c_uint32, ctypes.c_uint64
    library.stallcast_joins_passes.restype = ctypes.c_int
    library.stallcast_data_received.restype = ctypes.c_int
    library.stallcast_segment.argtypes = [u32, ctypes.POINTER(u64)]
    library.stallcast_segment.restype = ctypes.c_int
    library.stallcast_phase_slot.argtypes = [u64, u64, u64, u64, u32, u32, u64, u32]
    library.stallcast_phase_slot.restype = None
    library.stallcast_phase_segment.argtypes = [u32]
    library.stallcast_phase_segment.restype = None
    library.stallcast_phase_begin.argtypes = [u32, u32, u32, u64, u32, u64, u64]
    library.stallcast_phase_begin.restype = None
    for function in (library.stallcast_phase_end, library.stallcast_phase_left):
        function.argtypes = []
        function.restype = None
    fields = (u64 * 8)()

    def read(index):
        if not library.stallcast_segment(index, fields):
            return None
        return phase_plan.Segment(index, *fields)

    run.plan = phase_plan.Plan(read, calls.segments)
    run.rounds = phase_plan.Rounds(lambda: run.draw())
    return True


def is_armed():
    """Whether this process trains on repeated and replayed batches from now on."""
    return run.armed_loader is not None


def finish(iterator):
    """The agreed end of a throwaway run: flush, workers down, device done, gone. No destructor, no exit handler."""
    capture.text(capture.TEXT_MARK, {"what": "finished", "begin_ns": time.monotonic_ns(), "end_ns": 0})
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    try:
        iterator._shutdown_workers()
        for child in multiprocessing.active_children():  # workers of other loaders
            if child.daemon:
                child.terminate()
    except Exception:
        pass
    torch = sys.modules.get("torch")
    try:
        if torch is not None and torch.cuda.is_initialized():
            torch.cuda.synchronize()
    except Exception:
        pass
    calls.library.stallcast_phase_left()
    os._exit(0)
