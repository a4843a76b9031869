"""The device's own time over a burst: a script runs ahead of a GPU, so its clock tells when work was given, not done.

Events are recorded in the script's stream at hand-over and read once the device has passed them: nothing waits for it.
"""

import sys


class DeviceClock:
    """From one mark to the last, on the current device."""

    def __init__(self):
        self._cuda = sys.modules["torch"].cuda
        self._first = self._last = None

    def mark(self):
        event = self._cuda.Event(enable_timing=True)
        event.record()
        if self._first is None:
            self._first = event
        self._last = event

    def is_passed(self):
        return self._last is None or self._last.query()

    def seconds(self):
        """Between the first and the last mark; None where there was one at most."""
        if self._last is None or self._last is self._first:
            return None
        return self._first.elapsed_time(self._last) * 1e-3


def start():
    """A clock where this process uses a GPU; else None. Initialises nothing."""
    torch = sys.modules.get("torch")
    try:
        return DeviceClock() if torch is not None and torch.cuda.is_initialized() else None
    except Exception:
        return None
