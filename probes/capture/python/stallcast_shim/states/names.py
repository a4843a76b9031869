"""What a data set calls its samples: tables with an entry a sample (paths, or what paths are made of), told to the tool. And
where it says that they lie: tables of numbers, of which some may be places in files.

From these and from what samples were seen reading, the tool learns what the next samples will read before any of them was
read (probes/collect/pages/names_of_samples.hpp, places_of_samples.hpp). Nothing of the user's runs: attributes are looked up in
instances' own dictionaries, only lists, tuples, dictionaries and arrays that are exactly that are indexed, and only
strings and pathlib's own paths are taken for names. Other paths may do anything when they are asked for their text, for
instance download what they stand for.

Tables of Arrow (Hugging Face's datasets) are asked for columns of names alone. An entry may be the key of another table
(COCO: the number of an image, and a dictionary from numbers to file names; a label, and the list of classes): what stands
there is told as a table of its own. Entries that are kept pickled, one behind the other (MMEngine), are looked through for
their texts and numbers, and nothing is unpickled.
"""

import bisect
import itertools
import os
import pathlib
import sys
import types
from time import monotonic

from . import arrow, pickled

_MOST_DEPTH = 3  # a data set within a data set within a data set
_MOST_OBJECTS = 64
_MOST_TABLES = 8
_MOST_JOINED = 16
_LARGE = 1 << 16  # below it a number says nothing of where in a file something lies: a label, a width
_LONGEST = 1024  # of a name; what is longer is a text that is learned from
_MOST_ATTRIBUTES = 256  # a dictionary that has more has entries of samples
_MOST_PLACES = 8  # in an entry that is a tuple or a dictionary, and columns of a frame
_PROBED = 64  # indices at the least, of many, that stand for all of them
_AT_A_TIME = 16  # entries between two looks at the clock
_PATHS = (pathlib.PosixPath, pathlib.WindowsPath, pathlib.PurePosixPath, pathlib.PureWindowsPath)
_NO_DATA = (types.ModuleType, types.FunctionType, types.MethodType, type)  # have a dictionary, and hold no samples


class Table:
    """`says`: _name or _number; `entry_of`: function from an index to an entry; `where`: where it stands in the data set."""

    def __init__(self, says, entry_of, where):
        self.says = says
        self.entry_of = entry_of
        self.where = where

    def told(self, indices, until=None):
        """[[index, entry], ...] of these samples; of the first of them, where the clock has come to `until` meanwhile."""
        entries = []
        for number, index in enumerate(indices):
            if until is not None and number % _AT_A_TIME == 0 and monotonic() >= until:
                break
            try:
                said = self.says(self.entry_of(index))
            except (LookupError, TypeError, ValueError, OSError):
                continue
            if said is not None:
                entries.append([index, said])
        return entries


