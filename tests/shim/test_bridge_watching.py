"""What the capture library sees of a script's own objects: items of generators that have begun, calls of C++ objects."""

from bridge_case import BridgeCase
from harness import main


class BridgeWatchingTest(BridgeCase):
    def test_generators_that_have_begun(self):
        body = """
import functools
def numbers(last):
    for number in range(last):
        yield number
    return "the end"
def others(last):
    for number in range(last):
        yield number
def run(generator):
    seen.append("asked")
    return next(generator)
if calls.watch_generator is None:
    assert sys.argv[1:] == ["fallback"]
    sys.exit()
before = list(numbers(3))
one, other, seen = numbers(6), numbers(6), []
next(one), next(other)
count = sys.getrefcount(one)
assert calls.watch_generator(one, run, None) == 1
assert sys.getrefcount(one) == count
assert (next(one), next(other), len(seen)) == (1, 1, 1)
assert list(zip(map(str, one), other)) == [(str(number), number) for number in range(2, 6)]
assert len(seen) == 6, seen  # with the end
assert next(one, "over") == "over"

def fails():
    yield 1
    raise KeyError("its own")
failing = fails()
next(failing)
assert calls.watch_generator(failing, run, None) == 1
try:
    next(failing)
except KeyError as error:
    assert error.args == ("its own",)

def inner():
    try:
        yield next(me)
    except ValueError as error:
        yield str(error)
me = inner()
assert calls.watch_generator(me, run, None) == 1
assert next(me) == "generator already executing"

third = numbers(1)
assert calls.watch_generator(third, run, None) == 1
assert calls.watch_generator(other, run, None) == 0  # no more at a time
gone = []
reference = weakref.ref(third, gone.append)
places = [id(one), id(failing), id(me), id(third)]
del third
assert gone == [reference]
del seen[:]
for place in places + [12345]:
    calls.forget_generator(place)
assert list(numbers(3)) == before and list(me) == [] and seen == []

code = numbers.__code__
assert calls.watch_generator((nothing for nothing in ()), run, code) == 1  # any of them shows how they are laid out
assert list(numbers(2)) == [0, 1] and len(seen) == 3
assert list(others(2)) == [0, 1] and len(seen) == 3
calls.forget_generator(id(code))
assert list(numbers(2)) == [0, 1] and len(seen) == 3
for wrong in ((), (one,), (one, run), (one, run, None, 1)):
    try:
        calls.watch_generator(*wrong)
        sys.exit("taken")
    except TypeError:
        pass
"""
        self.check(body)

    def test_calls_of_objects_that_keep_what_they_do(self):
        body = """
import functools
def scaled(value, *, by=2):
    if value == 3:
        raise KeyError(value)
    return value * by
def other(value):
    return -value
def before(*args, **kwargs):
    seen.append((args, kwargs))
def after(callable, result):
    seen.append((callable, result))
    if result == 40:
        raise KeyboardInterrupt  # as a signal that came meanwhile
if calls.watch_calls is None:
    assert sys.argv[1:] == ["fallback"]
    sys.exit()
seen, count = [], sys.getrefcount(scaled)
if sys.version_info < (3, 9):  # functions are called otherwise there: nothing is changed
    assert calls.watch_calls(scaled, before, after) == 0
    assert list(map(scaled, [1, 2])) == [2, 4] and seen == []
    sys.exit()
assert calls.watch_calls(scaled, before, after) == 1
assert calls.watch_calls(scaled, before, after) == 1  # once more
assert calls.watch_calls(other, after, before) == 0  # others are watched by other functions
assert calls.watch_calls(other, before, after) == 1
assert sys.getrefcount(scaled) == count
assert list(map(scaled, [1, 2])) == [2, 4] and list(map(other, [5])) == [-5]
assert seen == [((1,), {}), (scaled, 2), ((2,), {}), (scaled, 4), ((5,), {}), (other, -5)], seen
del seen[:]
assert functools.partial(scaled, by=5)(1) == 5
assert seen == [((1,), {"by": 5}), (scaled, 5)], seen
del seen[:]
try:
    list(map(scaled, [3]))
    sys.exit("nothing was raised")
except KeyError as error:
    assert error.args == (3,)
assert seen == [((3,), {})], seen
try:
    list(map(scaled, [20]))
    sys.exit("nothing was raised")
except KeyboardInterrupt:
    pass
del seen[:]
for nothing_to_watch in (1, "text", len, object(), dict, functools.partial(scaled, 1)):
    assert calls.watch_calls(nothing_to_watch, before, after) == 0, nothing_to_watch
calls.forget_calls()
calls.forget_calls()
assert list(map(scaled, [1, 2])) == [2, 4] and seen == []
for wrong in ((), (scaled,), (scaled, before, after, 1)):
    try:
        calls.watch_calls(*wrong)
        sys.exit("taken")
    except TypeError:
        pass
"""
        self.check(body)


if __name__ == "__main__":
    main()
