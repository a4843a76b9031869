"""What the adapter of DALI looks at, in modules of the same names: no DALI is needed."""

BASE = """
class Array(list):
    @property
    def shape(self):
        return (len(self), 3)

class _DaliBaseIterator:
    def __init__(self, pipelines, size=-1, reader_name=None, auto_reset=False):
        self._pipes = pipelines if isinstance(pipelines, list) else [pipelines]
        self.batch_size = self._pipes[0].max_batch_size
        self._reader_name = reader_name
        self._size_no_pad = getattr(self._pipes[0], "size", 10)
        self._auto_reset = auto_reset
        self._counter = 0

    def __iter__(self):
        return self

    def __len__(self):
        return -(-self._size_no_pad // self.batch_size)

    def reset(self):
        if self._counter < self._size_no_pad:
            return  # "does not support resetting while epoch is not finished"
        self._counter = 0

    def _get_outputs(self):
        if self._counter >= self._size_no_pad:
            if self._auto_reset:
                self.reset()
            raise StopIteration
        begin = self._counter
        self._counter += self.batch_size
        return [pipe.run(begin) for pipe in self._pipes]
"""

PLUGIN = """
from nvidia.dali.plugin.base_iterator import _DaliBaseIterator

class DALIGenericIterator(_DaliBaseIterator):
    def __init__(self, pipelines, **options):
        super().__init__(pipelines, **options)
        self._first_batch = None
        self._first_batch = DALIGenericIterator.__next__(self)

    def __next__(self):
        if self._first_batch is not None:
            batch, self._first_batch = self._first_batch, None
            return batch
        return self._get_outputs()

class DALIClassificationIterator(DALIGenericIterator):
    def __init__(self, pipelines, **options):
        super().__init__(pipelines, **options)

class DALIRaggedIterator(_DaliBaseIterator):
    def __init__(self, pipelines, **options):
        super().__init__(pipelines, **options)

    def __next__(self):
        return [{"data": list(range(100))} for _ in self._get_outputs()]
"""

DYNAMIC = """
class Batch:
    def __init__(self, numbers):
        self.numbers, self.batch_size = list(numbers), len(numbers)

    @property
    def shape(self):
        raise RuntimeError("asked for a result")

class Reader:
    _batch_size = None

    def next_epoch(self, batch_size=None, ctx=None, capture=False):
        return self._batches(batch_size or self._batch_size)

    def _batches(self, size):
        for begin in range(0, 10, size):
            yield (Batch(range(begin, min(begin + size, 10))), Batch([0]))
"""

MODULES = {
    "nvidia/dali/__init__.py": "__version__ = '9.9'\n",
    "nvidia/dali/plugin/__init__.py": "",
    "nvidia/dali/plugin/base_iterator.py": BASE,
    "nvidia/dali/experimental/__init__.py": "",
    "nvidia/dali/experimental/dynamic/__init__.py": "",
    "nvidia/dali/experimental/dynamic/_ops.py": DYNAMIC,
    "nvidia/dali/plugin/pytorch.py": PLUGIN,
}
