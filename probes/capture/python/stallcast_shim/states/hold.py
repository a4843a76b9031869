"""Holding the script back in next() until the batches that are under way are made, and its workers at rest.

What a hold needs: room for these batches (shared memory, memory, descriptors), and no timeout of the loader's in reach.
It never lasts longer than LONGEST_S, and ends at once where the tool dies.
"""

import os
import time

from ..capture import calls
from . import room

LONGEST_S = 10.0
_QUIET_LOOKS = 3
_QUIET_S = 0.5  # of workers that say nothing more: a stream that has ended never makes what it was asked for
_LEAST_TIMEOUT_S = 60.0
_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")


class Held:
    """How one hold went. Times are CLOCK_MONOTONIC in nanoseconds."""

    def __init__(self, asked_ns):
        self.asked_ns = asked_ns
        self.made_ns = 0  # all was made, and the workers slept; 0: that was not seen
        self.released_ns = 0
        self.under_way = 0
        self.refused = None
        self.cpu_s = None  # of the workers, at release


def obstacle(iterator, batch_bytes, tensors):
    """Why the script cannot be held now; None where it can."""
    timeout = getattr(iterator, "_timeout", 0)
    if 0 < timeout < _LEAST_TIMEOUT_S:
        return "the loader's timeout of %g s is too close" % timeout
    most = iterator._num_workers * iterator._prefetch_factor
    return room.lacking(most, batch_bytes, tensors, [process.pid for process in iterator._workers])


def hold(iterator, segment, under_way, asked_ns):
    """Waits, and says how that went. `under_way`: batches that were passed on to the workers and not delivered;
    `asked_ns`: since when the script waits."""
    held = Held(asked_ns)
    held.under_way = under_way
    limit = time.monotonic() + LONGEST_S
    _until_made(iterator, held, limit)
    if held.refused is None:
        held.made_ns = time.monotonic_ns()
        _until_all_ranks(segment, held, limit)
    held.cpu_s = workers_cpu_s(iterator)
    held.released_ns = time.monotonic_ns()
    calls.library.stallcast_phase_held(held.released_ns - held.asked_ns)
    return held


def workers_cpu_s(iterator):
    """CPU seconds of the workers so far, to a clock tick; None where that cannot be read."""
    looks = [_look(process.pid) for process in iterator._workers]
    if not looks or any(look is None for look in looks):
        return None
    return sum(look[1] for look in looks) * _TICK_S


def _until_made(iterator, held, limit):
    before, quiet, since = None, 0, time.monotonic()
    pause = 0.001
    while True:
        now = time.monotonic()
        if now > limit:
            held.refused = "its batches were not made within %g s" % LONGEST_S
            return
        if not calls.library.stallcast_tool_alive():
            held.refused = "the tool has gone"
            return
        looks = [_look(process.pid) for process in iterator._workers]
        if looks != before:
            since = now
        sleeps = all(look is None or look[0] == "S" for look in looks)
        quiet = quiet + 1 if sleeps and looks == before else 0
        before = looks
        ended = any(look is None or look[0] == "Z" for look in looks)
        if quiet >= _QUIET_LOOKS and arrived(iterator) >= held.under_way:
            return
        if ended or (quiet >= _QUIET_LOOKS and now - since >= _QUIET_S and _is_stream(iterator)):
            held.under_way = arrived(iterator)
            return
        time.sleep(pause)
        pause = min(pause * 1.5, 0.01)


def _is_stream(iterator):
    return iterator._dataset_kind != 0


def _until_all_ranks(segment, held, limit):
    """Ranks that exchange gradients run at the pace of the slowest: they go on together."""
    while not calls.library.stallcast_phase_ready(segment.index):
        if time.monotonic() > limit:
            held.refused = "another rank was not ready within %g s" % LONGEST_S
            return
        if not calls.library.stallcast_tool_alive():
            held.refused = "the tool has gone"
            return
        time.sleep(0.001)


def arrived(iterator):
    """Batches that are made and lie in the training process's queue, or were kept back there as they came too early."""
    tasks = iterator._task_info
    if iterator._dataset_kind == 0:
        kept = len(tasks) - iterator._tasks_outstanding
    else:
        kept = sum(len(task) == 2 for task in tasks.values())
    return max(0, kept) + iterator._data_queue.qsize()


def _look(pid):
    """(state, CPU time in ticks) of a process; None where it is gone."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return fields[0], int(fields[11]) + int(fields[12])
