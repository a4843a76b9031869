"""What a pass will draw, told without drawing it: from copies of samplers of known types and of their generators' states.
Of other types, from the order that torch draws from, where that lies ready (order).

Made at the first draw of a pass, where torch's own draw will find every state as it is now, and begun once somebody
wants to know: until then only the lists that torch draws are kept. A copy takes the length of its data set as a range:
none of the user's code runs. Each index list that torch draws is held against the prediction; the first that differs ends
it.
"""

import copy
import itertools
import sys

from . import lookahead, order

_MOST_UNBEGUN = 256  # index lists that are kept of a pass that nobody asks about
_MOST_SAMPLES = 10000000  # a copy of a shuffled sampler holds as many numbers: 0.4 GB and a second

# (module, class) of samplers whose __iter__ depends on their attributes and on generators alone -> names of attributes
# that are samplers themselves, and of those that are only asked for their length
_KNOWN = {
    ("torch.utils.data.sampler", "SequentialSampler"): ((), ("data_source",)),
    ("torch.utils.data.sampler", "RandomSampler"): ((), ("data_source",)),
    ("torch.utils.data.sampler", "SubsetRandomSampler"): ((), ()),
    ("torch.utils.data.sampler", "WeightedRandomSampler"): ((), ()),
    ("torch.utils.data.sampler", "BatchSampler"): (("sampler",), ()),
    ("torch.utils.data.distributed", "DistributedSampler"): ((), ("dataset",)),
    ("torchdata.stateful_dataloader.sampler", "RandomSampler"): ((), ("data_source",)),
    ("torchdata.stateful_dataloader.sampler", "BatchSampler"): (("sampler",), ()),
    ("accelerate.data_loader", "SeedableRandomSampler"): ((), ("data_source",)),
    ("accelerate.data_loader", "BatchSamplerShard"): (("batch_sampler",), ()),
}


def of(sampler):
    """What tells the pass that torch is about to draw from `sampler`."""
    made = Prediction(sampler)
    if made.why_not is None:
        return made
    is_torchs = (type(sampler).__module__, type(sampler).__name__) == ("torch.utils.data.sampler", "BatchSampler")
    return order.Order(made.why_not, is_torchs and getattr(sampler, "drop_last", False) is True)


class Prediction:
    """Of one pass. `why_not`: why there is none; None where there is."""

    def __init__(self, sampler):
        self.why_not = None
        self._unbegun = []  # what torch drew before begin()
        self._ahead = None  # what it draws, once begun
        self._lists = None  # of the copies, once begun
        self._lengths = []  # (copy, attribute) that take the data set's length
        self._state = None  # of torch's default generator, until the copies have begun: they draw from it at their start
        try:
            self._copy = _copied(sampler, self._lengths, {})
            self._state = sys.modules["torch"].get_rng_state()
        except _Unknown as reason:
            self.why_not = str(reason)

    def begin(self, dataset_samples):
        """Predicts from here on; what was drawn before is held against it. `dataset_samples`: None if not known."""
        if self.why_not is not None or self._lists is not None:
            return
        if dataset_samples is None and self._lengths:
            return self.end("the length of the data set is not known")
        if dataset_samples is not None and dataset_samples > _MOST_SAMPLES:
            return self.end("the data set has too many samples for a copy of its order")
        for twin, name in self._lengths:
            setattr(twin, name, range(dataset_samples))
        self._lists = _lazily(self._copy)
        self._ahead = lookahead.Lookahead(self._look)
        drawn, self._unbegun = self._unbegun, []
        for number, index in enumerate(drawn):
            self.drawn(number, index)

    def is_being_checked(self):
        return False

    def length(self):
        """As an order's: torch's own samplers say themselves how long they are."""
        return None

    def drawn(self, number, index, _=None):
        """torch drew this index list: the one of that number."""
        if self.why_not is not None:
            return
        if self._lists is None:
            self._unbegun.append(list(index) if type(index) is list else index)  # a data set may sort what it is given
            if len(self._unbegun) > _MOST_UNBEGUN:
                self.end("too many batches had been drawn before it was asked what comes next")
            return
        expected = self.lists(number, 1)
        if not expected or type(index) is not type(expected[0]) or not _equal(index, expected[0]):
            self.end("the sampler drew something else than a copy of it")
            return
        self._ahead.drawn(number)

    def end(self, why):
        """Nothing is told from here on."""
        self.why_not = self.why_not or why
        self._lists, self._copy, self._ahead, self._unbegun = None, None, None, []

    def lists(self, first, count):
        """Index lists of the batches first, first + 1, ... as far as the pass goes."""
        found = self._ahead.at(first, count) if self._ahead is not None else []
        return found if self._ahead is not None else []  # looking may have ended it

    def _look(self, count):
        """Draws from the copies; what they share with the script is as before afterwards."""
        try:
            if self._state is None:
                return list(itertools.islice(self._lists, count))
            return self._begun(count)
        except Exception as error:
            self.end("a copy of the sampler failed: " + type(error).__name__)
            return []

    def _begun(self, count):
        """The first lists. Known samplers draw from torch's default generator before they give one, and never again."""
        torch = sys.modules["torch"]
        if torch.empty(0).device.type != "cpu":  # then they draw from that device's
            self.end("the default device is not the CPU, and its generator is not to be touched")
            return []
        state, self._state = self._state, None
        mine = torch.get_rng_state()
        torch.set_rng_state(state)
        try:
            return list(itertools.islice(self._lists, count))
        finally:
            torch.set_rng_state(mine)


def _lazily(sampler):
    """Its lists; the sampler begins where the first is asked for, which is where torch's had begun."""
    yield from sampler


class _Unknown(Exception):
    """The sampler is of a type that this knows nothing of."""


def _copied(sampler, lengths, generators):
    """A copy that draws the same; the attributes of it that are asked for a length go to `lengths`."""
    kind = type(sampler)
    parts = _KNOWN.get((kind.__module__, kind.__name__))
    if parts is None:
        raise _Unknown("the sampler (%s.%s) is not one that can be told ahead" % (kind.__module__, kind.__name__))
    samplers, asked = parts
    twin = copy.copy(sampler)
    for name in samplers:
        setattr(twin, name, _copied(getattr(sampler, name), lengths, generators))
    lengths.extend((twin, name) for name in asked)
    for name, value in list(vars(twin).items()):
        if type(value).__name__ == "Generator" and type(value).__module__.startswith("torch"):
            setattr(twin, name, _generator_like(value, generators))
    return twin


def _generator_like(generator, known):
    """One generator that several samplers share is one in the copies as well."""
    if id(generator) not in known:
        twin = sys.modules["torch"].Generator(device=generator.device)
        twin.set_state(generator.get_state())
        known[id(generator)] = twin
    return known[id(generator)]


def _equal(drawn, expected):
    try:
        return bool(drawn == expected)
    except Exception:  # arrays do not compare as lists do
        return False
