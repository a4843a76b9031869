"""SPDL: what takes a batch off a Pipeline (get_item, which its iterators and SPDL's DataLoaders call), and iterables
that run in a process of their own. Its stages run in threads of the training process, or in worker processes (`.to()`).
"""

import functools

from .. import capture
from ..capture import calls
from ..frames import unseen
from . import adapters, counting, passes
from .adapters import integer, length


def patch(module):
    """Called with spdl.pipeline._build or _iter_utils._subprocess just imported."""
    if not module.__name__.endswith("._build"):
        if adapters.fits(module, "_SubprocessIterable"):
            _wrap_subprocess(module._SubprocessIterable)
        return
    if not adapters.fits(module, "Pipeline", "build_pipeline"):
        return
    adapters.wrap_next(module.Pipeline, "SPDL", "get_item")
    real = module.build_pipeline

    @functools.wraps(real)
    @unseen
    def build_pipeline(*args, **kwargs):
        pipeline = real(*args, **kwargs)
        if calls.enabled:
            _tell(pipeline, *args, **kwargs)
        return pipeline

    module.build_pipeline = build_pipeline


def _tell(pipeline, config=None, num_threads=None, **_):
    try:
        if adapters.counts_here():
            text, batch_size = describe(config, num_threads)
            known = passes.Known(adapters.framework(), text, counting.Count(batch_size), end=EOFError)
            source = adapters.Source(adapters.loader_like(text), known, not batch_size)
            pipeline.__dict__[adapters.ATTRIBUTE] = source
    except Exception as error:
        capture.fail("describing a pipeline of SPDL", error)


def _wrap_subprocess(owner):
    real = owner.__iter__

    @functools.wraps(real)
    @unseen
    def __iter__(self):
        generator = real(self)
        if not calls.enabled:
            return generator
        try:
            if not adapters.counts_here():
                return generator
            text = passes.loader_text("spdl", composition="unknown", num_workers=1, dataset_type="SubprocessIterable")
            known = passes.Known(adapters.framework(), text, counting.Count(None))
            source = adapters.Source(adapters.loader_like(text), known, True)
        except Exception as error:
            capture.fail("describing an iterable of SPDL", error)
            return generator
        return adapters.through(generator, source)

    owner.__iter__ = __iter__


def describe(config, num_threads):
    """(loader text, samples of a batch or None) of a pipeline's configuration."""
    stages = list(getattr(config, "pipes", ()))
    source = getattr(getattr(config, "src", None), "source", None)
    batches = [stage for stage in stages if type(stage).__name__ == "AggregateConfig"]
    batch_size = _size(batches[-1]) if batches else None
    workers = _workers(stages)
    return passes.loader_text(
        "spdl",
        composition="unknown" if workers else "overlapped",
        num_workers=workers,
        threads=integer(num_threads),
        read_ahead=integer(getattr(getattr(config, "sink", None), "buffer_size", None)),
        batch_size=batch_size,
        drop_last=bool(getattr(batches[-1], "drop_last", False)) if batches else None,
        dataset_type=type(source).__name__[:200],
        dataset_samples=length(source),
        stages=[_name(stage) for stage in stages][:32],
        concurrency=[_argument(stage, "concurrency") for stage in stages][:32],
    ), batch_size


def _size(stage):
    """Of an aggregation by number; until 0.3 as a field of its own."""
    found = integer(getattr(getattr(stage, "op", None), "n", None))
    return found if found is not None else integer(getattr(stage, "num_items", None))


def _argument(stage, name):
    return getattr(getattr(stage, "_args", None), name, None)


def _name(stage):
    return str(getattr(stage, "name", None) or type(stage).__name__)[:60]


def _workers(stages):
    """Worker processes of all stages that run in some; None where none does."""
    pools = [_argument(stage, "executor") for stage in stages] + [getattr(stage, "target", None) for stage in stages]
    pools = [pool for pool in pools if type(pool).__name__.startswith("ProcessPool")]
    found = [integer(getattr(pool, "max_workers", None)) or integer(getattr(pool, "_max_workers", None)) or 1
             for pool in pools]
    return sum(found) or None
