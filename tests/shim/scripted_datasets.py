"""What the adapter of Hugging Face's datasets looks at, in modules of the same names: the library is not needed."""

ARROW_DATASET = """
class Info:
    dataset_name = "pets"

class Dataset:
    info, split, _indices = Info(), "train", None

    def __init__(self, rows):
        self._rows = list(rows)
        self.closed = 0

    @property
    def num_rows(self):
        return len(self._rows)

    def __iter__(self):
        try:
            for row in self._rows:
                sent = yield {"value": row}
                if sent:
                    print("sent", sent)
        finally:
            self.closed += 1

    def iter(self, batch_size, drop_last_batch=False):
        for begin in range(0, self.num_rows - batch_size + 1 if drop_last_batch else self.num_rows, batch_size):
            yield {"value": self._rows[begin:begin + batch_size]}

    def map(self, function):
        return type(self)([function(row)["value"] for row in self])
"""

ITERABLE_DATASET = """
class Examples:
    ex_iterable = None

class ShuffledExamples:
    ex_iterable = Examples()

class CyclingMultiSourcesExamplesIterable:
    def __init__(self):
        self.ex_iterables = [Examples(), Examples()]

    def __iter__(self):
        import concurrent.futures
        executor = concurrent.futures.ThreadPoolExecutor()

class InterleavedShards:
    ex_iterable = Examples()

    def _interleave_shards(self):
        pass

class MappedExamples:
    ex_iterable, decoding_pool = Examples(), object()

class IterableDataset:
    info, split, _ex_iterable = None, None, ShuffledExamples()

    def __iter__(self):
        for number in range(10):
            self.state = number
            yield {"value": number}

    def iter(self, batch_size):
        rows = iter(self)
        while True:
            batch = [row["value"] for _, row in zip(range(batch_size), rows)]
            if not batch:
                return
            yield Table(batch)

    def state_dict(self):
        return {"at": self.state}

class Table:
    def __init__(self, rows):
        self.num_rows = len(rows)
"""

MODULES = {
    "datasets/__init__.py": "",
    "datasets/arrow_dataset.py": ARROW_DATASET,
    "datasets/iterable_dataset.py": ITERABLE_DATASET,
}
