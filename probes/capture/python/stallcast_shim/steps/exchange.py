"""What ranks exchange in a step, as DistributedDataParallel's own timers have it.

It times one iteration in a hundred: forward, backward, from the first bucket's all-reduce to the end of the last, and
how much of that passed behind the backward pass. These are read, at the optimizer's steps; nothing of the exchange is
changed or waited for. On CPUs, where a timer is a look at the clock, one iteration in ten is timed.
"""

import functools
import weakref

from .. import capture
from ..frames import unseen
from ..thread import process

_ON_CPU, _ON_DEVICE = 10, 100  # iterations from one that is timed to the next
_WARM_UP = 10  # all of the first ones are timed: buckets are not what they will be
_MOST_TEXTS = 1000
_FIELDS = ("forward_compute_time", "backward_compute_time", "backward_comm_time", "backward_compute_comm_overlap_time")
_NAMES = ("forward_ns", "backward_ns", "span_ns", "overlap_ns")

_models = weakref.WeakKeyDictionary()  # DistributedDataParallel -> Watched
_state = {"steps": 0, "texts": 0}


class Watched:
    def __init__(self, number, every):
        self.number = number
        self.every = every
        self.iteration = _WARM_UP  # the last one that was written


def patch(module):
    """Called with torch.nn.parallel.distributed just imported."""
    model = module.DistributedDataParallel
    real = model.__init__

    @functools.wraps(real)
    @unseen
    def __init__(self, *args, **kwargs):
        real(self, *args, **kwargs)
        try:
            _watch(self)
        except Exception as error:
            capture.fail("looking at DistributedDataParallel", error)

    model.__init__ = __init__


def _watch(model):
    if not hasattr(model, "_get_ddp_logging_data"):
        return
    on_cpu = all(parameter.device.type == "cpu" for parameter in model.parameters())
    every = _ON_DEVICE
    if on_cpu and hasattr(model, "_set_ddp_runtime_logging_sample_rate"):
        model._set_ddp_runtime_logging_sample_rate(_ON_CPU)
        every = _ON_CPU
    _models[model] = Watched(len(_models), every)
    process.settled.clear()


def is_watching():
    return bool(_models)


def look():
    """An optimizer made a step: writes what was timed since the last look, where there may be anything."""
    if not _models:
        return
    _state["steps"] += 1
    for model, watched in list(_models.items()):
        if _state["steps"] % watched.every == 0 and _state["texts"] < _MOST_TEXTS:
            _write(model._get_ddp_logging_data(), watched)


def _write(data, watched):
    iteration = data.get("iteration", 0)
    if iteration <= watched.iteration or any(field not in data for field in _FIELDS):
        return
    watched.iteration = iteration
    sizes = data.get("rebuilt_bucket_sizes") or data.get("bucket_sizes") or ""
    sizes = [int(size) for size in sizes.split(",") if size.strip().isdigit()]
    _state["texts"] += 1
    capture.text(
        capture.TEXT_MARK,
        {
            "what": "exchange",
            "model": watched.number,
            "iteration": iteration,
            "backend": str(data.get("backend_name", "")),
            "hook": str(data.get("comm_hook", "")),
            "bucket_bytes": sizes,
            **{name: data[field] for name, field in zip(_NAMES, _FIELDS)},
        },
    )
