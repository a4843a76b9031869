"""One pass over the loader that trains, while states are made: what the script is given is its own next batch always.

    _next_index -> drawn()      torch drew an index list (without workers: its batch is made right now)
    put         -> Gate         it reaches its worker now, or once may_pass() says so
    __next__    -> before()     the script asks: a segment may begin, or a hold, or measuring is over
                   delivered()  the script has its batch
"""

import time
import weakref

from .. import capture, describe, sizes
from ..capture import calls
from . import answer, device_clock, gate, hold, plan
from .segment_run import Task, let_go, run

PASS = "_stallcast_pass"  # attribute of an iterator: its loader.Pass

UNKNOWN_END = (1 << 64) - 1
ALL_PHASES, NO_PHASES, HOLD_ONLY, NOT_AHEAD = range(4)  # record::PhaseSupport
_MOST_FAILED_HOLDS = 3  # each may have cost the script 10 s


class Measured:
    """One armed pass. `base` is the turn of its batch 0, counted as if it had been armed from there. `reason`: why its
    samples' files cannot be chosen; None where they can. `tells_workers`: whether its workers understand a Task."""

    def __init__(self, iterator, current_pass, reason, tells_workers):
        self.current_pass = current_pass
        self.iterator_id = current_pass.iterator_id
        self.workers = iterator._num_workers
        self.prefetch = getattr(iterator, "_prefetch_factor", 0) or 0
        self.reason = reason
        self.is_stream = getattr(iterator, "_dataset_kind", 0) != 0
        self.position = current_pass.delivered
        run.turns = max(run.turns, self.position)  # no pass begins before turn 0: its length is told by its two ends
        self.base = run.turns - self.position
        self.length = length_of(iterator, current_pass)
        self.period = current_pass.loader.period
        self.prediction = current_pass.prediction
        if self.prediction is not None and reason is None:
            self.prediction.begin((current_pass.loader.text or {}).get("dataset_samples"))
        self.burst = None  # of the burst under way: [segment, Held, first number, batches delivered of it, DeviceClock]
        self._closed = None  # (text, DeviceClock) of one that is over, until the device has passed its end
        self._skew = 0  # position less torch's number of the batch that comes next
        self._asked = self.base + self.position - 1  # turn that the script asked for last
        self._announced = -1
        self._batch_bytes = self._tensors = 0
        self._iterator = weakref.ref(iterator)
        self._in_order = getattr(iterator, "_in_order", True)
        self.gate = None
        if self.workers:
            self._attach(iterator, tells_workers)
        if run.measured is not None and run.measured.gate is not self.gate:
            run.measured.pass_all()  # a script may go on with both iterators
        run.passes += 1
        run.measured = self
        self._publish()

    def _attach(self, iterator, tells_workers):
        self.gate = gate.of(iterator) or gate.Gate(iterator, tells_workers, "torchdata" in type(iterator).__module__)
        self.gate.passed = iterator._send_idx - 1
        self._skew = self.position - iterator._rcvd_idx if self._in_order else 0
        self.gate.may_pass, self.gate.segment_of = self._may_pass, self._segment_of

    def dataset(self):
        """The script's own; None where its iterator is gone."""
        return getattr(self._iterator(), "_dataset", None)

    def turn(self):
        """Of the batch that the script asks for next."""
        return self.base + self.position

    def is_over(self):
        """Whether the script has seen the end of this pass, has all of it, or has let go of it."""
        if self.current_pass.is_over or getattr(self._iterator(), PASS, None) is not self.current_pass:
            if self.prediction is not None:
                self.prediction.end("the pass is over")
            return True
        return self.length is not None and not self.period and self.position >= self.length

    # --- when lists reach the workers ------------------------------------------------------------------------------

    def _turn_of(self, number):
        return self.base + number + self._skew

    def _may_pass(self, number):
        """Whether the task of torch's number may be begun. Where recording has failed nobody asks for turns any more."""
        turn = self._turn_of(number)
        if turn <= self._asked or not calls.enabled:
            return True
        burst = run.plan.burst_after(self._asked)
        if burst is not None and self._asked < burst.first + burst.batches <= turn:
            return False
        segment = run.plan.covering(turn)
        return segment is None or not segment.at_once or turn < self.turn() + segment.at_once

    def _segment_of(self, number):
        return run.plan.covering(self._turn_of(number))

    def drawn(self, number):
        """torch drew the index list of that number. Without workers its batch is made by this thread, now."""
        if not self.workers:
            Task(None, number, run.plan.covering(self.base + number)).begin(self.iterator_id, self.is_stream)
        if self.length is None and self._pass_end() != self._published_end:
            self._publish()

    # --- what the script gets --------------------------------------------------------------------------------------

    def before(self, iterator):
        """The script asks for a batch. It may be held here."""
        asked_ns = time.monotonic_ns()
        if not calls.library.stallcast_phased():  # the tool has let go, or has gone
            self.open()
            let_go()
            return
        if self.gate is not None and self._in_order:
            self._skew = self.position - iterator._rcvd_idx
        self._check()
        self._asked = turn = self.turn()
        if self.burst is not None and turn >= self.burst[0].first + self.burst[0].batches:
            self._close_burst(asked_ns)
        end = run.plan.end()
        if end is not None and turn >= end.first:
            self._end(end)
            return
        segment = run.plan.covering(turn)
        if segment is not None and not self._has_all(iterator):
            if segment.phase == plan.SYNTHETIC and turn == segment.first:
                self._hold(iterator, segment)
            self._announce(iterator, segment)
        if self.gate is not None:
            self.gate.pump()

    def _has_all(self, iterator):
        """Whether the script is about to see the end of the pass: the turn is then the next one's."""
        if self.workers:
            return iterator._rcvd_idx >= iterator._send_idx
        return self.length is not None and not self.period and self.position >= self.length

    def _check(self):
        """Refuses what was published too late: workers may have been given what was to be held or marked."""
        passed = self._turn_of(self.gate.passed) if self.gate is not None else self.turn() - 1
        for segment in run.plan.refresh():
            if segment.phase == plan.END:
                continue
            end = segment.first + segment.batches
            if end <= self.turn():
                continue
            is_burst = segment.phase == plan.SYNTHETIC
            late = end <= passed or segment.first < self.turn() if is_burst else segment.first <= passed
            if late or (is_burst and not self._can_hold()):
                run.plan.refuse(segment)
                run.missed += late
                self._publish()

    def _can_hold(self):
        return self.gate is not None

    def _hold(self, iterator, segment):
        asked_ns = time.monotonic_ns()  # what is begun from here on is begun in the hold
        obstacle = hold.obstacle(iterator, self._batch_bytes, self._tensors)
        if obstacle is None and run.failed_holds >= _MOST_FAILED_HOLDS:
            obstacle = "%d holds had to be given up" % run.failed_holds
        if obstacle is not None:
            _tell("hold-impossible", "the script cannot be held back: " + obstacle)
            run.plan.refuse(segment)
            calls.library.stallcast_phase_ready(segment.index)  # nobody waits for this rank
            return
        self.gate.pump()
        under_way = iterator._send_idx - iterator._rcvd_idx - self.gate.held()
        if iterator._dataset_kind == 0 and self._in_order:
            under_way = min(under_way, segment.batches)
        held = hold.hold(iterator, segment, under_way, asked_ns)
        run.failed_holds += held.refused is not None
        self.burst = [segment, held, iterator._rcvd_idx, 0, device_clock.start()]

    def _close_burst(self, until_ns):
        """The script has asked for the batch after the burst, or its pass is over: how it went is written."""
        if self.burst is None:
            return
        segment, held, first, delivered, clock = self.burst
        self.burst = None
        iterator = self._iterator()
        cpu_s = hold.workers_cpu_s(iterator) if iterator is not None and held.cpu_s is not None else None
        content = {
            "segment": segment.index, "iterator_id": self.iterator_id, "first": first, "batches": delivered,
            "under_way": held.under_way, "asked_ns": held.asked_ns, "made_ns": held.made_ns,
            "released_ns": held.released_ns, "until_ns": until_ns,
            "workers_cpu_s": None if cpu_s is None else cpu_s - held.cpu_s,
        }
        if held.refused is not None:
            content["refused"] = held.refused
        if clock is not None:
            clock.mark()
        self._closed = content, clock
        self._write_burst()

    def _write_burst(self, at_last=False):
        """Once the device has passed its end; `at_last`: without its time, if it has not."""
        if self._closed is None:
            return
        content, clock = self._closed
        if clock is not None:
            content["device_s"] = None
            if clock.is_passed():
                content["device_s"] = clock.seconds()
            elif not at_last:
                return
        self._closed = None
        capture.text(capture.TEXT_BURST, content)

    def _announce(self, iterator, segment):
        """Writes once a pass that the segment begins, or goes on, with this batch."""
        if segment.index <= self._announced:
            return
        self._announced = segment.index
        first = iterator._rcvd_idx if self.workers else self.current_pass.sent
        content = {
            "segment": segment.index, "phase": segment.phase, "round": segment.round,
            "iterator_id": self.iterator_id, "first": first,
            "batches": segment.first + segment.batches - self.turn(), "workers": self.workers,
            "at_once": segment.at_once, "made_as": segment.made_as, "argument": segment.argument,
            "t_ns": time.monotonic_ns(),
        }
        if self.is_stream:
            content["iterable"] = 1
        if self.reason is not None:
            content["stream"] = self.reason
        capture.text(capture.TEXT_SEGMENT, content)

    def delivered(self, iterator, batch, samples):
        """After the script's wait was recorded, before it has the batch."""
        self.position += 1
        self._write_burst()
        if self.burst is not None:
            self.burst[3] += 1
            if self.burst[4] is not None:
                self.burst[4].mark()
        run.turns = max(run.turns, self.turn())
        if self._batch_bytes == 0:
            self._batch_bytes, self._tensors = max(1, sizes.bytes_of(batch)), sizes.tensors_in(batch)
        if self.period and self.position % self.period == 0:
            run.passes += 1
            self._publish()
        else:
            calls.phase_turn(max(self.turn(), 0))
        if self.gate is not None:
            self._skew = self.position - iterator._rcvd_idx if self._in_order else 0
            self.gate.pump()
        answer.give(self)

    def failed(self):
        """A batch came as an exception, which the script may survive: it then goes on with the next one."""
        self.position += 1
        run.turns = max(run.turns, self.turn())
        calls.phase_turn(max(self.turn(), 0))

    def ended(self):
        """The script has seen the end of the pass."""
        self._close_burst(time.monotonic_ns())
        self._write_burst(at_last=True)

    # --- the end of measuring --------------------------------------------------------------------------------------

    def _end(self, segment):
        self._write_burst(at_last=True)
        if segment.argument:
            self._wait_to_be_ended()
        self.open()
        let_go()

    def _wait_to_be_ended(self):
        """Every rank waits here, until the tool has the job ended as its user would; for good only where there is one."""
        library = calls.library
        library.stallcast_phase_at_end(2)
        end = time.monotonic() + hold.LONGEST_S * 6
        while library.stallcast_tool_alive() and time.monotonic() < end:
            time.sleep(0.05)

    def pass_all(self):
        """Nothing of this pass is held or marked from here on."""
        if self.gate is not None:
            self.gate.flush()
            self.gate.may_pass = self.gate.segment_of = None

    def open(self):
        """Nothing is held any more, and the iterator is as torch made it."""
        if self.gate is not None:
            self.gate.open(self._iterator())

    # --- what the tool is told -------------------------------------------------------------------------------------

    def _pass_end(self):
        if self.period:
            return self.base + self.period * ((self.turn() - self.base) // self.period + 1)
        length = self.length
        if length is None and self.prediction is not None:
            length = self.prediction.length()
        return UNKNOWN_END if length is None else self.base + length

    def _publish(self):
        end = self._published_end = self._pass_end()
        begin = end - self.period if self.period else self.base
        calls.library.stallcast_phase_slot(
            max(self.turn(), 0), max(begin, 0), end, run.passes, self.workers, self.prefetch,
            run.missed, self._support(),
        )

    def _support(self):
        if self.reason is not None:
            return HOLD_ONLY
        return NOT_AHEAD if self.is_stream else ALL_PHASES


_told = set()


def _tell(identity, words):
    if (identity, words) not in _told and len(_told) < 16:
        _told.add((identity, words))
        capture.issue(identity, "warning", words, "")


def length_of(iterator, current_pass):
    """Batches of a pass, where torch's own samplers tell it or a whole pass was seen."""
    length = describe.sampler_length(iterator._index_sampler)
    return current_pass.loader.whole if length is None else length

