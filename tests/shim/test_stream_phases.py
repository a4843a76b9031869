"""Replayed batches in a stream: none of its own is lost, added or moved, whoever sends the tasks. Needs no torch."""

import itertools
import os
import random
import sys
import unittest

sys.path.insert(0, os.environ["STALLCAST_TEST_SHIM"])

from stallcast_shim import phase_plan, stream_phases  # noqa: E402
from stallcast_shim.capture import calls  # noqa: E402
from stallcast_shim.phase_plan import AS_IS, COLD, END, SYNTHETIC, Plan, Segment  # noqa: E402
from stallcast_shim.phase_run import run  # noqa: E402
from stallcast_shim.replay import Ring  # noqa: E402


class Library:
    """Of the capture library: what was told to it."""

    def __init__(self):
        self.slots = []
        self.texts = []
        self.segments = []

    def stallcast_phase_slot(self, *fields):
        self.slots.append(fields)

    def stallcast_phase_segment(self, index):
        self.segments.append(index)

    def stallcast_text(self, kind, text):
        self.texts.append(text.decode())

    def stallcast_phase_begin(self, *fields):
        pass


class _IterableDatasetStopIteration:
    def __init__(self, worker_id):
        self.worker_id = worker_id


class Loader:
    def __init__(self):
        self.whole = None


class Pass:
    def __init__(self, loader):
        self.loader = loader
        self.iterator_id = 0
        self.delivered = 0
        self.sent = 0
        self.is_over = False


class Workers:
    """Sends tasks and takes batches as torch's iterator does; worker w makes (w, 0), (w, 1), ... up to lengths[w]."""

    def __init__(self, lengths, prefetch, current_pass):
        self._num_workers, self._prefetch_factor = len(lengths), prefetch
        self._stallcast_pass = current_pass
        self.phased = None
        self._task_info, self._tasks_outstanding = {}, 0
        self._send_idx = self._rcvd_idx = 0
        self._workers_status = [True] * len(lengths)
        self._cycle = itertools.cycle(range(len(lengths)))
        self._sampler_iter = itertools.repeat(None)
        self._made = [iter([(w, i) for i in range(length)]) for w, length in enumerate(lengths)]
        self._in_order = True

    def start(self):
        for _ in range(self._num_workers * self._prefetch_factor):
            self._try_put_index()

    def under_way(self):
        return sum(len(t) == 2 or self._workers_status[t[0]] for t in self._task_info.values())

    def _try_put_index(self):
        assert self._tasks_outstanding < self._num_workers * self._prefetch_factor
        try:
            self.phased.take(self) if self.phased is not None else next(self._sampler_iter)
        except StopIteration:
            return
        self._stallcast_pass.sent += 1
        for _ in range(self._num_workers):
            worker = next(self._cycle)
            if self._workers_status[worker]:
                break
        else:
            return
        self._task_info[self._send_idx] = (worker,)
        self._tasks_outstanding += 1
        self._send_idx += 1

    def _arrival(self):
        """The oldest task that a live worker has: they all take as long."""
        number = next(n for n, t in sorted(self._task_info.items()) if len(t) == 1 and self._workers_status[t[0]])
        worker = self._task_info[number][0]
        return number, next(self._made[worker], _IterableDatasetStopIteration(worker))

    def __next__(self):
        while True:
            while self._rcvd_idx < self._send_idx:
                task = self._task_info.get(self._rcvd_idx)
                if task:
                    if len(task) == 2 or self._workers_status[task[0]]:
                        break
                    del self._task_info[self._rcvd_idx]
                self._rcvd_idx += 1
            else:
                raise StopIteration
            number, data = self._arrival()
            self._tasks_outstanding -= 1
            if isinstance(data, _IterableDatasetStopIteration):
                self._workers_status[data.worker_id] = False
                self._try_put_index()
                continue
            assert number == self._rcvd_idx
            del self._task_info[number]
            self._rcvd_idx += 1
            self._try_put_index()
            return data


class Alone:
    """Without workers: each batch is made when it is asked for."""

    _num_workers = 0
    _in_order = True

    def __init__(self, length, current_pass):
        self._stallcast_pass = current_pass
        self.phased = None
        self._sampler_iter = iter([(0, i) for i in range(length)])

    def start(self):
        pass

    def under_way(self):
        return 0

    def __next__(self):
        batch = self.phased.take(self) if self.phased is not None else next(self._sampler_iter)
        self._stallcast_pass.sent += 1
        return batch


