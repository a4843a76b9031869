"""The built-in objects of the capture library, and their Python fallback: one behaviour on every interpreter."""

import ctypes
import os
import sys

from bridge_case import BridgeCase
from harness import main


class BridgeTest(BridgeCase):
    def test_samples_are_marked(self):
        body = """
assert [proxy[i] for i in range(10)] == real.items
assert proxy[True] == 101 and proxy[-1] == 109
calls.batch_end(12)
"""
        for recording in self.check(body):
            self.assertEqual([sample.index for sample in recording.samples][:10], list(range(10)))
            self.assertEqual(recording.samples[11].index, -1)
            self.assertEqual({sample.batch for sample in recording.samples}, {7})
            (batch,) = recording.batches
            self.assertEqual((batch.worker, batch.batch, batch.samples), (3, 7, 12))

    def test_keys_that_are_no_indices(self):
        body = """
class Any:
    def __getitem__(self, key):
        return key
    class Index:
        def __index__(self):
            raise AssertionError("the user's code was called")
any_key = calls.dataset_proxy(Any())
keys = ["text", (1, 2), [3], None, 1.5, 1 << 80, -(1 << 80), Any.Index()]
assert [any_key[key] for key in keys] == keys
assert any_key[1:2] == slice(1, 2)
calls.batch_end(0)
"""
        for recording in self.check(body):
            self.assertEqual([sample.index for sample in recording.samples], [-1] * 9)

    def test_numpy_indices(self):
        body = """
import numpy
items = calls.dataset_proxy(dict.fromkeys(range(-5, 20)))
for key in (numpy.int64(5), numpy.int64(-3), numpy.float64(7.0), numpy.int64(6)):
    items[key]
"""
        try:
            import numpy  # noqa: F401
        except ImportError:
            self.skipTest("no numpy")
        recording = self.check(body)[0]  # the fallback does not look into numpy's numbers
        self.assertEqual([sample.index for sample in recording.samples], [5, -3, -1, 6])

    def test_exceptions_pass_unchanged(self):
        body = """
import traceback
class Fails:
    def __getitem__(self, index):
        raise KeyError("sample", index)
fails = calls.dataset_proxy(Fails())
try:
    fails[3]
    assert False
except KeyError as error:
    assert error.args == ("sample", 3)
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert sys.argv[1:] or names == ["<module>", "__getitem__"], names
try:
    calls.dataset_proxy(5)[0]
    assert False
except TypeError as error:
    assert str(error) == "'int' object is not subscriptable", error
assert proxy[2] == 102
"""
        for recording in self.check(body):
            self.assertEqual([sample.index for sample in recording.samples], [3, 0, 2])

    def test_samples_that_a_subset_asks_for(self):
        body = """
import traceback
class Subset:
    def __init__(self, whole):
        self.whole = whole
    def __getitem__(self, index):
        return self.whole[index]
    def __getitems__(self, indices):
        return [self.whole[index] for index in indices]

subset = calls.subset_proxy(Subset(real))
assert hasattr(subset, "__getitems__") and isinstance(subset, Subset) and subset[4] == 104
assert subset.__getitems__([1, 3, 5]) == [101, 103, 105]
assert subset.__getitems__((i for i in (7, 2))) == [107, 102]
assert subset.__getitems__([]) == []
try:
    subset.__getitems__([6, 20, 8])
    assert False
except IndexError as error:
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert sys.argv[1:] or names[:2] == ["<module>", "__getitems__"] and names[-1] == "__getitem__", names
try:
    subset.__getitems__(5)
    assert False
except TypeError as error:
    assert "not iterable" in str(error), error
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert sys.argv[1:] or names == ["<module>", "__getitems__"], names
calls.batch_end(0)
"""
        for recording in self.check(body):
            self.assertEqual([sample.index for sample in recording.samples], [4, 1, 3, 5, 7, 2, 6, 20])

    def test_batches_that_are_made_at_once(self):
        body = """
import traceback
class Table:
    def __getitem__(self, index):
        return index
    def __getitems__(self, indices):
        if indices == [9]:
            raise KeyError("row", 9)
        return [self[index] for index in indices]

table = calls.dataset_proxy(Table())
for keys in ([4, 2], [], (1, 3), ["a"]):
    assert table.__getitems__(keys) == list(keys)
try:
    table.__getitems__([9])
    assert False
except KeyError as error:
    assert error.args == ("row", 9)
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert sys.argv[1:] or names == ["<module>", "__getitems__"], names
Table.__getitems__ = None
assert table.__getitems__ is None
Table.__getitems__ = staticmethod(len)
assert table.__getitems__ is len
del Table.__getitems__
assert not hasattr(table, "__getitems__") and table[5] == 5
"""
        for recording in self.check(body):
            self.assertEqual([sample.index for sample in recording.samples], [5])

    def test_batches_that_are_made_at_once_are_marked_by_all_of_their_indices(self):
        """By what the fallback calls; of the built-in one's marks tests/capture/phase_touched_test.cpp."""
        marks = []

        class Library:
            def __getattr__(self, name):
                def call(*arguments):
                    if "at_once" in name:
                        marks.append((name, [list(argument) if hasattr(argument, "_length_") else argument
                                             for argument in arguments]))

                setattr(self, name, call)
                return call

        class Table:
            def __getitems__(self, indices):
                return list(indices)

        sys.path.insert(0, os.environ["STALLCAST_TEST_SHIM"])
        from stallcast_shim import fallback

        table = fallback.factories(ctypes, Library())["dataset_proxy"](Table())
        for keys, indices in (([4, 2], [4, 2]), ([], []), ((1, 3), []), ([1, "a"], []), ([2, -1], [])):
            marks.clear()
            self.assertEqual(table.__getitems__(keys), list(keys))
            self.assertEqual(marks, [("stallcast_at_once_begin", [indices, len(indices)]), ("stallcast_at_once_end", [])])

    def test_the_rest_is_the_real_object(self):
        body = """
assert len(proxy) == 10 and proxy.kind == "real" and repr(proxy) == "<Data>"
assert not hasattr(proxy, "__getitems__") and isinstance(proxy, Data) and not callable(proxy)
Data.__getitems__ = lambda self, indices: [self.items[i] for i in indices]
assert proxy.__getitems__([1, 2]) == [101, 102]
proxy.extra = 5
assert real.extra == 5
del proxy.extra
assert not hasattr(real, "extra")
assert list(proxy) == real.items
try:
    proxy.missing
    assert False
except AttributeError as error:
    assert "missing" in str(error)
copy = pickle.loads(pickle.dumps(proxy))
assert type(copy) is Data and copy.items == real.items
"""
        for recording in self.check(body):
            self.assertEqual(recording.samples, [])

    def test_nested_samples_count_once(self):
        body = """
class Outer:
    def __getitem__(self, index):
        assert collate([1]) == [1]
        return proxy[index] + proxy[index + 1]
collate = calls.timed_collate(lambda batch: batch)
outer = calls.dataset_proxy(Outer())
assert outer[4] == 209
calls.batch_end(1)
"""
        for recording in self.check(body):
            self.assertEqual([sample.index for sample in recording.samples], [4])
            self.assertEqual(recording.batches[0].collate_ns, 0)

    def test_collate_is_timed(self):
        body = """
import time
def join(batch, *, by):
    "Joins."
    time.sleep(0.002)
    return by.join(batch)
collate = calls.timed_collate(join)
assert collate(["a", "b"], by="-") == "a-b" and collate.__doc__ == "Joins." and callable(collate)
assert not hasattr(collate, "missing") and repr(collate) == repr(join)
try:
    collate(5)
    assert False
except TypeError:
    pass
calls.batch_end(2)
"""
        for recording in self.check(body):
            self.assertGreaterEqual(recording.batches[0].collate_ns, 2000000)

    def test_lifetimes(self):
        body = """
gc.disable()
class Plain:
    def __getitem__(self, index):
        return index
plain = Plain()
references = sys.getrefcount(plain)
for _ in range(1000):
    calls.dataset_proxy(plain)[5]
    calls.timed_collate(plain)
assert sys.getrefcount(plain) == references
held = calls.dataset_proxy(plain)
gone = weakref.ref(plain)
del plain
assert gone() is not None
del held
assert gone() is None
cycle = Plain()
cycle.me = calls.dataset_proxy(cycle)
gone = weakref.ref(cycle)
del cycle
assert gone() is not None
gc.collect()
assert gone() is None
"""
        self.check(body)

    def test_types_cannot_be_instantiated(self):
        body = """
if not sys.argv[1:]:
    kind = type(proxy)
    for attempt in (lambda: kind(), lambda: kind(real), lambda: object.__new__(kind)):
        try:
            attempt()
            assert False
        except TypeError:
            pass
    for call in (lambda: calls.wait_end(1), lambda: calls.batch_begin("a", 1, 2), lambda: calls.batch_end()):
        try:
            call()
            assert False
        except TypeError:
            pass
"""
        self.check(body)

    def test_waits_and_steps(self):
        body = """
calls.wait_begin()
calls.wait_end(3, 9, 32, 0xFFFFFFFF, 2)
calls.step()
calls.step()
calls.batch_asked()
calls.batch_begin(1, 2, 0xFFFFFFFF)
calls.batch_end(32)
calls.batch_put()
"""
        for recording in self.check(body):
            (wait,) = recording.waits
            self.assertEqual(
                (wait.iterator_id, wait.batch, wait.samples, wait.ready, wait.flags), (3, 9, 32, 0xFFFFFFFF, 2)
            )
            self.assertEqual([step.step for step in recording.steps], [0, 1])
            self.assertEqual(recording.batches[-1].worker, 0xFFFFFFFF)
            self.assertGreater(recording.batches[-1].put_ns, 0)


if __name__ == "__main__":
    main()