class Names:
    """Of one data set. `dataset`: the script's own; `samples`: its length."""

    def __init__(self, dataset, samples):
        self._tables = []
        self._by_key = []  # (dictionary or list whose keys may be entries of tables, where it stands)
        self._seen = {}  # id -> the object, so that none that comes later has it, too
        self._visited = 0
        self._highest = -1  # index into the data set that a Subset is of, whose length nobody asked for
        self._search_whole(dataset, samples, lambda index: index, 0, "", 0)

    def names(self):
        """The tables of names; those that look like paths come first."""
        named = [table for table in self._tables if table.says is _name]
        return sorted(named, key=lambda table: _rank(table.told((0,))))[:_MOST_TABLES]

    def numbers(self, indices):
        """[(table, are some of its numbers large?), ...] of the tables of numbers, those with large ones first."""
        numbered = [table for table in self._tables if table.says is _number][:_MOST_TABLES]
        found = [(table, _are_large(table.told(_some_of(indices)))) for table in numbered]
        return sorted(found, key=lambda one: not one[1])

    def _search_whole(self, dataset, samples, index_of, depth, where, first):
        """A data set, and what stands under the entries of its tables: the keys of another one are its own. `first`: the
        loader's index of one of its samples."""
        before, keys_before = len(self._tables), len(self._by_key)
        self._search(dataset, samples, index_of, depth, where)
        joined = []
        for table, (by_key, at) in itertools.product(self._tables[before:], self._by_key[keys_before:]):
            if len(joined) < _MOST_JOINED:
                joined += _under(by_key, at, table, first)
        self._tables += joined
        del self._by_key[keys_before:]

    def _search(self, value, samples, index_of, depth, where):
        """Looks for tables of `samples` entries in an object; `index_of`: from an index of the loader's to one here."""
        attributes = value if type(value) is dict else own_dictionary(value)
        if not attributes or depth > _MOST_DEPTH or self._visited >= _MOST_OBJECTS or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        self._visited += 1
        if type(value) is dict and (len(value) > _MOST_ATTRIBUTES or type(next(iter(value))) is not str):
            if _has_plain_keys(value):
                self._by_key.append((value, where))
            return
        items = [(name, held) for name, held in list(attributes.items()) if type(name) is str]
        self._add_pickled(items, samples, index_of, where)
        self._add_parts(items, samples, index_of, where)
        mapping = arrow.mapping_of(attributes, own_dictionary)
        if mapping is not None:
            self._search(attributes["_data"], None, lambda index: mapping(index_of(index)), depth + 1, where + "._data")
            return
        ends = _of_concatenation(attributes, samples)
        if ends is not None:
            self._search_each(attributes["datasets"], ends, index_of, depth, where)
            return
        inner = _of_subset(attributes, samples)
        for name, held in items:
            at = f"{where}.{name}"
            if inner is not None and name == "dataset":
                before, self._highest = self._highest, _highest_of(inner)
                self._search(held, None, lambda index: inner[index_of(index)], depth + 1, at)
                self._highest = before
            elif not self._add(held, samples, index_of, at):
                self._search(held, samples, index_of, depth + 1, at)

    def _search_each(self, datasets, ends, index_of, depth, where):
        """Data sets one after the other: what the first of them has as its first table, all have."""
        found = []
        for dataset, begin, end in zip(datasets, [0, *ends], ends):
            before = len(self._tables)
            self._search_whole(dataset, end - begin, lambda index, begin=begin: index_of(index) - begin, depth + 1,
                               where + "[]", begin)
            found.append(self._tables[before:])
            del self._tables[before:]
        for says in (_name, _number):
            of_kind = [[table for table in tables if table.says is says] for tables in found]
            for place in range(max(map(len, of_kind))):

                def entry(index, of_kind=of_kind, place=place):
                    return of_kind[bisect.bisect_right(ends, index_of(index))][place].entry_of(index)

                at = next(tables[place].where for tables in of_kind if len(tables) > place)
                self._tables.append(Table(says, entry, at))

    def _add_pickled(self, items, samples, index_of, where):
        """Entries that lie pickled behind each other in one of the attributes, where another says where they end."""
        found = pickled.entries_in([held for _, held in items], samples)
        if found is not None:
            self._add_places(found[0], found.__getitem__, index_of, where + "[]")

    def _add_parts(self, items, samples, index_of, where):
        """Names of what several samples are parts of, as clips are of films, where another attribute says with which sample
        the next one begins."""
        if samples is None:
            return
        listed = [(name, held) for name, held in items if type(held) in (list, tuple) or _is_array(held, "UOiu")]
        for _, ends in listed:
            if not 1 < len(ends) < samples or _number(ends[-1]) != samples:
                continue
            for name, held in listed:
                if held is not ends and len(held) == len(ends):
                    self._add_places(held[0], _part_of(held, ends), index_of, f"{where}.{name}", _name)

    def _add(self, held, samples, index_of, where):
        """Whether `held` is a table, or a frame of them."""
        kind = type(held)
        if arrow.is_table(held):
            for number, column in arrow.columns(held) if samples is None or held.num_rows == samples else ():
                self._tables.append(Table(_name, _entry(column, None, index_of), f"{where}[{number}]"))
            return True
        if kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pandas":
            for column in range(min(held.shape[1], _MOST_PLACES)):
                # Nothing is converted.
                self._add_table(held.iloc[:, column].array, samples, index_of, f"{where}[{column}]")
            return True
        if kind.__name__ == "Series" and kind.__module__.partition(".")[0] == "pandas":
            held = held.array
        elif kind not in (list, tuple) and not _is_array(held, "UOiu"):
            return False
        self._add_table(held, samples, index_of, where)
        return True

    def _add_table(self, held, samples, index_of, where):
        if id(held) in self._seen or not len(held):
            return
        self._seen[id(held)] = held
        # Of places there may be one more, where the last one ends.
        fits = len(held) > self._highest if samples is None else 0 <= len(held) - samples <= 1
        if fits:
            only = None if samples is None or len(held) == samples else _number
            self._add_places(held[0], held.__getitem__, index_of, where, only)
        elif type(held) in (list, tuple) and type(held[0]) is str:
            self._by_key.append((held, where))

    def _add_places(self, first, get, index_of, where, only=None):
        for says, place in _places(first):
            if only is None or says is only:
                self._tables.append(Table(says, _entry(get, place, index_of), where + _text_of(place)))


