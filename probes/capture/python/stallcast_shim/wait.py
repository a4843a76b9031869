"""Waits: the consumer asks an iterator for a batch and gets it. Also the batches that a wait makes itself (no workers).

The number of samples of a batch comes from the index list that it was made from, which is exact whatever the batch
looks like; only iterable data sets, which have no indices, are counted by looking at the batch.
"""

import functools

from . import capture, sizes
from .capture import calls
from .thread import current

ATTRIBUTE = "_stallcast_pass"


def patch(base, announce):
    """Wraps __next__ and _next_index of the base iterator class; announce(iterator, pass) comes before a first wait."""
    _wrap_next(base, announce)
    _wrap_next_index(base)


def _wrap_next(base, announce):
    real = base.__next__

    @functools.wraps(real)
    def __next__(self):
        current_pass = self.__dict__.get(ATTRIBUTE)
        if current_pass is None or current.busy or not calls.enabled:
            return real(self)
        try:
            announce(self, current_pass)
            before = _before(self, current_pass)
        except Exception as error:
            capture.fail("beginning a wait", error)
            return real(self)
        current.busy = True
        current.waiting = current_pass
        calls.wait_begin()
        try:
            batch = real(self)
            _delivered(self, current_pass, before, batch)
            return batch
        except StopIteration:
            _ended(current_pass, before)
            raise
        finally:
            current.busy = False
            current.waiting = None

    base.__next__ = __next__


def _wrap_next_index(base):
    real = base._next_index

    @functools.wraps(real)
    def _next_index(self):
        index = real(self)
        current_pass = self.__dict__.get(ATTRIBUTE)
        if current_pass is not None and calls.enabled:
            try:
                _taken(self, current_pass, index)
            except Exception as error:
                capture.fail("taking indices", error)
        return index

    base._next_index = _next_index


def _taken(iterator, current_pass, index):
    """The sampler gave the indices of the next batch. Without workers its making begins now."""
    number = current_pass.sent
    current_pass.sent += 1
    if iterator._dataset_kind == 0:
        current_pass.sizes[number] = sizes.of_indices(index, iterator._auto_collation)
    if iterator._num_workers == 0 and current.waiting is current_pass:
        calls.batch_begin(current_pass.iterator_id, number, capture.UNKNOWN)


def _before(iterator, current_pass):
    """(batches ready, numbers of the batches under way where they may overtake each other)."""
    tasks = getattr(iterator, "_task_info", None)
    if tasks is None:
        return capture.UNKNOWN, None
    numbers = None if getattr(iterator, "_in_order", True) else set(tasks)
    return _ready(iterator, current_pass, tasks), numbers


def _ready(iterator, current_pass, tasks):
    """Batches that have arrived and were not delivered: kept back because an earlier one is late, or in the queue."""
    if not current_pass.counts_ready:
        return capture.UNKNOWN
    try:
        if iterator._dataset_kind == 0:
            kept = len(tasks) - iterator._tasks_outstanding
        else:
            kept = sum(len(task) == 2 for task in tasks.values())
        return max(0, kept) + iterator._data_queue.qsize()
    except (AttributeError, NotImplementedError, OSError):
        current_pass.counts_ready = False
        return capture.UNKNOWN


def _number(iterator, current_pass, numbers_before):
    """The number of the batch just delivered, as its worker knows it."""
    if getattr(iterator, "_task_info", None) is None:
        return current_pass.sent - 1
    if numbers_before is None:
        return iterator._rcvd_idx - 1
    gone = numbers_before.difference(iterator._task_info)
    return max(gone) if gone else current_pass.delivered


def _delivered(iterator, current_pass, before, batch):
    if not calls.enabled:
        return
    try:
        ready, numbers_before = before
        number = _number(iterator, current_pass, numbers_before)
        samples = current_pass.sizes.pop(number, None)
        if samples is None:
            samples = sizes.of_batch(batch) if iterator._auto_collation else 0
        if iterator._num_workers == 0:
            calls.batch_end(samples)
        flags = 0 if current_pass.delivered else capture.FIRST
        calls.wait_end(current_pass.iterator_id, number, samples, ready, flags)
        current_pass.delivered += 1
    except Exception as error:
        capture.fail("ending a wait", error)


def _ended(current_pass, before):
    if not calls.enabled:
        return
    try:
        flags = capture.END_OF_EPOCH | (0 if current_pass.delivered else capture.FIRST)
        calls.wait_end(current_pass.iterator_id, current_pass.delivered, 0, before[0], flags)
    except Exception as error:
        capture.fail("ending an epoch", error)
