"""A phased run trains on repeated and replayed batches: nothing that it saves may replace what the user has.

Functions that write checkpoints are redirected to a discard folder inside the run folder, which goes with the run. Each
redirection is one data issue per function. A passive run is not touched, and neither is a run before its phases begin:
until then, or for good where no loader can be switched, it is the user's own training.
"""

import functools
import io
import os
import time

from . import capture, phases

# module -> functions of it, or methods of its classes, with the argument that is the place to write to
_WRITERS = {
    "torch.serialization": {"save": ("f", 1)},
    "torch.distributed.checkpoint.state_dict_saver": {
        "save": ("checkpoint_id", None),
        "async_save": ("checkpoint_id", None),
    },
    "safetensors.torch": {"save_file": ("filename", 1), "save_model": ("filename", 1)},
    "keras.src.saving.saving_api": {"save_model": ("filepath", 1), "save_weights": ("filepath", 1)},
    "tensorflow.python.saved_model.save": {"save": ("export_dir", 1)},
    "tensorflow.python.checkpoint.checkpoint": {
        "Checkpoint.save": ("file_prefix", 1),
        "Checkpoint.write": ("file_prefix", 1),
    },
}

# module -> methods that also remove what they had written before: not called at all, the attribute is what they return
_KEEPERS = {"tensorflow.python.checkpoint.checkpoint_management": {"CheckpointManager.save": "latest_checkpoint"}}

_told = set()


def patch(module):
    """Called with a module that is named above just imported."""
    if not phases.is_phased():
        return
    title = module.__name__ + "."
    for name, (parameter, position) in _WRITERS.get(module.__name__, {}).items():
        _replace(module, name, lambda real, name=name, at=(parameter, position): _redirected(real, title + name, *at))
    for name, returned in _KEEPERS.get(module.__name__, {}).items():
        _replace(module, name, lambda real, name=name, returned=returned: _left_out(real, title + name, returned))


def _replace(module, name, make):
    """Replaces a function, or the method of a class."""
    owner, _, own_name = name.rpartition(".")
    holder = getattr(module, owner, None) if owner else module
    real = getattr(holder, own_name, None)
    if real is not None:
        setattr(holder, own_name, make(real))


def _left_out(real, title, returned):
    @functools.wraps(real)
    def save(self, *args, **kwargs):
        if not phases.is_armed():
            return real(self, *args, **kwargs)
        _tell(title, "was called: nothing was written, and nothing older removed")
        return getattr(self, returned, None)

    return save


def _redirected(real, title, parameter, position):
    @functools.wraps(real)
    def write(*args, **kwargs):
        if not phases.is_armed():
            return real(*args, **kwargs)
        try:
            args, kwargs = _discard(title, args, kwargs, parameter, position)
        except Exception as error:
            capture.fail("discarding a checkpoint", error)
        begin_ns = time.monotonic_ns()
        try:
            return real(*args, **kwargs)
        finally:  # a block in which this took its time does not show its phase
            mark = {"what": "checkpoint", "begin_ns": begin_ns, "end_ns": time.monotonic_ns()}
            capture.text(capture.TEXT_MARK, mark)

    return write


def _discard(title, args, kwargs, parameter, position):
    if parameter in kwargs:
        kwargs = dict(kwargs)
        kwargs[parameter] = _elsewhere(kwargs[parameter])
    elif position is not None and len(args) > position:
        args = args[:position] + (_elsewhere(args[position]),) + args[position + 1 :]
    else:
        return args, kwargs
    _tell(title, "was called: what it wrote went to a discard folder")
    return args, kwargs


def _tell(title, what):
    if title in _told:
        return
    _told.add(title)
    capture.issue(
        "checkpoint-discarded",
        "info",
        title + " " + what,
        "a run with phases is a throwaway run; train without stallcast, or with --phases as_is, to keep checkpoints",
    )


def _elsewhere(place):
    """A path in the discard folder for a path, a buffer for an open file."""
    if isinstance(place, (str, os.PathLike)):
        folder = os.path.join(os.environ["STALLCAST_RUN_DIR"], "discard")
        if os.path.dirname(os.fspath(place)) == folder:
            return place  # one of these functions calls another
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return os.path.join(folder, str(os.getpid()) + "-" + os.path.basename(os.fspath(place)))
    return io.BytesIO()
