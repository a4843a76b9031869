"""Functions that give the training its batches by turns: tasks, phases of a training, data sets that are mixed.

Two steps that are watched may have batches of one of them alone. From time to time it is asked whether there were steps since
without a batch of those that are timed; where there were, steps are watched again (own_loop.py), until one has shown who gave
its batch, or it is found that nobody did: some trainings go on with a batch that they have.
"""

from ..torch_loader import loader

_FIRST, _MOST = 32, 256  # steps from one look to the next
_FEW = 0.05  # of the steps, without a batch of those that are timed
_MOST_LOOKS, _ROUNDS = 8, 12  # in which others are looked for, and the times that two steps are watched in each


class Turns:
    """The loaders of what is timed, by stages: those that give batches, and those that make the same part of them. In each
    stage every step has one of these, or it is looked for another."""

    def __init__(self):
        self._stages = [[]]
        self._before = {}  # loader -> batches at the last look
        self._steps = 0  # at the last look
        self._every = _FIRST
        self._looks = self._rounds = 0
        self._share, self._at = 0.0, 0  # of the steps, without one of a stage: the largest at the last look, and that stage
        self._explained = 0.0  # the same where nobody was found

    def add(self, of):
        """A loader whose batches are timed from here on."""
        self._add(of, 0)

    def add_part(self, of):
        """Likewise of a part of the batches."""
        self._stages.append([])
        self._add(of, -1)

    def add_part_instead(self, of):
        """Likewise of a part that steps have in the place of another one."""
        self._add(of, self._at)

    def is_due(self):
        """Whether steps since the last look had no batch of these, and are to be watched."""
        steps = self._made() - self._steps
        if steps < self._every:
            return False
        shares = [1 - sum(one.delivered - self._before[one] for one in stage) / steps for stage in self._stages]
        self._share = max(shares)
        self._at = shares.index(self._share)
        self._every = min(_MOST, 2 * self._every)
        self._set()
        if self._share <= self._explained + _FEW:
            return False
        self._looks, self._rounds = self._looks + 1, 0
        if self._looks == _MOST_LOOKS:
            self.stop()
        return True

    def is_another_round(self):
        """Nobody was found in the steps that were watched."""
        self._rounds += 1
        if self._rounds < _ROUNDS:
            return True
        self._explained = self._share  # a batch serves several steps, or several optimizers step on it
        return False

    def stop(self):
        """Nothing is looked for any more."""
        self._every = loader.NEVER
        self._set()

    def _add(self, of, stage):
        self._stages[stage].append(of)
        self._every = _FIRST
        self._set()

    def _all(self):
        return [one for stage in self._stages for one in stage]

    def _made(self):
        return sum(one.steps for one in self._all())

    def _set(self):
        self._steps = self._made()
        for one in self._all():
            self._before[one] = one.delivered
            one.look_at = one.steps + self._every
