"""Keras' Model.fit and evaluate on TensorFlow.

Keras pulls each batch inside its tf.function, where no wait can be seen. Its own training function also takes an
iterator that is not TensorFlow's: then it pulls in Python and hands the batch to the same compiled step. With
steps_per_execution=1 it is given one; with more, one call makes several steps, and nothing is changed and nothing seen.

What is traced is another function of Keras' then, and TensorFlow has made more tensors: the names of a saved model's functions
end with other numbers, and an error within the graph names that function.
"""

import functools
import sys
import types

from .. import capture
from ..capture import calls
from ..frames import leave_out, unseen
from ..states import phases
from ..thread import current

_ITERATORS = "tensorflow.python.data.ops.iterator_ops"
_told = set()


class Pulled:
    """An iterator of TensorFlow's that Python pulls. It ends as in a graph: with TensorFlow's own exception."""

    def __init__(self, iterator, end):
        self._iterator = iterator
        self._end = end
        self.is_over = False

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return self._iterator.get_next()
        except self._end:
            self.is_over = True
            raise


def patch(module):
    """Called with keras.src.backend.tensorflow.trainer just imported."""
    trainer = module.TensorFlowTrainer
    real = trainer._make_function

    @functools.wraps(real)
    @unseen
    def _make_function(self, step_function):
        function = real(self, step_function)
        if not calls.enabled:
            return function
        try:
            return _watched(self, step_function, function)
        except Exception as error:
            capture.fail("watching Keras", error)
            return function

    trainer._make_function = _make_function


def _watched(trainer, step_function, function):
    is_training = getattr(step_function, "__name__", "") == "train_step"
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    takes_others = {"one_step_on_data", "multi_step_on_iterator"} <= set(names)
    iterators = sys.modules.get(_ITERATORS)
    owned = getattr(iterators, "OwnedIterator", None)
    accumulated = {"batches": 0}

    def run(iterator):
        current.counts_steps = True
        try:
            return function(iterator)
        finally:
            current.counts_steps = False

    def pull(iterator):
        pulled = Pulled(iterator, iterators.errors.OutOfRangeError)
        try:
            logs = run(pulled)
        except iterators.errors.OutOfRangeError:
            if not pulled.is_over:
                raise
        if pulled.is_over:  # in the graph, what needs no batch (the optimizer's count) is done beside the pull that fails
            return run(iterator)
        if is_training and calls.enabled:
            _count(trainer, accumulated)
        return logs

    def take(iterator):
        if not calls.enabled or type(iterator) is types.GeneratorType:  # of train_on_batch: the script has the batch already
            return function(iterator)
        if takes_others and type(iterator) is owned and trainer.steps_per_execution == 1:
            return pull(iterator)
        _tell(trainer, takes_others)
        return run(iterator)

    @unseen
    def watched(iterator):
        try:
            return take(iterator)
        except BaseException as error:
            leave_out(error)
            raise

    return watched


def _count(trainer, accumulated):
    """A batch was trained on; with gradients accumulated, only each n-th is a step."""
    try:
        accumulated["batches"] += 1
        every = getattr(trainer.optimizer, "gradient_accumulation_steps", None) or 1
        if accumulated["batches"] % every == 0:
            calls.step()
            phases.count_step()
    except Exception as error:
        capture.fail("counting a step of Keras", error)


def _tell(trainer, takes_others):
    """Once: why the waits of this fit are not seen."""
    if not takes_others:
        reason, hint = "this version of Keras pulls batches inside its tf.function", "profile with another version"
    elif trainer.steps_per_execution != 1:
        reason = "steps_per_execution=%s makes several steps of one call" % trainer.steps_per_execution
        hint = "compile(steps_per_execution=1) while profiling"
    else:
        reason, hint = "the iterator is distributed over several devices", "profile on one device"
    if reason in _told:
        return
    _told.add(reason)
    capture.issue("keras-waits-unseen", "warning", "waits of Keras are not seen: " + reason, hint)
