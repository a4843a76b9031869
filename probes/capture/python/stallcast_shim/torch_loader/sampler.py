"""How long the sampler of a pass takes: it runs in the process that trains, inside next(), however many workers there are."""

from .. import capture
from ..capture import calls

_FIRST = 16  # draws after which it is written for the first time; then each time that these have doubled


class Sampler:
    """The draws of one pass, counted."""

    def __init__(self):
        self.draws = 0
        self.ns = 0
        self.due = _FIRST  # draws from which on it is to be written

    def write(self, iterator_id):
        """The last text of a pass holds: one of a killed process is at most half of its draws behind."""
        self.due = 2 * max(self.draws, _FIRST)
        if calls.enabled and self.draws:
            capture.text(capture.TEXT_MARK, {"what": "sampler", "iterator_id": iterator_id, "draws": self.draws,
                                             "ns": self.ns})
