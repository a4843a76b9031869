"""Phases: the schedule that the tool publishes, carried out on one live iterator of the training loader.

    _next_index -> take()     which index list a worker gets next, and the phase that its batch belongs to
    __next__    -> deliver()  what the script gets: the worker's batch, or a replayed one

Nothing here decides what is measured or for how long: phase_plan.py follows the segments, and whatever does not fit is
run as found. The script sees as many batches in a pass as without us, and the last one is its own.
"""

import collections
import itertools
import multiprocessing
import os
import sys
import time
import weakref

from . import capture, phase_plan, replay
from .capture import calls

ARM_AFTER = 8  # batches of a loader before it is armed: imports, lazy initialisation and the first steps are over
ARM_WITHOUT_STEPS = 20  # the same where the script never calls an optimizer

PASS = "_stallcast_pass"  # attribute of an iterator: its loader.Pass

_UNKNOWN_END = (1 << 64) - 1


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


class _Run:
    """What all passes of this process share."""

    def __init__(self):
        self.enabled = None  # asked once
        self.plan = None
        self.rounds = None
        self.turns = 0  # taken by the script since arming
        self.armed_loader = None
        self.phased = None  # the Phased that was made last
        self.ring = replay.Ring()
        self.steps_seen = False
        self.last_pass = None  # of the last wait
        self.missed = 0
        self.draw = None  # of the current pass


_run = _Run()


def is_phased():
    if _run.enabled is None:
        _run.enabled = _bind()
    return _run.enabled


def _bind():
    import ctypes

    library = calls.library
    if not calls.enabled or not hasattr(library, "stallcast_phased"):
        return False
    library.stallcast_phased.restype = ctypes.c_int
    if not library.stallcast_phased():
        return False
    u32, u64 = ctypes.c_uint32, ctypes.c_uint64
    library.stallcast_segment.argtypes = [u32, ctypes.POINTER(u64)]
    library.stallcast_segment.restype = ctypes.c_int
    library.stallcast_phase_slot.argtypes = [u64, u64, u64, u64, u32, u32, u64, u32]
    library.stallcast_phase_slot.restype = None
    library.stallcast_phase_begin.argtypes = [u32, u32, u32, u64, u32, u64, u64]
    library.stallcast_phase_begin.restype = None
    library.stallcast_phase_end.argtypes = []
    library.stallcast_phase_end.restype = None
    fields = (u64 * 8)()

    def read(index):
        if not library.stallcast_segment(index, fields):
            return None
        first, batches, phase, round_, workers, argument, seed, _ = fields
        return phase_plan.Segment(index, first, batches, phase, round_, workers, argument, seed)

    _run.plan = phase_plan.Plan(read)
    _run.rounds = phase_plan.Rounds(lambda: _run.draw())
    return True


def is_armed():
    """Whether this process trains on repeated and replayed batches from now on."""
    return _run.armed_loader is not None


