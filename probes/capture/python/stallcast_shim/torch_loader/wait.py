"""Waits: the consumer asks an iterator for a batch and gets it. Also the batches that a wait makes itself (no workers).

The number of samples of a batch comes from the index list that it was made from, which is exact whatever the batch
looks like; only iterable data sets, which have no indices, are counted by looking at the batch.
"""

import functools
from time import monotonic_ns

from .. import capture, describe, sizes
from ..capture import calls
from ..frames import leave_out, unseen
from ..states import jax_steps, phases
from ..states.segment_run import run
from ..thread import current, process, took_batch

ATTRIBUTE = phases.PASS


def patch(base, announce):
    """Wraps __next__ and _next_index of the base iterator class; announce(iterator, pass) comes before a first wait."""
    _wrap_next(base, announce)
    _wrap_next_index(base)


def _wrap_next(base, announce):
    real = base.__next__

    @functools.wraps(real)
    @unseen
    def __next__(self):
        try:
            return one(real, self, self, announce)
        except BaseException as error:
            leave_out(error)
            raise

    base.__next__ = __next__


@unseen
def one(real, asked, iterator, announce):
    """A wait for a batch of torch's `iterator`, recorded. real(asked) gives it: torch's own, or one that works on what torch
    gave. Between two steps all that is called is cold in the processor's caches: what a wait mostly does stands here and in
    _before and _delivered, and what it seldom does is called."""
    current_pass = iterator.__dict__.get(ATTRIBUTE)
    if current_pass is None or current.busy or not calls.enabled:
        if current.waiting is not None and current_pass is not current.waiting:
            _guarded("counting a loader within", _nested, iterator, current.waiting)
        return real(asked)
    measured = None
    try:
        if jax_steps.state.active:
            jax_steps.before_wait()
        if current_pass.generation != process.generation:
            announce(iterator, current_pass)
        run.last_pass = current_pass
        if run.enabled is not False:
            measured = phases.before(iterator, current_pass)
        ready, numbers = _before(iterator, current_pass)
    except Exception as error:
        capture.fail("beginning a wait", error)
        phases.give_up()
        return real(asked)
    current.busy = True
    current.waiting = current_pass
    received = None if measured is None else getattr(iterator, "_rcvd_idx", None)
    calls.wait_begin()
    try:
        batch = real(asked)
    except StopIteration:
        _ended(current_pass, ready)
        raise
    except Exception:
        if measured is not None and getattr(iterator, "_rcvd_idx", None) != received:
            measured.failed()
        raise
    else:
        samples = _delivered(iterator, current_pass, ready, numbers, batch)
        took_batch(samples)
        if measured is not None:
            _tell(measured, iterator, batch, samples)
        if jax_steps.state.active:
            jax_steps.delivered(current_pass.loader)
        return batch
    finally:
        current.busy = False
        current.waiting = None


def _nested(iterator, outer):
    """Within a wait of the pass `outer` another loader is asked, whose workers read and prepare what the wait is for. Told
    each time that the batches for which that is so have doubled."""
    workers = getattr(iterator, "_num_workers", 0)
    is_own = (outer.loader.text or {}).get("num_workers") is None  # GraphBolt's own workers: its adapter knows of them
    if not workers or is_own or outer.nested_at == outer.delivered:
        return
    outer.nested_at = outer.delivered
    outer.loader.nested += 1
    batches = outer.loader.nested
    if batches & (batches - 1) == 0:
        capture.text(capture.TEXT_MARK, {
            "what": "nested loader", "loader_id": outer.loader.loader_id, "num_workers": workers,
            "dataset_type": type(getattr(iterator, "_dataset", None)).__name__[:200], "batches": batches})


def _tell(measured, iterator, batch, samples):
    try:
        measured.delivered(iterator, batch, samples)
    except Exception as error:
        capture.fail("handing a batch over", error)
        phases.give_up()


def _wrap_next_index(base):
    real = base._next_index

    @functools.wraps(real)
    @unseen
    def _next_index(self):
        current_pass = self.__dict__.get(ATTRIBUTE)
        if current_pass is None or not calls.enabled:
            return real(self)
        if current_pass.sent == 0:
            _guarded("arming a pass", phases.first_draw, self, current_pass)
        begin_ns = monotonic_ns()
        index = real(self)
        current_pass.sampler.ns += monotonic_ns() - begin_ns
        current_pass.sampler.draws += 1
        try:
            if calls.enabled:
                _taken(self, current_pass, index)
        except Exception as error:
            capture.fail("taking indices", error)
            phases.give_up()
        return index

    base._next_index = _next_index


