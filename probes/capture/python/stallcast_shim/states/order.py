"""What a pass will draw, told from an order that lies ready: for samplers of types that nobody knows.

Most samplers work out the whole order of a pass first, and then go through that list. Where what torch draws from is an
iterator over a list, a tuple or a range, or generators around one, another iterator of ours goes through the same list:
nobody's code runs, and torch's is left where it is. What the generators do beside going through it is not known, so some
lists that torch draws have to be as they were expected before anything is told (prediction).

    def __iter__(self):        torch draws from a generator of BatchSampler, whose frame holds
        order = ...            a generator of this function, whose frame holds
        for index in order:    an iterator over the list `order`
            yield index
"""

import gc
import itertools
import types

_MOST_DEPTH = 4  # generators within each other
_MOST_REFERENTS = 64  # of a generator's frame
_PLAIN = (type(iter([])), type(iter(())), type(iter(range(0))))
_SEQUENCES = (list, tuple, range)
_NUMBERS = ("numpy", "torch")  # modules of numbers that are not Python's own


def following(iterator, drawn, drops_last):
    """What `iterator` will give next, now that it has just given `drawn`: (iterator over lists, their number), or None where
    no order lies ready. `drops_last`: no list is shorter than that one."""
    last = drawn[-1] if type(drawn) is list and drawn else drawn
    found = list(_plain(iterator, 0))
    matching = [one for one in found if one[1] > 0 and type(one[0]) is not range and _same(one[0][one[1] - 1], (last, drawn))]
    if len(matching) != 1 and len(found) != 1:
        return None
    sequence, position = (matching or found)[0]
    size = len(drawn) if type(drawn) is list else None
    left = max(0, len(sequence) - position)
    if size and left and type(sequence[position]) not in (list, tuple):
        left = left // size if drops_last else -(-left // size)
    return _lists(_at(sequence, position), size, drops_last), left


def _at(sequence, position):
    begun = iter(sequence)
    begun.__setstate__(position)
    return begun


def _lists(items, size, drops_last):
    """Each item as it comes, or `size` of them at a time where these are single indices and lists are drawn."""
    for item in items:
        if type(item) in (list, tuple):
            yield type(item)(_number(one) for one in item)
        elif size is None:
            yield _number(item)
        else:
            together = [_number(one) for one in itertools.chain((item,), itertools.islice(items, size - 1))]
            if len(together) == size or not drops_last:
                yield together


def _number(item):
    return int(item) if type(item).__module__ in _NUMBERS else item


def _same(item, wanted):
    return any(item is one or (type(item) is type(one) and type(one) in (int, list) and item == one) for one in wanted)


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
