"""Phases: the schedule that the tool publishes, carried out on one live iterator of the training loader.

    _next_index -> take()     which index list a worker gets next, and the phase that its batch belongs to
    __next__    -> deliver()  what the script gets: the worker's batch, or a replayed one

Nothing here decides what is measured or for how long: phase_plan.py follows the segments, and whatever does not fit is
run as found. The script sees as many batches in a pass as without us, and the last one is its own.
"""

import collections
import itertools

from . import capture, phase_plan, replay
from .capture import calls
from .known_phases import KEPT_APART, KnownStream
from .phase_run import Task, finish, is_armed, is_phased, run  # noqa: F401 (the rest of the shim knows phases alone)
from .stream_phases import Stream
from .taker import NO_PHASES, PASS, UNKNOWN_END, Taker  # noqa: F401

ARM_AFTER = 8  # batches of a loader before it is armed: imports, lazy initialisation and the first steps are over
ARM_WITHOUT_STEPS = 20  # the same where the script never calls an optimizer

# Iterators that send index lists to their workers as torch's does, and the module that these run (worker.py)
_LOOPS = {
    "_SingleProcessDataLoaderIter": "torch.utils.data._utils.worker",
    "_MultiProcessingDataLoaderIter": "torch.utils.data._utils.worker",
    "_StatefulSingleProcessDataLoaderIter": "torchdata.stateful_dataloader.worker",
    "_StatefulMultiProcessingDataLoaderIter": "torchdata.stateful_dataloader.worker",
}


