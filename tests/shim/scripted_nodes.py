"""What the adapters of torchdata.nodes and SPDL look at, in modules of the same names: neither is needed."""

NODES_LOADER = """
class Loader:
    def __init__(self, root):
        self.root, self._it, self._state, self._iter_for_state_dict = root, None, None, False

    def __iter__(self):
        if self._it is None:
            self._it = LoaderIterator(self)
        elif self._iter_for_state_dict:
            self._iter_for_state_dict = False
            return self._it
        self._it.reset(self._state)
        if self._state is not None:
            self._state = None
            if not self._it.has_next():
                self._it.reset(None)
        return self._it

    def load_state_dict(self, state):
        self._state = state

    def state_dict(self):
        if self._it is None:
            iter(self)
            self._iter_for_state_dict = True
        return {"at": self._it.at}

class BaseNode:
    def __iter__(self):
        return self

    def __next__(self):
        return self.next()

class LoaderIterator(BaseNode):
    def __init__(self, loader):
        self.root, self._cached_item, self.at = loader.root, None, 0

    def reset(self, state):
        self._cached_item, self.at = None, 0 if state is None else state["at"]
        self.root.reset(self.at)

    def has_next(self):
        if self._cached_item is None:
            try:
                self._cached_item = next(self)
            except StopIteration:
                pass
        return self._cached_item is not None

    def next(self):
        if self._cached_item is not None:
            item, self._cached_item = self._cached_item, None
        else:
            item = next(self.root)
            self.at += 1
        return item

class Batcher(BaseNode):
    def __init__(self, source, batch_size, drop_last=True):
        self.source, self.batch_size, self.drop_last = source, batch_size, drop_last

    def reset(self, at):
        self.source.reset(at * self.batch_size)

    def next(self):
        return [next(self.source) for _ in range(self.batch_size)]

class ParallelMapper(BaseNode):
    def __init__(self, source, map_fn, num_workers=0, method="thread"):
        self.source, self.map_fn, self.num_workers, self.method = source, map_fn, num_workers, method

    def reset(self, at):
        self.source.reset(at)

    def next(self):
        return self.map_fn(next(self.source))

class Prefetcher(BaseNode):
    def __init__(self, source, prefetch_factor):
        self.source, self.prefetch_factor = source, prefetch_factor

    def reset(self, at):
        self.source.reset(at)

    def next(self):
        return next(self.source)

class RandomSampler(list):
    pass

class SamplerWrapper(BaseNode):
    def __init__(self, sampler):
        self.sampler = sampler

    def reset(self, at):
        self.left = iter(self.sampler[at:])

    def next(self):
        return next(self.left)

class Pets:
    def __len__(self):
        return 10

    def __getitem__(self, index):
        return "pet", index
"""

SPDL_BUILD = """
class SinkConfig:
    buffer_size = 3

class SourceConfig:
    def __init__(self, source):
        self.source = source

class Collate:
    n = 4

class AggregateConfig:
    name, op, drop_last = "aggregate(4)", Collate(), False

class Arguments:
    def __init__(self, concurrency, executor=None):
        self.concurrency, self.executor = concurrency, executor

class PipeConfig:
    def __init__(self, name, *arguments):
        self.name, self._args = name, Arguments(*arguments)

class ProcessPoolExecutor:
    _max_workers = 3

class PipelineConfig:
    sink = SinkConfig()

    def __init__(self, source, *pipes):
        self.src, self.pipes = SourceConfig(source), pipes

class Pipeline:
    def __init__(self, config):
        self._left = iter([list(config.src.source[at:at + 4]) for at in range(0, len(config.src.source), 4)])

    def get_item(self, *, timeout=None):
        for item in self._left:
            return item
        raise EOFError("the end")

    def get_iterator(self, *, timeout=None):
        return PipelineIterator(self, timeout)

class PipelineIterator:
    def __init__(self, pipeline, timeout):
        self._pipeline, self._timeout = pipeline, timeout

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return self._pipeline.get_item(timeout=self._timeout)
        except EOFError:
            raise StopIteration from None

def build_pipeline(config, /, *, num_threads):
    return Pipeline(config)
"""

SPDL_SUBPROCESS = """
import time

class _SubprocessIterable:
    def __iter__(self):
        for number in range(12):
            time.sleep(0.002)
            yield number
"""

MODULES = {
    "torchdata/__init__.py": "",
    "torchdata/nodes/__init__.py": "",
    "torchdata/nodes/loader.py": NODES_LOADER,
    "spdl/__init__.py": "",
    "spdl/pipeline/__init__.py": "",
    "spdl/pipeline/_build.py": SPDL_BUILD,
    "spdl/pipeline/_iter_utils/__init__.py": "",
    "spdl/pipeline/_iter_utils/_subprocess.py": SPDL_SUBPROCESS,
}
