"""Loops of JAX without a loader: the calls of the jitted function that a gradient is taken in are the steps.

    step(state, batch), the first time -> traced in Python, a gradient in it (states/jax_steps.py); no loader gave the batch
    step(state, batch), from then on   -> seen by the capture library (bridge/callables.cpp): a step, counted once it returns

From there on it is as with optimizers of torch's (own_loop.py). What takes its gradients in no jitted function is not seen.
"""

import atexit
import gc
import os

from .. import describe
from ..capture import calls
from ..states import jax_steps, phases
from ..thread import process
from . import own_loop

_PJIT = os.path.join("jax", "_src", "pjit.py")


def patch(module):
    """Called with jax._src.api just imported."""
    jax_steps.patch(module)
    jax_steps.state.without_loader = _look


def _look(frame):
    """A gradient is taken, called from this frame, and no loader has given this thread a batch."""
    if calls.watch_calls is None or process.delivers or process.optimizes or process.steps_told:
        return
    for jitted in _jitted(frame):
        if calls.watch_calls(jitted, _before, _after):
            atexit.register(calls.forget_calls)


def _jitted(frame):
    """The objects of the outermost jitted function that is traced."""
    function = None
    while frame is not None:
        code = frame.f_code
        if code.co_name == "cache_miss" and code.co_filename.endswith(_PJIT):
            function = frame.f_locals.get("fun", function)
        frame = frame.f_back
    if function is None:
        return []
    return [one for one in gc.get_objects()
            if type(one).__name__ == "PjitFunction" and getattr(one, "__wrapped__", None) is function]


def _before(*args, **kwargs):
    own_loop.step_begins((*args, kwargs))


def _after(jitted, result):
    if not calls.enabled:
        return
    if process.steps_told or process.optimizes or (process.delivers and not own_loop.is_timed(own_loop.JAX)):
        calls.forget_calls()  # who makes the steps is known otherwise
        return
    describe.write_consumer(is_torch_complete=True, framework=own_loop.JAX)
    calls.step()
    phases.count_step()
    own_loop.count(jitted, own_loop.JAX, result)
