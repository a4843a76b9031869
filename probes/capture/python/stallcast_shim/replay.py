"""Batches replayed from memory: what the script is given in synthetic blocks.

A ring of clones, so that the sizes of ragged batches stay a distribution. A script may change a batch in place: torch
counts that in a tensor's version, so a clone is handed out again as long as it is unchanged, and copied from a spare
that nobody touches once it is not. What is neither tensor, array, number, string nor a container of these is handed out
by reference; `by_reference` says so.
"""

import copy

RING = 8


class Ring:
    """Up to RING batches; the oldest is replaced."""

    def __init__(self):
        self._spares = []  # never handed out
        self._serving = []  # (batch, its parts with their versions when it was handed out first)
        self._samples = []
        self._next = 0
        self._oldest = 0
        self.by_reference = False
        self.changed = 0  # batches that the script had changed in place

    def __len__(self):
        return len(self._spares)

    def keep(self, batch, samples):
        """Copies the batch of so many samples into the ring. Outside measured stretches: copying takes its time."""
        spare = self._clone(batch)
        if len(self._spares) < RING:
            self._spares.append(spare)
            self._serving.append(None)
            self._samples.append(samples)
        else:
            slot = self._oldest % RING
            self._spares[slot], self._serving[slot], self._samples[slot] = spare, None, samples
            self._oldest += 1

    def prepare(self):
        """Makes every batch ready to be handed out, so that serving costs nothing."""
        for slot in range(len(self._spares)):
            self._ready(slot)
        self._next = 0

    def serve(self):
        """(batch, its samples)."""
        slot = self._next % len(self._spares)
        self._next += 1
        return self._ready(slot), self._samples[slot]

    def _ready(self, slot):
        serving = self._serving[slot]
        if serving is not None and _is_unchanged(*serving):
            return serving[0]
        self.changed += serving is not None
        batch = self._clone(self._spares[slot])
        self._serving[slot] = (batch, _parts(batch, []))
        return batch

    def _clone(self, batch):
        if _is_tensor(batch):
            clone = batch.detach().clone()
            return clone.pin_memory() if not batch.is_cuda and batch.is_pinned() else clone
        if isinstance(batch, dict):
            return _like(batch, {key: self._clone(value) for key, value in batch.items()})
        if isinstance(batch, tuple):
            parts = [self._clone(part) for part in batch]
            return type(batch)(*parts) if hasattr(batch, "_fields") else tuple(parts)
        if isinstance(batch, list):
            return [self._clone(part) for part in batch]
        if hasattr(batch, "__dataclass_fields__"):
            clone = copy.copy(batch)
            for name in batch.__dataclass_fields__:
                object.__setattr__(clone, name, self._clone(getattr(batch, name)))
            return clone
        if batch is None or isinstance(batch, (int, float, complex, bool, str, bytes)):
            return batch
        if type(batch).__module__.split(".")[0] == "numpy":
            return copy.deepcopy(batch)
        self.by_reference = self.by_reference or not _is_immutable(batch)
        return batch


def _is_immutable(batch):
    """An array that nobody can write to."""
    return type(batch).__module__.split(".")[0] in ("tensorflow", "jax", "jaxlib")


def _like(batch, content):
    """A dict of the batch's own class where that takes a dict; else a plain one."""
    if type(batch) is dict:
        return content
    try:
        clone = copy.copy(batch)
        clone.update(content)
        return clone
    except Exception:
        return content


def _is_tensor(part):
    return hasattr(part, "_version") and hasattr(part, "detach")


def _parts(batch, found):
    """Appends (part, version) of all tensors in the batch, in order. Arrays have no version: they count as changed."""
    if _is_tensor(batch):
        found.append((batch, batch._version))
    elif isinstance(batch, dict):
        for value in batch.values():
            _parts(value, found)
    elif isinstance(batch, (list, tuple)):
        for part in batch:
            _parts(part, found)
    elif hasattr(batch, "__dataclass_fields__"):
        for name in batch.__dataclass_fields__:
            _parts(getattr(batch, name), found)
    elif type(batch).__module__.split(".")[0] == "numpy" and getattr(batch, "ndim", 0):
        found.append((batch, -1))
    return found


def _is_unchanged(batch, parts):
    """Whether the batch has the same tensors as it was handed out with, none of them written to since."""
    now = _parts(batch, [])
    if len(now) != len(parts):
        return False
    for (part, version), (before, version_before) in zip(now, parts):
        if part is not before or version != version_before or version == -1:
            return False
    return True
