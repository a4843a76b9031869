"""Data sets that make a batch by one call, `__getitems__`, instead of one sample after the other."""

import sys


def asks_for_each(dataset):
    """Whether this is torch's Subset of what is asked for a sample by its index: its `__getitems__` is a loop, then. Asks as
    torch does, where torch does."""
    subset = sys.modules["torch.utils.data"].Subset
    whole = getattr(subset, "__getitems__", None)
    if whole is None or not isinstance(dataset, subset):
        return False
    while isinstance(dataset, subset) and type(dataset).__getitems__ is whole:
        dataset = dataset.dataset
    return not callable(getattr(dataset, "__getitems__", None))


def makes_at_once(dataset):
    """Whether batches are made by one call each. Not of a torch that knows of no such calls. Nothing of the data set's runs: it
    may not be meant to be asked for anything in this process."""
    subset = getattr(sys.modules.get("torch.utils.data"), "Subset", None)
    whole = getattr(subset, "__getitems__", None)
    if whole is None:
        return False
    while True:
        method = _method(dataset)
        if method is not whole:
            return callable(method)
        dataset = object.__getattribute__(dataset, "__dict__").get("dataset")


def _method(dataset):
    """`__getitems__` of its class, without asking either; None where it has none."""
    own = [type.__getattribute__(base, "__dict__") for base in type.__getattribute__(type(dataset), "__mro__")]
    return next((attributes["__getitems__"] for attributes in own if "__getitems__" in attributes), None)