def _guarded(where, function, *arguments):
    try:
        if calls.enabled:
            function(*arguments)
    except Exception as error:
        capture.fail(where, error)
        phases.give_up()


def _taken(iterator, current_pass, index):
    """The sampler gave the indices of the next batch. Without workers its making begins now."""
    number = current_pass.sent
    current_pass.sent += 1
    if iterator._dataset_kind == 0:
        current_pass.sizes[number] = len(index) if type(index) is list else sizes.of_indices(index, iterator._auto_collation)
    if iterator._num_workers == 0 and current.waiting is current_pass:
        calls.batch_begin(current_pass.iterator_id, number, capture.UNKNOWN)
    if run.enabled:
        if current_pass.prediction is not None:
            current_pass.prediction.drawn(number, index, getattr(iterator, "_sampler_iter", None))
        if current_pass.phased is not None:
            current_pass.phased.drawn(number)


def _before(iterator, current_pass):
    """(batches ready, numbers of the batches under way where they may overtake each other). Ready are those that have arrived
    and were not delivered: kept back because an earlier one is late, or in the queue."""
    tasks = getattr(iterator, "_task_info", None)
    if tasks is None:
        return capture.UNKNOWN, None
    numbers = None if getattr(iterator, "_in_order", True) else set(tasks)
    if not current_pass.counts_ready:
        return capture.UNKNOWN, numbers
    try:
        if iterator._dataset_kind == 0:
            kept = len(tasks) - iterator._tasks_outstanding
        else:
            kept = sum(len(task) == 2 for task in tasks.values())
        return (kept if kept > 0 else 0) + iterator._data_queue.qsize(), numbers
    except (AttributeError, NotImplementedError, OSError):
        current_pass.counts_ready = False
        return capture.UNKNOWN, numbers


def _number(iterator, current_pass, numbers_before):
    """The number of the batch just delivered, as its worker knows it."""
    if getattr(iterator, "_task_info", None) is None:
        made_here = not iterator._num_workers and current_pass.sent > 0
        return current_pass.sent - 1 if made_here else current_pass.delivered
    if numbers_before is None:
        return iterator._rcvd_idx - 1
    gone = numbers_before.difference(iterator._task_info)
    return max(gone) if gone else current_pass.delivered


def _delivered(iterator, current_pass, ready, numbers_before, batch):
    """Records the wait; the samples of the batch."""
    if not calls.enabled:
        return 0
    try:
        number = _number(iterator, current_pass, numbers_before)
        samples = current_pass.sizes.pop(number, None)
        loader = current_pass.loader
        if samples is None:
            samples = sizes.of_stream(batch, iterator._auto_collation)
            if not iterator._auto_collation and not loader.delivered:
                describe.write_counted(loader.text, *sizes.of_item(batch))
        if iterator._num_workers == 0:
            calls.batch_end(samples)
            if current_pass.phased is not None:
                phases.end_batch()
        calls.wait_end(current_pass.iterator_id, number, samples, ready, 0 if current_pass.delivered else capture.FIRST)
        if not loader.delivered and samples:
            describe.write_prepared(loader.loader_id, batch, samples)
        current_pass.delivered += 1
        loader.delivered += 1
        if current_pass.sampler.draws >= current_pass.sampler.due:
            current_pass.sampler.write(current_pass.iterator_id)
        return samples
    except Exception as error:
        capture.fail("ending a wait", error)
        return 0


def _ended(current_pass, ready):
    current_pass.is_over = True
    current_pass.loader.whole = current_pass.delivered
    if current_pass.prediction is not None:
        current_pass.prediction.end("the pass is over")
    if not calls.enabled:
        return
    try:
        current_pass.sampler.write(current_pass.iterator_id)
        if current_pass.phased is not None and phases.is_phased():
            current_pass.phased.ended()
        flags = capture.END_OF_EPOCH | (0 if current_pass.delivered else capture.FIRST)
        calls.wait_end(current_pass.iterator_id, current_pass.delivered, 0, ready, flags)
    except Exception as error:
        capture.fail("ending an epoch", error)
