"""Data sets that make a batch by one call, `__getitems__`, instead of one sample after the other."""

import sys


def asks_for_each(dataset):
    """Whether this is torch's Subset of what is asked for a sample by its index: its `__getitems__` is a loop, then."""
    subset = sys.modules["torch.utils.data"].Subset
    whole = getattr(subset, "__getitems__", None)
    if whole is None or not isinstance(dataset, subset):
        return False
    while isinstance(dataset, subset) and type(dataset).__getitems__ is whole:
        dataset = dataset.dataset
    return not callable(getattr(dataset, "__getitems__", None))


def makes_at_once(dataset):
    """Whether batches are made by one call each. Not of a torch that knows of no such calls."""
    subset = getattr(sys.modules.get("torch.utils.data"), "Subset", None)
    if getattr(subset, "__getitems__", None) is None or not callable(getattr(type(dataset), "__getitems__", None)):
        return False
    return not asks_for_each(dataset)
