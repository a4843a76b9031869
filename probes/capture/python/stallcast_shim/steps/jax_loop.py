"""Loops of JAX without a loader: the calls of the jitted function that a gradient is taken in are the steps.

    step(state, batch), the first time -> traced in Python, a gradient in it (states/jax_steps.py); no loader gave the batch
    step(state, batch), from then on   -> seen by the capture library (bridge/callables.cpp): a step, counted once it returns

From there on it is as with optimizers of torch's (own_loop.py). What takes its gradients in no jitted function is not seen.
"""

import atexit
import gc
import os
import weakref

from .. import capture, describe
from ..capture import calls
from ..states import jax_steps, phases
from ..thread import process
from . import own_loop
from .watch import JAX

_PJIT = os.path.join("jax", "_src", "pjit.py")


def patch(module):
    """Called with jax._src.api just imported."""
    jax_steps.patch(module)
    jax_steps.state.without_loader = _look


class _Looked:
    """What was looked for in this process."""

    functions = {}  # id of a function -> weak reference to it
    scans = 0
    forgets = False  # at exit


_MOST_SCANS = 8  # of all objects: a job has one or two functions that take gradients
_looked = _Looked()


def _look(frame):
    """A gradient is taken, called from this frame, and no loader has given this thread a batch."""
    if calls.watch_calls is None or process.optimizes or process.steps_told or _is_served():
        return
    for jitted in _jitted(_outermost(frame)):
        if calls.watch_calls(jitted, _before, _after) and not _looked.forgets:
            _looked.forgets = True
            atexit.register(calls.forget_calls)


def _is_served():
    """A loader gives the batches."""
    return process.delivers and not own_loop.is_timed(JAX)


def _outermost(frame):
    """The function that was jitted, of the outermost that is traced; None where none is."""
    function = None
    while frame is not None:
        code = frame.f_code
        if code.co_name == "cache_miss" and code.co_filename.endswith(_PJIT):
            function = frame.f_locals.get("fun", function)
        frame = frame.f_back
    return function


def _jitted(function):
    """The jitted objects of a function that was not looked at before."""
    known = _looked.functions.get(id(function))
    if function is None or (known is not None and known() is function) or _looked.scans == _MOST_SCANS:
        return []
    _looked.scans += 1
    _looked.functions[id(function)] = weakref.ref(function)
    return [one for one in gc.get_objects()
            if type(one).__name__ == "PjitFunction" and getattr(one, "__wrapped__", None) is function]


def _before(*args, **kwargs):
    if own_loop.is_watching():
        try:
            own_loop.step_begins((args, kwargs))
        except Exception as error:
            capture.fail("looking at a step of JAX", error)


def _after(jitted, result):
    """What a signal handler of the script's raises, in here, is the script's: nothing of it is held back."""
    if calls.enabled:
        try:
            _count(jitted, result)
        except Exception as error:
            capture.fail("counting a step of JAX", error)


def _count(jitted, result):
    if process.steps_told or process.optimizes or _is_served():
        calls.forget_calls()  # who makes the steps is known otherwise
        return
    describe.write_consumer(is_torch_complete=True, framework=JAX)
    calls.step()
    phases.count_step()
    own_loop.count(jitted, JAX, result)
