"""Which function of the script makes its batches, where no loader is seen: two steps are watched once.

A profile function of this thread (sys.setprofile) sees every call from one optimizer step to the second after it, which
makes a tree. What trains in it (a module's forward, a backward pass, an optimizer) is no making of batches; what returns
arrays and does not train may be. Arrays that a forward pass is then given prove it.

    loop -> get_batch("train")      returns (x, y)            candidate: x is given to the model
         -> model(x)                a module                  trains
         -> loss.backward()                                   trains
         -> estimate_loss() -> get_batch("val")               trains inside: looked into; the same function
"""

import gc
import os
import sys
import time

from .. import sizes
from ..scripts import is_script
from . import compilers
from .arrays import Arrays, first_of, lengths_of

PYTORCH, JAX, TENSORFLOW = "pytorch", "jax", "tensorflow"  # what steps
STEPS = 2
_MOST_CALLS = 400000  # of two steps; more and the watching costs too much
GENERATOR, NESTED = 0x20, 0x10  # flags of code; nested: the function is made each time that the one around it is called
COROUTINES = 0x80 | 0x100 | 0x200
# Whoever asks for the locals of such a frame has Python 3.11.2 crash, where garbage is collected while it gives something.
_RESUMED = GENERATOR | COROUTINES


class Node:
    """One call. `made`: numbers of the arrays that it returned."""

    __slots__ = ("code", "number", "children", "made", "needs_gradients", "is_graded", "trains", "is_open", "is_early",
                 "seconds", "taken", "is_batch", "is_of_library")

    def __init__(self, code, number, is_early):
        self.code = code
        self.number = number  # of all calls
        self.is_early = is_early  # no module was called yet in this step
        self.seconds = time.perf_counter()
        self.taken = set()  # numbers of the arrays that it was called with
        self.children = []
        self.made = ()
        self.needs_gradients = False
        self.is_graded = True
        self.trains = False
        self.is_open = True
        self.is_batch = False  # it handed over what looks like one
        self.is_of_library = False  # and is called by the script itself


class Given:
    """What the outermost calls of modules were given."""

    __slots__ = ("arrays", "first", "first_lengths")

    def __init__(self):
        self.arrays = set()  # their numbers
        self.first = set()  # of these, the first one of each call
        self.first_lengths = set()  # of the first array of each call


