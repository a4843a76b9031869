"""Grain: the iterator that the loop itself pulls, of a DataLoader, an IterDataset or a MapDataset.

    iter(dataset) -> its class's __iter__ asks the parents' -> the outermost one's iterator gets a Source
    next(iterator) -> the class's __next__, wrapped once -> a wait where the iterator has a Source

Iterators stay Grain's own objects and their state is not looked at.
"""

import functools
import sys
import threading

from .. import capture
from ..capture import calls
from ..frames import unseen
from ..torch_loader import loader
from . import adapters, counting, passes
from .adapters import integer, length

_OPTIONS = "grain._src.python.options"
_STAGES = 64  # of a chain of transformations, looked at
_ITERATOR = "DataLoaderIterator"


class _Making(threading.local):
    """Iterators are made from the outside in: this thread is in the __iter__ of some data set."""

    is_open = False


_making = _Making()


def patch(module):
    """Called with Grain's dataset.py just imported, before any other data set is defined, or its data_loader.py."""
    if module.__name__.endswith(".dataset"):
        if not adapters.fits(module, "IterDataset", "MapDataset"):
            return
        _wrap_subclasses(module.IterDataset)
        for owner in [module.MapDataset] + [one for one in vars(module).values() if _is_iter_dataset(one, module)]:
            _wrap_iter(owner)
        return
    name = "PyGrainDatasetIterator" if hasattr(module, "PyGrainDatasetIterator") else _ITERATOR  # the first until 0.2.4
    if not adapters.fits(module, "DataLoader", name):
        return
    owner = getattr(module, name)
    _wrap_loader(module.DataLoader)
    adapters.wrap_next(owner, "Grain")


def _is_iter_dataset(value, module):
    return isinstance(value, type) and value.__module__ == module.__name__ and issubclass(value, module.IterDataset)


def _wrap_subclasses(owner):
    """Every data set that is defined from here on, Grain's own and the script's."""
    real = owner.__dict__.get("__init_subclass__")

    @unseen
    def __init_subclass__(cls, **options):
        if real is None:
            super(owner, cls).__init_subclass__(**options)
        else:
            real.__get__(None, cls)(**options)
        try:
            _wrap_iter(cls)
        except Exception as error:
            capture.fail("patching a data set of Grain's", error)

    owner.__init_subclass__ = classmethod(__init_subclass__)


def _wrap_iter(owner):
    real = vars(owner).get("__iter__")
    if real is None or getattr(real, "__isabstractmethod__", False) or getattr(real, "_stallcast_wrapped", False):
        return

    @functools.wraps(real)
    @unseen
    def __iter__(self, *args, **kwargs):
        if _making.is_open or not calls.enabled:
            return real(self, *args, **kwargs)
        _making.is_open = True
        try:
            iterator = real(self, *args, **kwargs)
        finally:
            _making.is_open = False
        return _told(iterator, self)

    __iter__._stallcast_wrapped = True
    owner.__iter__ = __iter__


def _wrap_loader(owner):
    real = owner.__iter__

    @functools.wraps(real)
    @unseen
    def __iter__(self):
        outer, _making.is_open = _making.is_open, True
        try:
            iterator = real(self)
        finally:
            _making.is_open = outer
        return _told(iterator, self)

    owner.__iter__ = __iter__


def _told(iterator, source):
    """The iterator itself, which knows from now on what it is a pass over."""
    try:
        if adapters.counts_here():
            text, batch_size, makes_here = describe(source)
            known = passes.Known(adapters.framework(), text, counting.Count(batch_size), makes_here=makes_here)
            iterator.__dict__[adapters.ATTRIBUTE] = adapters.Source(loader.loader_of(source), known, not batch_size)
            adapters.wrap_next(type(iterator), "Grain")
    except Exception as error:
        capture.fail("describing a loader of Grain's", error)
    return iterator


def describe(source):
    """(loader text, samples of a batch or None, whether next() makes the batch) of a data set or a DataLoader."""
    chain = _chain(getattr(source, "_dataset", None) or source)
    facts = _of_loader(source, chain) if hasattr(source, "_data_source") else {}
    stages = adapters.tree(chain[0], _inner)
    workers, buffered = next((_processes(stage) for stage in stages if _processes(stage)[0]), (0, None))
    threads, ahead = _threads(source, stages)
    batches = _batches(chain)
    batch_size = facts.pop("batch_size", None)
    for stage in batches:
        batch_size = (batch_size or 1) * _size(stage)
    workers, buffered = facts.pop("workers", None) or (workers, buffered)
    facts.setdefault("dataset_samples", _samples(chain, batches))
    makes_here = not workers and not ahead
    text = passes.loader_text(
        "grain",
        composition="unknown" if workers else "serial" if makes_here else "overlapped",
        num_workers=workers or (0 if makes_here else None),
        prefetch_factor=buffered if workers else None,
        batch_size=batch_size,
        drop_last=getattr(batches[0], "_drop_remainder", None) if batches else None,
        threads=threads,
        read_ahead=ahead,
        stages=[_name(stage)[:60] for stage in chain][:32],
        **facts,
    )
    text["shuffled"] = text["shuffled"] or any("Shuffle" in type(stage).__name__ for stage in chain)
    text["dataset_type"] = text["dataset_type"] or _name(getattr(chain[-1], "_source", None) or chain[-1])
    return text, batch_size, makes_here


