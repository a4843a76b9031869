"""Passes that are joined: where epochs are too short for blocks, one iterator serves several of the script's passes.

    script    for x in loader: | evaluates | for x in loader: | ...
    iterator  0 1 2 ... 14 15  |           | 16 17 ...    31  |      the same one, whose workers go on meanwhile

The script sees passes of its own length, each ended by StopIteration, the last batch of each as large as its own. What
the loader does at the end of an epoch is not done in between: neither are workers started anew, nor do they rest. Rates
are those of steps, as in long epochs; each end of a pass is written down, so that what lay ready after it does not
count.
"""

import time

from . import capture, phase_plan
from .capture import calls
from .phase_run import finish, run
from .steered import Phased, length_of
from .taker import PASS

# Those of torch itself: others keep the state of their passes.
_ITERATORS = ("_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter")


class Joined(Phased):
    """Passes over one loader, begun before any index was taken; to the tool they are one whose end nobody knows."""

    def __init__(self, iterator, current_pass):
        self.length = length_of(iterator)
        self.until = self.length  # position at which the script's pass ends
        self.stopped_ns = 0  # when the script was told that its pass is over; 0: it was not
        self.epoch = 0  # that index lists are taken of
        self.source = iterator._index_sampler
        super().__init__(iterator, current_pass)

    def issue_end(self, iterator, begin):
        return None

    def publish(self, end, missed):
        super().publish(None, missed)

    def end(self):
        return self.base + self.until

    # --- what is made next ---------------------------------------------------------------------------------------

    def take(self, iterator):
        if not calls.enabled:  # recording has failed: nobody would end the script's passes
            raise StopIteration
        return super().take(iterator)

    def indices(self, item):
        if item.number >= phase_plan.SUPPLY_NUMBERS:
            return super().indices(item)
        epoch, position = divmod(item.number - self.base, self.length)
        if epoch != self.epoch:
            self.epoch = epoch
            self.lists = phase_plan.Lists(iter(self.source))
            run.draw = self.lists.draw
        if position + 1 < self.length:
            return super().indices(item)
        if item.segment is None:
            return self.lists.last()
        return _as_long_as(run.rounds.index(item.segment, item.position), self.lists.last())

    # --- what the script gets ------------------------------------------------------------------------------------

    def before(self, iterator, pull):
        if self.has_all():
            self.issuer.check()
            if run.plan.ends(self.turn()):
                finish(iterator)
            self.stopped_ns = self.stopped_ns or time.monotonic_ns()
            raise StopIteration
        super().before(iterator, pull)

    def replays(self):
        if not super().replays():
            return False
        self.replay_end = min(self.replay_end, self.until - 1)
        return True

    def serve(self):
        is_last = self.position + 1 == self.until and len(run.last_ring) > 0
        self.ring = run.last_ring if is_last else run.ring
        batch = super().serve()
        self._keep()
        return batch

    def pass_turn(self, missed):
        super().pass_turn(missed)
        self._keep()

    def _keep(self):
        """The loader keeps the iterator, which the script lets go of between two passes."""
        if self.has_all():
            self.current_pass.loader.kept = self.iterator()

    def goes_on(self):
        """The script's next pass begins. One that counts batches does not ask beyond the last one: how long it was
        between two passes is not known then."""
        now_ns = time.monotonic_ns()
        capture.text(capture.TEXT_MARK, {"what": "epoch", "begin_ns": self.stopped_ns or now_ns, "end_ns": now_ns})
        self.until += self.length
        self.stopped_ns = 0
        self.current_pass.loader.kept = None

    def let_go(self):
        self.current_pass.loader.kept = None


def _as_long_as(indices, own):
    """A round's index list, as long as the script's own."""
    return indices[: len(own)] if isinstance(indices, list) and isinstance(own, list) else indices


def is_wanted(iterator, current_pass):
    """Whether this pass, of which no index was taken yet, is to be joined with those that follow it."""
    if not calls.library.stallcast_joins_passes() or type(iterator).__name__ not in _ITERATORS:
        return False
    if type(iterator).__module__ != "torch.utils.data.dataloader" or current_pass.loader.period is not None:
        return False
    return bool(length_of(iterator))


def resumed(iterator):
    """Whether `iterator`, with which a script's pass has ended, serves the one that begins now."""
    current_pass = getattr(iterator, PASS, None)
    phased = current_pass.phased if current_pass is not None else None
    if not isinstance(phased, Joined) or not phased.has_all() or phased is not run.phased or not calls.enabled:
        return False
    if getattr(iterator, "_shutdown", False):  # by the script itself
        return False
    phased.goes_on()
    return True
