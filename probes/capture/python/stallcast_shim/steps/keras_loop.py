"""Loops of Keras and TensorFlow that are the script's own: what a Keras optimizer updates is a step.

    optimizer.apply(), run as it is called (TensorFlow's eager mode, torch)  -> a step
    optimizer.apply(), traced within a tf.function                           -> from then on each call of that function is one

From there on it is as with optimizers of torch's (own_loop.py). Model.fit on TensorFlow counts its own (loaders/keras.py). On
JAX, where all is traced, steps are those of jax_loop.py.
"""

import functools
import os
import sys
import threading
import weakref

from .. import capture, describe
from ..capture import calls
from ..frames import unseen
from ..states import phases
from ..thread import current, process
from . import optimizer, own_loop, replace
from .watch import TENSORFLOW

_open = {}  # thread -> the outermost tf.function that it is in, and its arguments
_training = {}  # id of a tf.function that an optimizer was traced in -> its _Training
# What an optimizer's apply() asks for before it traces anything, so that nothing of ours is on the stack that TensorFlow
# keeps; of tf_keras', all of it.
_OPTIMIZERS = (("BaseOptimizer", "_filter_empty_gradients"), ("_BaseOptimizer", "apply_gradients"),
               ("OptimizerV2", "apply_gradients"))
_PULLING = {"ReduceDataset", "IteratorGetNext", "IteratorGetNextAsOptional", "MultiDeviceIteratorGetNextFromShard"}
_MOST_LITERALS = 64
_told = set()
_accumulating = {}  # id of an optimizer that accumulates gradients -> its _Accumulation


os.register_at_fork(after_in_child=_open.clear)


def patch(module):
    """Called with a module of TensorFlow's functions, or of Keras' optimizers, just imported."""
    if hasattr(module, "OptionalXlaContext"):
        module.OptionalXlaContext = _watched(module.OptionalXlaContext)
        return
    for owner, name in _OPTIMIZERS:
        function = getattr(getattr(module, owner, None), name, None)
        if hasattr(getattr(function, "__code__", None), "replace"):
            original = replace.copy_of(function)
            replace.call_instead(function, original, functools.partial(_apply, original))


@unseen
def _apply(original, self, *args, **kwargs):
    result = original(self, *args, **kwargs)
    if calls.enabled:
        try:
            _applied(self)
        except Exception as error:
            capture.fail("counting a step of Keras", error)
    return result


def _applied(applied):
    if current.counts_steps:
        return
    backend, every = _backend(type(applied)), getattr(applied, "gradient_accumulation_steps", None) or 1
    if backend == "torch" and _updates(applied, every):
        optimizer.count_step(applied)
    if backend != TENSORFLOW:
        return
    function = _open.get(threading.get_ident())
    if function is None and sys.modules["tensorflow"].executing_eagerly():
        if _updates(applied, every):
            _count(applied)
        return
    under_way = list(_open.values()) if function is None else [function]  # none: a thread of its own for each device
    if len(under_way) == 1:
        _mark(*under_way[0], every)


def _backend(kind):
    """What Keras runs on: TensorFlow alone, but for Keras 3."""
    config = sys.modules.get("keras.src.backend.config")
    if config is None or kind.__module__.startswith("tf_keras."):
        return TENSORFLOW
    return config.backend() if hasattr(config, "backend") else TENSORFLOW


class _Accumulation:
    """Of gradients, over several calls of an optimizer, or of a tf.function: each `every`-th makes a step."""

    def __init__(self, of, kept):
        """Forgotten with `of`, by whose id it is `kept`."""
        key = id(of)
        self._of = weakref.ref(of, lambda _: kept.pop(key, None))
        self._calls = 0

    def is_step(self, every):
        self._calls = (self._calls + 1) % every
        return self._calls == 0


def _updates(applied, every):
    """Whether this call of an optimizer makes a step."""
    if every == 1:
        return True
    if id(applied) not in _accumulating:
        _accumulating[id(applied)] = _Accumulation(applied, _accumulating)
    return _accumulating[id(applied)].is_step(every)