def _name(value):
    return type(value).__name__.strip("_")[:200]


def _chain(source):
    """The data set and what it is made of, the outermost first; where several are merged, the first of them."""
    chain = [source]
    while len(chain) < _STAGES and _inner(chain[-1]):
        chain.append(_inner(chain[-1])[0])
    return chain


def _inner(stage):
    """What a stage takes its elements from. Shares of one data set for several processes are alike."""
    datasets = tuple(getattr(stage, "_datasets", None) or ())
    return tuple(getattr(stage, "_parents", None) or ()) or (datasets[:1] if _processes(stage)[0] else datasets)


def _of_loader(source, chain):
    """What a DataLoader says itself. Before 0.2.15 it is not made of data sets: then its operations are its stages."""
    options = getattr(source, "_multiprocessing_options", None)
    sampler = getattr(source, "_sampler", None)
    shards = getattr(getattr(source, "_shard_options", None), "shard_count", 1)
    records = integer(getattr(sampler, "_num_records", None))
    facts = {
        "workers": (getattr(options, "num_workers", None) or 0, getattr(options, "per_worker_buffer_size", None)),
        "shuffled": bool(getattr(sampler, "_shuffle", False)),
        "dataset_type": _name(source._data_source),
        "dataset_samples": (records if records is not None else length(source._data_source) or 0) // shards or None,
    }
    if len(chain) == 1:
        sizes = [_size(operation) for operation in getattr(source, "_operations", ())]
        facts["batch_size"] = next((size for size in reversed(sizes) if size), None)
    return facts


def _batches(chain):
    """The stages that batch, the outermost first. What lies below one that batches anew says nothing of it."""
    batches = []
    for stage in chain:
        if _size(stage):
            batches.append(stage)
            if "Rebatch" in type(stage).__name__:
                break
    return batches


def _size(stage):
    """Of a stage that batches (and of an operation of a DataLoader's)."""
    if "batch" not in type(stage).__name__.lower():
        return None
    return integer(getattr(stage, "_batch_size", None)) or integer(getattr(stage, "batch_size", None))


def _processes(stage):
    """(worker processes, batches that each makes ahead) of a stage."""
    options = getattr(stage, "_multiprocessing_options", None)  # before 0.2.13
    if options is not None:
        return options.num_workers, options.per_worker_buffer_size
    shards = getattr(stage, "_datasets", None) or [stage]
    if type(shards[0]).__name__ == "ProcessPrefetchIterDataset":
        return len(shards), integer(getattr(shards[0], "_buffer_size", None))
    return 0, None


def _threads(source, stages):
    """(threads that read, elements that threads make ahead) in each process; (0, 0) where next() makes them."""
    options = [getattr(stage, "_read_options", None) for stage in [source] + stages]
    for stage in stages:
        ahead = integer(getattr(stage, "_prefetch_buffer_size", None))
        if ahead and "ThreadPrefetch" in type(stage).__name__:
            return 1, ahead
        ahead = integer(getattr(stage, "_iter_buffer_size", None))  # of one that interleaves
        if ahead and not _processes(stage)[0]:
            return integer(getattr(stage, "_cycle_length", None)) or 1, ahead
    if hasattr(stages[0], "__getitem__"):
        options.append(sys.modules[_OPTIONS].ReadOptions())  # a MapDataset that is iterated as it is
    found = [(int(one.num_threads), int(one.prefetch_buffer_size)) for one in options if one is not None]
    return next((one for one in found if all(one)), (0, 0))


def _samples(chain, batches):
    """Samples of an epoch: the length of the outermost data set that is neither batched nor repeated."""
    over = [chain.index(stage) for stage in batches[-1:]]
    over += [number for number, stage in enumerate(chain) if "Repeat" in type(stage).__name__]
    for stage in chain[max(over, default=-1) + 1:]:
        found = length(stage)
        if found is not None:
            return found
        if _merges(stage):
            break
    return None


def _merges(stage):
    """Whether several data sets come together; shares of one for several processes do not count."""
    return len(getattr(stage, "_parents", ())) > 1 or len(getattr(stage, "_datasets", ())) > 1 > _processes(stage)[0]
