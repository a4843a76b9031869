"""Hugging Face's datasets, iterated by the loop itself: Dataset.iter(batch_size) and `for example in dataset`, likewise
of an IterableDataset. Each item is a wait, and made in it by the thread that asks; but a stream of several sources or
with a shuffle buffer reads ahead in threads in later versions of the library, and one may decode in them.

What the library iterates itself (map, filter, a column) is no loop of the script's, and inside a DataLoader of torch's,
in its workers or without, the DataLoader's batches count.
"""

import functools
import sys

from .. import capture
from ..capture import calls
from ..frames import unseen
from . import adapters, counting, passes

_LIBRARY = "datasets."
_STAGES = 32
_POOL = "ThreadPoolExecutor"


def patch(module):
    """Called with datasets.arrow_dataset or datasets.iterable_dataset just imported."""
    name = "IterableDataset" if module.__name__.endswith("iterable_dataset") else "Dataset"
    if not adapters.fits(module, name):
        return
    owner = getattr(module, name)
    _wrap(owner, "__iter__")
    if "iter" in vars(owner):
        _wrap(owner, "iter")


def _wrap(owner, name):
    real = getattr(owner, name)

    @functools.wraps(real)
    @unseen
    def method(self, *args, **kwargs):
        generator = real(self, *args, **kwargs)
        if not calls.enabled:
            return generator
        try:
            if _asked_by_library(sys._getframe(1)) or not adapters.counts_here():
                return generator
            size, drops_last = _options(*args, **kwargs) if name == "iter" else (1, False)
            text = describe(self, size, drops_last)
            count = counting.rows_of if name == "iter" else _one
            known = passes.Known(adapters.framework(), text, count, makes_here=text["composition"] == "serial")
            source = adapters.Source(adapters.loader_like(text), known, size == 1)
        except Exception as error:
            capture.fail("starting a pass over a data set of Hugging Face's", error)
            return generator
        return adapters.through(generator, source)

    setattr(owner, name, method)


def _asked_by_library(frame):
    return str(frame.f_globals.get("__name__", "")).startswith(_LIBRARY)


def _options(batch_size=None, drop_last_batch=False):
    return adapters.integer(batch_size), drop_last_batch


def _one(example):
    return 1


def describe(dataset, batch_size, drop_last):
    """The loader text of a data set. Its name and split tell those of training and evaluation apart."""
    chain = _chain(dataset)
    by_threads = any(_uses_threads(stage) for stage in chain)
    stages = [type(stage).__name__[:60] for stage in chain]
    samples = adapters.integer(getattr(dataset, "num_rows", None))
    return passes.loader_text(
        "datasets",
        composition="overlapped" if by_threads else "serial",
        num_workers=None if by_threads else 0,
        dataset_type=type(dataset).__name__[:200],
        dataset_name=_text(getattr(getattr(dataset, "info", None), "dataset_name", None)),
        split=_text(getattr(dataset, "split", None)),
        batch_size=batch_size,
        dataset_samples=samples,
        drop_last=bool(drop_last),
        shuffled=_shuffled(dataset, stages),
        stages=stages,
    )


def _text(value):
    return None if value is None else str(value)[:200]


def _chain(dataset):
    """What an IterableDataset passes its examples through, the outermost first; of several sources the first one. Empty
    for a Dataset."""
    chain = []
    inner = getattr(dataset, "_ex_iterable", None)
    while inner is not None and len(chain) < _STAGES:
        chain.append(inner)
        sources = getattr(inner, "ex_iterables", None)
        inner = getattr(inner, "ex_iterable", None) or (sources[0] if sources else None)
    return chain


def _uses_threads(stage):
    """Whether a stage makes examples in threads: its code starts a pool, or it was given one to decode in. What
    interleaves shards leaves that to a class that cycles through them."""
    if getattr(stage, "decoding_pool", None) is not None:
        return True
    owners = [type(stage)]
    if hasattr(stage, "_interleave_shards"):
        owners.append(getattr(sys.modules.get(type(stage).__module__), "CyclingMultiSourcesExamplesIterable", None))
    functions = [getattr(owner, name, None) for owner in owners for name in ("__iter__", "_iter_arrow")]
    return any(_POOL in getattr(getattr(one, "__code__", None), "co_names", ()) for one in functions)


def _shuffled(dataset, stages):
    """A Dataset with indices may be shuffled, selected or sorted: then it is not known."""
    if stages:
        return any("Shuffl" in stage for stage in stages)
    return False if getattr(dataset, "_indices", None) is None else None
