"""Batches that the training gets from another thread or process of the script.

How long a thread waits that takes batches ahead says nothing of the training. Where the thread whose optimizer steps
never waited for a batch while another one did, own_loop has two of its steps watched. From then on is timed

    what Python's library handed the batches over with (queue.Queue.get, Future.result, ...): SOURCES
    else the function of the script that returned them
    else where the thread blocked before its forward pass (Condition.wait, Thread.join, ...): BLOCKING

A thread that calls no model and makes no backward pass trains nothing: waits stay those of who takes the batches.
"""

import os
import sys
import threading
from time import monotonic_ns

from .. import capture, sizes, thread
from ..capture import calls
from ..frames import unseen
from ..loaders import passes
from ..states import phases
from ..states.segment_run import run
from ..thread import current
from ..torch_loader import loader
from . import replace, watch

NOBODY, TRAINING, OTHER, UNKNOWN = "nobody", "training", "other", "unknown"  # who takes batches of loaders

_SOURCES = (
    ("queue", "Queue", "get"),
    ("multiprocessing.queues", "Queue", "get"),
    ("multiprocessing.queues", "SimpleQueue", "get"),
    ("multiprocessing.connection", "_ConnectionBase", "recv"),
    ("multiprocessing.managers", "BaseProxy", "_callmethod"),
    ("multiprocessing.pool", "ApplyResult", "get"),
    ("multiprocessing.pool", "IMapIterator", "next"),
    ("concurrent.futures._base", "Future", "result"),
)
_BLOCKING = (
    ("threading", "Event", "wait"),
    ("threading", "Condition", "wait"),
    ("threading", "Condition", "wait_for"),
    ("threading", "Semaphore", "acquire"),
    ("threading", "Thread", "join"),
    ("selectors", "EpollSelector", "select"),
)
# What others make is asked for once it is there, after a wait elsewhere: for a queue of results, or in as_completed()
_RESULTS = ("multiprocessing.pool.ApplyResult.get", "concurrent.futures.Future.result")
_BEFORE_RESULTS = (("queue", "Queue", "get"), ("threading", "Event", "wait"), ("threading", "Condition", "wait"))
_RIGHT_BEFORE_NS = 1000000  # more, and the script did something else

_BLOCKED_NS = 500000  # a call that took less has not waited: get_nowait()
_IDLE_STEPS = 4  # before which no loader gave a batch to anyone: those that did without gradients evaluate
_state = {"begun": False, "thread": None, "blocked": None, "told": False, "idle": 0, "blocked_until_ns": 0}


def _enter_child():
    """What a forked child gets from queues is timed by nobody; its index queues are of this kind, too."""
    _state["thread"] = None
    _state["begun"] = False
    _state["idle"] = 0
    thread.took.clear()


os.register_at_fork(after_in_child=_enter_child)


def taken_by():
    """Who takes batches of loaders, as far as that is known. Asked at steps, in the thread that makes them."""
    if not thread.process.delivers:
        return NOBODY
    here = threading.get_ident()
    if not _state["begun"]:
        _state["begun"] = True
        thread.took.pop(here, None)  # the first batch may have been taken otherwise
        return UNKNOWN
    may_train = thread.process.gives_to_train or _state["idle"] < _IDLE_STEPS
    if here in thread.took:
        del thread.took[here]
        return TRAINING if may_train else UNKNOWN
    if thread.took:
        return OTHER
    _state["idle"] += 1
    return UNKNOWN if may_train else NOBODY


def tell():
    """Another thread takes the batches that this one trains with: no states are made of them any more."""
    if not _state["told"]:
        _state["told"] = True
        capture.text(capture.TEXT_MARK, {"what": "loader in thread"})
        phases.give_up()


def sources():
    return _functions(_SOURCES)


def blocking():
    return _functions(_BLOCKING + _SOURCES)  # these may hand over where a batch lies


def _functions(names):
    """{code: (the function, its name)} of what is imported."""
    found = {}
    for module, owner, name in names:
        function = getattr(getattr(sys.modules.get(module), owner, None), name, None)
        if hasattr(function, "__code__"):
            found[function.__code__] = function, "%s.%s.%s" % (module.replace("._base", ""), owner, name)
    return found