class Phased:
    """One armed pass. `base` is the turn of the pass's batch 0, counted as if it had been armed from there.

    Made in the middle of a pass, it finds batches under way: they are as found, and the issuer begins after them.
    """

    def __init__(self, iterator, current_pass):
        self.current_pass = current_pass
        self.iterator_id = current_pass.iterator_id
        self.workers = iterator._num_workers
        self.prefetch = getattr(iterator, "_prefetch_factor", 0) or 0
        begin = current_pass.sent if self.workers else current_pass.delivered
        self.base = _run.turns - current_pass.delivered
        self.position = current_pass.delivered
        self.iterator = weakref.ref(iterator)
        length = _length(iterator)
        end = None if length is None else self.base + length
        self.issuer = phase_plan.Issuer(_run.plan, self.base + begin, end, self.base)
        self.lists = phase_plan.Lists(iterator._sampler_iter)
        self.held = 0
        self.limit = 0  # workers that may be given work; 0: all
        self.announced = -1
        self.taken = begin - 1  # number of the batch whose indices were taken last
        self.under_way = collections.deque(range(current_pass.delivered, begin))  # numbers in order of delivery
        _run.draw = self.lists.draw
        if _run.phased is not None:
            _run.missed += _run.phased.issuer.missed
        _run.phased = self
        self._publish(1)

    def is_over(self):
        """Whether the script has seen the end of this pass, or has let go of it."""
        iterator = self.iterator()  # one of persistent workers goes on to the next pass
        return self.current_pass.is_over or getattr(iterator, PASS, None) is not self.current_pass

    def _publish(self, armed):
        end = self.issuer.end
        calls.library.stallcast_phase_slot(
            armed, max(self.turn(), 0), max(self.base, 0), _UNKNOWN_END if end is None else end,
            self.workers, self.prefetch, _run.missed + self.issuer.missed, 0,
        )

    def turn(self):
        """Of the batch that the script asks for next."""
        return self.base + self.position

    # --- what is made next ---------------------------------------------------------------------------------------

    def take(self, iterator):
        """The next index list (without workers) or the Task that carries it. StopIteration: nothing to make now."""
        if self.limit and iterator._tasks_outstanding >= self.limit * self.prefetch:
            self.held += 1
            raise StopIteration
        item = self.issuer.next()
        if item is None:
            raise StopIteration
        self._choose_workers(iterator, item.segment)
        payload = self._indices(item)
        number = item.number if item.number >= phase_plan.SUPPLY_NUMBERS else item.number - self.base
        self.taken = number
        task = Task(payload, number, item.segment)
        if self.workers:
            self.under_way.append(number)
            return task
        task.begin(self.iterator_id)
        return payload

    def _indices(self, item):
        if item.segment is not None:
            return _run.rounds.index(item.segment, item.position)
        if self.issuer.end is not None and item.number == self.issuer.end - 1:
            return self.lists.last()
        return self.lists.draw()

    def _choose_workers(self, iterator, segment):
        wanted = segment.workers if segment is not None and segment.workers < self.workers else 0
        if wanted != self.limit and self.workers:
            self.limit = wanted
            iterator._worker_queue_idx_cycle = itertools.cycle(range(wanted or self.workers))

    def refill(self, iterator):
        """Index lists that were held back while fewer workers were allowed, or while batches were replayed."""
        while self.held > 0:
            limit = (self.limit or self.workers) * self.prefetch
            if iterator._tasks_outstanding >= limit:
                return
            self.held -= 1
            iterator._try_put_index()

    # --- what the script gets ------------------------------------------------------------------------------------

    def before(self, iterator, pull):
        """Supply batches and the end of the run come before the script's wait begins. `pull()` gets one batch."""
        self.issuer.check()
        turn = self.turn()
        if _run.plan.ends(turn):
            finish(iterator)
        if self.issuer.end is not None and turn >= self.issuer.end:
            return  # the script asks beyond the last batch: what comes next belongs to the next pass
        for segment in _run.plan.supplies(turn):
            self._announce(segment)
            for _ in range(segment.batches):
                pull()
        segment = self._segment()
        if segment is None:
            return
        if segment.phase == phase_plan.SYNTHETIC and turn == segment.first:
            _run.ring.prepare()
        self._announce(segment)

    def _segment(self):
        """That the script's next batch belongs to; beyond the last one it is the next pass's."""
        turn = self.turn()
        if self.issuer.end is not None and turn >= self.issuer.end:
            return None
        return _run.plan.covering(turn)

    def _announce(self, segment):
        if segment.index <= self.announced:
            return
        self.announced = segment.index
        capture.text(
            capture.TEXT_SEGMENT,
            {
                "segment": segment.index, "phase": segment.phase, "round": segment.round,
                "iterator_id": self.iterator_id, "first": self.position, "batches": segment.batches,
                "workers": segment.workers or self.workers, "argument": segment.argument,
                "t_ns": time.monotonic_ns(),
            },
        )

    def replays(self):
        """Whether the script gets a replayed batch now."""
        segment = self._segment()
        return segment is not None and segment.phase == phase_plan.SYNTHETIC

    def serve(self):
        """(batch, its samples) from the ring."""
        return _run.ring.serve()

    def number(self):
        """Of the batch that torch's iterator just delivered: it delivers in order."""
        return self.under_way.popleft() if self.workers else self.taken

    def delivered(self, iterator, batch, samples, was_replayed):
        """After the script's wait was recorded, before it has the batch."""
        segment = self._segment()
        if not was_replayed and self._is_ring_turn(segment):
            _run.ring.keep(batch, samples)
        self._pass_turn()
        if self.workers:
            self.refill(iterator)

    def failed(self, is_turn):
        """A batch came as an exception, which the script may survive: it then goes on with the next one."""
        if self.under_way:
            self.under_way.popleft()
        if is_turn:
            self._pass_turn()

    def _pass_turn(self):
        self.position += 1
        _run.turns = max(_run.turns, self.turn())
        self._publish(1)

    def _is_ring_turn(self, segment):
        """The ring is filled before the first segment, and renewed by the first batches of each cold one. The last batch
        of a pass may be a smaller one."""
        if segment is None:
            return len(_run.ring) < replay.RING and self.turn() + 1 != self.issuer.end
        return segment.phase == phase_plan.COLD and self.turn() - segment.first < 2


