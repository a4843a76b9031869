"""Phases on one live iterator whose index lists are steered.

    _next_index -> take()     which index list a worker gets next, and the phase that its batch belongs to
    __next__    -> deliver()  what the script gets: the worker's batch, or a replayed one

Nothing here decides what is measured or for how long: phase_plan.py follows the segments, and whatever does not fit is
run as found. The script sees as many batches in a pass as without us, and the last one is its own.
"""

import collections
import itertools

from . import phase_plan, replay
from .phase_run import Task, finish, run
from .taker import Taker


class Phased(Taker):
    """One armed pass whose index lists are steered.

    Made in the middle of a pass, it finds batches under way: they are as found, and the issuer begins after them.
    """

    def __init__(self, iterator, current_pass):
        super().__init__(iterator, current_pass)
        begin = current_pass.sent if self.workers else current_pass.delivered
        self.period = None if length_of(iterator) is not None else current_pass.loader.period
        end = self.issue_end(iterator, begin)
        self.issuer = phase_plan.Issuer(run.plan, self.base + begin, end, self.base, self.period)
        self.sampler = iterator._sampler_iter
        left = end - self.base - begin if self.period else None
        self.lists = phase_plan.Lists(itertools.islice(self.sampler, left) if self.period else self.sampler)
        self.limit = 0  # workers that may be given work; 0: all
        self.taken = begin - 1  # number of the batch whose indices were taken last
        self.under_way = collections.deque(range(current_pass.delivered, begin))  # numbers in order of delivery
        run.draw = self.lists.draw
        if isinstance(run.phased, Phased):
            run.missed += run.phased.issuer.missed
            run.phased.let_go()
        run.phased = self
        self.publish(self.end(), self.issuer.missed)

    def issue_end(self, iterator, begin):
        """The turn after the last one that lists are issued for; None where that is not known."""
        length = self.period * (begin // self.period + 1) if self.period else length_of(iterator)
        return None if length is None else self.base + length

    def is_over(self):
        return self.has_all() or super().is_over()

    def has_all(self):
        """Whether the script was given all batches of its pass. One that counts them does not ask beyond the last."""
        end = self.end()
        return end is not None and self.turn() >= end

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
        payload = self.indices(item)
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

    def indices(self, item):
        """Of the batch that is made next."""
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
        if len(run.last_ring) == 0 and self.turn() + 1 == self.end():
            run.last_ring.keep(batch, samples)
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

    def let_go(self):
        """Another pass is armed instead."""

    def _is_ring_turn(self, segment):
        """The ring is filled before the first segment, and renewed by the first batches of each cold one. The last batch
        of a pass may be a smaller one."""
        if self.turn() + 1 == self.end():
            return False
        if segment is None:
            return len(run.ring) < replay.RING
        return segment.phase == phase_plan.COLD and self.turn() - segment.first < 2


def length_of(iterator):
    """Batches of a pass; None where its sampler does not tell."""
    try:
        return len(iterator._index_sampler)
    except TypeError:
        return None
