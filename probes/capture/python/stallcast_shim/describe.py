"""Describes what the records are about: this process, a loader. Reads configuration, changes and initialises nothing."""

import os
import sys

from . import capture, sizes

_MOST_OPTIMIZERS = 16

_process = {"described": False}
_optimizers = set()  # whose gradients were written


def _forget():
    """A forked child has a recording of its own, in which nothing is described yet."""
    _process["described"] = False
    _optimizers.clear()


os.register_at_fork(after_in_child=_forget)


def write_consumer(is_torch_complete, framework="pytorch"):
    """Writes the process text of one that trains. In the middle of `import torch` it is short of the thread count, and
    the whole text follows at the first pass or step: the later one holds."""
    if _process["described"]:
        return
    _process["described"] = is_torch_complete
    described = dict(
        _process_text("consumer", is_torch_complete),
        framework=framework,
        framework_version=_version(framework),
        cuda=_cuda_usable(framework),
        rank=_environment_integer("RANK"),
        world_size=_world_size(),
        local_rank=_environment_integer("LOCAL_RANK"),
        cpus=_cpus(),
    )
    capture.text(capture.TEXT_PROCESS, described)


_WITH_JAX = ("flax", "optax", "equinox", "haiku")


def trains_with_jax():
    """Grain and others import JAX where it is installed, so that JAX alone says little."""
    return any(name in sys.modules for name in _WITH_JAX)


def write_gradients(optimizer):
    """Writes once how many bytes an optimizer's gradients take, which ranks sum up in each step."""
    if id(optimizer) in _optimizers or len(_optimizers) >= _MOST_OPTIMIZERS:
        return
    _optimizers.add(id(optimizer))
    try:
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        size = sum(gradient.numel() * gradient.element_size() for gradient in gradients)
    except Exception:
        return  # not an optimizer like torch's: nothing is known of its gradients
    capture.text(capture.TEXT_MARK, {"what": "gradients", "bytes": size, "optimizer": _type_name(optimizer)})


def write_prepared(loader_id, batch, samples):
    """Writes what a batch takes once it is prepared: what a network between loader and training would carry."""
    size = sizes.bytes_of(batch)
    if size:
        capture.text(capture.TEXT_MARK, {"what": "prepared", "loader_id": loader_id, "bytes": size, "samples": samples})


_COUNTED = {
    sizes.LEADING: ("the loader does not say how many samples a batch holds: what its data set hands over counts by its "
                    "leading dimension, {} in the first batch"),
    sizes.ITEM: "the loader does not say how many samples a batch holds: what its data set hands over counts as one",
}


def write_counted(text, samples, by):
    """Says by what the samples of batches are counted whose loader does not say how many there are, where that is a guess.
    `text`: the loader text, or None."""
    told = text or {}
    if by not in _COUNTED or told.get("batch_size") == samples:
        return
    says_it = "" if told.get("kind") == "keras" else "; DataLoader(batch_size=...) says it itself"
    capture.issue("samples-counted", "info", _COUNTED[by].format(samples),
                  "rates are in samples per second of this count" + says_it)


def write_worker(number, workers):
    """Writes the process text of a loader's worker, once it is set up."""
    described = dict(_process_text("worker", True), worker=number, num_workers=workers)
    capture.text(capture.TEXT_PROCESS, described)


def _process_text(role, is_torch_complete):
    torch = sys.modules.get("torch")
    return {
        "role": role,
        "python": sys.version.split()[0],
        "torch": str(getattr(torch, "__version__", "")),
        "torch_threads": torch.get_num_threads() if is_torch_complete and torch is not None else None,
        "opencv_threads": _opencv_threads(),
    }


def _opencv_threads():
    cv2 = sys.modules.get("cv2")
    try:
        return int(cv2.getNumThreads())
    except Exception:
        return None  # not imported


_MODULES = {"pytorch": "torch"}  # where the module is not called as its framework


