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
from ..frames import leave_out, unseen
from ..states import phases
from ..thread import current, process
from . import optimizer, own_loop, replace
from .watch import TENSORFLOW

_open = {}  # thread -> the outermost tf.function that it is in
_training = {}  # id of a tf.function that an optimizer was traced in -> weak reference to it, its calls that make a step
_DATA = (("tensorflow.python.data.ops.dataset_ops", "DatasetV2"),
         ("tensorflow.python.data.ops.iterator_ops", "OwnedIterator"))  # what batches are pulled from
_told = []
_updates = {}  # id of such a function, or of an optimizer, that accumulates -> its calls since the last step


def patch(module):
    """Called with a module of TensorFlow's functions, or of Keras' optimizers, just imported."""
    if hasattr(module, "Function"):
        _patch_function(module.Function)
        return
    for owner, name in (("BaseOptimizer", "apply"), ("_BaseOptimizer", "apply_gradients")):
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


def _patch_function(kind):
    real = kind.__call__

    @functools.wraps(real)
    @unseen
    def __call__(self, *args, **kwargs):
        here = threading.get_ident()
        if here in _open or current.counts_steps or not calls.enabled:
            return real(self, *args, **kwargs)
        if id(self) in _training:
            _before((args, kwargs))
        _open[here] = self
        try:
            result = real(self, *args, **kwargs)
        except BaseException as error:
            leave_out(error)
            raise
        finally:
            _open.pop(here, None)
        if id(self) in _training:
            _after(self, args, result)
        return result

    kind.__call__ = __call__


def _before(values):
    if own_loop.is_watching():
        try:
            own_loop.step_begins(values)
        except Exception as error:
            capture.fail("looking at a step of TensorFlow", error)


def _after(function, args, result):
    if calls.enabled:
        try:
            if any(map(_is_data, args)):
                _tell_within_graph()
            elif _is_step(function, _training[id(function)][1]):
                _count(function, result)
        except Exception as error:
            capture.fail("counting a step of TensorFlow", error)


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
