"""Phases on a loader whose index stream cannot be repeated: replayed batches (synthetic) between blocks as found.

    tar shards, webdataset, streaming ─> nothing can be asked for twice ─> cold and cached blocks cannot be made
    ... 31 32 33 | r r r r r r | 34 35 36 ...      replayed from memory; nothing is pulled meanwhile, nothing is lost

Works at next() of any iterator. Where it sends its tasks as torch's does, so many are held back before the replayed
batches that none lies ready behind them: the workers rest, and the block after them begins with an empty queue, not
with W k batches too many. Where it does not, its workers fill their queue and rest then.

A replayed batch has no place in the stream: its number is one of those that supply batches have. Batches of the stream
keep the numbers that torch gives them.

How long a pass is. Every replayed batch takes the place of one of the stream, at the end of the pass: it keeps its
length, where that is known from a whole pass before it, or from the data set's `__len__`. Else the first pass has so
many batches more; it says so.
"""

from . import capture, phase_plan, replay
from .phase_run import Task, finish, run
from .taker import REPLAY_ONLY, Taker

_TASK_ATTRIBUTES = ("_task_info", "_tasks_outstanding", "_send_idx", "_rcvd_idx", "_workers_status", "_try_put_index")

_told = set()


class Stream(Taker):
    """One armed pass over a loader that is replayed or left alone. `reason`: why nothing else can be done with it.

    `tells_workers`: whether its workers understand a Task (worker.py).
    """

    support = REPLAY_ONLY
    steers = False

    def __init__(self, iterator, current_pass, reason, tells_workers):
        super().__init__(iterator, current_pass)
        self.reason = reason
        self.tells_workers = tells_workers
        self.holds = self.workers > 0 and all(hasattr(iterator, name) for name in _TASK_ATTRIBUTES)
        self.replayed = 0
        self.missed = 0
        self.is_cut = False  # its last batches were replayed ones
        self.taken = 0  # number of the batch whose indices were taken last
        self._checked = 0
        self._waits = False  # the script waits for a batch
        self._awaited = None  # that one, as _first() has it
        before = run.phased if isinstance(run.phased, Stream) else None
        self.whole = current_pass.loader.whole or (before.whole if before is not None else None)  # a pass left alone
        self._length = self.whole or self.declared(iterator)  # after which a pass with replayed batches is over
        self._estimate = self._length  # what the schedule is told
        if before is not None:
            run.missed += before.missed
            if not before.current_pass.is_over:  # a script that leaves its passes: they end where it does that
                self._estimate = before.position
        run.phased = self
        run.plan.reconsider(self.turn())
        self.publish(self.end(), self.missed)
        _tell("phases-of-a-stream", "no cold and cached blocks: " + reason)

    def declared(self, iterator):
        """Batches of a pass as the data set's own __len__ has it; None where it has none."""
        try:
            samples = len(iterator._dataset)
            if not iterator._auto_collation:
                return samples
            size = iterator._index_sampler.batch_size
            return samples // size if iterator._drop_last else -(-samples // size)
        except Exception:  # a user's own method
            return None

    def end(self):
        return None if self._estimate is None else self.base + self._estimate

    # --- what is made next ---------------------------------------------------------------------------------------

    def take(self, iterator):
        """The stream's next index list, or the Task that carries it. StopIteration: nothing is to be made now."""
        if self._is_enough(iterator):
            self.is_cut = True
            raise StopIteration
        if self.holds and self._rests(iterator):
            self.held += 1
            raise StopIteration
        payload = next(iterator._sampler_iter)
        self.taken = iterator._send_idx if self.holds else self.current_pass.sent
        if self._waits and self._awaited is None:
            self._awaited = (self.taken, None, False)  # nothing was under way: the script waits for this one
        if not self.tells_workers:
            return payload
        turn = self.turn() + self._under_way(iterator) + self._is_handing_over(iterator)
        segment = run.plan.covering(turn)
        task = Task(payload, self.taken, segment if segment is None or segment.phase == phase_plan.AS_IS else None)
        if self.workers:
            return task
        task.begin(self.iterator_id)
        return payload

    def _is_enough(self, iterator):
        """Whether the pass has its length with what is under way, replayed batches counted."""
        if self.replayed == 0 or self._length is None:
            return False
        return self.position + self._under_way(iterator) + self._is_handing_over(iterator) >= self._length

    def _rests(self, iterator):
        """Whether what is under way lasts until batches are replayed, or they are being replayed."""
        turn, end = self.turn() + self._is_handing_over(iterator), self.end()
        segment = run.plan.following(turn, phase_plan.SYNTHETIC)
        if segment is None or (end is not None and segment.first >= end):  # of the next pass
            return False
        return segment.first - turn <= self._under_way(iterator)

    def _under_way(self, iterator):
        """Batches that the script has not been given yet: being made, or ready."""
        if not self.holds:
            return 0
        return sum(_will_come(iterator, task) for task in list(iterator._task_info.values()))

    def _first(self, iterator):
        """(number, worker, whether it is made) of the batch that comes next; None where none is under way."""
        for number in range(iterator._rcvd_idx, iterator._send_idx):
            task = iterator._task_info.get(number)
            if task is not None and _will_come(iterator, task):
                return number, task[0], len(task) > 1
        return None

    def _is_handing_over(self, iterator):
        """1 where the batch that the script waits for was taken from those under way, before the script has it; else 0.

        torch sends the next task then, and also where a worker has come to its end while the script waits."""
        while self._waits:
            if self._awaited is None:
                self._awaited = self._first(iterator)
                return 0
            number, worker, is_made = self._awaited
            if worker is None:
                task = iterator._task_info.get(number)
                if task is None:
                    return 1
                worker, is_made = task[0], len(task) > 1
                self._awaited = (number, worker, is_made)
            is_alive = is_made or iterator._workers_status[worker]
            if is_alive:
                return int(number not in iterator._task_info)
            self._awaited = None  # its worker had no more: the script waits for the one after it
        return 0

    def refill(self, iterator):
        """Sends the tasks that were held back."""
        while self.held > 0 and not self._rests(iterator):
            if iterator._tasks_outstanding >= self.workers * self.prefetch:
                return
            self.held -= 1
            iterator._try_put_index()

    # --- what the script gets ------------------------------------------------------------------------------------

    def before(self, iterator, _):
        """The script asks for a batch: the run may end here, a block may begin."""
        self._check(iterator)
        turn = self.turn()
        if run.plan.ends(turn):
            finish(iterator)
        segment = self.segment()
        if segment is not None:
            self._begin(segment, turn, iterator)
        self.refill(iterator)
        self._waits = self.holds
        self._awaited = self._first(iterator) if self.holds else None

    def segment(self):
        """That the script's next batch belongs to. Beyond the last one it is the next pass's."""
        end = self.end()
        return None if end is not None and self.turn() >= end else super().segment()

    def _begin(self, segment, turn, iterator):
        if segment.phase != phase_plan.SYNTHETIC:
            self.announce(segment, self._next_number(iterator), stream=self.reason)
            return
        if len(run.ring) == 0:
            run.plan.refuse(segment)
            return
        self.number_ahead = phase_plan.SUPPLY_NUMBERS + (segment.index << 16) + self.base - segment.first
        if turn == segment.first:
            self.replayed += segment.batches
            self.prepare(iterator)
        self.announce(segment, self.position, stream=self.reason)

    def _next_number(self, iterator):
        """Of the batch that comes next, as its maker knows it."""
        if not self.holds:  # as in wait.py
            return (not self.workers and self.current_pass.sent) or self.current_pass.delivered
        first = self._first(iterator)
        return first[0] if first is not None else iterator._send_idx

    def _check(self, iterator):
        """Refuses what was published too late, or would not be over before the pass is."""
        run.plan.refresh()
        turn, end = self.turn(), self.end()
        for segment in run.plan.unchecked(self._checked):
            self._checked += 1
            if segment.phase == phase_plan.END or segment.first + segment.batches <= turn:
                continue
            ahead = self._under_way(iterator) if segment.phase == phase_plan.SYNTHETIC else 0
            late = segment.first < turn + ahead
            unknown = segment.phase not in (phase_plan.AS_IS, phase_plan.SYNTHETIC)
            over = end is not None and segment.first < end <= segment.first + segment.batches
            if late or unknown or over:
                run.plan.refuse(segment)
                self.missed += late and segment.first >= self.base

    def delivered(self, iterator, batch, samples):
        """After the script's wait was recorded, before it has the batch."""
        self._waits = False
        if self._is_ring_turn(self.segment()):
            run.ring.keep(batch, samples)
        self.pass_turn(self.missed)
        self.refill(iterator)

    def _is_ring_turn(self, segment):
        """The ring is filled before the first block, and renewed by the first batch of each one as found."""
        if segment is None:
            return len(run.ring) < replay.RING
        return self.turn() == segment.first

    def failed(self, is_turn):
        """A batch came as an exception, which the script may survive: it then goes on with the next one."""
        self._waits = False
        if is_turn:
            self.pass_turn(self.missed)

    def ended(self):
        """The stream has no more batches, or the pass has as many as it may have."""
        if self.is_cut:
            return
        self.whole = self.current_pass.loader.whole = self.current_pass.delivered
        if self.replayed > 0 and self._length is None:
            words = "a pass had %d batches more than its stream: replayed ones, as its length was not known"
            _tell("pass-longer", words % self.replayed)


def _will_come(iterator, task):
    """Whether the script will be given what this task asks for: not where its worker had come to its end."""
    return not _is_end(task[1]) if len(task) > 1 else iterator._workers_status[task[0]]


def _is_end(made):
    """Whether this is how a worker says that it has no more."""
    part = made[0] if type(made) is tuple and made else made
    return type(part).__name__ == "_IterableDatasetStopIteration"


def _tell(identity, words):
    if identity not in _told:
        _told.add(identity)
        capture.issue(identity, "info", words, "")
