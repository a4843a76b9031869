"""What a data set calls its samples: tables with an entry a sample (paths, or what paths are made of), told to the tool. And
where it says that they lie: tables of numbers, of which some may be places in files.

From these and from what samples were seen reading, the tool learns what the next samples will read before any of them was
read (probes/collect/pages/names_of_samples.hpp, places_of_samples.hpp). Nothing of the user's runs: attributes are looked up in
instances' own dictionaries, only lists, tuples, dictionaries and arrays that are exactly that are indexed, and only
strings and pathlib's own paths are taken for names. Other paths may do anything when they are asked for their text, for
instance download what they stand for.
"""

import bisect
import os
import pathlib
import sys
import types

_MOST_DEPTH = 3  # a data set within a data set within a data set
_MOST_OBJECTS = 64
_MOST_TABLES = 8
_LARGE = 1 << 16  # below it a number says nothing of where in a file something lies: a label, a width
_MOST_PLACES = 8  # in an entry that is a tuple or a dictionary, and columns of a frame
_PATHS = (pathlib.PosixPath, pathlib.WindowsPath, pathlib.PurePosixPath, pathlib.PureWindowsPath)
_NO_DATA = (types.ModuleType, types.FunctionType, types.MethodType, type)  # have a dictionary, and hold no samples


class Names:
    """Of one data set. `dataset`: the script's own; `samples`: its length."""

    def __init__(self, dataset, samples):
        self._tables = []  # (is it of names or of numbers, function from an index to an entry)
        self._seen = set()
        self._visited = 0
        self._search(dataset, samples, lambda index: index, 0)

    def tables(self, indices):
        """For each table of names its [[index, entry], ...] of these samples; those that look like paths come first."""
        named = [entry for says, entry in self._tables if says is _name]
        likely = sorted(named, key=lambda entry: _rank(_told(_name, entry, indices[:1])))
        for entry in likely[:_MOST_TABLES]:
            yield _told(_name, entry, indices)

    def numbers(self, indices):
        """Likewise of tables of numbers, some of which are large: (which, [[index, number], ...]), in every answer alike."""
        numbered = [entry for says, entry in self._tables if says is _number]
        for which, told in enumerate(_told(_number, entry, indices) for entry in numbered[:_MOST_TABLES]):
            if any(number >= _LARGE for _, number in told):
                yield which, told

    def _search(self, value, samples, index_of, depth):
        """Looks for tables of `samples` entries in an object; `index_of`: from an index of the loader's to one here."""
        self._visited += 1
        if depth > _MOST_DEPTH or self._visited > _MOST_OBJECTS or id(value) in self._seen:
            return
        self._seen.add(id(value))
        attributes = value if type(value) is dict else _own_dictionary(value)
        ends = _of_concatenation(attributes, samples)
        if ends is not None:
            return self._search_each(attributes["datasets"], ends, index_of, depth)
        inner = _of_subset(attributes, samples)
        for name, held in list(attributes.items()):
            if inner is not None and name == "dataset":
                self._search(held, None, lambda index: inner[index_of(index)], depth + 1)
            elif not self._add(held, samples, index_of):
                self._search(held, samples, index_of, depth + 1)

    def _search_each(self, datasets, ends, index_of, depth):
        """Data sets one after the other: what the first of them has as its first table, all have."""
        found = []
        for dataset, begin, end in zip(datasets, [0, *ends], ends):
            before = len(self._tables)
            self._search(dataset, end - begin, lambda index, begin=begin: index_of(index) - begin, depth + 1)
            found.append(self._tables[before:])
            del self._tables[before:]
        for says in (_name, _number):
            of_kind = [[entry for kind, entry in tables if kind is says] for tables in found]
            for place in range(max(map(len, of_kind))):

                def entry(index, of_kind=of_kind, place=place):
                    return of_kind[bisect.bisect_right(ends, index_of(index))][place](index)

                self._tables.append((says, entry))

    def _add(self, held, samples, index_of):
        """Whether `held` is a table, or a frame of them."""
        kind = type(held)
        if kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pandas":
            for column in range(min(held.shape[1], _MOST_PLACES)):
                self._add_table(held.iloc[:, column].array, samples, index_of)  # nothing is converted
            return True
        if kind not in (list, tuple) and not _is_array(held, "UOiu"):
            return False
        self._add_table(held, samples, index_of)
        return True

    def _add_table(self, held, samples, index_of):
        # Of places there may be one more, where the last one ends.
        if id(held) in self._seen or not len(held) or (samples is not None and not 0 <= len(held) - samples <= 1):
            return
        self._seen.add(id(held))
        for says, place in _places(held[0]):
            if says is _number or samples is None or len(held) == samples:
                self._tables.append((says, _entry(held, place, index_of)))


def _own_dictionary(value):
    """The attributes of an instance, without asking its class; none of what is no object of the user's."""
    if isinstance(type(value), type) and issubclass(type(value), _NO_DATA):
        return {}
    try:
        found = object.__getattribute__(value, "__dict__")
    except Exception:
        return {}
    return found if type(found) is dict else {}


def _name(entry):
    """The text of a name; None for what is none."""
    kind = type(entry)
    if kind is str:
        return entry
    numpy = sys.modules.get("numpy")
    return str(entry) if kind in _PATHS or (numpy is not None and kind is numpy.str_) else None


def _number(entry):
    """A whole number; None for what is none."""
    kind = type(entry)
    if kind is int:
        return entry
    is_numpys = kind.__module__ == "numpy" and kind.__name__.startswith(("int", "uint"))
    return int(entry) if is_numpys else None


def _told(says, table, indices):
    entries = []
    for index in indices:
        try:
            said = says(table(index))
        except (LookupError, TypeError, ValueError):
            continue
        if said is not None:
            entries.append([index, said])
    return entries


def _rank(entries):
    if not entries:
        return 3
    return 0 if os.sep in entries[0][1] else 1 if "." in entries[0][1] else 2


def _of_concatenation(attributes, samples):
    """Where the data sets of a torch.utils.data.ConcatDataset end, or of what is built like one."""
    datasets, ends = attributes.get("datasets"), attributes.get("cumulative_sizes")
    if type(datasets) is not list or type(ends) is not list or not datasets or len(datasets) != len(ends):
        return None
    if any(type(end) is not int for end in ends) or (samples is not None and ends[-1] != samples):
        return None
    return ends


def _of_subset(attributes, samples):
    """The indices of a torch.utils.data.Subset, or of what is built like one."""
    indices = attributes.get("indices")
    listed = type(indices) in (list, tuple, range) or _is_array(indices, "iu")
    fits = listed and "dataset" in attributes and (samples is None or len(indices) == samples)
    return indices if fits else None


def _is_array(value, kinds):
    """Whether this is an array of texts or objects (or of other kinds), in memory: a map of a file is of a subclass."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is numpy.ndarray and value.ndim == 1 and value.dtype.kind in kinds


def _places(entry):
    """Where in an entry names and numbers stand: (which of both, None for the entry itself, or a position or a key in it)."""
    if type(entry) in (tuple, list):
        parts = list(enumerate(entry[:_MOST_PLACES]))
    elif type(entry) is dict:
        parts = list(entry.items())[:_MOST_PLACES]
    else:
        parts = [(None, entry)]
    return [(says, place) for place, part in parts for says in (_name, _number) if says(part) is not None]


def _entry(table, place, index_of):
    def entry(index):
        found = table[index_of(index)]
        return found if place is None else found[place]

    return entry
