"""Steps of loops that update their parameters by hand (p.data.add_(p.grad, alpha=-lr)): backward passes.

Until it is known whether an optimizer of torch's steps or a loader delivers, the code of torch.autograd.backward calls
ours. Where either does, it is put back, mostly with the second pass. Where neither has after some passes, and no object
is an optimizer, each backward pass of the thread that made the first one counts as a step, and that is said. Where
torch.compile is there, nothing is counted: it compiles what is called beside a step that it has compiled.
"""

import functools
import gc
import sys
import threading

from .. import capture
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


_state = {"passes": _Passes(), "original": None}


def begin():
    """With torch's optimizers just imported: torch.autograd is there."""
    function = _function()
    if hasattr(function, "__code__"):
        original = _state["original"] = replace.copy_of(function)
        replace.call_instead(function, original, functools.partial(_run, original))
        compilers.before_any(_let_go)


def _function():
    return getattr(sys.modules.get("torch.autograd"), "backward", None)


@unseen
def _run(original, *args, **kwargs):
    passes = _state["passes"]
    if passes.generation != process.generation:
        passes = _state["passes"] = _Passes()
    thread = threading.get_ident()
    if passes.is_open or passes.thread not in (None, thread):
        return original(*args, **kwargs)  # a part of another pass, as of a checkpoint
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
    if process.optimizes or process.steps_told or (process.delivers and not passes.are_steps):
        return False
    if not passes.are_steps:
        passes.made += 1
        if passes.made not in _LOOKED:
            return True
        if _is_optimizer_there():
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
    original, _state["original"] = _state["original"], None
    if original is not None:
        replace.put_back(_function(), original)


def _is_optimizer_there():
    """Asks types alone: an object's own __class__ may be code of the script's."""
    kind = getattr(sys.modules.get("torch.optim.optimizer"), "Optimizer", None)
    return kind is not None and any(issubclass(type(thing), kind) for thing in gc.get_objects())
