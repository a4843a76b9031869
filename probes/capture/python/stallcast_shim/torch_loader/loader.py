"""Iterators in the main process: each pass over a loader is announced, each wait for a batch is timed.

    iterator created or reset -> a Pass begins -> workers start, first indices are sent -> the pass is announced
    next(iterator)            -> wait_begin -> torch's own __next__ -> wait_end

A pass is an attribute of its iterator and refers to neither iterator nor loader: nothing lives longer because of us.
"""

import functools
import itertools
import multiprocessing.process
import time
import weakref

from .. import capture, describe
from ..capture import calls
from ..frames import leave_out, unseen
from ..states import phases
from ..thread import current, keeps_gradients, process
from . import ending, fetcher, override, sampler, wait, worker

_iterator_ids = itertools.count()
_loader_ids = itertools.count()
_loaders = weakref.WeakKeyDictionary()  # DataLoader -> Loader


NEVER = 1 << 62


class Loader:
    """One DataLoader object."""

    def __init__(self):
        self.loader_id = next(_loader_ids)
        self.epochs = 0
        self.delivered = 0  # batches of all its passes
        self.steps = 0  # optimizer steps that followed a batch of it
        self.look_at = NEVER  # steps after which others may be found to give batches, too (steps/by_turns.py)
        self.whole = None  # batches of its last pass that ended by itself
        self.period = None  # batches of an epoch, where one iterator over an endless sampler serves them all
        self.text = None  # until its first iterator exists
        self.generation = -1  # of the process that it is announced in
        self.works_in_next = False  # on each batch, beyond torch's own next (loaders/graphs.py)
        self.trains = False  # a step of JAX was traced at a batch of it (states/jax_steps.py)
        self.nested = 0  # of its batches, those for which its data set asked a loader of its own, with workers


class Pass:
    """One pass over a loader."""

    def __init__(self, loader):
        self.iterator_id = next(_iterator_ids)
        self.loader = loader
        self.epoch = loader.epochs
        loader.epochs += 1
        self.begin_ns = time.monotonic_ns()
        self.end_ns = 0
        self.keeps_gradients = keeps_gradients()  # where it began
        self.generation = -1
        self.delivered = 0
        self.nested_at = -1  # batch for which a loader within was asked last
        self.sent = 0  # index lists taken from the sampler
        self.sampler = sampler.Sampler()
        self.sizes = {}  # batch number -> samples, of the index lists that are not delivered yet
        self.counts_ready = True  # until the data queue cannot tell its length
        self.phased = None  # measured.Measured once the pass is armed
        self.prediction = None  # prediction.Prediction, where states may be made of the pass
        self.is_over = False  # the script has seen its end
        self.is_given_up = False  # its iterator was dropped within it, and that was told
        self.is_refused = False  # no states can be made of it, and that was said


def patch(module):
    """Called with torch.utils.data.dataloader just imported, in the middle of `import torch`."""
    worker.patch(module._utils.worker)
    fetcher.patch(module)
    override.patch(module)
    base = module._BaseDataLoaderIter
    for owner in (base, module._SingleProcessDataLoaderIter, module._MultiProcessingDataLoaderIter):
        _wrap_creation(owner, "__init__")
        _wrap_creation(owner, "_reset")
    wait.patch(base, announce)
    ending.patch(module._MultiProcessingDataLoaderIter, wait.ATTRIBUTE)
    # What a spawn child imports while it starts may belong to a worker; a rank describes itself at its first pass.
    if not getattr(multiprocessing.process.current_process(), "_inheriting", False):
        describe.write_consumer(is_torch_complete=False)


def _wrap_creation(owner, name):
    """Wraps __init__ or _reset of an iterator class; the outermost call for an iterator is one pass."""
    real = owner.__dict__.get(name)
    if real is None:
        return

    @functools.wraps(real)
    @unseen
    def method(self, *args, **kwargs):
        if not calls.enabled or current.iterator is self:
            return real(self, *args, **kwargs)
        loader = args[0] if args else kwargs.get("loader")
        outer = current.iterator, current.current_pass
        current.iterator, current.current_pass = self, _begin(self, loader)
        try:
            result = real(self, *args, **kwargs)
            _end(self, loader)
        except BaseException as error:
            leave_out(error)
            raise
        finally:
            current.iterator, current.current_pass = outer
        return result

    setattr(owner, name, method)


def _begin(iterator, loader):
    """A new pass for the iterator; None inside a worker or a wait, where a loader is part of making a sample."""
    new = None
    try:
        if loader is not None and not current.busy and current.worker is None:
            new = Pass(loader_of(loader))
        iterator.__dict__[wait.ATTRIBUTE] = new
    except Exception as error:
        capture.fail("starting a pass", error)
    return new


def loader_of(loader):
    """The Loader of a loader object, the same one for all its passes."""
    try:
        if loader not in _loaders:
            _loaders[loader] = Loader()
        return _loaders[loader]
    except TypeError:  # a subclass that cannot be hashed: every pass looks like a loader of its own
        return Loader()


def _end(iterator, loader):
    new = current.current_pass
    if new is None or not calls.enabled:
        return
    try:
        new.end_ns = time.monotonic_ns()
        if new.loader.text is None:
            new.loader.text = describe.loader(new.loader.loader_id, loader, iterator)
            if phases.is_phased():  # else nobody needs it, and a script's own __len__ may draw random numbers
                new.loader.period = describe.period(iterator)
        if not new.loader.text["num_workers"] or hasattr(iterator, "_workers"):
            announce(iterator, new)  # else at its first wait, when the workers are known
    except Exception as error:
        capture.fail("announcing a pass", error)


def _framework():
    return "jax" if describe.trains_with_jax() else "pytorch"


def announce(iterator, new, framework=None):
    """Writes the texts that the records of this pass refer to, unless this process has done so. `framework`: that trains,
    where the loader is not torch's."""
    generation = process.generation
    if new.generation == generation:
        return
    new.generation = generation
    process.delivers = True
    describe.write_consumer(is_torch_complete=True, framework=framework or _framework())
    if new.loader.generation != generation:
        new.loader.generation = generation
        capture.text(capture.TEXT_LOADER, new.loader.text)
    capture.text(
        capture.TEXT_ITERATOR,
        {
            "iterator_id": new.iterator_id,
            "loader_id": new.loader.loader_id,
            "epoch": new.epoch,
            "worker_pids": [each.pid for each in getattr(iterator, "_workers", ())],
            "create_begin_ns": new.begin_ns,
            "create_end_ns": new.end_ns,
        },
    )