class _Training(_Accumulation):
    """A tf.function that an optimizer was traced in."""

    def __init__(self, function):
        super().__init__(function, _training)
        self.every = 1
        self.literals = set()  # of calls that were traced with an optimizer: another `training=False` is another trace
        self.is_looked_at = self.pulls = False  # its own batches, within the graph

    def trains(self, args, kwargs):
        return len(self.literals) == _MOST_LITERALS or _literals(args, kwargs) in self.literals


def _mark(function, args, kwargs, every):
    if id(function) not in _training:
        _training[id(function)] = _Training(function)
    of = _training[id(function)]
    of.every, of.is_looked_at = every, False
    if len(of.literals) < _MOST_LITERALS:
        of.literals.add(_literals(args, kwargs))


def _literals(args, kwargs):
    """What of a call's arguments is no tensor, and has a function traced anew."""
    named = [*enumerate(args), *(kwargs or {}).items()]
    return tuple((name, value) for name, value in named if type(value) in (bool, int, float, str, type(None)))


def _watched(context):
    """What TensorFlow's function enters for the time of its call, and is left again, with nothing of ours on the stack while
    something is traced: TensorFlow keeps that stack."""

    class Watched(context):
        _stallcast_call = None  # the outermost

        def __enter__(self):
            entered = super().__enter__()
            if calls.enabled and not current.counts_steps and threading.get_ident() not in _open:
                try:
                    self._stallcast_call = _begin(sys._getframe(1))
                except Exception as error:
                    capture.fail("looking at a step of TensorFlow", error)
            return entered

        def __exit__(self, *error):
            if self._stallcast_call is not None:
                try:
                    _end(sys._getframe(1), self._stallcast_call, error[0] is not None)
                except Exception as failed:
                    capture.fail("counting a step of TensorFlow", failed)
            return super().__exit__(*error)

    Watched.__name__, Watched.__qualname__ = context.__name__, context.__qualname__
    return Watched


def _begin(frame):
    """The function of the call that begins, and its arguments; None where it is no such."""
    if frame.f_code.co_name != "__call__":
        return None
    function, args, kwargs = (frame.f_locals.get(name) for name in ("self", "args", "kwds"))
    of = _training.get(id(function))
    if of is not None and own_loop.is_watching() and of.trains(args, kwargs):
        own_loop.step_begins((args, kwargs))
    current.pulls_in_graph = False
    _open[threading.get_ident()] = function, args, kwargs
    return function, args, kwargs


def _end(frame, called, failed):
    _open.pop(threading.get_ident(), None)
    function, args, kwargs = called
    of = _training.get(id(function))
    if failed or of is None or not calls.enabled or not of.trains(args, kwargs):
        return
    if not of.is_looked_at:
        of.is_looked_at, of.pulls = True, of.pulls or current.pulls_in_graph or _pulls(function)
    if of.pulls:
        _tell_within_graph()
    elif of.is_step(of.every):
        _count(function, frame.f_locals.get("result"))


def _pulls(function):
    """Whether it loops over a data set of its own."""
    try:
        graphs = [traced.graph for traced in function._list_all_concrete_functions()]
    except AttributeError:
        return False
    return any(operation.type in _PULLING for graph in graphs for operation in graph.get_operations())


def _tell_within_graph():
    """Once: why a loop within a tf.function is not seen."""
    if "graph" not in _told:
        _told.add("graph")
        capture.issue("keras-waits-unseen", "warning",
                      "waits for batches are not seen: a tf.function goes through its data set, and pulls batches within the graph",
                      "while profiling, loop over the data set in Python and call the tf.function for each batch")


def _count(stepped, result=None):
    if process.steps_told or process.optimizes:  # who makes the steps is known otherwise
        return
    describe.write_consumer(is_torch_complete=True, framework=TENSORFLOW)
    calls.step()
    phases.count_step()
    own_loop.count(stepped, TENSORFLOW, result)
