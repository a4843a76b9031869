"""What the adapter of Grain looks at, in modules of the same names: no Grain is needed."""

DATASET = """
class _Dataset:
    def __init__(self, parents=()):
        self._parents = (parents,) if isinstance(parents, _Dataset) else tuple(parents)

class MapDataset(_Dataset):
    def to_iter_dataset(self, read_options=None):
        import sys
        from grain._src.python import options
        return sys.modules["grain._src.python.dataset.transformations"].PrefetchIterDataset(
            self, read_options or options.ReadOptions())

    def __iter__(self):
        return self.to_iter_dataset().__iter__()

class IterDataset(_Dataset):
    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.defined = True

class DatasetIterator:
    def __init__(self, parent=None):
        self._parent = parent
        self._next = 0

    def __iter__(self):
        return self

    def get_state(self):
        return {"next": self._next}

    def set_state(self, state):
        self._next = state["next"]

class WithOptionsIterDataset(IterDataset):
    def __iter__(self):
        return self._parents[0].__iter__()
"""

TRANSFORMATIONS = """
from grain._src.python.dataset.dataset import DatasetIterator, IterDataset, MapDataset

class Array(list):
    @property
    def shape(self):
        inner = self[0].shape if self and isinstance(self[0], Array) else ()
        return (len(self), *inner)

class SourceMapDataset(MapDataset):
    def __init__(self, source):
        super().__init__()
        self._source = source

    def __len__(self):
        return len(self._source)

    def __getitem__(self, index):
        return self._source[index]

class ShuffleMapDataset(MapDataset):
    def __init__(self, parent):
        super().__init__(parent)

    def __len__(self):
        return len(self._parents[0])

    def __getitem__(self, index):
        return self._parents[0][-index - 1]

class RepeatMapDataset(ShuffleMapDataset):
    def __getitem__(self, index):
        return self._parents[0][index % len(self._parents[0])]

    def __len__(self):
        return 2 ** 62

class BatchMapDataset(MapDataset):
    def __init__(self, parent, size, drop_remainder=False):
        super().__init__(parent)
        self._batch_size, self._drop_remainder = size, drop_remainder

    def __len__(self):
        return -(-len(self._parents[0]) // self._batch_size)

    def __getitem__(self, index):
        begin = index * self._batch_size
        end = min(begin + self._batch_size, len(self._parents[0]))
        return Array(self._parents[0][at] for at in range(begin, end))

class PrefetchDatasetIterator(DatasetIterator):
    def __next__(self):
        if self._next == len(self._parent):
            raise StopIteration
        self._next += 1
        return self._parent[self._next - 1]

class PrefetchIterDataset(IterDataset):
    def __init__(self, parent, read_options):
        super().__init__(parent)
        self._read_options = read_options

    def __iter__(self):
        return PrefetchDatasetIterator(self._parents[0])

class MapDatasetIterator(DatasetIterator):
    def __next__(self):
        self._next += 1
        return self.function(next(self._parent))

class MapIterDataset(IterDataset):
    def __init__(self, parent, function):
        super().__init__(parent)
        self.function = function

    def __iter__(self):
        iterator = MapDatasetIterator(self._parents[0].__iter__())
        iterator.function = self.function
        return iterator

class ProcessPrefetchIterDataset(MapIterDataset):
    def __init__(self, parent, buffer_size):
        super().__init__(parent, lambda value: value)
        self._buffer_size = buffer_size

class InterleaveIterDataset(IterDataset):
    def __init__(self, datasets):
        super().__init__()
        self._datasets = datasets

    def __iter__(self):
        return self._datasets[0].__iter__()
"""

DATA_LOADER = """
from grain._src.python.dataset.transformations import PrefetchIterDataset, MapIterDataset

class Sampler:
    _num_records, _shuffle = 10, True

class DataLoader:
    def __init__(self, source, dataset, workers=0):
        self._data_source, self._sampler, self._dataset = source, Sampler(), dataset
        self._multiprocessing_options = type("Options", (), {"num_workers": workers, "per_worker_buffer_size": 3})

    def __iter__(self):
        return DataLoaderIterator(self)

class DataLoaderIterator:
    def __init__(self, loader):
        self._iterator = loader._dataset.__iter__()

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._iterator)

    def get_state(self):
        return self._iterator.get_state()
"""

OPTIONS = """
class ReadOptions:
    def __init__(self, num_threads=16, prefetch_buffer_size=500):
        self.num_threads, self.prefetch_buffer_size = num_threads, prefetch_buffer_size
"""

MODULES = {
    "grain/__init__.py": "",
    "grain/_src/__init__.py": "",
    "grain/_src/python/__init__.py": "",
    "grain/_src/python/options.py": OPTIONS,
    "grain/_src/python/data_loader.py": DATA_LOADER,
    "grain/_src/python/dataset/__init__.py": "",
    "grain/_src/python/dataset/dataset.py": DATASET,
    "grain/_src/python/dataset/transformations.py": TRANSFORMATIONS,
}
