"""What `import stallcast` (stallcast/__init__.py, which documents it) gives a script that is recorded."""

import functools
import sys

from . import capture, sizes
from .capture import calls
from .loaders import passes
from .states import jax_steps, phases
from .thread import current, process

_NAMES = (("torch", "pytorch"), ("tensorflow", "tensorflow"), ("jax", "jax"))
_latest = {"pass": None}  # the pass that began last: what batch() belongs to
_functions = {}


def active():
    """Whether this process is recorded."""
    return bool(capture.start())


def wrap(loader, workers=None, samples=None, name=None):
    """The loader with its batches marked; as it came where nothing is recorded or stallcast sees it by itself."""
    try:
        if not capture.start() or _is_seen_anyway(loader):
            return loader
        known = passes.Known(
            _framework(),
            _describe(loader, workers, name),
            _counter(samples),
            makes_here=workers == 0,
        )
        if hasattr(loader, "__next__"):
            return Iterator(loader, known, loader)
        return (SizedLoader if hasattr(loader, "__len__") else Loader)(loader, known)
    except Exception as error:
        capture.fail("wrapping a loader", error)
        return loader


def _is_seen_anyway(loader):
    """Whether one of the adapters marks what this gives."""
    for base in type(loader).__mro__:
        module = str(base.__module__)
        if base.__name__ == "DataLoader" and module.startswith("torch.utils.data"):
            return True
        if base.__name__ in ("DatasetV2", "OwnedIterator") and module.startswith("tensorflow."):
            return True
        if base.__name__ == "_DaliBaseIterator":
            return True
    return False


def _framework():
    return next((framework for module, framework in _NAMES if module in sys.modules), "python")


def _describe(loader, workers, name):
    size = getattr(loader, "batch_size", None)
    return passes.loader_text(
        "python",
        composition="unknown" if workers is None else "serial",
        dataset_type=(str(name) if name is not None else type(loader).__name__)[:200],
        batch_size=size if type(size) is int else None,
        num_workers=workers if type(workers) is int and workers >= 0 else None,
    )


def _counter(samples):
    if samples is None:
        return sizes.of_batch
    if callable(samples):
        return lambda batch: int(samples(batch))
    return lambda batch, fixed=int(samples): fixed


class _Forward:
    """Everything else goes to the script's own object."""

    def __init__(self, real, known):
        self._stallcast_real = real
        self._stallcast_known = known

    def __getattr__(self, name):
        if name.startswith("_stallcast"):
            raise AttributeError(name)
        return getattr(self._stallcast_real, name)


class Loader(_Forward):
    """Each iter() is a pass."""

    def __iter__(self):
        return Iterator(iter(self._stallcast_real), self._stallcast_known, self._stallcast_real)


class SizedLoader(Loader):
    """The same, of a loader with a length."""

    def __len__(self):
        return len(self._stallcast_real)


class Iterator(_Forward):
    """Each next() is a wait."""

    def __init__(self, real, known, source):
        super().__init__(real, known)
        self._stallcast_pull = real.__next__
        self._stallcast_pass = None
        try:
            self._stallcast_pass = _latest["pass"] = known.pass_over(source)
        except Exception as error:
            capture.fail("starting a pass", error)

    def __iter__(self):
        return self

    def __next__(self):
        if self._stallcast_pass is None or current.busy or not calls.enabled:
            return self._stallcast_pull()
        return passes.wait(self._stallcast_pass, self._stallcast_pull)


def step():
    """An optimizer step, unless torch's own are seen."""
    if not calls.enabled and not capture.start():
        return
    jax_steps.told()
    if not process.optimizes:
        process.steps_told = True
        calls.step()
        phases.count_step()


class _Marks:
    """Calls of the capture library around a block; what the block raises is the script's."""

    __slots__ = ("_begin", "_end")

    def __init__(self, begin, end):
        self._begin = begin
        self._end = end

    def __enter__(self):
        if calls.enabled:
            self._begin()
        return self

    def __exit__(self, *exception):
        if calls.enabled:
            self._end()


def sample(index=-1):
    """The making of one sample, by the thread that is in it."""
    begin, end = _sample_functions()
    return _Marks(functools.partial(begin, index if type(index) is int and -(1 << 63) <= index < 1 << 63 else -1), end)


def _sample_functions():
    if not _functions:
        import ctypes

        if not calls.enabled and not capture.start():
            return (lambda index: None), (lambda: None)
        begin, end = calls.library.stallcast_sample_begin, calls.library.stallcast_sample_end
        begin.argtypes, begin.restype = [ctypes.c_int64], None
        end.argtypes, end.restype = [], None
        _functions["sample"] = begin, end
    return _functions["sample"]


def batch(number, worker=0, samples=0):
    """The making of batch `number` of the pass that began last, by a thread of the loader's."""
    latest = _latest["pass"]
    if latest is None or latest.known.makes_here:
        return _Marks(lambda: None, lambda: None)
    return _Marks(functools.partial(calls.batch_begin, latest.iterator_id, int(number), int(worker)),
                  functools.partial(_made, int(samples)))


def _made(samples):
    calls.batch_end(samples)
    calls.batch_put()
