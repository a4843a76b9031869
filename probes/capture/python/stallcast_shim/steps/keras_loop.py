"""Loops of Keras and TensorFlow that are the script's own: what a Keras optimizer updates is a step.

    optimizer.apply(), run as it is called (TensorFlow's eager mode, torch)  -> a step
    optimizer.apply(), traced within a tf.function                           -> from then on each call of that function is one

From there on it is as with optimizers of torch's (own_loop.py). Model.fit on TensorFlow counts its own (loaders/keras.py). On
JAX, where all is traced, steps are those of jax_loop.py.
"""

import functools
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

_open = {}  # thread -> the outermost tf.function that it is in
_training = {}  # id of a tf.function that an optimizer was traced in -> weak reference to it, its calls that make a step
_OPTIMIZERS = (("BaseOptimizer", "apply"), ("_BaseOptimizer", "apply_gradients"), ("OptimizerV2", "apply_gradients"))
_DATA = (("tensorflow.python.data.ops.dataset_ops", "DatasetV2"),
         ("tensorflow.python.data.ops.iterator_ops", "OwnedIterator"))  # what batches are pulled from
_told = []
_updates = {}  # id of such a function, or of an optimizer, that accumulates -> its calls since the last step


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
    if backend == "torch" and _is_step(applied, every):
        optimizer.count_step(applied)
    if backend != TENSORFLOW:
        return
    function = _open.get(threading.get_ident())
    if function is None and sys.modules["tensorflow"].executing_eagerly():
        if _is_step(applied, every):
            _count(applied)
        return
    for one in list(_open.values()) if function is None else [function]:  # none: a thread of its own for each device
        _mark(one, every)


def _backend(kind):
    """What Keras runs on: TensorFlow alone, but for Keras 3."""
    config = sys.modules.get("keras.src.backend.config")
    if config is None or kind.__module__.startswith("tf_keras."):
        return TENSORFLOW
    return config.backend() if hasattr(config, "backend") else TENSORFLOW


def _is_step(applied, every):
    """With gradients accumulated, each n-th call is."""
    if every == 1:
        return True
    made = _updates.get(id(applied), 0) + 1
    _updates[id(applied)] = made % every
    return made == every


def _mark(function, every):
    key = id(function)
    _training[key] = weakref.ref(function, lambda _: _training.pop(key, None)), every


def _watched(context):
    """What TensorFlow's function enters for the time of its call, and is left again, with nothing of ours on the stack while
    something is traced: TensorFlow keeps that stack."""

    class Watched(context):
        _stallcast_args = None  # of the outermost call

        def __enter__(self):
            if calls.enabled and not current.counts_steps and threading.get_ident() not in _open:
                try:
                    self._stallcast_args = _begin(sys._getframe(1))
                except Exception as error:
                    capture.fail("looking at a step of TensorFlow", error)
            return super().__enter__()

        def __exit__(self, *error):
            if self._stallcast_args is not None:
                try:
                    _end(sys._getframe(1), self._stallcast_args, error[0] is not None)
                except Exception as failed:
                    capture.fail("counting a step of TensorFlow", failed)
            return super().__exit__(*error)

    Watched.__name__, Watched.__qualname__ = context.__name__, context.__qualname__
    return Watched


def _begin(frame):
    """The arguments of the call of a tf.function that begins; None where it is no such."""
    if frame.f_code.co_name != "__call__":
        return None
    function, args = frame.f_locals["self"], frame.f_locals["args"]
    if id(function) in _training and own_loop.is_watching():
        own_loop.step_begins((args, frame.f_locals.get("kwds")))
    _open[threading.get_ident()] = function
    return args


def _end(frame, args, failed):
    function = _open.pop(threading.get_ident(), None)
    every = _training.get(id(function), (None, 0))[1]
    if failed or not every or not calls.enabled:
        return
    if any(map(_is_data, args)):
        _tell_within_graph()
    elif _is_step(function, every):
        _count(function, frame.f_locals.get("result"))


def _is_data(value):
    return any(issubclass(type(value), getattr(sys.modules.get(module), name, ())) for module, name in _DATA)


def _tell_within_graph():
    """Once: why a loop within a tf.function is not seen."""
    if not _told:
        _told.append(True)
        capture.issue("keras-waits-unseen", "warning",
                      "waits for batches are not seen: a tf.function is given the data set, and pulls its batches within the graph",
                      "while profiling, loop over the data set in Python and call the tf.function for each batch")


def _count(stepped, result=None):
    if process.steps_told or process.optimizes:  # who makes the steps is known otherwise
        return
    describe.write_consumer(is_torch_complete=True, framework=TENSORFLOW)
    calls.step()
    phases.count_step()
    own_loop.count(stepped, TENSORFLOW, result)