class Watch:
    """Sees the calls of this thread from begin() to end()."""

    def __init__(self, library, sources=(), blocking=(), passes_are_steps=False):
        """`library`: what trains; of others than torch a step may be one call (step_begins). `sources`: code that hands
        batches over; `blocking`: code that waits for other threads; `passes_are_steps`: a step ends with its backward pass,
        as no optimizer is there."""
        self._sources, self._blocking = sources, blocking
        self.handed = []  # calls of sources
        self.blocked = {}  # blocking code -> {(code of the script, line)} that called it before a forward pass
        self.is_training = False  # a module was called, or a backward pass made
        torch = sys.modules["torch"] if library == PYTORCH else None
        self._library = library
        self._forward, backward, self._optimizing = _training_code(torch)
        self._steps = backward if passes_are_steps else self._optimizing
        self._training = self._forward | backward | self._optimizing
        self.is_torch = torch is not None
        self._is_apart = False  # what is called now is called for us
        self.step_calls = []  # numbers of the calls that were the last before the end of each step
        self._is_early = True
        self.roots = []
        self._stack = []
        self._is_graded = torch.is_grad_enabled if torch is not None else _always
        self.arrays = Arrays()
        self.given = Given()  # to modules
        self.given_to_train = Given()  # to those whose gradients are kept: others act, evaluate or are frozen
        self.gave = set()  # and of those that they returned
        self._forwards = 0  # modules whose call is open
        self.forward_calls = 0  # of modules within no other
        self._calls = 0
        self.is_lost = False  # too many calls, or something of ours failed

    def begin(self):
        """False where another profiler holds the thread."""
        if sys.getprofile() is not None:
            return False
        compilers.keep_out()
        sys.setprofile(self._event)
        return True

    def end(self):
        if getattr(sys.getprofile(), "__self__", None) is self:
            sys.setprofile(None)
        else:
            self.is_lost = True  # the script has set one of its own meanwhile

    def step_begins(self, values):
        """A step that is one call, which no profile function sees, is made with these."""
        self.is_training = True
        self.forward_calls += 1
        for open_node in self._stack:
            open_node.trains = True
        for given in (self.given, self.given_to_train):
            self._note_leaves(values, given.arrays)

    def step_ends(self):
        self.step_calls.append(self._calls)

    def step_gave(self, value):
        self._note_leaves(value, self.gave)

    def _note_given(self, values):
        first = first_of(values)
        for given in (self.given, self.given_to_train) if self._is_graded() else (self.given,):
            self.arrays.note(values, given.arrays)
            if first is not None:
                self.arrays.note([first], given.first)
                given.first_lengths |= lengths_of(first)

    def _note_leaves(self, values, into):
        """What nodes of the script's own do, for a pytree of JAX's to be taken apart, makes no batches."""
        self._is_apart = True
        try:
            leaves = sys.modules["jax"].tree_util.tree_leaves(values) if self._library == JAX else [values]
            self.arrays.note(leaves, into)
        finally:
            self._is_apart = False

    def _event(self, frame, event, argument):
        if self._is_apart:
            return
        # A collection of garbage in here goes through the frame of a generator that is about to give something, and
        # Python 3.11 ends with it: it comes as soon as the script goes on.
        collects = gc.isenabled()
        gc.disable()
        try:
            if event == "call":
                self._call(frame)
            elif event == "return":
                self._return(frame, argument)
        except Exception:
            self._lose()
        finally:
            if collects:
                gc.enable()

    def _lose(self):
        self.is_lost = True
        sys.setprofile(None)

    def _call(self, frame):
        self._calls += 1
        if self._calls > _MOST_CALLS:
            self._lose()
            return
        code = frame.f_code
        node = Node(code, self._calls, self._is_early)
        (self._stack[-1].children if self._stack else self.roots).append(node)
        self._stack.append(node)
        caller = frame.f_back
        node.is_of_library = self.is_torch and not is_script(code) and caller is not None and is_script(caller.f_code)
        if (node.is_of_library or is_script(code)) and not code.co_flags & _RESUMED:
            self.arrays.note(list(frame.f_locals.values()), node.taken, are_fields=False)
        if code in self._forward:
            if not self._forwards:
                values = [value for name, value in frame.f_locals.items() if name != "self"]  # whose parameters are no batch
                self._note_given(values)
                self.forward_calls += 1
            self._forwards += 1
            self._is_early = False
        elif code in self._steps:
            self._is_early = True
        if code in self._blocking and self._is_early and not self._trains():
            self._block(code, frame.f_back)
        if code in self._training:
            self.is_training = self.is_training or code not in self._optimizing
            for open_node in self._stack:
                open_node.trains = True

    def _return(self, frame, value):
        if not self._stack:
            return  # of a call that began before
        node = self._stack.pop()
        node.is_open = False
        node.seconds = time.perf_counter() - node.seconds
        if node.code in self._forward:
            self._forwards -= 1
            if not self._forwards:
                self.arrays.note([value], self.gave)
        if value is None or node.trains or self._forwards:
            return
        if node.code in self._sources and not self._trains() and not _is_event_loop(frame.f_back):
            node.is_batch = sizes.of_batch(value) > 0
            self.handed.append(node)
        made = set()
        node.needs_gradients = self.arrays.note([value], made)
        node.made = made
        node.is_graded = self._is_graded()

    def _block(self, code, caller):
        """What a library waits for on its own, as for a thread that starts, is no hand-over."""
        place = script_place(caller)
        if place is not None and (is_script(caller.f_code) or (code not in self._sources and _is_event_loop(caller))):
            self.blocked.setdefault(code, set()).add(place)

    def _trains(self):
        """Whether this is within a model, a backward pass or an optimizer."""
        return any(node.code in self._training for node in self._stack)


def _always():
    return True


def _is_event_loop(frame):
    """asyncio asks for what is there already: it has waited for it in its selector."""
    return frame is not None and os.sep + "asyncio" + os.sep in frame.f_code.co_filename


def script_place(frame):
    """(code, line) of the script that is being executed there, None where there is none."""
    while frame is not None and not is_script(frame.f_code):
        frame = frame.f_back
    return None if frame is None else (frame.f_code, frame.f_lineno)


def _training_code(torch):
    """Code of a module's call, of a backward pass, of an optimizer step: of Keras', and of torch's where that trains."""
    layer = _imported("keras.src.layers.layer", "Layer") or _imported("tf_keras.src.engine.base_layer", "Layer")
    optimizers = (_imported("keras.src.optimizers.base_optimizer", "BaseOptimizer"),
                  _imported("tf_keras.src.optimizers.optimizer", "_BaseOptimizer"))
    call = getattr(layer, "__call__", None)
    forward = _codes(getattr(call, "__wrapped__", call))  # what filters tracebacks is the same code for all
    steps = _codes(getattr(optimizers[0], "_filter_empty_gradients", None), getattr(optimizers[1], "apply_gradients", None))
    backward = _codes(getattr(_imported("tensorflow.python.eager.backprop", "GradientTape"), "gradient", None))
    if torch is None:
        return forward, backward, steps
    module, optimizer = torch.nn.Module, torch.optim.Optimizer
    forward |= _codes(module.__call__, getattr(module, "_call_impl", None), getattr(module, "_wrapped_call_impl", None))
    backward |= _codes(torch.Tensor.backward, torch.autograd.backward, torch.autograd.grad)
    steps |= _codes(getattr(optimizer, "zero_grad", None), getattr(optimizer, "profile_hook_step", None))
    return forward, backward, steps


def _imported(module, name):
    return getattr(sys.modules.get(module), name, None)


def _codes(*functions):
    return {function.__code__ for function in functions if hasattr(function, "__code__")}