def plain(lengths, prefetch=2):
    """What the script gets without us."""
    workers = Workers(lengths, prefetch, Pass(Loader()))
    workers.start()
    return list(iter(lambda: next(workers, None), None))


class StreamTest(unittest.TestCase):
    def setUp(self):
        self.library = Library()
        calls.library, calls.enabled = self.library, False
        self.waits = []
        calls.wait_begin, calls.phase_turn = lambda: None, lambda turn: None
        calls.wait_end = lambda *fields: self.waits.append(fields)
        calls.segments = lambda: len(self.published)
        self.published = []
        run.__init__()
        run.plan = Plan(lambda i: self.published[i] if i < len(self.published) else None)
        run.ring = Ring()
        stream_phases._told.clear()
        self.loader = Loader()

    def segment(self, first, batches, phase):
        self.published.append(Segment(len(self.published), first, batches, phase, 0, 0, 0, 0))

    def one_pass(self, make, arm_after=0, on_replay=None):
        """What the script gets: (worker, number) of the stream, "replay" of a replayed batch. Also the Stream."""
        current_pass = Pass(self.loader)
        iterator = make(current_pass)
        if arm_after == 0:
            iterator.phased = stream_phases.Stream(iterator, current_pass, "a stream", False)
        iterator.start()
        got = []
        while True:
            if len(got) == arm_after and iterator.phased is None:
                iterator.phased = stream_phases.Stream(iterator, current_pass, "a stream", False)
            stream = iterator.phased
            if stream is None:
                got.append(next(iterator))
                current_pass.delivered += 1
                continue
            if stream.position < stream.replay_end:
                stream.serve()
                got.append("replay")
                continue
            stream.before(iterator, None)
            if stream.replays():
                if on_replay is not None:
                    on_replay(iterator)
                stream.serve()
                got.append("replay")
                continue
            try:
                batch = next(iterator)
            except StopIteration:
                current_pass.is_over = True
                stream.ended()
                return got, stream
            current_pass.delivered += 1
            stream.delivered(iterator, batch, 1)
            got.append(batch)

    def test_a_pass_of_known_length_keeps_it(self):
        self.loader.whole = 40
        self.segment(10, 6, SYNTHETIC)
        self.segment(24, 5, SYNTHETIC)
        for make in (lambda p: Workers([20, 20], 2, p), lambda p: Alone(40, p)):
            run.turns, run.phased = 0, None
            got, _ = self.one_pass(make)
            self.assertEqual(len(got), 40)
            self.assertEqual([i for i, batch in enumerate(got) if batch == "replay"], [*range(10, 16), *range(24, 29)])
            stream = [batch for batch in got if batch != "replay"]
            everything = plain([20, 20]) if stream[1][0] == 1 else [(0, i) for i in range(40)]
            self.assertEqual(stream, everything[:29])

    def test_a_pass_of_unknown_length_has_the_whole_stream_and_tells(self):
        self.segment(10, 6, SYNTHETIC)
        got, _ = self.one_pass(lambda p: Workers([20, 20], 2, p), arm_after=3)
        self.assertEqual(len(got), 46)
        self.assertEqual([batch for batch in got if batch != "replay"], plain([20, 20]))
        self.assertEqual(self.loader.whole, 40)
        self.assertEqual(sum("pass-longer" in text for text in self.library.texts), 1)
        self.assertEqual(self.library.slots[0][3], (1 << 64) - 1)
        self.segment(60, 4, SYNTHETIC)
        again, _ = self.one_pass(lambda p: Workers([20, 20], 2, p))
        self.assertEqual(len(again), 40)
        self.assertEqual(self.library.slots[-1][3], 43 + 40)  # turns are counted from the fourth batch on

    def test_nothing_lies_ready_behind_replayed_batches(self):
        """Else the block after them would begin with W k batches that nobody had to wait for."""
        seen = []
        self.segment(10, 6, SYNTHETIC)
        self.segment(16, 10, AS_IS)
        self.one_pass(lambda p: Workers([20, 20], 3, p), on_replay=lambda it: seen.append(it.under_way()))
        self.assertEqual(seen, [0])
        self.assertEqual(self.library.segments, [0, 1])

    def test_workers_that_end_early_lose_nothing(self):
        for lengths in ([20, 3], [0, 15], [12, 12, 1], [9, 0, 0, 7], [30, 9]):
            with self.subTest(lengths):
                self.setUp()
                self.segment(9, 5, SYNTHETIC)
                got, _ = self.one_pass(lambda p, lengths=lengths: Workers(lengths, 2, p))
                self.assertEqual([batch for batch in got if batch != "replay"], plain(lengths))
                self.assertEqual(got.count("replay"), 5 if sum(lengths) >= 9 else 0)

    def test_any_schedule_leaves_the_stream_as_it_is(self):
        draw = random.Random(4)
        for case in range(400):
            self.setUp()
            lengths = [draw.randrange(0, 40) for _ in range(draw.randrange(1, 5))]
            first = 1
            for _ in range(draw.randrange(1, 5)):
                first += draw.randrange(0, 12)
                batches = draw.randrange(1, 12)
                self.segment(first, batches, draw.choice([SYNTHETIC, SYNTHETIC, AS_IS]))
                first += batches
            prefetch, known = draw.randrange(1, 4), draw.random() < 0.5
            whole = plain(lengths, prefetch)
            self.loader.whole = len(whole) if known and whole else None
            with self.subTest(case=case, lengths=lengths, segments=self.published, known=known):
                got, stream = self.one_pass(lambda p: Workers(lengths, prefetch, p),
                                            arm_after=draw.randrange(0, 1 + min(len(whole), 3)))
                pulled = [batch for batch in got if batch != "replay"]
                self.assertEqual(pulled, whole[:len(pulled)])
                if stream.replayed == 0 or not known:
                    self.assertEqual(pulled, whole)
                else:
                    self.assertEqual(len(got), len(whole))

    def test_replayed_batches_have_numbers_of_their_own(self):
        self.segment(10, 3, SYNTHETIC)
        self.one_pass(lambda p: Workers([20], 2, p))
        self.assertEqual([wait[1] for wait in self.waits], [phase_plan.SUPPLY_NUMBERS + i for i in range(3)])

    def test_what_comes_too_late_or_is_no_phase_of_a_stream_is_left_out(self):
        self.segment(2, 4, SYNTHETIC)  # four batches are under way when this is read
        self.segment(12, 4, COLD)
        got, stream = self.one_pass(lambda p: Workers([20, 20], 2, p), arm_after=1)
        self.assertEqual(got, plain([20, 20]))
        self.assertEqual(stream.missed, 1)

    def test_a_block_that_would_outlast_the_pass_is_left_out(self):
        self.loader.whole = 40
        self.segment(36, 4, SYNTHETIC)
        got, stream = self.one_pass(lambda p: Workers([20, 20], 2, p))
        self.assertEqual((got, stream.missed), (plain([20, 20]), 0))

    def test_blocks_go_on_in_the_next_pass(self):
        self.segment(45, 5, SYNTHETIC)
        first, _ = self.one_pass(lambda p: Workers([20, 20], 2, p))
        second, _ = self.one_pass(lambda p: Workers([20, 20], 2, p))
        self.assertEqual(first, plain([20, 20]))
        self.assertEqual([i for i, batch in enumerate(second) if batch == "replay"], list(range(5, 10)))
        self.assertEqual(len(second), 40)

    def test_a_block_at_the_next_pass_ends_none_before_it(self):
        """Not even where the stream is longer than its data set says."""
        self.segment(40, 5, SYNTHETIC)
        for length, pulled in ((20, 40), (21, 42)):
            with self.subTest(length):
                self.loader.whole, run.turns, run.phased = 40, 0, None
                got, _ = self.one_pass(lambda p, length=length: Workers([length, length], 2, p))
                self.assertEqual(got, plain([length, length]))
                self.assertEqual(len(got), pulled)

    def test_an_iterator_of_which_nothing_is_known(self):
        class Opaque(Alone):
            _num_workers = 3

        self.loader.whole = 30
        self.segment(10, 6, SYNTHETIC)
        got, _ = self.one_pass(lambda p: Opaque(30, p))
        self.assertEqual([batch for batch in got if batch != "replay"], [(0, i) for i in range(24)])
        self.assertEqual(len(got), 30)

    def test_the_end_of_the_run(self):
        self.segment(7, 1, END)
        ended = []
        stream_phases.finish, real = lambda iterator: ended.append(iterator), stream_phases.finish
        self.addCleanup(setattr, stream_phases, "finish", real)
        got, _ = self.one_pass(lambda p: Workers([5, 5], 2, p))
        self.assertEqual(len(ended), len(got) - 6)  # asked before each batch from the eighth on, and before the end


if __name__ == "__main__":
    unittest.main()
