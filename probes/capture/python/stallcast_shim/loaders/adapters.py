"""What adapters of loaders share that are not torch's: where a pull counts, the framework, passes, patching.

A pull counts where training asks for a batch: not inside another wait, not in a worker process of a loader, and not in
a thread that some loader has started (its threads pull sources ahead, which may be iterators that we know as well).
"""

import functools
import json
import multiprocessing.process
import sys
import threading
from time import monotonic_ns

from .. import capture, describe
from ..capture import calls
from ..frames import leave_out, unseen
from ..thread import current
from ..torch_loader import loader
from . import passes

ATTRIBUTE = "_stallcast_pass"  # of an iterator: its Source

# Threads of loaders, by what their names begin with: pools have no better ones, and those that Python has not started
# (TensorFlow's, which call a generator) are dummies to it. Else by the module of what they run
_THREADS = ("grain-", "mp-prefetch-", "spdl", "ThreadPoolExecutor", "asyncio_", "Dummy-")
_TARGETS = ("grain.", "spdl.", "torchdata.", "ray.data.", "torch.utils.data.", "datasets.")
_WRAPPED = "_stallcast_wrapped"  # of a function that stands in place of a library's


def counts_here():
    """Whether a pull of this thread is one of the training's."""
    if current.busy or current.worker is not None or not calls.enabled:
        return False
    thread = threading.current_thread()
    if thread is not threading.main_thread() and _is_of_loader(thread):
        return False
    return not in_worker_process()


def _is_of_loader(thread):
    return thread.name.startswith(_THREADS) or _runs_loader(thread)


def in_worker_process():
    """Whether this process was started by a loader, to make batches in."""
    return _runs_loader(multiprocessing.process.current_process())


def _runs_loader(started):
    """Of a Process or a Thread: the module of the function that it runs. A thread forgets its target at its end."""
    target = getattr(started, "_target", None)
    return str(getattr(getattr(target, "func", target), "__module__", "")).startswith(_TARGETS)


def framework():
    """The one that trains."""
    modules = sys.modules
    if "torch" in modules and not describe.trains_with_jax():
        return "pytorch"
    return next((name for name in ("jax", "tensorflow") if name in modules), "python")


class Source:
    """What an iterator is a pass over, from before its first batch on. Holds neither iterator nor loader alive.

    `by_items`: what it gives may be single samples, thousands a second. Watching each would cost more than a recording
    may, so a loop is watched once it has shown to be slow; one that is fast goes on unwatched.
    """

    def __init__(self, of_loader, known, by_items=False):
        self._known = known
        self._loader = of_loader
        self._thread = None
        self._pass = None
        self._probe = _Probe() if by_items and not of_loader.delivered else None
        self.is_left = False

    def pass_of(self):
        """The pass under way; after its end, where the iterator was set back, another one. None where nobody waits."""
        thread = threading.get_ident()
        if thread != self._thread or current.worker is not None:
            if not counts_here():
                return None
            self._thread = thread
        if self._probe is not None and not self._is_due():
            return None
        found = self._pass
        if found is None or found.is_over:
            found = loader.Pass(self._loader)
            if found.loader.text is None:
                found.loader.text = dict(self._known.text, loader_id=found.loader.loader_id)
            found.known = self._known
            self._pass = found
        return found

    def _is_due(self):
        period_ns = self._probe.period_ns()
        if period_ns is None:
            return False
        if period_ns >= _SLOW_NS:
            self._probe = None
            return True
        if self._probe.is_over():
            self.is_left = True
            _tell_of_items(self._known.text, period_ns)
        return False


_SLOW_NS = 1000000  # an item: 0.5 % of it is what watching one costs at most
_LOOKED_AT = 8, 256  # items of a loop before it is watched, and before it is let go


class _Probe:
    """How long an item of a loop takes, with what the loop does of it. The first one opens files."""

    def __init__(self):
        self._items = -1
        self._begin_ns = 0

    def period_ns(self):
        """An item is asked for. None while too few have been."""
        self._items += 1
        if self._items <= 1:
            self._begin_ns = monotonic_ns()
        if self._items <= _LOOKED_AT[0]:
            return None
        return (monotonic_ns() - self._begin_ns) // (self._items - 1)

    def is_over(self):
        return self._items >= _LOOKED_AT[1]


def _tell_of_items(text, period_ns):
    if "items" in _told:
        return
    _told.add("items")
    capture.issue(
        "items-not-watched",
        "info",
        "a loop over single samples of %s takes one every %.1f us: to watch each would slow it down, so its waits are "
        "missing" % (text["kind"], period_ns / 1000.0),
        "let the loader make the batches, or mark what makes them: for batch in stallcast.wrap(batches, workers=0)",
    )


_told = set()
_described = {}  # loader text -> Loader
_MOST_DESCRIBED = 64


def loader_like(text):
    """The Loader of all objects that are described alike: a script may make its data set anew for each epoch."""
    key = json.dumps(text, sort_keys=True, default=str)
    found = _described.get(key)
    if found is None:
        found = loader.Loader()
        if len(_described) < _MOST_DESCRIBED:
            _described[key] = found
    return found


def wrap_next(owner, library, name="__next__"):
    """From here on each pull of an iterator of the class `owner` that has a Source is a wait. Idempotent."""
    real = getattr(owner, name)
    if getattr(real, _WRAPPED, False):
        return

    @functools.wraps(real)
    @unseen
    def pull(self, *args, **kwargs):
        source = self.__dict__.get(ATTRIBUTE)
        if source is None or current.busy or not calls.enabled:
            return real(self, *args, **kwargs)
        current_pass = None
        try:
            current_pass = source.pass_of()
            if source.is_left:
                del self.__dict__[ATTRIBUTE]
        except Exception as error:
            capture.fail("starting a pass over " + library, error)
        if current_pass is None:
            return real(self, *args, **kwargs)
        try:
            return passes.wait(current_pass, functools.partial(real, self, *args, **kwargs))
        except BaseException as error:
            leave_out(error)
            raise

    setattr(pull, _WRAPPED, True)
    setattr(owner, name, pull)


def through(generator, source):
    """A generator's own items, each pulled as a wait."""

    @unseen
    def wait(pull):
        current_pass = None
        try:
            if not current.busy and calls.enabled:
                current_pass = source.pass_of()
        except Exception as error:
            capture.fail("starting a pass", error)
        return pull() if current_pass is None else passes.wait(current_pass, pull)

    return passes.through(generator, wait, lambda: source.is_left)


def tree(root, inner, most=256):
    """All that `root` is made of, itself included; inner(node) gives what a node is made of."""
    found, left = [], [root]
    while left and len(found) < most:
        node = left.pop()
        found.append(node)
        left.extend(inner(node))
    return found


def fits(module, *names):
    """Whether a library's module has what is patched in it. Where a version has not, only its batches are unseen."""
    missing = [name for name in names if not hasattr(module, name)]
    if missing:
        capture.issue(
            "loader-not-followed",
            "warning",
            "waits for batches of %s are missing: this version has no %s" % (module.__name__, ", ".join(missing)),
            "mark the loop: for batch in stallcast.wrap(loader); please report the library's version",
        )
    return not missing


def integer(value):
    """An int that is one; None for all else."""
    return value if type(value) is int else None


def length(value):
    """len() of a library's own object; None where it has none, or one that stands for no end."""
    try:
        found = len(value)
    except Exception:
        return None
    return found if 0 <= found < 1 << 60 else None


