"""CUPTI has one client at a time: before the job's own profiler becomes it, the GPU probe makes room."""

import functools
import os

from .. import capture
from ..frames import unseen


def _yield_to(who):
    """Tells the probe, where the driver has loaded it into this process."""
    path = os.environ.get("STALLCAST_GPU_LIB")
    if not path:
        return
    try:
        import ctypes

        library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except (ImportError, OSError):
        return  # not loaded: no GPU was touched
    library.stallcast_gpu_yield(who.encode())


def patch(module):
    """Called with torch.autograd.profiler just imported: torch.profiler goes through it, too."""
    real = getattr(module.profile, "_prepare_trace", None)
    if real is None:
        return  # a torch that does it otherwise: CUPTI itself then refuses one of the two

    @functools.wraps(real)
    @unseen
    def _prepare_trace(self, *args, **kwargs):
        try:
            _yield_to("torch.profiler")
        except Exception as error:
            capture.issue("gpu-probe-stays", "warning", "the GPU probe could not make room: " + repr(error),
                          "STALLCAST_GPU_PROBE=off leaves CUPTI to the job's own profiler")
        return real(self, *args, **kwargs)

    module.profile._prepare_trace = _prepare_trace
