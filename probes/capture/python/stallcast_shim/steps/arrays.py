"""The arrays that a loop's functions give and are given, told apart while two of its steps are watched (watch.py)."""

import collections
import itertools
import weakref

_DEPTH = 3  # of lists and dicts in a batch
_MOST_PARTS = 64
_OTHERS = {"jaxlib": "ArrayImpl", "jax": "ArrayImpl", "tensorflow": "EagerTensor"}  # library -> its arrays


class Arrays:
    """Each has a number; none lives longer because of us."""

    def __init__(self):
        self.lengths = {}  # number of an array -> its leading dimension
        self._numbers = {}  # id of an array -> (weak reference to it, its number)
        self._count = 0

    def note(self, values, into, depth=_DEPTH, are_fields=True):
        """Adds the numbers of arrays with at least one dimension, also those of objects' fields where `are_fields`; whether
        one of them needs gradients."""
        needs = False
        for value in values:
            parts = _parts(value, are_fields) if depth else None
            if parts is not None:
                needs = self.note(parts, into, depth - 1, are_fields) or needs
            elif is_array(value):
                into.add(self._number(value))
                needs = needs or getattr(value, "requires_grad", False) is True
        return needs

    def _number(self, array):
        """The same for the same array; an id is used again once its array is gone."""
        reference, number = self._numbers.get(id(array), (None, 0))
        if reference is None or reference() is not array:
            self._count += 1
            number = self._count
            self._numbers[id(array)] = weakref.ref(array), number
            length = array.shape[0]
            self.lengths[number] = length if type(length) is int else 0  # of a compiler's, asking would fix a symbol
        return number


def first_of(values, depth=_DEPTH):
    """The first array among these; None where there is none."""
    for value in values:
        parts = _parts(value, True) if depth else None
        if parts is None and is_array(value):
            return value
        found = first_of(parts or (), depth - 1)
        if found is not None:
            return found
    return None


def lengths_of(array):
    """Its leading dimension, and the first that is not 1."""
    sizes = [size for size in array.shape if type(size) is int]  # of a compiler's, asking would fix a symbol
    return set(sizes[:1] + [size for size in sizes if size != 1][:1])


def _parts(value, are_fields):
    """Of a list, a tuple, a dict, or a dataclass; None of all else. Calls nothing of the script's."""
    kind = type(value)
    if issubclass(kind, tuple):
        return tuple.__getitem__(value, slice(_MOST_PARTS))
    if issubclass(kind, list):
        return list.__getitem__(value, slice(_MOST_PARTS))
    if issubclass(kind, dict):
        return list(itertools.islice(dict.values(value), _MOST_PARTS))
    if are_fields and (issubclass(kind, collections.UserDict) or _is_dataclass(kind)):
        try:
            return list(object.__getattribute__(value, "__dict__").values())[:_MOST_PARTS]
        except AttributeError:  # of slots
            return None
    return None


def _is_dataclass(kind):
    return any("__dataclass_fields__" in vars(one) for one in kind.__mro__)


def is_array(value):
    """A tensor or an array with a dimension. Other things of these libraries (modules) are not asked: they may run anything."""
    kind = type(value)
    try:
        library = kind.__module__.partition(".")[0]
        is_theirs = library in ("torch", "numpy") or kind.__name__ == _OTHERS.get(library)
        return is_theirs and hasattr(kind, "shape") and len(value.shape) > 0
    except Exception:
        return False
