"""Keras' Model.fit and evaluate on JAX: batches of a PyDataset and of arrays, which Python pulls between two steps.

Which of them trains is told by who pulls: fit calls evaluate. Loaders that are given to fit (torch's, tf.data, Grain's) have
adapters of their own, and what a generator of the script gives is timed where the loop of any script is (steps/own_loop.py).
"""

import functools
import os
import sys

from .. import capture
from ..capture import calls
from ..frames import leave_out, unseen
from . import adapters, passes
from .adapters import integer

_PULLS = ("fit", "evaluate", "predict")
_BUILDS = "_symbolic_build"  # takes a batch for its shapes, and begins anew
_TRAINERS = (os.path.join("backend", "jax", "trainer.py"), os.path.join("trainers", "trainer.py"))


class Pulled:
    """An iterator whose batches are waited for. `batches`: how many it has, after which nobody asks it for more; None: not
    known."""

    def __init__(self, iterator, source, batches):
        self._iterator = iterator
        self._source = source
        self._left = -1 if batches is None else batches

    def __iter__(self):
        return self

    @unseen
    def __next__(self):
        current_pass = None
        try:
            if calls.enabled and self._left:
                current_pass = self._source.pass_of()
        except Exception as error:
            capture.fail("starting a pass over Keras' batches", error)
        if current_pass is None:
            return next(self._iterator)
        try:
            batch = passes.wait(current_pass, self._iterator.__next__)
        except BaseException as error:
            leave_out(error)
            raise
        self._left -= 1
        if not self._left:
            passes.end_unasked(current_pass)
        return batch


def patch(module):
    """Called with keras.src.backend.jax.trainer just imported."""
    if not adapters.fits(module, "JAXEpochIterator"):
        return
    owner = module.JAXEpochIterator
    real = owner._get_iterator

    @functools.wraps(real)
    @unseen
    def _get_iterator(self):
        try:
            iterator = real(self)
        except BaseException as error:
            leave_out(error)
            raise
        if not calls.enabled:
            return iterator
        try:
            return _watched(self, iterator, _puller(sys._getframe(1)))
        except Exception as error:
            capture.fail("watching Keras", error)
            return iterator

    owner._get_iterator = _get_iterator


def _puller(frame):
    while frame is not None:
        name = frame.f_code.co_name
        if (name in _PULLS or name == _BUILDS) and frame.f_code.co_filename.endswith(_TRAINERS):
            return name
        frame = frame.f_back
    return None


def _watched(epochs, iterator, puller):
    """Nothing of the script's is called: how long a data set is has been asked by Keras."""
    adapter = epochs.data_adapter
    describe = _DESCRIBED.get(type(adapter).__name__)
    if describe is None or puller not in _PULLS or not adapters.counts_here():
        return iterator
    text, makes_here = describe(adapter)
    of_loader = adapters.loader_like(dict(text, puller=puller))  # a script may call fit for each epoch
    of_loader.trains = puller == "fit"
    source = adapters.Source(of_loader, passes.Known("jax", text, makes_here=makes_here))
    return Pulled(iter(iterator), source, integer(vars(epochs).get("_num_batches")))


def _of_arrays(adapter):
    told = vars(adapter)
    text = passes.loader_text(
        "keras", composition="serial", num_workers=0, dataset_type="arrays", batch_size=integer(told.get("_batch_size")),
        dataset_samples=integer(told.get("_num_samples")), shuffled=bool(told.get("_shuffle")))
    return text, True


def _of_pydataset(adapter):
    told = getattr(adapter.py_dataset, "__dict__", {})
    makes_here = getattr(adapter, "enqueuer", None) is None
    in_processes = not makes_here and bool(told.get("_use_multiprocessing"))
    workers = integer(told.get("_workers"))
    text = passes.loader_text(
        "keras", composition="serial" if makes_here else "unknown" if in_processes else "overlapped",
        num_workers=0 if makes_here else workers if in_processes else None,
        threads=None if makes_here or in_processes else workers,
        read_ahead=None if makes_here else integer(told.get("_max_queue_size")),
        dataset_type=type(adapter.py_dataset).__name__[:200], shuffled=bool(vars(adapter).get("shuffle")))
    return text, makes_here


_DESCRIBED = {"ArrayDataAdapter": _of_arrays, "PyDatasetAdapter": _of_pydataset}
