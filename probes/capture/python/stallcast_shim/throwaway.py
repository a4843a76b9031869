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

# module -> functions of it whose first argument named here is the place to write to
_WRITERS = {
    "torch.serialization": {"save": ("f", 1)},
    "torch.distributed.checkpoint.state_dict_saver": {
        "save": ("checkpoint_id", None),
        "async_save": ("checkpoint_id", None),
    },
    "safetensors.torch": {"save_file": ("filename", 1), "save_model": ("filename", 1)},
}

MODULES = tuple(_WRITERS)

_told = set()


def patch(module):
    """Called with one of MODULES just imported."""
    if not phases.is_phased():
        return
    for name, (parameter, position) in _WRITERS[module.__name__].items():
        real = getattr(module, name, None)
        if real is not None:
            setattr(module, name, _redirected(real, module.__name__ + "." + name, parameter, position))


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
    if title not in _told:
        _told.add(title)
        capture.issue(
            "checkpoint-discarded",
            "info",
            title + " was called: what it wrote went to a discard folder",
            "a run with phases is a throwaway run; train without stallcast, or with --phases as_is, to keep checkpoints",
        )
    return args, kwargs


def _elsewhere(place):
    """A path in the discard folder for a path, a buffer for an open file."""
    if isinstance(place, (str, os.PathLike)):
        folder = os.path.join(os.environ["STALLCAST_RUN_DIR"], "discard")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return os.path.join(folder, str(os.getpid()) + "-" + os.path.basename(os.fspath(place)))
    return io.BytesIO()
