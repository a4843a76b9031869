"""torchdata.nodes: the iterator of a Loader. Its class pulls the root node; what lies below runs in threads, in worker
processes or in next() itself.

A loader that goes on from a saved state looks one batch ahead while it is iterated over: that pull is the wait for its
first batch, which next() then gives at once.
"""

import functools

from .. import capture
from ..capture import calls
from ..frames import unseen
from ..torch_loader import loader
from . import adapters, counting, passes
from .adapters import integer, length

_STAGES = 64
_KEPT = "_cached_item"


def patch(module):
    """Called with torchdata.nodes.loader just imported."""
    if not adapters.fits(module, "Loader", "LoaderIterator"):
        return
    _wrap_loader(module.Loader)
    _wrap_init(module.LoaderIterator)
    _wrap_next(module.LoaderIterator)


def _wrap_init(owner):
    real = owner.__init__

    @functools.wraps(real)
    @unseen
    def __init__(self, loader, *args, **kwargs):
        real(self, loader, *args, **kwargs)
        _tell(self, loader)

    owner.__init__ = __init__


def _wrap_loader(owner):
    """Each iter() is a pass, also after a loop that was left early: Loader has one iterator for all."""
    real = owner.__iter__

    @functools.wraps(real)
    @unseen
    def __iter__(self):
        if self.__dict__.get("_it") is not None and not self.__dict__.get("_iter_for_state_dict"):
            _tell(self._it, self)
        return real(self)

    owner.__iter__ = __iter__


def _wrap_next(owner):
    adapters.wrap_next(owner, "torchdata.nodes")
    timed, plain = owner.__next__, owner.__next__.__wrapped__

    @functools.wraps(plain)
    @unseen
    def __next__(self):
        return (timed if self.__dict__.get(_KEPT) is None else plain)(self)

    owner.__next__ = __next__


def _tell(iterator, source):
    if not calls.enabled:
        return
    try:
        if adapters.counts_here():
            text, batch_size, makes_here = describe(source.root)
            known = passes.Known("pytorch", text, counting.Count(batch_size), makes_here=makes_here)
            iterator.__dict__[adapters.ATTRIBUTE] = adapters.Source(loader.loader_of(source), known, not batch_size)
    except Exception as error:
        capture.fail("describing a loader of torchdata.nodes", error)


def describe(root):
    """(loader text, samples of a batch or None, whether next() makes the batch) of what a Loader pulls."""
    chain = _chain(root)
    nodes = adapters.tree(root, _inner)
    processes = _most(nodes, "process")
    threads = _most(nodes, "thread")
    ahead = next((node.prefetch_factor for node in nodes if type(node).__name__ == "Prefetcher"), None)
    batches = [node for node in chain if type(node).__name__ == "Batcher"]
    batch_size = integer(batches[0].batch_size) if batches else None
    pinned = any(type(node).__name__ == "PinMemory" for node in nodes)
    others = any(_is_other_loader(node) for node in nodes)
    makes_here = not (processes or threads or ahead or pinned or others)
    source = _source(chain)
    text = passes.loader_text(
        "torchdata.nodes",
        composition="unknown" if processes or others else "serial" if makes_here else "overlapped",
        num_workers=processes or (0 if makes_here else None),
        threads=threads,
        read_ahead=integer(ahead),
        batch_size=batch_size,
        drop_last=bool(batches[0].drop_last) if batches else None,
        pin_memory=pinned,
        dataset_type=type(source).__name__[:200],
        dataset_samples=length(source),
        shuffled=any("Random" in type(getattr(node, "sampler", None)).__name__ for node in chain),
        stages=[type(node).__name__[:60] for node in chain][:32],
    )
    return text, batch_size, makes_here


def _chain(root):
    """The root and what it pulls, the outermost first; where several are mixed, the first of them."""
    chain = [root]
    while len(chain) < _STAGES and _inner(chain[-1]):
        chain.append(_inner(chain[-1])[0])
    return chain


def _inner(node):
    source = getattr(node, "source", None)
    return [source] if source is not None else list(getattr(node, "source_nodes", {}).values())


def _is_other_loader(node):
    """Whether a node pulls a DataLoader, which may have workers of its own."""
    return any(base.__name__ == "DataLoader" for base in type(getattr(node, "iterable", None)).__mro__)


def _most(nodes, method):
    """Workers of the nodes that map in threads or in processes."""
    return sum(node.num_workers for node in nodes if getattr(node, "method", None) == method) or None


def _source(chain):
    """What samples come from: a data set that is mapped over its indices, or an iterable."""
    for node in chain:
        owner = getattr(getattr(node, "map_fn", None), "__self__", None)
        if hasattr(owner, "__getitem__"):
            return owner
    return getattr(chain[-1], "iterable", None) or chain[-1]