def _version(framework):
    module = sys.modules.get(_MODULES.get(framework, framework))
    return str(getattr(module, "__version__", ""))


def _cuda_usable(framework):
    """Whether the framework was built for a GPU and a driver's device is there. Asking CUDA itself would initialise it,
    and a process that forks its workers after that breaks. Where the build does not say, the device alone decides."""
    version = getattr(sys.modules.get("torch"), "version", None)
    built = getattr(version, "cuda", None) if framework == "pytorch" else _is_cuda_build(framework)
    if built:
        return os.path.exists("/dev/nvidiactl") and os.environ.get("CUDA_VISIBLE_DEVICES") not in ("", "-1")
    return bool(getattr(version, "hip", None)) and os.path.exists("/dev/kfd")


def _is_cuda_build(framework):
    if framework != "tensorflow":
        return True
    try:
        return bool(sys.modules["tensorflow"].sysconfig.get_build_info()["is_cuda_build"])
    except Exception:
        return True


def _cpus():
    """How many CPUs this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return None


def _environment_integer(name):
    try:
        return int(os.environ[name])
    except (KeyError, ValueError):
        return None


def _world_size():
    """By the launcher, or as the script has told torch.distributed; None: of no ranks that anybody knows of."""
    size = _environment_integer("WORLD_SIZE")
    distributed = sys.modules.get("torch.distributed")
    is_initialized = getattr(distributed, "is_initialized", None)  # not of a torch without it, or half imported
    if size is None and is_initialized is not None and is_initialized():
        size = distributed.get_world_size()
    return size


def _workers(loader):
    """None: not known. GraphBolt's are of a loader within its data pipes; it is given 0 itself."""
    if type(loader).__module__.startswith("dgl.graphbolt."):
        return None
    return _integer(getattr(loader, "num_workers", None))


def loader(loader_id, loader, iterator):
    """The loader text. Only after its iterator exists: by then torch has chosen the start method itself."""
    iterable = _is_iterable(iterator)
    made_ahead = _keras_makes_ahead(loader)
    workers = None if made_ahead else _workers(loader)
    sampler = _effective_sampler(loader)
    return {
        "loader_id": loader_id,
        "kind": "keras" if made_ahead is not None else "iterable" if iterable else "map",
        "dataset_type": _type_name(getattr(loader, "dataset", None)),
        "batch_size": _batch_size(loader),
        "num_workers": workers,
        "prefetch_factor": _integer(getattr(loader, "prefetch_factor", None)) if workers else None,
        "pin_memory": bool(getattr(loader, "pin_memory", False)),
        "pin_memory_effective": bool(getattr(iterator, "_pin_memory", False)),
        "persistent_workers": bool(getattr(loader, "persistent_workers", False)),
        "in_order": bool(getattr(loader, "in_order", True)),
        "drop_last": _drop_last(loader),
        "shuffled": None if iterable else _shuffled(sampler),
        "dataset_samples": None if iterable else _length(getattr(loader, "dataset", None)),
        "multiprocessing_context": _start_method(loader) if workers else None,
        "batches": None if iterable else _batches(loader, sampler),
        "batch_sampler_type": _type_name(getattr(loader, "batch_sampler", None)),
        "sampler_type": _type_name(sampler),
        "timeout": getattr(loader, "timeout", None),
        **_fastais(loader),
    }


def _fastais(loader):
    """fastai gives torch a loader that iterates its own one: what that one has been told."""
    if type(loader).__name__ != "_FakeLoader" or not type(loader).__module__.startswith("fastai."):
        return {}
    told = getattr(vars(loader).get("d"), "__dict__", {})
    known = {
        "dataset_type": _type_name(told.get("dataset")),
        "batch_size": _integer(told.get("bs")),
        "dataset_samples": _integer(told.get("n")),
    }
    known.update((name, told[key]) for name, key in (("drop_last", "drop_last"), ("shuffled", "shuffle"))
                 if isinstance(told.get(key), bool))
    return {name: value for name, value in known.items() if value is not None}


