"""Phases on loaders that are not torch's: replayed batches between blocks as found, as on any stream (stream_phases.py).

Nothing of the loader is steered: threads of its own go on while batches are replayed, until what they keep ready is
full. How many batches that is nobody says; the analyzer leaves out what a block as found takes of them, and the block
where they may have lasted through it. Of replayed batches the second half of a block counts; threads that still work
then share the cores with its steps.

Replayed batches take the place of as many at the end of a pass. Where each pass has an iterator of its own (tf.data, a
loop), that one is let go. Where one serves them all (DALI), the next pass goes on with what is left, and where that
ends before its own length, the loader begins anew within it:

    pass 0     0 1 2 3 | r r r r | 4 5         of 10 batches: 6 to 9 are left
    pass 1     6 7 8 9 | 0 1 2 3 4 5
"""

from .phase_run import run
from .stream_phases import Stream

KEPT_APART = ("pytorch", "tensorflow")  # frameworks whose checkpoints throwaway.py redirects
_THREADS = 1  # all of the loader's, to the schedule
_KEPT_READY = 4  # batches, a guess that the schedule makes its blocks long enough for


class KnownStream(Stream):
    """One armed pass over a loader that passes.Known describes."""

    def __init__(self, iterator, current_pass):
        self._known = current_pass.known
        kind = self._known.text["kind"]
        reason = "%s makes its batches where nothing can be switched, so none can be asked for twice" % kind
        before = run.phased
        is_same = isinstance(before, KnownStream) and before.iterator() is iterator
        self._has_rest = is_same and before.is_cut  # what the pass before left comes first
        self._began_anew = False
        super().__init__(iterator, current_pass, reason, tells_workers=False)

    def counts(self, iterator):
        return (0, 0) if self._known.makes_here else (_THREADS, _KEPT_READY)

    def declared(self, iterator):
        return self._known.length()

    def is_enough(self):
        """Whether the pass ends here: it has its length, and the loader would go on."""
        goes_on = self.replayed > 0 or self._began_anew
        self.is_cut = self.is_cut or (goes_on and self._length is not None and self.position >= self._length)
        return self.is_cut

    def begins_anew(self):
        """The loader has no more, but the script's pass goes on: what it began with was left of the pass before."""
        if not self._has_rest or self._known.renew is None or self._length is None or self.position >= self._length:
            return False
        self._has_rest, self._began_anew = False, True
        self._known.renew()
        return True
