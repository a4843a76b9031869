"""Which batch belongs to which phase. Pure bookkeeping: no torch, no clock; the schedule is written outside.

Batches that the script takes from the armed loader are numbered 0, 1, ... over all its passes: the *turn*. A segment
says what a stretch of turns measures. Two walkers go over the turns: the issuer, which sends index lists to workers
W k batches ahead, and the taker, which hands batches to the script. Segments of one round share their index lists:
the paired experiment.

    turn      0  1  2 | 3  4  5 | 6  7  8 | 9 10 11
    segment   as_is   | cold    | cached  | synthetic      (round 0)
    indices   a  b  c | d  e  f | d  e  f | -  -  -        synthetic takes none: batches are replayed

A supply segment has no turns of its own: its batches are pulled and dropped before the turn that it names.
"""

import collections

AS_IS, COLD, CACHED, SYNTHETIC, SUPPLY_CACHED, SUPPLY_COLD = range(6)
END = 15
SUPPLY = (SUPPLY_CACHED, SUPPLY_COLD)
SUPPLY_NUMBERS = 1 << 40  # a supply batch has no turn: its number is this + segment * 2^16 + position

Segment = collections.namedtuple(
    "Segment", "index first batches phase round workers argument seed lists", defaults=(0,)
)

# What to make next: its number, its segment (None: as found), its position in the round's list of indices
Item = collections.namedtuple("Item", "number segment position")


class Plan:
    """The published segments, as `read(i)` gives them (None: not published yet), in order of their first turn.

    `published()`, where given, is how many there are: to ask that costs less than to read."""

    def __init__(self, read, published=None):
        self._read = read
        self._published = published
        self._segments = []
        self._refused = set()

    def __len__(self):
        return len(self._segments)

    def refresh(self):
        if self._published is not None and self._published() == len(self._segments):
            return
        while True:
            segment = self._read(len(self._segments))
            if segment is None:
                return
            self._segments.append(segment)

    def refuse(self, segment):
        """This segment cannot be run here (missed, or it does not fit into the pass)."""
        self._refused.add(segment.index)

    def reconsider(self, turn):
        """A pass begins at this turn: what the one before refused because it took itself for longer may be run."""
        for segment in reversed(self._segments):
            if segment.first < turn:
                return
            self._refused.discard(segment.index)

    def covering(self, turn):
        """The segment that the turn lies in; None if it is as found."""
        for segment in reversed(self._segments):
            if segment.phase in SUPPLY or segment.phase == END:
                continue
            if segment.first <= turn < segment.first + segment.batches:
                return None if segment.index in self._refused else segment
            if segment.first + segment.batches <= turn:
                return None
        return None

    def following(self, turn, phase):
        """The first segment of this phase that is not over at the turn; None where none is known."""
        found = None
        for segment in reversed(self._segments):
            if segment.first + segment.batches <= turn and segment.phase != END:
                break
            if segment.phase == phase and segment.index not in self._refused:
                found = segment
        return found

    def supplies(self, turn):
        """Supply segments that come right before the turn."""
        found = []
        for segment in reversed(self._segments):
            if segment.first < turn:
                break
            if segment.first == turn and segment.phase in SUPPLY and segment.index not in self._refused:
                found.append(segment)
        return found[::-1]

    def ends(self, turn):
        end = self.end()
        return end is not None and end <= turn

    def end(self):
        """The turn that is not taken any more; None while it is not agreed. The last one published may come earlier."""
        return min((segment.first for segment in self._segments[-2:] if segment.phase == END), default=None)

    def unchecked(self, checked):
        """Published segments but the first `checked`."""
        return self._segments[checked:]


class Lists:
    """The index lists of one pass, as the script's sampler gives them. The last one is kept for the pass's last batch.

    Blocks that repeat a round's lists draw fewer than there are turns; a round without such blocks (supply alone) draws
    more. Where the sampler has no more, lists that were drawn come again: no pass ends early because of us.
    """

    MOST_KEPT = 4096

    def __init__(self, real):
        self._real = real
        self._drawn = collections.deque(maxlen=self.MOST_KEPT)
        self._ahead = []  # the list after the one drawn last

    def draw(self):
        if not self._ahead:
            self._look()
        following = next(self._real, None)
        if following is None:
            return self._again()
        drawn, self._ahead[0] = self._ahead[0], following
        self._drawn.append(drawn)
        return drawn

    def last(self):
        """The script's own last index list: it may be shorter than the others. Those between are not used."""
        if not self._ahead:
            self._look()
        for following in self._real:
            self._ahead[0] = following
        return self._ahead[0]

    def _look(self):
        self._ahead.append(next(self._real))

    def _again(self):
        if not self._drawn:
            return self._ahead[0]
        self._drawn.rotate(-1)
        return self._drawn[-1]


