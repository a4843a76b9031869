"""Holds back index lists on their way to the workers.

    torch draws indices and puts them, when and where it would       -> HeldQueue.put -> Gate
    the gate passes them on in that order, at once or a little later -> the worker's own queue

The draw is never moved: a sampler may share a generator with the script, or be steered by it. Nor is the assignment to
workers: each has generators of its own. A list only reaches its worker later than it would have.
"""

import collections
import weakref

from ..frames import unseen
from .segment_run import Task

ATTRIBUTE = "_stallcast_gate"


class HeldQueue:
    """Stands for a worker's index queue in the training process."""

    def __init__(self, real, gate):
        self._real = real
        self._gate = gate

    def __getattr__(self, name):
        return getattr(self._real, name)

    def put(self, item, *args, **kwargs):
        gate = self._gate
        if type(item) is not tuple:  # None, or the beginning of a further pass: behind all that was put before
            gate.flush()
        elif not args and not kwargs and gate.takes(self._real, item):
            return
        self._real.put(item, *args, **kwargs)


class Gate:
    """All index queues of one iterator. `may_pass(number)`: whether the task of that number may reach its worker now;
    `segment_of(number)`: what it is to be marked with there."""

    def __init__(self, iterator, marks, keeps_state):
        self._queues = list(iterator._index_queues)
        self._marks = marks  # whether its workers understand a Task
        self._keeps_state = keeps_state  # torchdata's: (index list, whether to send the worker's state)
        self._waiting = collections.deque()  # (queue, task)
        self.passed = -1  # number of the task passed on last
        self.may_pass = None
        self.segment_of = None
        iterator._index_queues[:] = [HeldQueue(queue, self) for queue in self._queues]
        iterator._get_data = _releasing(self, iterator)
        iterator.__dict__[ATTRIBUTE] = self

    def held(self):
        return len(self._waiting)

    def takes(self, queue, item):
        """True: the gate has it, and will pass it on. False where everything passes at once."""
        if self.may_pass is None:
            self.passed = item[0]
            return False
        self._waiting.append((queue, item))
        self.pump()
        return True

    def pump(self):
        """Passes on what may go, in order."""
        waiting = self._waiting
        while waiting and self.may_pass(waiting[0][1][0]):
            self._pass_on()

    def flush(self):
        while self._waiting:
            self._pass_on()

    def needs(self, iterator):
        """torch is about to wait: for the batch that is next in order, or, where batches overtake, for any."""
        if not self._waiting:
            return
        awaited = iterator._rcvd_idx
        while self._waiting and self._waiting[0][1][0] <= awaited:
            self._pass_on()
        if self._waiting and len(self._waiting) >= iterator._tasks_outstanding:
            self._pass_on()

    def _pass_on(self):
        queue, item = self._waiting.popleft()
        self.passed = item[0]
        queue.put(self._marked(item))

    def _marked(self, item):
        segment = self.segment_of(item[0]) if self._marks and self.segment_of is not None else None
        if not self._marks:
            return item
        number, index = item
        if self._keeps_state:
            return number, (Task(index[0], number, segment), *index[1:])
        return number, Task(index, number, segment)

    def open(self, iterator):
        """For good: everything passes, and the iterator has its own queues again."""
        self.flush()
        self.may_pass = self.segment_of = None
        if iterator is None:
            return
        iterator._index_queues[:] = self._queues
        iterator.__dict__.pop("_get_data", None)
        iterator.__dict__.pop(ATTRIBUTE, None)


def _releasing(gate, iterator):
    """torch waits for tasks in _get_data() alone: one that is held then is passed on before. Neither keeps the iterator
    alive, whose workers end when the script lets go of it."""
    real = type(iterator)._get_data
    reference = weakref.ref(iterator)

    @unseen
    def _get_data():
        waiting = reference()
        gate.needs(waiting)
        return real(waiting)

    return _get_data


def of(iterator):
    """The gate of an iterator; None where it has none."""
    return iterator.__dict__.get(ATTRIBUTE)
