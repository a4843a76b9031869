"""How many elements a data set of tf.data has, by what its parts hold.

Its own cardinality() makes a tensor, and TensorFlow numbers what it traces by the tensors made before: those numbers are in
the names of a saved model's functions.
"""

_DEEPEST = 64
_AS_MANY = ("MapDataset", "ParallelMapDataset", "ShuffleDataset", "CacheDataset", "PrefetchDataset", "OptionsDataset",
            "DatasetV1Adapter")


def length(dataset, depth=_DEEPEST):
    """None where its parts do not say, as of what filters, interleaves or calls Python."""
    kind = type(dataset).__name__.strip("_")
    count = _COUNTS.get(kind)
    if count is None or not depth:
        return None
    try:
        return count(dataset, lambda inner: length(inner, depth - 1))
    except Exception:
        return None


def _inner(dataset):
    inner = getattr(dataset, "_input_dataset", None)
    return getattr(dataset, "_dataset", None) if inner is None else inner


def _of_slices(dataset, _):
    found = dataset._tensors[0].shape[0]
    return found if type(found) is int else None


def _of_range(dataset, _):
    return len(range(int(dataset._start), int(dataset._stop), int(dataset._step)))


def _repeated(dataset, of):
    each, times = of(_inner(dataset)), int(dataset._count)
    return None if each is None or times < 0 else each * times


def _taken(dataset, of):
    all_of_it, most = of(_inner(dataset)), int(dataset._count)
    return all_of_it if all_of_it is None or most < 0 else min(all_of_it, most)


def _skipped(dataset, of):
    all_of_it, first = of(_inner(dataset)), int(dataset._count)
    return None if all_of_it is None else 0 if first < 0 else max(0, all_of_it - first)


def _of_shard(dataset, of):
    all_of_it = of(_inner(dataset))
    return None if all_of_it is None else len(range(int(dataset._index), all_of_it, int(dataset._num_shards)))


def _zipped(dataset, of):
    parts = dataset._datasets
    counts = [of(part) for part in (parts.values() if isinstance(parts, dict) else parts)]
    return None if None in counts else min(counts)


def _concatenated(dataset, of):
    counts = [of(_inner(dataset)), of(dataset._dataset_to_concatenate)]
    return None if None in counts else sum(counts)


_COUNTS = {
    **{kind: lambda dataset, of: of(_inner(dataset)) for kind in _AS_MANY},
    "TensorSliceDataset": _of_slices, "TensorDataset": lambda dataset, of: 1, "RangeDataset": _of_range,
    "RepeatDataset": _repeated, "TakeDataset": _taken, "SkipDataset": _skipped, "ShardDataset": _of_shard,
    "ZipDataset": _zipped, "ConcatenateDataset": _concatenated,
}
