"""The proxies of probes/capture/bridge/bridge.cpp in Python, for interpreters that it cannot extend (PyPy)."""

import functools
import threading
import types

_thread = threading.local()


def _index(key):
    return key if type(key) is int and -(1 << 63) <= key < 1 << 63 else -1


def _real(proxy):
    return object.__getattribute__(proxy, "_stallcast_real")


class _Forward:
    """Everything that is not measured goes to the real object."""

    __slots__ = ("_stallcast_real",)

    def __init__(self, real):
        object.__setattr__(self, "_stallcast_real", real)

    def __getattribute__(self, name):
        return getattr(_real(self), name)

    def __setattr__(self, name, value):
        setattr(_real(self), name, value)

    def __delattr__(self, name):
        delattr(_real(self), name)

    def __repr__(self):
        return repr(_real(self))


def _dataset_proxy(ctypes, begin, end, begin_at_once, end_at_once):
    """A class of data sets whose samples are marked by the C calls `begin(index)` and `end()`, batches that a method makes
    at once by the others."""

    class DatasetProxy(_Forward):
        __slots__ = ()

        def __getattribute__(self, name):
            found = getattr(_real(self), name)
            is_marked = name == "__getitems__" and type(found) is types.MethodType
            return functools.partial(_get_at_once, found) if is_marked else found

        def __getitem__(self, key):
            if getattr(_thread, "in_sample", False):
                return _real(self)[key]
            _thread.in_sample = True
            begin(_index(key))
            try:
                return _real(self)[key]
            finally:
                end()
                _thread.in_sample = False

        def __len__(self):
            return len(_real(self))

        def __iter__(self):
            return iter(_real(self))

    def _get_at_once(call, keys):
        if getattr(_thread, "in_sample", False):
            return call(keys)
        indices = [_index(key) for key in keys] if type(keys) is list else []
        if min(indices, default=-1) < 0:
            indices = []
        begin_at_once((ctypes.c_int64 * len(indices))(*indices), len(indices))
        try:
            return call(keys)
        finally:
            end_at_once()

    return DatasetProxy


def _subset_proxy(dataset_proxy, begin, end):
    """Such a class for a data set whose `__getitems__` asks another for one sample after another: called for one at a time."""

    class SubsetProxy(dataset_proxy):
        __slots__ = ()

        def __getattribute__(self, name):
            real = _real(self)
            if name != "__getitems__":
                return getattr(real, name)
            return functools.partial(_get_samples, real.__getitems__)

    def _get_samples(call, keys):
        if getattr(_thread, "in_sample", False):
            return call(keys)
        samples = []
        for key in keys:
            _thread.in_sample = True
            begin(_index(key))
            try:
                samples += call([key])
            finally:
                end()
                _thread.in_sample = False
        return samples

    return SubsetProxy


def _timed_call(begin, end):
    """A class of functions whose calls outside a sample are marked by the C calls `begin()` and `end()`."""

    class TimedCall(_Forward):
        __slots__ = ()

        def __call__(self, *args, **kwargs):
            if getattr(_thread, "in_sample", False):
                return _real(self)(*args, **kwargs)
            begin()
            try:
                return _real(self)(*args, **kwargs)
            finally:
                end()

    return TimedCall


def factories(ctypes, library):
    """{"dataset_proxy", "subset_proxy", "timed_collate"}: the same behaviour as the built-in ones, at about a microsecond a sample."""
    sample_begin, sample_end = library.stallcast_sample_begin, library.stallcast_sample_end
    collate_begin, collate_end = library.stallcast_collate_begin, library.stallcast_collate_end
    at_once_begin, at_once_end = library.stallcast_at_once_begin, library.stallcast_at_once_end
    for function in (sample_begin, sample_end, collate_begin, collate_end, at_once_begin, at_once_end):
        function.argtypes = []
        function.restype = None
    sample_begin.argtypes = [ctypes.c_int64]
    at_once_begin.argtypes = [ctypes.POINTER(ctypes.c_int64), ctypes.c_uint32]
    dataset_proxy = _dataset_proxy(ctypes, sample_begin, sample_end, at_once_begin, at_once_end)
    return {
        "dataset_proxy": dataset_proxy,
        "subset_proxy": _subset_proxy(dataset_proxy, sample_begin, sample_end),
        "timed_collate": _timed_call(collate_begin, collate_end),
    }
