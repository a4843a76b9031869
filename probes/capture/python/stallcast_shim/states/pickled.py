"""Entries of samples that a data set keeps pickled in one flat array of bytes, with another that says where each ends, so
that workers share them (MMEngine's BaseDataset, detectron2's NumpySerializedList and TorchSerializedList).

They are looked through for texts and whole numbers, as pickletools reads them. Nothing is unpickled: that may run anything.
"""

import pickletools
import sys

_MOST_OPCODES = 256  # of an entry; what names its files mostly stands first
_MOST_BYTES = 1 << 16
_TEXTS = ("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE")
_NUMBERS = ("BININT", "BININT1", "BININT2", "LONG1", "INT")
_BETWEEN = ("MEMOIZE", "BINPUT", "LONG_BINPUT")  # a key and what stands under it


class Entries:
    """`entries[i]`: {key: text or whole number} of entry i, as far as it is a dictionary of such."""

    def __init__(self, data, ends):
        self._data = data
        self._ends = ends

    def __getitem__(self, index):
        if index < 0:
            raise IndexError(index)
        begin, end = int(self._ends[index - 1]) if index else 0, int(self._ends[index])
        return _values(bytes(memoryview(self._data[begin : min(end, begin + _MOST_BYTES)])))


def entries_in(values, samples):
    """The Entries among the attributes of an object, for a data set of so many samples; None where there are none."""
    arrays = [array for array in map(_array, values) if array is not None]
    for data in arrays:
        if data.dtype.kind != "u" or data.dtype.itemsize != 1:
            continue
        for ends in arrays:
            fits = ends.dtype.kind in "iu" and len(ends) == samples if samples is not None else len(ends) > 0
            if ends is not data and fits and int(ends[-1]) == len(data):
                return Entries(data, ends)
    return None


def _array(value):
    """A flat array of numbers in memory, as numpy's; None for what is none."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is None:
        return None
    if torch is not None and type(value) is getattr(torch, "Tensor", None):
        if value.ndim != 1 or value.device.type != "cpu" or value.requires_grad or value.is_sparse:
            return None
        value = value.numpy()
    return value if type(value) is numpy.ndarray and value.ndim == 1 and value.dtype.kind in "iu" and len(value) else None


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
