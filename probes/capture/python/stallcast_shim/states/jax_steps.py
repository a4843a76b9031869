"""Steps of a JAX job: which loader trains, where another one evaluates.

Calls of a jitted function are not to be seen: it is an object of C++, and one that takes and gives the parameters may
also update metrics. But it is traced in Python, at its first call: right after the first batch of the loader that it is
called for.

    batch of the training loader -> step(state, batch) is traced, a gradient in it -> that loader trains
    batch of the other loader    -> evaluate(state, batch) is traced, without one  -> not known to

From there on each batch of a loader that trains is a step, made when the next batch is asked for. Where nothing is
traced within the loop (compiled before it) no step is told, and batches are the steps, as everywhere without steps.
"""

import functools
import sys
import threading

from .. import capture
from ..capture import calls
from ..frames import unseen
from ..thread import process
from . import phases


class _State:
    active = False  # JAX is there
    told = False
    placed = False  # it was said where a gradient is taken
    without_loader = None  # called with the frame that takes a gradient where no loader gave the batch


state = _State()


class _Thread(threading.local):
    loader = None  # loader.Loader of the batch that this thread has
    is_pending = False  # it asked for no other one since


_thread = _Thread()


def patch(module):
    """With jax._src.api just imported. What looks at the value that a gradient is taken of is called once for
    each, and is over before anything else is traced: no frame of ours is in what JAX keeps of the stack."""
    real = getattr(module, "_check_scalar", None)
    if real is None:
        return

    @functools.wraps(real)
    @unseen
    def _check_scalar(*args, **kwargs):
        loader = _thread.loader
        if loader is not None:
            loader.trains = True
        else:
            _tell_without_loader(sys._getframe(1))
        return real(*args, **kwargs)

    module._check_scalar = _check_scalar
    state.active = True


def _tell_without_loader(frame):
    """Where the script calls what takes a gradient: the outermost of its frames that calls a library. Where no loader is
    ever seen, the page says it."""
    try:
        from ..scripts import caller_of_library  # here: the waits of loaders import this module, also in workers

        place = None if state.placed else caller_of_library(frame)
        state.placed = True
        if place and calls.enabled:
            capture.text(capture.TEXT_MARK, {"what": "jax gradient", "at": place[:400]})
        if state.without_loader is not None and calls.enabled:
            state.without_loader(frame)
    except Exception as error:
        capture.fail("telling where JAX takes a gradient", error)


def told():
    """The script tells its steps itself (stallcast.step)."""
    state.told = True


def before_wait():
    """This thread asks for a batch: with the one before it, a step was made."""
    if not _thread.is_pending:
        return
    _thread.is_pending = False
    try:
        if calls.enabled and _thread.loader.trains and not state.told and not process.optimizes:
            calls.step()
            phases.count_step()
    except Exception as error:
        capture.fail("counting a step of JAX", error)


def delivered(loader):
    """This thread has a batch of the loader."""
    if state.active:
        _thread.loader = loader
        _thread.is_pending = True
