"""Where the command `stallcast` is, and what environment to start it with."""

import os
import shutil

_HERE = os.path.dirname(os.path.abspath(__file__))
# From this folder: the wheel's, that of an installed tree (share/stallcast/python/stallcast), that of a build folder.
_BESIDE = (("_tool", "bin"), ("..", "..", "..", "..", "bin"), ("..", "..", "..", "..", "cli"))
# What a user sets for the tool; all other variables of ours belong to one run.
_SETTINGS = ("STALLCAST_CPU_PROBE", "STALLCAST_GPU_PROBE", "STALLCAST_OVERHEAD")


def find(binary=False):
    """The path of the command, or None: the one that this file came with, else that on PATH.

    binary: no script, which may be the one that asks.
    """
    for parts in _BESIDE:
        path = os.path.normpath(os.path.join(_HERE, *parts, "stallcast"))
        if _is_program(path):
            return path
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        path = shutil.which("stallcast", path=folder) if folder else None
        if path is not None and (not binary or _is_binary(path)):
            return path
    return None


def missing():
    """What to tell a user for whom find() found nothing."""
    return "there is no stallcast command here: pip install stallcast, or put its bin folder on PATH"


def environment():
    """A copy of the environment in which nothing of a run that this process belongs to is left."""
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith("STALLCAST_") or name in _SETTINGS}
    _without(clean, "LD_PRELOAD", [os.environ.get("STALLCAST_CAPTURE_LIB")])
    _without(clean, "PYTHONPATH", [path for path in clean.get("PYTHONPATH", "").split(":") if _is_shim(path)])
    if clean.get("CUDA_INJECTION64_PATH") == os.environ.get("STALLCAST_GPU_LIB"):
        clean.pop("CUDA_INJECTION64_PATH", None)
    return clean


def _is_program(path):
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _is_binary(path):
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def _is_shim(path):
    return os.path.isdir(os.path.join(path, "stallcast_shim"))


def _without(variables, name, left_out):
    """Takes the entries `left_out` from a list with colons; one that is then empty is taken away."""
    if name not in variables:
        return
    kept = [entry for entry in variables[name].split(":") if entry not in left_out]
    if any(kept):
        variables[name] = ":".join(kept)
    else:
        del variables[name]
