"""What the current thread is in the middle of: keeps what happens inside a wait or a batch from being counted twice."""

import os
import sys
import threading


class _Thread(threading.local):
    busy = False  # inside a wait, or in a worker inside the making of a batch: loaders used in there are its content
    waiting = None  # loader.Pass of the wait
    worker = None  # worker.Worker while this thread runs a worker loop
    pulls_in_graph = False  # a batch of tf.data was pulled within what TensorFlow traced last
    counts_steps = False  # inside what counts its own steps (Model.fit of Keras)
    iterator = None  # the iterator being created or reset
    current_pass = None  # its loader.Pass; None where nothing of it is recorded


class _Process:
    """What all threads of this process share."""

    generation = 0  # a forked child has a recording of its own, in which nothing is announced yet
    delivers = False  # a loader was seen
    gives_to_train = False  # one gave a batch where torch keeps gradients
    optimizes = False  # torch's optimizers step
    steps_told = False  # the script calls stallcast.step()
    settled = set()  # optimizers by id, of whose steps there is nothing more to find: they are counted alone


def _enter_child():
    process.generation += 1
    process.settled.clear()


current = _Thread()
process = _Process()
os.register_at_fork(after_in_child=_enter_child)
took = {}  # thread that waited for batches of a loader -> samples of its last one


def took_batch(samples):
    """This thread got a batch of a loader."""
    took[threading.get_ident()] = samples
    if not process.gives_to_train:
        process.gives_to_train = keeps_gradients() is True


def keeps_gradients():
    """Whether torch keeps gradients in this thread; None where it is not imported."""
    is_enabled = getattr(sys.modules.get("torch"), "is_grad_enabled", None)
    return None if is_enabled is None else is_enabled()


def enter_worker(worker):
    """A worker loop begins: a forked worker inherits the state of the thread that was creating the iterator."""
    current.busy = False
    current.waiting = None
    current.iterator = None
    current.current_pass = None
    current.worker = worker