def _keras_makes_ahead(loader):
    """Keras on torch iterates a PyDataset or a generator through a loader of its own: whether workers of Keras' make its
    batches ahead; None: it is no such loader."""
    dataset = getattr(loader, "dataset", None)
    if not type(dataset).__module__.startswith("keras.") or type(dataset).__name__ != "ConverterIterableDataset":
        return None
    frame = getattr(getattr(dataset, "iterable", None), "gi_frame", None)
    adapter = frame.f_locals.get("self") if frame is not None else None
    return getattr(adapter, "enqueuer", None) is not None


def _is_iterable(iterator):
    return getattr(iterator, "_dataset_kind", 0) != 0


def _integer(value):
    return value if type(value) is int else None


def _type_name(value):
    return None if value is None else type(value).__name__[:200]


def _batch_size(loader):
    size = getattr(loader, "batch_size", None)
    if size is None:
        size = getattr(getattr(loader, "batch_sampler", None), "batch_size", None)
    return _integer(size)


def _drop_last(loader):
    if getattr(loader, "batch_size", None) is None:
        drop_last = getattr(getattr(loader, "batch_sampler", None), "drop_last", False)
    else:
        drop_last = getattr(loader, "drop_last", False)
    return drop_last if isinstance(drop_last, bool) else None


def _effective_sampler(loader):
    """What chooses the samples: with a batch sampler of the user's, loader.sampler is an unused default."""
    batch_sampler = getattr(loader, "batch_sampler", None)
    if batch_sampler is None:
        return getattr(loader, "sampler", None)
    for _ in range(8):  # samplers that shard for ranks wrap others
        inner = getattr(batch_sampler, "batch_sampler", None)
        if inner is None:
            break
        batch_sampler = inner
    return getattr(batch_sampler, "sampler", None)


def _shuffled(sampler):
    if sampler is None:
        return None
    shuffle = getattr(sampler, "shuffle", None)  # as DistributedSampler has
    if isinstance(shuffle, bool):
        return shuffle
    return not any(base.__name__ == "SequentialSampler" for base in type(sampler).__mro__)


def _length(value):
    try:
        return len(value)
    except Exception:
        return None


def _batches(loader, sampler):
    """len(loader) where only torch's own samplers answer it: a user's may have side effects on its random state."""
    for part in (getattr(loader, "batch_sampler", None), sampler):
        if part is not None and not type(part).__module__.startswith("torch."):
            return None
    return _length(loader)


_TRUSTED = ("torch.utils.data", "torchdata.", "accelerate.data_loader")


def sampler_length(sampler):
    """len(sampler) where torch's own answer it all the way down; None elsewhere: a user's __len__ is not asked, as it may
    be wrong, may change, and may draw random numbers."""
    part = sampler
    for _ in range(4):
        if not type(part).__module__.startswith(_TRUSTED):
            return None
        inner = getattr(part, "batch_sampler", None)
        if inner is None:  # `or` would ask for its length
            inner = getattr(part, "sampler", None)
        if inner is None or inner is part:
            break
        part = inner
    return _length(sampler)


def period(iterator):
    """Batches of an epoch of a loader whose sampler repeats one of torch's for ever (timm's MultiEpochsDataLoader,
    ultralytics' InfiniteDataLoader and those copied from them); None for all others."""
    sampler = getattr(iterator, "_index_sampler", None)
    repeated = getattr(sampler, "sampler", None)
    if sampler is None or hasattr(type(sampler), "__len__"):
        return None
    length = sampler_length(repeated)
    return length if length is not None and length > 1 else None


def _start_method(loader):
    import multiprocessing

    context = getattr(loader, "multiprocessing_context", None)
    if context is None:
        return multiprocessing.get_start_method(allow_none=True)
    return getattr(context, "_name", None) or context.get_start_method(allow_none=True)