def known(name, suffix=""):
    """What is told of the place where batches are handed over."""
    text = passes.loader_text("queue", composition="unknown", dataset_type=(name + suffix)[:200])
    return passes.Known("pytorch", text, sizes.of_batch)


def time_sources(codes):
    """What these functions return to this thread is a batch, where it looks like one."""
    _state["thread"] = threading.get_ident()
    by_code = sources()
    for function, name in (by_code[code] for code in codes):
        real = replace.copy_of(function)
        replace.call_instead(function, real, _timed(real, known(name).pass_over(real)))
    if any(by_code[code][1] in _RESULTS for code in codes):
        for code, (function, _) in _functions(_BEFORE_RESULTS).items():
            if code not in codes:
                real = replace.copy_of(function)
                replace.call_instead(function, real, _timed_before(real))


def _goes_on():
    """The wait that this thread has just ended elsewhere."""
    return monotonic_ns() - _state["blocked_until_ns"] < _RIGHT_BEFORE_NS


def _timed_before(real):
    @unseen
    def block(*args, **kwargs):
        if current.busy or not calls.enabled or threading.get_ident() != _state["thread"]:
            return real(*args, **kwargs)
        if not _goes_on():
            calls.wait_begin()
        current.busy = True
        try:
            return real(*args, **kwargs)
        finally:
            current.busy = False
            _state["blocked_until_ns"] = monotonic_ns()

    return block


def _timed(real, handed):
    asked = [False]  # in vain until now, as by get(timeout=1): the wait goes on

    @unseen
    def get(*args, **kwargs):
        if current.busy or not calls.enabled or threading.get_ident() != _state["thread"]:
            return real(*args, **kwargs)
        if not asked[0] and not _goes_on():
            calls.wait_begin()
        begin_ns = monotonic_ns()
        current.busy = True  # one may call another
        try:
            item = real(*args, **kwargs)
        except BaseException:
            asked[0] = monotonic_ns() - begin_ns > _BLOCKED_NS
            raise
        finally:
            current.busy = False
        asked[0] = False
        _state["blocked_until_ns"] = 0
        try:
            samples = sizes.of_batch(item)
            if samples:
                _delivered(handed, samples)
        except Exception as error:
            capture.fail("timing a queue", error)
        return item

    return get


def _delivered(handed, samples):
    run.last_pass = handed
    if not handed.is_refused:
        phases.refuse_known(handed)
    loader.announce(None, handed, handed.known.framework)
    number = handed.delivered
    calls.wait_end(handed.iterator_id, number, samples, capture.UNKNOWN, 0 if number else capture.FIRST)
    handed.delivered = number + 1
    handed.loader.delivered += 1


def time_blocking(places):
    """Each step waited as long as this thread was blocked at these places: {code that blocks: {(script's code, line)}}."""
    _state["thread"] = threading.get_ident()
    by_code = blocking()
    names = sorted(by_code[code][1] for code in places)
    blocked = _state["blocked"] = _Blocked(known(", ".join(names)))
    for code, where in places.items():
        real = replace.copy_of(by_code[code][0])
        replace.call_instead(by_code[code][0], real, blocked.timed(real, where))


def times_steps():
    """Whether stepped() is waited for."""
    return _state["blocked"] is not None


def stepped():
    """This thread made a step."""
    if _state["blocked"] is not None and threading.get_ident() == _state["thread"]:
        _state["blocked"].stepped()


class _Blocked:
    """A delivery a step, as nobody sees the batch itself: as many samples as the other thread took with its last one."""

    def __init__(self, of):
        self._pass = of.pass_over(self)
        self._seen = False  # since the last step

    def timed(self, real, where):
        @unseen
        def block(*args, **kwargs):
            if (current.busy or not calls.enabled or threading.get_ident() != _state["thread"]
                    or watch.script_place(sys._getframe(1)) not in where):
                return real(*args, **kwargs)
            current.busy = True
            calls.wait_begin()
            try:
                return real(*args, **kwargs)
            finally:
                current.busy = False
                self._record()

        return block

    def stepped(self):
        if not self._seen:
            calls.wait_begin()
            self._record()
        self._seen = False

    def _record(self):
        try:
            samples = 0 if self._seen else next((count for count in list(thread.took.values()) if count), 0)
            self._seen = True
            _delivered(self._pass, samples)
        except Exception as error:
            capture.fail("timing a hand-over", error)
