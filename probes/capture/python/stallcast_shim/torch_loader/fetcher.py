"""Samples and collates: the data set and the collate function of a fetcher are replaced by marking proxies."""

import functools

from .. import at_once, capture
from ..capture import calls
from ..frames import unseen
from ..thread import current
from . import operators


def patch(module):
    """Wraps _DatasetKind.create_fetcher, which workers and single-process iterators both call."""
    kinds = module._DatasetKind
    real = kinds.create_fetcher

    @functools.wraps(real)
    @unseen
    def create_fetcher(*args, **kwargs):
        fetcher = real(*args, **kwargs)
        if calls.enabled and _is_recorded():
            try:
                _mark(fetcher)
                if current.worker is not None:
                    current.worker.describe()
            except Exception as error:
                capture.fail("wrapping a data set", error)
        return fetcher

    kinds.create_fetcher = staticmethod(create_fetcher)


def _is_recorded():
    """A worker's own fetcher, or the one of an iterator that is being created; not of loaders that these contain."""
    if current.busy:
        return False
    if current.worker is not None:
        return current.iterator is None
    return current.current_pass is not None


def _mark(fetcher):
    operators.mark(fetcher.dataset, fetcher.collate_fn)
    if current.worker is not None:
        current.worker.fetched = (fetcher.dataset, fetcher.collate_fn)
    if not hasattr(fetcher, "dataset_iter"):  # map-style; an iterable one is already being iterated
        proxy = calls.subset_proxy if at_once.asks_for_each(fetcher.dataset) else calls.dataset_proxy
        fetcher.dataset = proxy(fetcher.dataset)
    fetcher.collate_fn = calls.timed_collate(fetcher.collate_fn)
