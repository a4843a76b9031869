"""What the script is given in an armed pass: the worker's batch, or a replayed one; the turns that this takes.

Phased (steered.py) also steers what the workers make; Stream (stream_phases.py) takes that as it comes.
"""

import time
import weakref

from . import capture, phase_plan, rest
from .capture import calls
from .phase_run import run

PASS = "_stallcast_pass"  # attribute of an iterator: its loader.Pass

UNKNOWN_END = (1 << 64) - 1
ALL_PHASES, NO_PHASES, REPLAY_ONLY = range(3)  # record::PhaseSupport


class Taker:
    """One armed pass. `base` is the turn of the pass's batch 0, counted as if it had been armed from there."""

    support = ALL_PHASES
    steers = True  # what the workers make, and under which numbers

    def __init__(self, iterator, current_pass):
        self.current_pass = current_pass
        self.iterator_id = current_pass.iterator_id
        self.workers, self.prefetch = self.counts(iterator)
        self.base = run.turns - current_pass.delivered
        self.position = current_pass.delivered
        self.iterator = weakref.ref(iterator)
        self.held = 0
        self.announced = -1
        self.replay_end = 0  # batches of the pass before it are replayed, as the schedule is known
        self.number_ahead = 0  # of a replayed batch's number before its position
        self.published_missed = 0
        self.ring = run.ring

    def counts(self, iterator):
        """(workers, batches under way of each of them)."""
        return iterator._num_workers, getattr(iterator, "_prefetch_factor", 0) or 0

    def is_over(self):
        """Whether the script has seen the end of this pass, or has let go of it."""
        iterator = self.iterator()  # one of persistent workers goes on to the next pass
        return self.current_pass.is_over or getattr(iterator, PASS, None) is not self.current_pass

    def turn(self):
        """Of the batch that the script asks for next."""
        return self.base + self.position

    def publish(self, end, missed):
        """Writes this pass into the rank's line: `end` is the turn after its last one, None where it is not known."""
        calls.library.stallcast_phase_slot(
            1, max(self.turn(), 0), max(self.begin(), 0), UNKNOWN_END if end is None else end,
            self.workers, self.prefetch, run.missed + missed, self.support,
        )
        self.published_missed = missed

    def announce(self, segment, first, **more):
        """Writes once that the segment begins with batch `first` of the pass."""
        if segment.index <= self.announced:
            return
        self.announced = segment.index
        calls.library.stallcast_phase_segment(segment.index)
        content = {
            "segment": segment.index, "phase": segment.phase, "round": segment.round,
            "iterator_id": self.iterator_id, "first": first, "batches": segment.batches,
            "workers": segment.workers or self.workers, "argument": segment.argument,
            "t_ns": time.monotonic_ns(),
        }
        capture.text(capture.TEXT_SEGMENT, dict(content, **more))

    def prepare(self, iterator):
        """Before the first replayed batch of a block. Workers that were started just now come to rest first."""
        run.ring.prepare()
        if self.workers and self.position < self.workers * self.prefetch:
            rest.wait_for(getattr(iterator, "_workers", ()))

    def segment(self):
        """That the script's next batch belongs to; None where that is as found and nothing is measured."""
        return run.plan.covering(self.turn())

    def replays(self):
        """Whether the script gets a replayed batch now."""
        segment = self.segment()
        if segment is None or segment.phase != phase_plan.SYNTHETIC:
            return False
        end = run.plan.end()
        last = segment.first + segment.batches
        self.replay_end = (last if end is None else min(last, end)) - self.base
        return True

    def serve(self):
        """A replayed batch, with its wait recorded.

        Where only `position < replay_end` was asked before, as in most of a block: what this costs is part of the step
        that is measured, some 100 us if everything were looked up for each batch again.
        """
        calls.wait_begin()
        run.last_pass = self.current_pass
        batch, samples = self.ring.serve()
        position = self.position
        self.position = position + 1
        calls.wait_end(self.iterator_id, position + self.number_ahead, samples, capture.UNKNOWN, 0)
        turn = self.base + position + 1
        if turn > run.turns:
            run.turns = turn
        calls.phase_turn(turn)
        if calls.segments() != len(run.plan):
            self.replay_end = 0
        return batch

    def pass_turn(self, missed):
        """The script has its batch."""
        self.position += 1
        run.turns = max(run.turns, self.turn())
        if missed != self.published_missed:
            self.publish(self.end(), missed)
        else:
            calls.phase_turn(max(self.turn(), 0))

    def end(self):
        """Turn after the pass's last one; None where it is not known."""
        raise NotImplementedError

    def begin(self):
        """Turn of its first batch."""
        return self.base

    def ended(self):
        """The script has seen the end of the pass."""
