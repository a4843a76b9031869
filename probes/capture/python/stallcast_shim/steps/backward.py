"""Steps of loops that update their parameters by hand (p.data.add_(p.grad, alpha=-lr)): backward passes.

Until it is known whether an optimizer of torch's steps or a loader delivers, the code of torch.autograd.backward calls
ours. Where either does, it is put back, mostly with the second pass. Where neither has after some passes, and no object
is an optimizer, each backward pass of the thread that made the first one counts as a step, and that is said. Where
torch.compile is imported, nothing is counted: it compiles what is called beside a step that it has compiled.
"""

import functools
import gc
import sys
import threading

from .. import capture
from ..capture import calls
from ..frames import unseen
from ..thread import process
from . import compilers, count, own_loop, replace

_LOOKED = (8, 64, 512)  # passes after which optimizers are looked for: a step may be made of many


class _Passes:
    """Of this process: a forked child has a recording of its own, in which nothing is said yet."""

    def __init__(self):
        self.generation = process.generation
        self.thread = None  # that made the first one
        self.is_open = False
        self.made = 0
        self.are_steps = False


_state = {"passes": _Passes(), "function": None, "original": None}


def begin():
    """With torch's optimizers just imported: torch.autograd is there."""
    function = getattr(sys.modules.get("torch.autograd"), "backward", None)
    if compilers.are_there() or not hasattr(getattr(function, "__code__", None), "replace"):
        return  # it is not a function of Python's, or this is Python 3.7
    original = replace.copy_of(function)
    _state.update(function=function, original=original)
    compilers.before_any(_before_compiling)
    replace.call_instead(function, original, functools.partial(_run, original))


def _before_compiling():
    passes, counted = _state["passes"], _state["function"] is not None
    _let_go()
    if counted and calls.enabled and passes.are_steps and passes.generation == process.generation:
        _say_no_longer("torch.compile, which optimizers import as well,")


def _say_no_longer(what):
    capture.issue("steps-counted", "warning",
                  what + " came after steps had been counted by their backward passes: these are counted no longer",
                  "what is told per step mixes before and after; call stallcast.step() where the parameters are updated")


@unseen
def _run(original, *args, **kwargs):
    passes = _state["passes"]
    if passes.generation != process.generation:
        passes = _state["passes"] = _Passes()
    thread = threading.get_ident()
    if passes.is_open or (passes.thread not in (None, thread) and passes.thread in sys._current_frames()):
        return original(*args, **kwargs)  # a part of another pass, as of a checkpoint, or of another thread's training
    passes.thread, passes.is_open = thread, True
    try:
        made = original(*args, **kwargs)
    finally:
        passes.is_open = False
    try:
        if not _count(passes):
            _let_go()
    except Exception as error:
        _let_go()
        capture.fail("counting a backward pass", error)
    return made


def _count(passes):
    """A pass was made; False where no more is to be known of others."""
    if not calls.enabled:
        return False
    if process.optimizes and passes.are_steps:
        _say_no_longer("an optimizer of torch's")
    if process.optimizes or process.steps_told or (process.delivers and not passes.are_steps):
        return False
    if not passes.are_steps:
        passes.made += 1
        if passes.made not in _LOOKED:
            return True
        if _is_optimizer_there() or "stallcast" in sys.modules:  # which has a function to tell steps
            return passes.made != _LOOKED[-1]
        passes.are_steps = True
        capture.issue("steps-counted", "info",
                      "after %d backward passes there was neither an optimizer of torch's nor a loader: each backward pass "
                      "counts as a step" % passes.made,
                      "where several passes make one step, call stallcast.step() at the place that updates the parameters")
    count.count(own_loop.PASSES)
    return True


def _let_go():
    """torch.autograd.backward is what it was."""
    function, original = _state["function"], _state["original"]
    _state.update(function=None, original=None)
    if function is not None:
        replace.put_back(function, original)


def _is_optimizer_there():
    """Asks types alone: an object's own __class__ may be code of the script's."""
    kind = getattr(sys.modules.get("torch.optim.optimizer"), "Optimizer", None)
    return kind is not None and any(issubclass(type(thing), kind) for thing in gc.get_objects())
