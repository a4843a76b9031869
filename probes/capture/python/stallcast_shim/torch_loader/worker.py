"""The worker loop: its two queues are wrapped, which marks each batch from index list in hand to handed over.

The marks lie in get() and put() and not around fetch(), so that no frame of ours gets into the text of an exception
that the worker sends to the script.
"""

import functools
import inspect

from .. import capture, describe, sizes, thread
from ..capture import calls
from ..frames import unseen
from ..states import phases
from . import operators


class Worker:
    """What this worker is doing."""

    def __init__(self, number, workers, auto_collation, iterable, keeps_state=False):
        self.number = number
        self.keeps_state = keeps_state  # torchdata's: whether to send its state travels with the index list and back
        self.workers = workers
        self.auto_collation = auto_collation
        self.iterable = iterable
        self.passes = 0  # n-th pass: persistent workers see several
        self.samples = 0  # of the batch in the making
        self.is_described = False
        self.is_phased = False  # the batch in the making belongs to a phased pass
        self.fetched = None  # data set and collate function, until operators were looked for once more

    def describe(self):
        """Once the worker is set up (its thread count chosen, the user's init function run)."""
        if not self.is_described:
            self.is_described = True
            describe.write_worker(self.number, self.workers)

    def look_again(self):
        """Operators that a data set makes at its first sample are there now."""
        if self.fetched is not None:
            fetched, self.fetched = self.fetched, None
            operators.mark(*fetched)


class _Forward:
    """Everything but the marked method goes to the real queue."""

    def __init__(self, real, worker):
        self._real = real
        self._worker = worker

    def __getattr__(self, name):
        return getattr(self._real, name)


class IndexQueue(_Forward):
    """get() marks that the worker asks, and that it has an index list."""

    _asking = False

    def get(self, *args, **kwargs):
        if calls.enabled and not self._asking:  # torch's loop asks again every few seconds: one wait
            self._asking = True
            calls.batch_asked()
        task = self._real.get(*args, **kwargs)
        self._asking = False
        task, index, phased = self._unpacked(task)
        if calls.enabled:
            try:
                self._begin(task, index, phased)
            except Exception as error:
                capture.fail("marking the begin of a batch", error)
        return task

    def _unpacked(self, task):
        """(task as the worker loop is to see it, its index list, the Task that carried that or None)."""
        if type(task) is not tuple:
            return task, None, None
        more = task[1][1:] if self._worker.keeps_state else ()
        index = task[1][0] if self._worker.keeps_state else task[1]
        if type(index) is not phases.Task:
            return task, index, None
        return (task[0], (index.payload, *more) if more else index.payload), index.payload, index

    def _begin(self, task, index, phased):
        worker = self._worker
        if type(task) is tuple:
            number = task[0]
            if phased is not None and phases.is_phased():
                number = phased.number
                worker.is_phased = True
                phased.begin(worker.passes, worker.iterable)
            worker.samples = sizes.of_indices(index, worker.auto_collation)
            thread.current.busy = True
            calls.batch_begin(worker.passes, number, worker.number)
        elif type(task).__name__ == "_ResumeIteration":
            worker.passes += 1


class DataQueue(_Forward):
    """put() marks that a batch is made, and that it is handed over."""

    def put(self, item, *args, **kwargs):
        is_batch = thread.current.busy
        if is_batch and calls.enabled:
            try:
                calls.batch_end(self._samples(item[1]))
            except Exception as error:
                capture.fail("marking the end of a batch", error)
        thread.current.busy = False
        self._real.put(item, *args, **kwargs)
        if is_batch and calls.enabled:
            calls.batch_put()
            self._worker.look_again()
            if self._worker.is_phased:
                phases.end_batch()

    def _samples(self, data):
        worker = self._worker
        if worker.keeps_state:
            data = data[0]
        if type(data).__name__ in ("ExceptionWrapper", "_IterableDatasetStopIteration"):
            return 0
        if worker.iterable:
            return sizes.of_stream(data, worker.auto_collation)
        return worker.samples


def patch(module):
    """Wraps _worker_loop, torch's or torchdata's. The wrapper keeps its name: spawn and forkserver pickle it by that."""
    real = module._worker_loop

    @functools.wraps(real)
    @unseen
    def _worker_loop(*args, **kwargs):
        if calls.enabled:
            try:
                args, kwargs = _marked(real, args, kwargs)
            except Exception as error:
                capture.fail("wrapping a worker's queues", error)
        return real(*args, **kwargs)

    module._worker_loop = _worker_loop
    phases.run.worker_loops.add(module.__name__)


def _marked(real, args, kwargs):
    """The arguments of the worker loop with both queues wrapped, whatever their order in this version of torch."""
    bound = inspect.signature(real).bind(*args, **kwargs)
    given = bound.arguments
    worker = Worker(given["worker_id"], given["num_workers"], given["auto_collation"], given["dataset_kind"] != 0,
                    "worker_state" in given)
    given["index_queue"] = IndexQueue(given["index_queue"], worker)
    given["data_queue"] = DataQueue(given["data_queue"], worker)
    thread.enter_worker(worker)
    return bound.args, bound.kwargs