def _length(iterator):
    try:
        return len(iterator._index_sampler)
    except TypeError:
        return None


def arm(iterator, current_pass):
    """Before a wait: the Phased of this pass, or None while (or because) it is not armed."""
    _run.last_pass = current_pass
    if current_pass.sent == 0 and not iterator._num_workers:
        arm_new_pass(iterator, current_pass)
    phased = current_pass.phased
    if phased is not None or not is_phased():
        return phased
    if not _is_due(current_pass):
        return None
    reason = _unsupported(iterator)
    if reason is not None:
        _refuse(current_pass, reason)
        return None
    _run.armed_loader = current_pass.loader
    current_pass.phased = Phased(iterator, current_pass)
    return current_pass.phased


def arm_new_pass(iterator, current_pass):
    """A further pass over the loader that is armed: phases go on from its first batch. Called before any index is taken."""
    if current_pass.phased is not None or _run.armed_loader is None or not is_phased():
        return
    if current_pass.loader is _run.armed_loader and _run.phased.is_over() and _unsupported(iterator) is None:
        current_pass.phased = Phased(iterator, current_pass)


def _is_due(current_pass):
    """Whether this pass is to be armed. One pass is at a time: turns are counted along it."""
    if current_pass.is_refused:
        return False
    loader = current_pass.loader
    if _run.phased is not None:
        if not _run.phased.is_over():
            return False
        if loader is _run.armed_loader or _is_successor(loader, _run.armed_loader):
            return True
    if loader.delivered < ARM_AFTER:
        return False
    return loader.steps > 0 or (loader.delivered >= ARM_WITHOUT_STEPS and not _run.steps_seen)


def _is_successor(loader, armed):
    """A script may make its loader anew for every epoch: the same in all that describes it."""
    if loader.text is None or armed.text is None:
        return False
    return dict(loader.text, loader_id=0) == dict(armed.text, loader_id=0)


def _unsupported(iterator):
    if iterator._dataset_kind != 0:
        return "an iterable data set has no indices to repeat"
    if not getattr(iterator, "_in_order", True):
        return "batches are delivered out of order (in_order=False)"
    if _length(iterator) is None:
        return "the loader's length is not known"
    return None


def _refuse(current_pass, reason):
    current_pass.is_refused = True
    capture.issue("phases-unsupported", "warning", "no phases: " + reason, "profile with --phases as_is")
    calls.library.stallcast_phase_slot(0, 0, 0, _UNKNOWN_END, 0, 0, 0, 1)


def end_batch():
    """The batch that this process made itself is made: its evidence is written."""
    calls.library.stallcast_phase_end()


def count_step():
    """An optimizer step was made: the pass that this thread took a batch of last is one that trains."""
    _run.steps_seen = True
    if _run.last_pass is not None:
        _run.last_pass.loader.steps += 1


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
    os._exit(0)
