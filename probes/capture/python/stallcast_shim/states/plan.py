"""Which batch is made and handed over in which state. Pure bookkeeping: no torch, no clock; the schedule is written
outside, by the tool.

Batches that the script takes from the armed loader are counted over all its passes: the *turn*. A segment says what a
stretch of turns measures. The script gets its own next batch at every turn; only when that is made, and from where, is
chosen.

    turn      0  1  2 | 3  4  5  6 | 7  8 | 9 10 11
    segment   as_is   | cold       | hold | cached     turns 7 and 8 are made while the script waits for 7, and given
                                   |      |            at once; nothing of turn 9 is begun before the script asks for it
"""

import collections

AS_IS, COLD, CACHED, SYNTHETIC, SUPPLY_CACHED, SUPPLY_COLD = range(6)
END = 15
NO_SEGMENT = 0xFFFFFFFF

Segment = collections.namedtuple("Segment", "index first batches phase round at_once argument seed made_as")


class Plan:
    """The published segments, as `read(i)` gives them (None: not published yet), in order of their first turn.

    `published()` is how many there are: to ask that costs less than to read."""

    def __init__(self, read, published):
        self._read = read
        self._published = published
        self._segments = []
        self._refused = set()
        self._end = None

    def refresh(self):
        """Segments that were published since the last call."""
        known = len(self._segments)
        if self._published() == known:
            return ()
        while True:
            segment = self._read(len(self._segments))
            if segment is None:
                return self._segments[known:]
            self._segments.append(segment)
            if segment.phase == END:
                self._end = segment

    def refuse(self, segment):
        """This segment cannot be run here: its turns are as found."""
        self._refused.add(segment.index)

    def end(self):
        """The segment at whose first turn measuring is over; None while that is not agreed. The last one counts."""
        return self._end

    def covering(self, turn):
        """The segment that the turn lies in; None if it is as found."""
        for segment in reversed(self._segments):
            if segment.phase == END:
                continue
            end = segment.first + segment.batches
            if segment.first <= turn < end:
                return None if segment.index in self._refused else segment
            if end <= turn:
                return None
        return None

    def burst_after(self, turn):
        """The first burst that is not over before `turn`; None where none is known."""
        found = None
        for segment in reversed(self._segments):
            if segment.phase == END:
                continue
            if segment.first + segment.batches <= turn:
                break
            if segment.phase == SYNTHETIC and segment.index not in self._refused:
                found = segment
        return found
