"""What a pass will draw, told from an order that lies ready: for samplers of types that nobody knows.

Most samplers work out the whole order of a pass first, and then go through that list. Where what torch draws from is an
iterator over a list, a tuple or a range, or generators around one, another iterator of ours goes through the same list:
nobody's code runs, and torch's is left where it is. What the generators do beside going through it is not known, so some
lists that torch draws have to be as they were expected before anything is told, and each later one is held against it.

    def __iter__(self):        torch draws from a generator of BatchSampler, whose frame holds
        order = ...            a generator of this function, whose frame holds
        for index in order:    an iterator over the list `order`
            yield index
"""

import gc
import itertools
import operator
import sys
import types
import weakref

from . import lookahead

_MOST_DEPTH = 4  # generators within each other
_MOST_REFERENTS = 64  # of a generator's frame
_CHECKED = 3  # lists that have to come true before any is told
_MOST_UNSURE = 3  # orders in a row that are over before so many came true
_PLAIN = (type(iter([])), type(iter(())), type(iter(range(0))))
_SEQUENCES = (list, tuple, range)


class Order:
    """Of one pass. `unknown`: why nothing else tells it; `drops_last`: no list is shorter than the others. `why_not`: why
    there is none; None where there is, or may be."""

    def __init__(self, unknown, drops_last):
        self.why_not = None
        self._unknown = unknown
        self._drops_last = drops_last
        self._ahead = None  # what follows, once an order was found
        self._all = None  # lists until the order is over
        self._sure_all = None  # the same, of one that came true
        self._to_check = _CHECKED
        self._unsure = 0  # orders found since one was sure
        self._alive = None  # tells when what torch draws from is gone

    def begin(self, _):
        pass

    def is_being_checked(self):
        return self.why_not is None and self._to_check > 0

    def drawn(self, number, index, iterator=None):
        """torch drew this index list, the one of that number, from `iterator`."""
        if self.why_not is not None:
            return
        try:
            self._hold_against(number, index, iterator)
        except Exception:  # what a sampler does with its list meanwhile is its own
            self.end(self._unknown)

    def length(self):
        """Lists until the order is over; None where none is known. Known once it stays so until the pass ends, or this."""
        return self._sure_all if self.why_not is None else None

    def lists(self, first, count):
        """Index lists of the batches first, first + 1, ... as far as the order goes."""
        if self._to_check or self.why_not is not None:
            return []
        found = self._ahead.at(first, count)
        told = [[_plain_number(one) for one in item] if type(item) is list else _plain_number(item) for item in found]
        if all(type(one) is int for item in told for one in (item if type(item) is list else [item])):
            return told
        self.end("the sampler gives no whole numbers")
        return []

    def end(self, why):
        """Nothing of the user's is held from here on."""
        self.why_not = self.why_not or why
        self._ahead, self._alive = None, None

    def _hold_against(self, number, index, iterator):
        expected = self._ahead.at(number, 1) if self._ahead is not None else []
        if expected and _is_same(index, expected[0]):
            self._to_check = max(0, self._to_check - 1)
            if not self._to_check:
                self._unsure, self._sure_all = 0, self._all
            self._ahead.drawn(number)
        elif self._all is None or number >= self._all - 1:  # not found yet, or a sampler that goes on with another order
            self._find(number, index, iterator)
        else:
            self.end(self._unknown)

    def _find(self, number, index, iterator):
        found = _following(iterator, index, self._drops_last)
        self._unsure += 1
        if found is None or self._unsure > _MOST_UNSURE:
            return self.end(self._unknown)
        lists, left = found
        self._ahead = lookahead.Lookahead(lambda count: itertools.islice(lists, count), number + 1)
        self._all, self._to_check = number + 1 + left, _CHECKED
        mine = weakref.ref(self)
        if type(iterator) is types.GeneratorType:
            self._alive = weakref.ref(iterator, lambda _: mine() is not None and mine().end("the pass is over"))


def _following(iterator, drawn, drops_last):
    """What `iterator` will give next, now that it has just given `drawn`: (iterator over lists, their number), or None where
    no order lies ready."""
    last = drawn[-1] if type(drawn) is list and drawn else drawn
    found = list(_plain(iterator, 0))
    matching = [one for one in found if 0 < one[1] <= len(one[0]) and type(one[0]) is not range
                and (_is_same(one[0][one[1] - 1], last) or _is_same(one[0][one[1] - 1], drawn))]
    if len(matching) != 1 and len(found) != 1:
        return None
    sequence, position = (matching or found)[0]
    size = len(drawn) if type(drawn) is list else None
    left = max(0, len(sequence) - position)
    if size and left and type(sequence[position]) not in (list, tuple):
        left = left // size if drops_last else -(-left // size)
    begun = iter(sequence)
    begun.__setstate__(position)
    return _lists(begun, size, drops_last), left


def _lists(items, size, drops_last):
    """Each item as it comes, or `size` of them at a time where these are single indices and lists are drawn."""
    for item in items:
        if type(item) is list:
            yield list(item)  # a data set may sort what it is given
        elif size is None or type(item) is tuple:
            yield item
        else:
            together = [item, *itertools.islice(items, size - 1)]
            if len(together) == size or not drops_last:
                yield together


def _is_same(drawn, expected):
    """Without asking what they contain: the same objects, or whole numbers that are equal."""
    if type(drawn) is list and type(expected) is list:
        if len(drawn) != len(expected):
            return False
        return all(map(operator.is_, drawn, expected)) or all(map(_is_same, drawn, expected))
    if drawn is expected:
        return True
    drawn, expected = _plain_number(drawn), _plain_number(expected)
    return type(drawn) is int and type(expected) is int and drawn == expected


def _plain_number(item):
    if type(item) is int:
        return item
    numpy = sys.modules.get("numpy")
    is_numpys = type(item).__module__ == "numpy" and numpy is not None and isinstance(item, numpy.integer)
    return int(item) if is_numpys and type(item).__name__.startswith(("int", "uint")) else item  # no spans of time


def _plain(iterator, depth):
    """(sequence, position) of each iterator over a list, a tuple or a range that `iterator` may be going through."""
    if type(iterator) in _PLAIN:
        _, arguments, *state = iterator.__reduce__()
        if type(arguments[0]) in _SEQUENCES and len(arguments[0]):
            yield arguments[0], (state[0] or 0) if state else 0
    elif type(iterator) is types.GeneratorType and depth < _MOST_DEPTH:
        inner = {id(one): one for one in _referents(iterator)}
        for one in inner.values():
            yield from _plain(one, depth + 1)


def _referents(generator):
    """What a generator's frame holds, iterators of its loops among that; of older Pythons the frame is an object of its
    own, and what its comprehensions use is in cells."""
    held = gc.get_referents(generator)[:_MOST_REFERENTS]
    for inner in (types.FrameType, types.CellType):
        held += [one for holder in held if type(holder) is inner for one in gc.get_referents(holder)[:_MOST_REFERENTS]]
    return [one for one in held if type(one) in _PLAIN or type(one) is types.GeneratorType]