class Rounds:
    """The index lists of each round, drawn as needed and shared by its segments."""

    def __init__(self, draw):
        self._draw = draw
        self._lists = collections.OrderedDict()

    def index(self, segment, position):
        if segment.lists:
            position %= segment.lists  # batches from memory are gone sooner than those that brought them there
        indices = self._lists.get(segment.round)
        if indices is None:
            indices = self._lists[segment.round] = []
            while len(self._lists) > 2:
                self._lists.popitem(last=False)
        while len(indices) <= position:
            indices.append(self._draw())
        return indices[position]


class Issuer:
    """Walks the turns W k ahead of the script and says what to make next.

    `turn` is that of the next batch to be made, `end` the turn after the pass's last one (None: not known). A segment
    that was published too late, or that would not be over one turn before the pass ends, is refused as a whole: the
    pass keeps its length and its last batch. Segments that were over when the pass began are none of its business.
    """

    def __init__(self, plan, turn, end, base=None, period=None):
        """`base`: the turn of the pass's first batch, which may have been under way before there was an issuer.
        `period`: of passes that follow each other without end, `end` being that of the one that is made now."""
        self.plan = plan
        self.turn = turn
        self.end = end
        self.period = period
        self.missed = 0
        self._start = turn
        self._base = turn if base is None else base
        self._checked = 0
        self._supply = None  # (segment, batches issued)
        self._supplied = set()
        plan.reconsider(turn)

    def check(self):
        """Refuses what was published and cannot be run; called before either walker looks."""
        self.plan.refresh()
        for segment in self.plan.unchecked(self._checked):
            self._checked += 1
            last = segment.first + (0 if segment.phase in SUPPLY else segment.batches)
            if segment.phase == END or (segment.first < self._start and last <= self._start):
                continue
            late = segment.first < self.turn
            if late or self._ends_within(segment.first, last):
                self.plan.refuse(segment)
                self.missed += late and segment.first >= self._base  # else the pass before ended within it

    def _ends_within(self, first, last):
        end = self.end
        if end is None:
            return False
        if self.period and first >= end:
            end += self.period * ((first - end) // self.period + 1)
        return first < end <= last

    def next(self):
        """The next Item; None at the end of the pass."""
        self.check()
        while True:
            is_over = self.end is not None and self.turn >= self.end
            if is_over and self._supply is None:
                return None  # a supply segment before the turn that is `end` belongs to the next pass
            item = self._next_supply()
            if item is not None:
                return item
            segment = self.plan.covering(self.turn)
            if segment is not None and segment.phase == SYNTHETIC:
                self.turn = segment.first + segment.batches
                continue
            turn = self.turn
            self.turn += 1
            return Item(turn, segment, turn - segment.first if segment is not None else 0)

    def rests(self, taken):
        """Whether what is made next lies behind replayed batches that the script, whose next turn is `taken`, was not
        given yet. Workers come to rest meanwhile: what they made would slow the replayed steps."""
        self.check()
        if self._supply is not None or self._waiting():
            return False
        segment = self.plan.covering(self.turn)
        return segment is not None and segment.phase == SYNTHETIC and taken < segment.first + segment.batches

    def _waiting(self):
        return [s for s in self.plan.supplies(self.turn) if s.index not in self._supplied]

    def _next_supply(self):
        if self._supply is None:
            waiting = self._waiting()
            if not waiting:
                return None
            self._supply = (waiting[0], 0)
            self._supplied.add(waiting[0].index)
        segment, issued = self._supply
        self._supply = (segment, issued + 1) if issued + 1 < segment.batches else None
        return Item(SUPPLY_NUMBERS + (segment.index << 16) + issued, segment, issued)
