"""What all passes of this process share while states are made, and what an index list carries to a worker."""

import ctypes

from .. import capture
from ..capture import calls
from . import plan


class Task:
    """An index list on its way to a worker, with what the worker must know. Pickled to spawned workers."""

    __slots__ = ("payload", "number", "phase", "segment", "argument", "seed")

    def __init__(self, payload, number, segment):
        self.payload = payload
        self.number = number  # of the batch within its pass, as torch counts
        self.phase = made_as(segment) if segment else plan.AS_IS
        self.segment = segment.index if segment else plan.NO_SEGMENT
        self.argument = segment.argument if segment else 0
        self.seed = segment.seed if segment else 0

    def __getstate__(self):
        return tuple(getattr(self, name) for name in self.__slots__)

    def __setstate__(self, state):
        for name, value in zip(self.__slots__, state):
            setattr(self, name, value)

    def begin(self, iterator_id, is_stream):
        calls.library.stallcast_phase_begin(
            self.phase, self.segment, int(is_stream), self.argument, self.seed, iterator_id, self.number
        )


_IN_HOLD = {plan.COLD: plan.SUPPLY_COLD, plan.CACHED: plan.SUPPLY_CACHED}


def made_as(segment):
    """The phase in which the segment's batches are made: those of a burst are made while the script is held."""
    if segment.phase != plan.SYNTHETIC:
        return segment.phase
    return _IN_HOLD.get(segment.made_as, plan.AS_IS)


class Run:
    """What all passes of this process share."""

    def __init__(self):
        self.enabled = None  # asked once; False for good once everything has let go
        self.plan = None
        self.turns = 0  # taken by the script from the armed loader
        self.armed_loader = None
        self.measured = None  # the Measured that was made last
        self.steps_seen = False
        self.trains_with_gradients = False  # on batches of passes that were begun with torch's gradients kept
        self.forked_from_rank = None  # RANK of the training that this process was forked from
        self.last_pass = None  # of the last wait
        self.missed = 0
        self.failed_holds = 0
        self.passes = 0  # over the armed loader
        self.worker_loops = set()  # modules whose worker loops understand a Task
        self.answered = 0  # serial of the tool's last question


run = Run()


def is_phased():
    """Whether states are made in this process."""
    if run.enabled is None:
        run.enabled = _bind()
    return run.enabled


def _bind():
    library = calls.library
    if not calls.enabled or not hasattr(library, "stallcast_phased"):
        return False
    library.stallcast_phased.restype = ctypes.c_int
    if not library.stallcast_phased():
        return False
    u32, u64 = ctypes.c_uint32, ctypes.c_uint64
    signatures = {
        "data_received": ([], ctypes.c_int),
        "tool_alive": ([], ctypes.c_int),
        "ahead": ([ctypes.POINTER(u64)], u32),
        "segment": ([u32, ctypes.POINTER(u64)], ctypes.c_int),
        "phase_slot": ([u64, u64, u64, u32, u32, u32, u32, u32], None),
        "phase_ready": ([u32], ctypes.c_int),
        "phase_held": ([u64], None),
        "phase_at_end": ([u32], None),
        "phase_begin": ([u32, u32, u32, u64, u32, u64, u64], None),
        "phase_end": ([], None),
    }
    for name, (arguments, result) in signatures.items():
        function = getattr(library, "stallcast_" + name)
        function.argtypes, function.restype = arguments, result
    fields = (u64 * 8)()

    def read(index):
        return plan.Segment(index, *fields) if library.stallcast_segment(index, fields) else None

    run.plan = plan.Plan(read, calls.segments)
    return True


def let_go():
    """Nothing of ours acts in this process any more; it goes on being recorded."""
    run.enabled = False
    run.measured = None
    capture.text(capture.TEXT_MARK, {"what": "let_go", "begin_ns": capture.now_ns(), "end_ns": 0})
    calls.library.stallcast_phase_at_end(1)
