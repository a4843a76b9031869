"""tf.data where Python pulls: each eager _next_internal of an iterator is a wait.

That is under `for batch in dataset`, next() and get_next(). Of as_numpy_iterator() it is all of its next(), which makes
arrays of the batch as well. Inside a tf.function the pull is a node of the graph: Python runs it once, while it is
traced, and sees no batch; that is one data issue.
"""

import functools
import sys

from .. import capture
from .. import describe as process
from ..capture import calls
from ..frames import leave_out, unseen
from ..thread import current
from . import passes, tfdata_length

_ITERATORS = "tensorflow.python.data.ops.iterator_ops"
_PASS = "_stallcast_pass"
_SOURCES = 64  # of a chain of transformations, looked at
_told = set()


def patch(module):
    """Called with iterator_ops or dataset_ops of tensorflow.python.data.ops just imported, in the middle of
    `import tensorflow`. The second imports the first."""
    if module.__name__ == _ITERATORS:
        owned = module.OwnedIterator
        owned._next_internal = _watched(module, owned._next_internal, lambda iterator: iterator)
        return
    arrays = getattr(module, "NumpyIterator", None) or getattr(module, "_NumpyIterator", None)
    iterators = sys.modules.get(_ITERATORS)
    if arrays is not None and iterators is not None:  # else what it makes of a batch is missing from its wait
        arrays.__next__ = _watched(iterators, arrays.__next__, lambda iterator: getattr(iterator, "_iterator", None))


def _watched(ops, real, iterator_of):
    """What stands in place of `real`: each call is a wait, in the pass of the OwnedIterator iterator_of(self). `ops`: the
    module iterator_ops."""
    context = ops.context
    ends = ops.errors.OutOfRangeError, StopIteration

    @functools.wraps(real)
    @unseen
    def pull(iterator):
        if current.busy or current.worker is not None or not calls.enabled:
            return real(iterator)
        current_pass = None
        try:
            if context.executing_eagerly():
                current_pass = _pass_of(iterator_of(iterator), ends)
            else:
                current.pulls_in_graph = True
                if not current.counts_steps:  # Keras' fit tells itself what of it is not seen
                    _tell_of_graph()
        except Exception as error:
            capture.fail("starting a pass over tf.data", error)
        if current_pass is None:
            return real(iterator)
        try:
            return passes.wait(current_pass, functools.partial(real, iterator))
        except BaseException as error:
            leave_out(error)
            raise

    return pull


def _pass_of(iterator, ends):
    """The pass of an iterator, which begins with its first batch; None for one that was made within a graph."""
    own = getattr(iterator, "__dict__", None)
    if own is None:
        return None  # of NumpyIterator, over what is no data set
    found = own.get(_PASS)
    if found is None:
        dataset = getattr(iterator, "_dataset", None)
        if dataset is None:
            return None
        known = passes.Known(_framework(), describe(dataset), end=ends)
        found = known.pass_over(dataset)
        own[_PASS] = found
    return found


def _framework():
    return "jax" if process.trains_with_jax() else "tensorflow"


def _tell_of_graph():
    if "graph" in _told:
        return
    _told.add("graph")
    capture.issue(
        "tf-data-in-graph",
        "warning",
        "batches of tf.data are pulled inside a tf.function, where Python does not see them: their waits are missing",
        "pull them in Python while profiling: for batch in dataset: train_step(batch)",
    )


def describe(dataset):
    """The loader text of a data set: what its chain of transformations tells without running anything."""
    chain = _chain(dataset)
    batches = next((stage for stage in chain if "Batch" in type(stage).__name__), None)
    samples = None if batches is None else tfdata_length.length(getattr(batches, "_input_dataset", None))
    return passes.loader_text(
        "tf.data",
        composition="overlapped",
        dataset_type=type(chain[-1]).__name__[:200],
        stages=[type(stage).__name__.strip("_")[:60] for stage in chain][:32],
        batch_size=None if batches is None else _constant(getattr(batches, "_batch_size", None)),
        dataset_samples=samples,
        shuffled=any("Shuffle" in type(stage).__name__ for stage in chain),
    )


def _chain(dataset):
    """The data set and what it is made of, the outermost first; where several are merged, the first of them."""
    chain = [dataset]
    while len(chain) < _SOURCES:
        inner = getattr(chain[-1], "_input_dataset", None)
        if inner is None:
            inner = getattr(chain[-1], "_dataset", None)  # a data set with options
        if inner is None:
            break
        chain.append(inner)
    return chain


def _constant(value):
    try:
        return int(value)
    except Exception:
        return None
