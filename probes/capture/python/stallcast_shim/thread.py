"""What the current thread is in the middle of: keeps what happens inside a wait or a batch from being counted twice."""

import threading


class _Thread(threading.local):
    busy = False  # inside a wait, or in a worker inside the making of a batch: loaders used in there are its content
    waiting = None  # loader.Pass of the wait
    worker = None  # worker.Worker while this thread runs a worker loop
    iterator = None  # the iterator being created or reset
    current_pass = None  # its loader.Pass; None where nothing of it is recorded


current = _Thread()
took = {}  # thread that waited for batches of a loader -> samples of its last one


def enter_worker(worker):
    """A worker loop begins: a forked worker inherits the state of the thread that was creating the iterator."""
    current.busy = False
    current.waiting = None
    current.iterator = None
    current.current_pass = None
    current.worker = worker
