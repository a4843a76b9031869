"""How many samples a delivered batch holds, where nobody counted the indices that it was made from, and its bytes."""

import collections

LEADING = "leading dimension"
ITEM = "item"
SEEDS = "seeds of a graph"


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


def of_stream(batch, auto_collation):
    """Samples of a batch of an iterable data set: nobody drew indices for it."""
    return of_batch(batch) if auto_collation else of_item(batch)[0]


def of_item(item):
    """(samples, how that is known) of what a loader without automatic batching hands over, which may be a batch that
    its data set made or a single sample: LEADING where more than half of its arrays and lists agree on one
    and nothing says that it is one sample (a number or a name of its own, axes of one picture or of one row); else it
    counts as one sample: ITEM. Batches of DGL's say what their nodes were sampled for: SEEDS. Never runs code of the
    user's but len()."""
    seeds = _seeds(item)
    if seeds:
        return seeds, SEEDS
    lengths, ranks = [], []
    if not _collect(item, lengths, ranks, 4) or not lengths or lengths[0] < 1:
        return 1, ITEM
    pictures = all(rank == 3 for rank in ranks) and lengths[0] in (1, 3, 4)
    if max(ranks, default=0) < 2 or pictures or 2 * lengths.count(lengths[0]) <= len(lengths):
        return 1, ITEM
    return lengths[0], LEADING


def _seeds(item):
    """Seeds of (input nodes, output nodes, blocks) and of GraphBolt's MiniBatch, by type where nodes have several; 0 of
    all else."""
    if type(item).__module__.startswith("dgl.graphbolt."):
        seeds = getattr(item, "seeds", None)
        seeds = getattr(item, "seed_nodes", None) if seeds is None else seeds
    elif type(item) in (tuple, list) and len(item) == 3 and _are_blocks(item[2]):
        seeds = item[1]
    else:
        return 0
    return sum(map(_first_dimension, seeds.values() if isinstance(seeds, dict) else [seeds]))


def _are_blocks(part):
    return isinstance(part, list) and bool(part) and type(part[0]).__module__.startswith("dgl.")


def _collect(item, lengths, ranks, depth):
    """Appends the leading dimensions of an item's arrays and their ranks; lengths of its lists of names and numbers as
    well. False where it holds a number or a name of its own: it is one sample."""
    if hasattr(item, "shape"):
        try:
            lengths.append(int(item.shape[0]))
            ranks.append(len(item.shape))
        except Exception:
            return False  # a scalar
        return True
    if isinstance(item, (str, bytes, int, float)):
        return False
    if depth == 0:
        return True
    parts = _parts(item)
    if depth < 4 and isinstance(parts, list) and parts and all(isinstance(part, (str, bytes, int, float)) for part in parts):
        lengths.append(len(parts))
        return True
    return all([_collect(part, lengths, ranks, depth - 1) for part in parts])


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
    if isinstance(batch, collections.UserDict):
        return batch.data.values()
    if hasattr(batch, "__dataclass_fields__"):
        return [getattr(batch, name, None) for name in batch.__dataclass_fields__]
    return ()
