"""How many samples a delivered batch holds, where nobody counted the indices that it was made from, and its bytes."""


def of_indices(index, auto_collation):
    """Samples that an index list asks for. Without automatic batching a list is a batch and all else one sample."""
    if not auto_collation and type(index) is not list:
        return 1
    try:
        return len(index)
    except TypeError:
        return 0


def of_batch(batch, depth=4):
    """Length of the first tensor or array in the batch; 0 if none is found. Never runs code of the user's but len()."""
    if hasattr(batch, "shape"):
        return _first_dimension(batch)
    if depth == 0 or isinstance(batch, (str, bytes)):
        return 0
    for part in _parts(batch):
        size = of_batch(part, depth - 1)
        if size:
            return size
    return 0


def bytes_of(batch, depth=4):
    """Bytes of all tensors and arrays in the batch. Never runs code of the user's."""
    if hasattr(batch, "shape"):
        return _bytes_of_tensor(batch)
    if depth == 0 or isinstance(batch, (str, bytes)):
        return 0
    return sum(bytes_of(part, depth - 1) for part in _parts(batch))


def tensors_in(batch, depth=4):
    """How many tensors and arrays the batch holds. Never runs code of the user's."""
    if hasattr(batch, "shape"):
        return 1
    if depth == 0 or isinstance(batch, (str, bytes)):
        return 0
    return sum(tensors_in(part, depth - 1) for part in _parts(batch))


def _bytes_of_tensor(tensor):
    try:
        if hasattr(tensor, "element_size"):
            return int(tensor.numel()) * int(tensor.element_size())
        return int(tensor.nbytes)
    except Exception:
        return 0  # of a library whose arrays are otherwise


def _first_dimension(tensor):
    try:
        return int(tensor.shape[0])
    except Exception:
        return 0  # a scalar


def _parts(batch):
    if isinstance(batch, dict):
        return batch.values()
    if isinstance(batch, (list, tuple)):
        return batch
    if hasattr(batch, "__dataclass_fields__"):
        return [getattr(batch, name, None) for name in batch.__dataclass_fields__]
    return ()