def own_dictionary(value):
    """The attributes of an instance, without asking its class; none of what is no object of the user's."""
    if isinstance(type(value), type) and issubclass(type(value), _NO_DATA):
        return {}
    try:
        found = object.__getattribute__(value, "__dict__")
    except Exception:
        return {}
    return found if type(found) is dict else {}


def _has_plain_keys(table):
    """Whether a dictionary's keys can be compared without running anything: by its first and its last one."""
    return all(type(key) in (int, str) for key in (next(iter(table)), next(reversed(table))))


def _name(entry):
    """The text of a name; None for what is none."""
    kind = type(entry)
    if kind is str:
        return entry if len(entry) <= _LONGEST else None
    numpy = sys.modules.get("numpy")
    return str(entry) if kind in _PATHS or (numpy is not None and kind is numpy.str_) else None


def _number(entry):
    """A whole number; None for what is none."""
    kind = type(entry)
    if kind is int:
        return entry
    is_numpys = kind.__module__ == "numpy" and kind.__name__.startswith(("int", "uint"))
    return int(entry) if is_numpys else None


def _are_large(numbers):
    """Whether some of a table's [[index, number], ...] may be places in files."""
    return any(number >= _LARGE for _, number in numbers)


def _under(by_key, where, table, first):
    """The tables of what stands in `by_key`, a dictionary or a list, under the entries of a table."""

    def found(index):
        key = table.says(table.entry_of(index))
        if key is None or (type(by_key) is not dict and not 0 <= key < len(by_key)):
            raise LookupError(key)
        return by_key[key]

    try:
        places = _places(found(first))
    except (LookupError, TypeError, ValueError):
        return []
    return [Table(says, _entry(found, place, lambda index: index), f"{where}[{table.where}]{_text_of(place)}")
            for says, place in places]


def _some_of(indices):
    return indices[:: max(1, len(indices) // _PROBED)]


def _highest_of(indices):
    """The highest of some of them."""
    some = map(_number, _some_of(indices))
    return max((index for index in some if index is not None), default=-1)


def _part_of(held, ends):
    return lambda index: held[bisect.bisect_right(ends, index)]


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
        parts = [(key, part) for key, part in entry.items() if type(key) in (int, str)][:_MOST_PLACES]
    else:
        parts = [(None, entry)]
    return [(says, place) for place, part in parts for says in (_name, _number) if says(part) is not None]


def _text_of(place):
    return "" if place is None else f"[{place}]"


def _entry(get, place, index_of):
    def entry(index):
        found = get(index_of(index))
        return found if place is None else found[place]

    return entry
