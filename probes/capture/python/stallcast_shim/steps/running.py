"""Generators that a loop goes through already when they are found to make its batches: calling their function anew
would time the next pass over the data, which may never come.

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

_TOOLS = (4, 3)  # identifiers of sys.monitoring that have no use of their own
_monitoring = getattr(sys, "monitoring", None)
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
    return [_watch(one, timed) for one in generators].count(False) == 0


def _watch(generator, timed):
    @unseen
    def run(one):
        try:
            return timed.wait(functools.partial(next, one))
        except BaseException as error:
            leave_out(error)
            raise

    forget = functools.partial(calls.forget_generator, id(generator))
    reference = weakref.ref(generator, lambda _: forget())
    if not calls.watch_generator(generator, run):
        return False
    _kept.append(reference)
    atexit.register(forget)
    return True


class _Monitored:
    """What sys.monitoring calls. Of generators of one code that ask each other, the outermost is waited for. A wait that
    nothing ended (the generator raised) is dropped at the next one's beginning."""

    def __init__(self, timed):
        self._timed = timed
        self._open = None  # pass of the wait under way
        self._frame = 0  # id of the generator's

    def asked(self, frame):
        if not self._timed.counts():
            return
        if self._open is not None:
            if self._is_within(frame.f_back):
                return
            self._drop()
        if current.busy:
            return
        self._open, self._frame = self._timed.pass_now(), id(frame)
        if not passes.begin(self._open):
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
        if self._open is None or id(frame) != self._frame:
            return None
        found, self._open = self._open, None
        return found

    def _is_within(self, frame):
        while frame is not None:
            if id(frame) == self._frame:
                return True
            frame = frame.f_back
        return False

    def _drop(self):
        """Its frame may be gone, and another one lie where it lay."""
        if self._open.known.makes_here and not current.busy:  # else another batch has begun
            calls.batch_end(0)
        self._open = None


def _monitor(code, timed):
    tool = next((one for one in _TOOLS if _monitoring.get_tool(one) is None), None)
    if tool is None:
        return False
    _monitoring.use_tool_id(tool, "stallcast")
    monitored = _Monitored(timed)
    events = _monitoring.events
    called = {events.PY_START: monitored.asked, events.PY_RESUME: monitored.asked, events.PY_YIELD: monitored.given,
              events.PY_RETURN: monitored.ended}
    for event, call in called.items():
        _monitoring.register_callback(tool, event, _guarded(call))
    _monitoring.set_local_events(tool, code, sum(called))
    atexit.register(_leave, tool, list(called))
    return True


def _leave(tool, events):
    """At the interpreter's very end they would be called without their modules."""
    for event in events:
        _monitoring.register_callback(tool, event, None)
    _monitoring.free_tool_id(tool)


def _guarded(call):
    """What is raised in such a call would be raised in the script."""

    def guarded(code, offset, *item):
        try:
            call(sys._getframe(1), *item)
        except Exception as error:
            capture.fail("timing a generator", error)

    return guarded
