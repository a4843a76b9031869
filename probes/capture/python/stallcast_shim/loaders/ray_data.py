"""Ray Data: the batches that a loop takes of iter_batches and iter_torch_batches (and of what is made of them:
iter_rows, iter_jax_batches). They are read and mapped by tasks in Ray's own worker processes, formatted and collated by
threads of the process that trains: only the hand-over to the loop is timed.

Ray's workers are started by its daemon. Where the script starts Ray itself (ray.init() without an address), the daemon
and the trainers of Ray Train inherit our environment and are recorded; where a cluster was running before, they are
not, and nothing of them is seen.
"""

import functools

from .. import capture
from ..capture import calls
from ..frames import unseen
from ..torch_loader import loader
from . import adapters, counting, passes
from .adapters import integer

_FACTS = "_stallcast_known"


def patch(module):
    """Called with ray.data.iterator or ray._private.worker just imported."""
    if module.__name__.endswith(".worker"):
        if hasattr(module, "init"):
            _wrap_init(module)
        return
    if not adapters.fits(module, "DataIterator", "_IterableFromIterator"):
        return
    owner = module.DataIterator
    _wrap_batches(owner, "_iter_batches" if "_iter_batches" in vars(owner) else "iter_batches")
    _wrap_iter(module._IterableFromIterator)


def _wrap_init(module):
    """ray.init(): who starts Ray's workers decides whether they are seen."""
    real = module.init

    @functools.wraps(real)
    @unseen
    def init(*args, **kwargs):
        result = real(*args, **kwargs)
        try:
            node = getattr(module, "_global_node", None)
            if calls.enabled and node is not None and not node.is_head() and _is_left_out(args, kwargs):
                _tell_of_cluster()
        except Exception as error:
            capture.fail("looking at Ray's cluster", error)
        return result

    module.init = init


def _is_left_out(args, kwargs):
    """Whether the script does not hand our environment on to the workers itself."""
    environment = kwargs.get("runtime_env") or {}
    return "STALLCAST_RUN_DIR" not in (environment.get("env_vars") or {})


def _tell_of_cluster():
    capture.issue(
        "ray-workers-unseen",
        "warning",
        "this Ray cluster was running before: its workers, which hold the trainers of Ray Train, do not have our "
        "environment and are not recorded",
        "let the script start Ray itself (ray.init() without an address), or hand on to the workers of this node what "
        "`stallcast env` prints: ray.init(runtime_env={'env_vars': {...}})",
    )


def _wrap_batches(owner, name):
    real = getattr(owner, name)

    @functools.wraps(real)
    @unseen
    def batches(self, *args, **kwargs):
        iterable = real(self, *args, **kwargs)
        if calls.enabled:
            try:
                iterable.__dict__[_FACTS] = _known(self, **kwargs)
            except Exception as error:
                capture.fail("describing batches of Ray Data", error)
        return iterable

    setattr(owner, name, batches)


def _known(iterator, batch_size=256, prefetch_batches=1, drop_last=False, local_shuffle_buffer_size=None, **_):
    """(loader.Loader, passes.Known) of an iterator. That of a data set is made anew for each epoch."""
    source = getattr(iterator, "_base_dataset", None)
    text = passes.loader_text(
        "ray.data",
        composition="unknown",
        batch_size=integer(batch_size),
        drop_last=bool(drop_last),
        shuffled=True if local_shuffle_buffer_size else None,
        read_ahead=integer(prefetch_batches),
        dataset_type=type(source if source is not None else iterator).__name__[:200],
    )
    known = passes.Known(adapters.framework(), text, counting.rows_of)
    return loader.loader_of(iterator if source is None else source), known


def _wrap_iter(owner):
    real = owner.__iter__

    @functools.wraps(real)
    @unseen
    def __iter__(self):
        iterator = real(self)
        facts = self.__dict__.get(_FACTS)
        if facts is None or not calls.enabled:
            return iterator
        try:
            if not adapters.counts_here():
                return iterator
            source = adapters.Source(*facts)
        except Exception as error:
            capture.fail("starting a pass over Ray Data", error)
            return iterator
        return adapters.through(iterator, source)

    owner.__iter__ = __iter__