class Phased(Taker):
    """One armed pass whose index lists are steered.

    Made in the middle of a pass, it finds batches under way: they are as found, and the issuer begins after them.
    """

    def __init__(self, iterator, current_pass):
        super().__init__(iterator, current_pass)
        begin = current_pass.sent if self.workers else current_pass.delivered
        self.period = None if _length(iterator) is not None else current_pass.loader.period
        length = self.period * (begin // self.period + 1) if self.period else _length(iterator)
        end = None if length is None else self.base + length
        self.issuer = phase_plan.Issuer(run.plan, self.base + begin, end, self.base, self.period)
        self.sampler = iterator._sampler_iter
        self.lists = phase_plan.Lists(itertools.islice(self.sampler, length - begin) if self.period else self.sampler)
        self.limit = 0  # workers that may be given work; 0: all
        self.taken = begin - 1  # number of the batch whose indices were taken last
        self.under_way = collections.deque(range(current_pass.delivered, begin))  # numbers in order of delivery
        run.draw = self.lists.draw
        if isinstance(run.phased, Phased):
            run.missed += run.phased.issuer.missed
        run.phased = self
        self.publish(self.end(), self.issuer.missed)

    def end(self):
        return self._end_after(self.turn()) if self.period else self.issuer.end

    def begin(self):
        return self.end() - self.period if self.period else self.base

    def _end_after(self, turn):
        """Of the epoch that a turn belongs to, where one iterator serves them all: to the tool each is a pass."""
        return self.base + self.period * ((turn - self.base) // self.period + 1)

    # --- what is made next ---------------------------------------------------------------------------------------

    def take(self, iterator):
        """The next index list (without workers) or the Task that carries it. StopIteration: nothing to make now."""
        if self.limit and iterator._tasks_outstanding >= self.limit * self.prefetch:
            self.held += 1
            raise StopIteration
        if self._rests():
            self.held += 1
            raise StopIteration
        item = self.issuer.next()
        if item is None:
            raise StopIteration
        self._choose_workers(iterator, item.segment)
        payload = self._indices(item)
        if self.period and item.number == self.issuer.end - 1:
            self._next_epoch()
        number = item.number if item.number >= phase_plan.SUPPLY_NUMBERS else item.number - self.base
        self.taken = number
        task = Task(payload, number, item.segment)
        if self.workers:
            self.under_way.append(number)
            return task
        task.begin(self.iterator_id)
        return payload

    def _rests(self):
        return self.workers > 0 and self.issuer.rests(self.turn())

    def _indices(self, item):
        if item.segment is not None:
            return run.rounds.index(item.segment, item.position)
        if self.issuer.end is not None and item.number == self.issuer.end - 1:
            return self.lists.last()
        return self.lists.draw()

    def _next_epoch(self):
        self.issuer.end += self.period
        self.lists = phase_plan.Lists(itertools.islice(self.sampler, self.period))
        run.draw = self.lists.draw

    def _choose_workers(self, iterator, segment):
        wanted = segment.workers if segment is not None and segment.workers < self.workers else 0
        if wanted != self.limit and self.workers:
            self.limit = wanted
            iterator._worker_queue_idx_cycle = itertools.cycle(range(wanted or self.workers))

    def refill(self, iterator):
        """Index lists that were held back while fewer workers were allowed, or while batches were replayed."""
        while self.held > 0:
            limit = (self.limit or self.workers) * self.prefetch
            if iterator._tasks_outstanding >= limit or self._rests():
                return
            self.held -= 1
            iterator._try_put_index()

    # --- what the script gets ------------------------------------------------------------------------------------

    def before(self, iterator, pull):
        """Supply batches and the end of the run come before the script's wait begins. `pull()` gets one batch."""
        self.issuer.check()
        turn = self.turn()
        if run.plan.ends(turn):
            finish(iterator)
        if self.issuer.end is not None and turn >= self.issuer.end:
            return  # the script asks beyond the last batch: what comes next belongs to the next pass
        self.refill(iterator)
        for segment in run.plan.supplies(turn):
            self.announce(segment, self.position)
            for _ in range(segment.batches):
                pull()
        segment = self.segment()
        if segment is None:
            return
        if segment.phase == phase_plan.SYNTHETIC and turn == segment.first:
            self.prepare(iterator)
        self.announce(segment, self.position)

    def segment(self):
        """That the script's next batch belongs to; beyond the last one it is the next pass's."""
        turn = self.turn()
        if self.issuer.end is not None and turn >= self.issuer.end:
            return None
        return run.plan.covering(turn)

    def number(self):
        """Of the batch that torch's iterator just delivered: it delivers in order."""
        return self.under_way.popleft() if self.workers else self.taken

    def delivered(self, iterator, batch, samples):
        """After the script's wait was recorded, before it has the batch."""
        if self._is_ring_turn(self.segment()):
            run.ring.keep(batch, samples)
        self.pass_turn(self.issuer.missed)
        if self.period and self.turn() == self.begin():
            self.publish(self.end(), self.issuer.missed)
        if self.workers:
            self.refill(iterator)

    def failed(self, is_turn):
        """A batch came as an exception, which the script may survive: it then goes on with the next one."""
        if self.under_way:
            self.under_way.popleft()
        if is_turn:
            self.pass_turn(self.issuer.missed)

    def _is_ring_turn(self, segment):
        """The ring is filled before the first segment, and renewed by the first batches of each cold one. The last batch
        of a pass may be a smaller one."""
        if segment is None:
            return len(run.ring) < replay.RING and self.turn() + 1 != self.end()
        return segment.phase == phase_plan.COLD and self.turn() - segment.first < 2


def _length(iterator):
    try:
        return len(iterator._index_sampler)
    except TypeError:
        return None


def arm(iterator, current_pass):
    """Before a wait: the Phased of this pass, or None while (or because) it is not armed."""
    run.last_pass = current_pass
    if current_pass.sent == 0 and not iterator._num_workers:
        arm_new_pass(iterator, current_pass)
    phased = current_pass.phased
    if phased is not None or not is_phased():
        return phased
    if not _is_due(current_pass):
        return None
    current_pass.phased = _arm(iterator, current_pass)
    if current_pass.phased is not None:
        run.armed_loader = current_pass.loader
    return current_pass.phased


def arm_known(iterator, current_pass):
    """As arm(), of a loader that is not torch's."""
    run.last_pass = current_pass
    phased = current_pass.phased
    if phased is not None or not is_phased() or not _is_due(current_pass):
        return phased
    if current_pass.known.framework not in KEPT_APART:
        _refuse(current_pass, "what a job of neither PyTorch nor TensorFlow saves cannot be kept apart from its own")
        return None
    current_pass.phased = KnownStream(iterator, current_pass)
    run.armed_loader = current_pass.loader
    return current_pass.phased


def arm_new_pass(iterator, current_pass):
    """A further pass over the loader that is armed: phases go on from its first batch. Called before any index is taken."""
    if current_pass.phased is not None or run.armed_loader is None or not is_phased():
        return
    if current_pass.loader is run.armed_loader and run.phased.is_over():
        current_pass.phased = _arm(iterator, current_pass)


def _is_due(current_pass):
    """Whether this pass is to be armed. One pass is at a time: turns are counted along it."""
    if current_pass.is_refused:
        return False
    loader = current_pass.loader
    if run.phased is not None:
        if not run.phased.is_over():
            return False
        if loader is run.armed_loader or _is_successor(loader, run.armed_loader):
            return True
    if loader.delivered < ARM_AFTER:
        return False
    if loader.steps > 0:
        return True
    # Where no steps are seen, the first loader trains; one that is armed after it may be that of an evaluation.
    return run.phased is None and loader.delivered >= ARM_WITHOUT_STEPS and not run.steps_seen


def _is_successor(loader, armed):
    """A script may make its loader anew for every epoch: the same in all that describes it."""
    if loader.text is None or armed.text is None:
        return False
    return dict(loader.text, loader_id=0) == dict(armed.text, loader_id=0)


def _arm(iterator, current_pass):
    """The pass with as many phases as can be run on it; None where that is none, which is said once."""
    obstacle = _obstacle(iterator, current_pass)
    if obstacle is None:
        return Phased(iterator, current_pass)
    if not getattr(iterator, "_in_order", True):
        _refuse(current_pass, "batches are delivered out of order (in_order=False)")
        return None
    return Stream(iterator, current_pass, obstacle, _tells_workers(iterator))


def _obstacle(iterator, current_pass):
    """Why the indices of this loader cannot be steered; None where they can."""
    if getattr(iterator, "_dataset_kind", 1) != 0:
        return "an iterable data set has no indices, so no sample can be asked for twice"
    if _worker_loop(iterator) is None or not _tells_workers(iterator):
        return "the loader (%s) takes batches from its workers in a way of its own" % type(iterator).__module__
    if not getattr(iterator, "_in_order", True):
        return "batches are delivered out of order (in_order=False)"
    if _length(iterator) is None and current_pass.loader.period is None:
        return "the loader's length is not known"
    return None


def _worker_loop(iterator):
    """The module that the iterator's workers run; None where it is not known how it takes batches from them."""
    return next((_LOOPS[base.__name__] for base in type(iterator).__mro__ if base.__name__ in _LOOPS), None)


def _tells_workers(iterator):
    """Whether what makes the batches of this iterator understands a Task."""
    return not iterator._num_workers or _worker_loop(iterator) in run.worker_loops


def _refuse(current_pass, reason):
    current_pass.is_refused = True
    capture.issue("phases-unsupported", "warning", "no phases: " + reason, "profile with --phases as_is")
    calls.library.stallcast_phase_slot(0, 0, 0, UNKNOWN_END, 0, 0, 0, NO_PHASES)


def end_batch():
    """The batch that this process made itself is made: its evidence is written."""
    calls.library.stallcast_phase_end()


def count_step():
    """An optimizer step was made: the pass that this thread took a batch of last is one that trains."""
    run.steps_seen = True
    if run.last_pass is not None:
        run.last_pass.loader.steps += 1
