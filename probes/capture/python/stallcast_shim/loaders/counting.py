"""Samples of a batch of a loader that is not torch's, where nobody draws indices that could be counted."""

from .. import sizes


class Count:
    """Samples of a batch, whose first one is a full one and tells how it holds them: arrays with a dimension for them,
    a list of samples, arrays of (devices, samples of each, ...) for who trains on several devices, or otherwise: then
    every batch counts as full."""

    def __init__(self, batch_size):
        self._batch_size = batch_size
        self._how = None

    def __call__(self, batch):
        if not self._batch_size:
            return sizes.of_stream(batch, False)
        shape = _first_shape(batch) or (0,)
        if self._how is None:
            self._how = self._looked_at(batch, shape)
        if self._how == "list":
            return len(batch)
        if self._how == "devices" and len(shape) > 1:
            return shape[0] * shape[1]
        return self._batch_size if self._how == "otherwise" else shape[0]

    def _looked_at(self, batch, shape):
        size = self._batch_size
        if shape[0] != size and isinstance(batch, (list, tuple)) and len(batch) == size:
            return "list"
        if len(shape) > 1 and shape[0] < size == shape[0] * shape[1]:
            return "devices"
        return "arrays" if 0 < shape[0] <= size else "otherwise"


def _first_shape(batch, depth=4):
    """The shape of the first array with a dimension; None where there is none."""
    shape = getattr(batch, "shape", None)
    if shape is not None:
        try:
            return tuple(int(size) for size in shape[:2]) or None
        except Exception:
            return None
    if depth == 0 or isinstance(batch, (str, bytes)):
        return None
    for part in sizes._parts(batch):
        found = _first_shape(part, depth - 1)
        if found:
            return found
    return None


def rows_of(batch):
    """Rows of a batch: a dict of columns, or a table of Arrow, pandas or Polars."""
    if isinstance(batch, dict):
        batch = next(iter(batch.values()), ())
    rows = getattr(batch, "num_rows", None)
    if type(rows) is int:
        return rows
    if isinstance(batch, (list, tuple)) and batch and hasattr(batch[0], "shape"):
        return sizes.of_batch(batch)
    try:
        return len(batch)
    except TypeError:
        return sizes.of_batch(batch)
