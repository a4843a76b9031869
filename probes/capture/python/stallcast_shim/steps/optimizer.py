"""Optimizer steps: torch's global hook where it exists (2.0 on), else the no-op that 1.x calls after every step."""

import functools
import sys

from .. import capture, describe
from ..capture import calls
from ..frames import unseen
from ..states.segment_run import run
from ..thread import process
from . import backward, count, own_loop


_MOST_SETTLED = 16  # a script may make an optimizer for each step


def _is_compiling():
    compiler = getattr(sys.modules.get("torch"), "compiler", None)
    is_compiling = getattr(compiler, "is_compiling", None)
    return is_compiling is not None and is_compiling()


_ask_compiler = _is_compiling  # torch's own function, once a step was made


def count_step(optimizer):
    """One step was made. While torch.compile traces the call, nothing: our call would break a full graph. Between two steps
    what is called is cold in the processor's caches: a step of which nothing is to be found any more is counted right here.
    """
    if not calls.enabled or _ask_compiler():
        return
    try:
        if id(optimizer) in process.settled:
            calls.step()
            loader = run.last_pass.loader
            loader.steps += 1
            if loader.steps >= loader.look_at:
                own_loop.look_again(optimizer)
        else:
            _look(optimizer)
    except Exception as error:
        capture.fail("counting a step", error)


def _look(optimizer):
    """A step of which something may have to be found still."""
    global _ask_compiler
    _ask_compiler = getattr(getattr(sys.modules["torch"], "compiler", None), "is_compiling", _is_compiling)
    describe.write_gradients(optimizer)
    process.optimizes = True
    count.count(optimizer)
    if count.is_all_found() and run.last_pass is not None and len(process.settled) < _MOST_SETTLED:
        process.settled.add(id(optimizer))


def patch(module):
    """Called with torch.optim.optimizer just imported."""
    _patch(module)
    backward.begin()


def _patch(module):
    register = getattr(module, "register_optimizer_step_post_hook", None)
    if register is not None:
        register(_after_step)
        return
    optimizer = module.Optimizer
    real = optimizer._optimizer_step_code

    @functools.wraps(real)
    @unseen
    def _optimizer_step_code(self):
        # A Python function with `self` first: torch's profiler looks at its code object and that local.
        count_step(self)
        return real(self)

    optimizer._optimizer_step_code = _optimizer_step_code


def _after_step(optimizer, args, kwargs):
    count_step(optimizer)
