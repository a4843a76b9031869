"""DALI's dynamic mode: epochs of its readers, where their operators are captured (next_epoch(capture=True)): a pipeline makes
the batches ahead, and next() waits for it. Elsewhere operators are waited for wherever the script asks for a result: that
is told, and no waits are.
"""

import functools

from .. import capture
from ..capture import calls
from ..frames import unseen
from ..thread import current
from ..torch_loader import loader
from . import adapters, passes

_told = set()


def patch(module):
    """Called with the module just imported that defines the readers, or external sources."""
    for owner in (getattr(module, name, None) for name in ("Reader", "ExternalSource")):
        if "next_epoch" in vars(owner or object):
            _wrap(owner)


def _wrap(owner):
    real = owner.next_epoch

    @functools.wraps(real)
    @unseen
    def next_epoch(self, *args, **kwargs):
        epoch = real(self, *args, **kwargs)
        if not calls.enabled or not hasattr(epoch, "send"):
            return epoch
        if not kwargs.get("capture"):
            return _unseen_epoch(epoch)
        try:
            size = kwargs.get("batch_size", args[0] if args else None) or getattr(self, "_batch_size", None)
            text = passes.loader_text("dali", composition="overlapped", dataset_type=type(self).__name__[:200],
                                      batch_size=adapters.integer(size))
            known = passes.Known(adapters.framework(), text, _samples)
            return adapters.through(epoch, adapters.Source(loader.loader_of(self), known))
        except Exception as error:
            capture.fail("starting an epoch of DALI's", error)
            return epoch

    owner.next_epoch = next_epoch


def _samples(outputs):
    """Of a batch of captured outputs, which are there already."""
    first = next(iter(outputs.values())) if isinstance(outputs, dict) else outputs
    first = first[0] if isinstance(first, tuple) else first
    return int(first.batch_size)


@unseen
def _unseen_epoch(epoch):
    if not current.busy and "eager" not in _told and adapters.counts_here():
        _told.add("eager")
        capture.issue(
            "loader-not-followed",
            "warning",
            "waits for batches of DALI's dynamic mode are missing: without capture=True its operators are waited for "
            "wherever their results are asked for",
            "next_epoch(batch_size, capture=True) makes batches ahead, and is seen; or let a generator ask for the "
            "results, and mark it: for batch in stallcast.wrap(batches(), workers=0)",
        )
    return (yield from epoch)
