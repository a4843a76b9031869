"""Loaders of graphs that are torch's DataLoader and work on each batch in the process that trains, after torch's own next:
PyG gathers features and runs transforms there (filter_per_worker=False), DGL fetches features. That is part of the wait.
"""

import functools

from .. import capture
from ..capture import calls
from ..frames import unseen
from ..torch_loader import loader, wait

# Iterators around torch's: the attribute that holds it
_AROUND = {"DataLoaderIterator": "iterator", "_PrefetchingIter": "dataloader_it"}


def patch(module):
    """Called with PyG's or DGL's module just imported."""
    for name, attribute in _AROUND.items():
        owner = getattr(module, name, None)
        if owner is not None:
            _wrap_next(owner, attribute)


def _wrap_next(owner, attribute):
    real = owner.__next__

    @functools.wraps(real)
    @unseen
    def __next__(self):
        inner = getattr(self, attribute, None)
        if not hasattr(inner, wait.ATTRIBUTE) or getattr(self, "use_thread", False):  # of DGL: a thread asks torch's
            return real(self)
        _tell(getattr(inner, wait.ATTRIBUTE))
        return wait.one(real, self, inner, loader.announce)

    owner.__next__ = __next__


@unseen
def _tell(current_pass):
    """Once for each loader: what is waited for beyond torch's own next is work."""
    if current_pass is None or current_pass.loader.works_in_next or not calls.enabled:
        return
    current_pass.loader.works_in_next = True
    try:
        capture.text(capture.TEXT_MARK, {"what": "works in next", "loader_id": current_pass.loader.loader_id})
    except Exception as error:
        capture.fail("telling what a loader does in next", error)
