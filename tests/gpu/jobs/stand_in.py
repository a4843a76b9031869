"""Plays the CUDA driver where there is none: what cuInit() does with CUDA_INJECTION64_PATH, and no more. And another
profiler, where there is one.

A rehearsal's jobs import this. The injected library then meets the scripted libcupti that STALLCAST_CUPTI_LIB names, so
that everything behind the driver (probe, recording, analysis, report) is the product's own.
"""

import ctypes
import os

import torch

DEVICE_NODE = "/dev/nvidiactl"

# What CUPTI keeps for as long as the process lives.
_subscriber = ctypes.c_void_p()
_ignore = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)(lambda *_: None)


def play_driver() -> None:
    """Loads the injection as cuInit() would: one library, whoever it belongs to; nothing where none is named."""
    path = os.environ.get("CUDA_INJECTION64_PATH")
    library = ctypes.CDLL(path, mode=os.RTLD_NOW) if path else None
    if hasattr(library, "InitializeInjection"):
        library.InitializeInjection()


def subscribe_to_cupti() -> None:
    """Takes torch's own libcupti before CUDA starts, as a profiler within the job does. Needs a driver."""
    names = ("libcupti.so.13", "libcupti.so.12")
    for name in names:
        try:
            library = ctypes.CDLL(name, mode=os.RTLD_NOW)
        except OSError:
            continue
        status = library.cuptiSubscribe(ctypes.byref(_subscriber), _ignore, None)
        if status != 0:
            raise RuntimeError(f"cuptiSubscribe gives {status}")
        return
    raise RuntimeError(f"none of {', '.join(names)}")


def play_cuda_build() -> None:
    """Makes this process look to the shim as a CUDA build beside a driver's device does, before it looks."""
    exists = os.path.exists
    torch.version.cuda = "13.0"
    os.path.exists = lambda path: path == DEVICE_NODE or exists(path)
