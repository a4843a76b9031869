"""DALI's iterators for PyTorch, JAX and Paddle: each __next__ is a wait.

A constructor pulls the first batch itself (prepare_first_batch): that is no wait of the loop's, which is then given
this batch at once.
"""

import functools
import weakref

from .. import capture, sizes
from ..capture import calls
from ..frames import unseen
from ..thread import current
from . import passes

_PASS = "_stallcast_pass"
_FRAMEWORKS = {"pytorch": "pytorch", "jax": "jax", "paddle": "paddle"}
_made = weakref.WeakSet()  # iterators whose constructor, or what of it pulls the first batch, is through


def patch(module):
    """Called with one of DALI's plugins just imported: patches the iterators that it defines."""
    framework = next((_FRAMEWORKS[part] for part in module.__name__.split(".") if part in _FRAMEWORKS), "python")
    for owner in [value for value in vars(module).values() if _is_iterator(value, module)]:
        if "__next__" in vars(owner):
            _wrap_next(owner, framework)
        if "__init__" in vars(owner):
            _wrap_init(owner)


def _is_iterator(value, module):
    if not isinstance(value, type) or value.__module__ != module.__name__:
        return False
    return any(base.__name__ == "_DaliBaseIterator" for base in value.__mro__[1:])


def _wrap_init(owner):
    real = owner.__init__

    @functools.wraps(real)
    @unseen
    def __init__(self, *args, **kwargs):
        real(self, *args, **kwargs)
        _made.add(self)

    owner.__init__ = __init__


def _wrap_next(owner, framework):
    real = owner.__next__

    @functools.wraps(real)
    @unseen
    def __next__(self):
        if current.busy or not calls.enabled or self not in _made:
            return real(self)
        current_pass = None
        try:
            current_pass = _pass_of(self, framework)
        except Exception as error:
            capture.fail("starting a pass over DALI", error)
        if current_pass is None:
            return real(self)
        return passes.wait(current_pass, functools.partial(real, self))

    owner.__next__ = __next__


def _pass_of(iterator, framework):
    """The pass under way; after its end, at the next batch, another one begins."""
    found = iterator.__dict__.get(_PASS)
    if found is None or found.is_over:
        count = functools.partial(_samples, weakref.ref(iterator))
        found = passes.Known(framework, describe(iterator), count).pass_over(iterator)
        iterator.__dict__[_PASS] = found
    return found


def _samples(iterator, batch):
    """A list has one part for each pipeline. What ragged iterators give may have no array with a dimension for the
    batch: theirs count as full."""
    parts = batch if isinstance(batch, list) else [batch]
    if "Ragged" in type(iterator()).__name__:
        return iterator().batch_size * len(parts)
    return sum(sizes.of_batch(part) for part in parts)


def describe(iterator):
    """The loader text of an iterator."""
    pipes = getattr(iterator, "_pipes", None) or []
    batch_size = getattr(iterator, "batch_size", None)
    reader = getattr(iterator, "_reader_name", None)
    samples = getattr(iterator, "_size_no_pad", None) if reader else None
    return passes.loader_text(
        "dali",
        composition="overlapped",
        dataset_type=(str(reader) if reader else type(iterator).__name__)[:200],
        batch_size=batch_size * max(1, len(pipes)) if type(batch_size) is int else None,
        dataset_samples=_integer(samples),
        threads=_integer(getattr(pipes[0], "num_threads", None)) if pipes else None,
        drop_last=getattr(getattr(iterator, "_last_batch_policy", None), "name", None) == "DROP",
    )


def _integer(value):
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
