"""Whether the workers of a loader rest: what they do would slow replayed steps.

Index lists are held back behind a replayed block, so workers have nothing to make there. Where it begins a pass they may
still be on their way up, though: a spawned worker imports torch, a second of CPU time or more.
"""

import time

_LOOK_S = 0.01
_QUIET_LOOKS = 5
_LONGEST_S = 10.0  # what is not at rest by then never will be


def wait_for(processes):
    """Returns once all of them have slept for 50 ms, at the latest after 10 s."""
    before, quiet = None, 0
    end = time.monotonic() + _LONGEST_S
    while quiet < _QUIET_LOOKS and time.monotonic() < end:
        seen = [_state(process.pid) for process in processes]
        sleeps = all(state is None or state[0] == "S" for state in seen)
        quiet = quiet + 1 if sleeps and seen == before else 0
        before = seen
        time.sleep(_LOOK_S)


def _state(pid):
    """(state, CPU time in ticks) of a process; None where it is gone."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return fields[0], int(fields[11]) + int(fields[12])
