"""Entries of samples that a data set keeps pickled in one flat array of bytes, with another that says where each ends, so
that workers share them (MMEngine's BaseDataset, detectron2's NumpySerializedList).

They are looked through for texts and whole numbers, as pickletools reads them. Nothing is unpickled: that may run anything.
Tensors are left alone: torch's own modes may watch what is done to them, and one that gave an array cannot be resized.
"""

import pickletools
import sys

_MOST_OPCODES = 128  # of an entry; what names its files mostly stands first
_MOST_BYTES = 1 << 14
_MOST_KEPT = 1 << 15  # entries that are looked into, kept for their other places
_TEXTS = ("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE")
_NUMBERS = ("BININT", "BININT1", "BININT2", "LONG1", "INT")
_BETWEEN = ("MEMOIZE", "BINPUT", "LONG_BINPUT")  # a key and what stands under it


class Entries:
    """`entries[i]`: {key: text or whole number} of entry i, as far as it is a dictionary of such."""

    def __init__(self, data, ends):
        self._data = data
        self._ends = ends
        self._values = {}

    def __getitem__(self, index):
        known = self._values.get(index)
        if known is not None:
            return known
        if index < 0:
            raise IndexError(index)
        begin, end = int(self._ends[index - 1]) if index else 0, int(self._ends[index])
        values = _values(self._data[begin : min(end, begin + _MOST_BYTES)].tobytes())
        if len(self._values) < _MOST_KEPT:
            self._values[index] = values
        return values


def entries_in(values, samples):
    """The Entries among the attributes of an object, for a data set of so many samples; None where there are none."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    arrays = [value for value in values if type(value) is numpy.ndarray and value.ndim == 1 and len(value)]
    for data in arrays:
        if data.dtype != numpy.uint8:
            continue
        for ends in arrays:
            fits = ends.dtype.kind in "iu" and (samples is None or len(ends) == samples)
            if ends is not data and fits and int(ends[-1]) == len(data):
                return Entries(data, ends)
    return None


def _values(data):
    found = {}
    key = None
    try:
        for number, (opcode, argument, _) in enumerate(pickletools.genops(data)):
            if number >= _MOST_OPCODES:
                break
            if opcode.name in _BETWEEN:
                continue
            is_text = opcode.name in _TEXTS
            if key is not None and (is_text or opcode.name in _NUMBERS):
                found.setdefault(key, argument)
                key = None
            else:
                key = argument if is_text else None
    except Exception:  # its end was cut off, or it is no pickle
        pass
    return found
