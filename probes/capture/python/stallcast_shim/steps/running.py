"""Generators that a loop goes through already when they are found to make its batches: calling their function anew
would time the next pass over the data, which may never come. And nested functions, which are made anew for each pass.

Up to Python 3.11 the capture library stands in the place of the generator's own step (bridge/generators.cpp). Later ones go
on with its frame, and sys.monitoring tells of that code alone: when an item is asked for, when it is given, when there is no
further one. What it raises is seen by nobody there: the wait that it began in is not recorded.
"""

import atexit
import functools
import gc
import sys
import types
import weakref

from .. import capture
from ..capture import calls
from ..frames import leave_out, unseen
from ..loaders import passes
from ..thread import current
from . import watch

_TOOLS = (4, 3)  # identifiers of sys.monitoring that have no use of their own
_monitoring = getattr(sys, "monitoring", None)
_NAME = "stallcast"  # of the tool
_monitored = {}  # code -> its _Monitored
_kept = []  # weak references to generators


def time(code, timed, is_only_way):
    """From here on each item of the generators of this code that have begun is a wait. Whether that is possible here.
    `is_only_way`: no later ones can be timed otherwise."""
    generators = [one for one in gc.get_referrers(code)
                  if type(one) is types.GeneratorType and one.gi_code is code and one.gi_frame is not None]
    if not generators:
        return False
    if _monitoring is not None:
        return _monitor(code, timed)
    if is_only_way or calls.watch_generator is None:
        return False
    return [_watch(one, None, timed) for one in generators].count(False) == 0


def can_follow(code):
    """Whether what is made of this code is timed by the code alone. A nested function is made anew for each call of the one
    around it, an expression's for each pass."""
    is_made_anew = code.co_flags & watch.NESTED or code.co_name == "<genexpr>"
    if not is_made_anew or code.co_flags & watch.COROUTINES:
        return False
    return _monitoring is not None or bool(code.co_flags & watch.GENERATOR and calls.watch_generator)


def follow(code, timed):
    """From here on each call of functions of this code is a wait, or each item of their generators. Whether that is possible."""
    if _monitoring is not None:
        return _monitor(code, timed)
    return _watch((nothing for nothing in ()), code, timed)


def _watch(generator, code, timed):
    """All generators of that code are timed, or this one alone. Whether that is possible."""

    @unseen
    def run(one):
        try:
            return timed.wait(functools.partial(next, one))
        except BaseException as error:
            leave_out(error)
            raise

    forget = functools.partial(calls.forget_generator, id(generator if code is None else code))
    if not calls.watch_generator(generator, run, code):
        return False
    if code is None:
        _kept.append(weakref.ref(generator, lambda _: forget()))
    atexit.register(forget)
    return True


class _Monitored:
    """What sys.monitoring calls. Where one asks another, the outermost is waited for. A wait that nothing ended (the code
    raised) is dropped at the next one's beginning."""

    def __init__(self, timed):
        self._timed = timed
        self._open = None  # pass of the wait under way
        self._frame = 0  # id of the generator's

    def asked(self, frame):
        if not self._timed.counts() or is_within_wait(frame.f_back):
            return
        if _under_way:
            _under_way[0].drop()
        if current.busy:
            return
        self._open, self._frame = self._timed.pass_for_wait(), id(frame)
        if passes.begin(self._open):
            _under_way[:] = [self]
        else:
            self._open = None

    def given(self, frame, item):
        found = self._close(frame)
        if found is not None:
            passes.deliver(found, item)

    def ended(self, frame, value):
        found = self._close(frame)
        if found is not None:
            passes.end(found)

    def _close(self, frame):
        if self._open is None or id(frame) != self._frame or not self._timed.is_its_thread():
            return None
        found, self._open = self._open, None
        del _under_way[:]
        return found

    def has(self, frame):
        """Whether the wait under way is for what that frame gives."""
        return id(frame) == self._frame

    def drop(self):
        """Its frame may be gone, and another one lie where it lay."""
        if self._open.known.makes_here and not current.busy:  # else another batch has begun
            calls.batch_end(0)
        self._open = None
        del _under_way[:]


_under_way = []  # the _Monitored whose wait the training thread is in


def is_within_wait(frame):
    """Whether that frame is called by one that is waited for. Asked by the training thread."""
    while _under_way and frame is not None:
        if _under_way[0].has(frame):
            return True
        frame = frame.f_back
    return False


def _monitor(code, timed):
    tool = _tool()
    if tool is None:
        return False
    events = _monitoring.events
    wanted = events.PY_START | events.PY_RETURN
    if code.co_flags & watch.GENERATOR:
        wanted |= events.PY_RESUME | events.PY_YIELD
    _monitored[code] = _Monitored(timed)
    _monitoring.set_local_events(tool, code, wanted)
    return True


def _tool():
    """The identifier that is used here; None where others have all."""
    for one in _TOOLS:
        if _monitoring.get_tool(one) == _NAME:
            return one
    tool = next((one for one in _TOOLS if _monitoring.get_tool(one) is None), None)
    if tool is not None:
        _monitoring.use_tool_id(tool, _NAME)
        events = _monitoring.events
        called = {events.PY_START: _asked, events.PY_RESUME: _asked, events.PY_YIELD: _given, events.PY_RETURN: _returned}
        for event, call in called.items():
            _monitoring.register_callback(tool, event, _guarded(call))
        atexit.register(_leave, tool, list(called))
    return tool


def _asked(code, frame):
    _monitored[code].asked(frame)


def _given(code, frame, item):
    _monitored[code].given(frame, item)


def _returned(code, frame, value):
    if code.co_flags & watch.GENERATOR:
        _monitored[code].ended(frame, value)
    else:
        _monitored[code].given(frame, value)


def _leave(tool, events):
    """At the interpreter's very end they would be called without their modules."""
    for event in events:
        _monitoring.register_callback(tool, event, None)
    _monitoring.free_tool_id(tool)


def _guarded(call):
    """What is raised in such a call would be raised in the script."""

    def guarded(code, offset, *item):
        try:
            call(code, sys._getframe(1), *item)
        except Exception as error:
            capture.fail("timing what makes batches", error)

    return guarded
