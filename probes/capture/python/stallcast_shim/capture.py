"""The calls of the capture library, bound once per process: built-in functions where possible, else ctypes.

`calls.enabled` is what every wrapper asks first. A failure of ours ends in fail(): one data issue, everything off.
"""

import os

UNKNOWN = 0xFFFFFFFF  # "ready" not known, "worker" is the main process
TEXT_PROCESS, TEXT_LOADER, TEXT_ITERATOR, TEXT_ISSUE, TEXT_MARK, TEXT_SEGMENT, TEXT_PART = 1, 2, 3, 4, 5, 6, 7
TEXT_BURST, TEXT_AHEAD = 8, 9
END_OF_EPOCH, FIRST = 1, 2

_NAMES = ("wait_begin", "wait_end", "step", "batch_asked", "batch_begin", "batch_end", "batch_put",
          "phase_turn", "segments")


class _Calls:
    """The bound functions; of no use before start() said yes."""

    enabled = False
    library = None
    timed_operator = None  # these only where the interpreter can be extended
    watch_generator = forget_generator = watch_calls = forget_calls = None


calls = _Calls()


def start():
    """Binds the calls at first use. True where this process can be recorded."""
    if calls.library is None:
        import ctypes

        calls.library = False
        library, is_preloaded = _open(ctypes)
        if library is None or not library.stallcast_active():
            return False
        library.stallcast_text.argtypes = [ctypes.c_uint32, ctypes.c_char_p]
        library.stallcast_text.restype = None
        calls.library = library
        calls.enabled = True
        if not is_preloaded:
            issue(
                "capture-not-preloaded",
                "warning",
                "the launcher dropped LD_PRELOAD: waits and samples are recorded, the files they read are not seen",
                "let the launcher pass LD_PRELOAD on to the training processes",
            )
        _bind(ctypes, library)
    return calls.enabled


def _open(ctypes):
    """The library and whether it came by preload. PyDLL keeps the GIL, which CDLL would drop at every call."""
    try:
        library = ctypes.PyDLL(None)
        library.stallcast_active
        return library, True
    except AttributeError:
        pass
    try:
        return ctypes.PyDLL(os.environ["STALLCAST_CAPTURE_LIB"]), False
    except (KeyError, OSError):
        return None, False


def _bind(ctypes, library):
    functions = None
    try:
        functions = _built_in_functions(ctypes, library)
    except Exception as error:
        issue(
            "python-bridge-missing",
            "info",
            "samples are marked from Python, which costs about a microsecond each: " + _words(error),
            "",
        )
    if functions is None:
        functions = _ctypes_functions(ctypes, library)
    for name, function in functions.items():
        setattr(calls, name, function)


def _built_in_functions(ctypes, library):
    make = library.stallcast_python_types
    make.argtypes = [ctypes.c_uint64]
    make.restype = ctypes.py_object
    return make(object.__basicsize__)  # raises ValueError where the interpreter lacks a function


def _ctypes_functions(ctypes, library):
    from . import fallback

    u32, u64 = ctypes.c_uint32, ctypes.c_uint64
    arguments = {"wait_end": [u64, u64, u32, u32, u32], "batch_begin": [u64, u64, u32], "batch_end": [u32],
                 "phase_turn": [u64]}
    functions = {}
    for name in _NAMES:
        function = getattr(library, "stallcast_" + name)
        function.argtypes = arguments.get(name, [])
        function.restype = u32 if name == "segments" else None
        functions[name] = function
    functions.update(fallback.factories(ctypes, library))
    return functions


def now_ns():
    """CLOCK_MONOTONIC, as the records have it."""
    import time

    return time.monotonic_ns()


def text(kind, content):
    """Records `content` (what json can hold) as a text of `kind`."""
    import json

    calls.library.stallcast_text(kind, json.dumps(content, default=str).encode())


def issue(identity, severity, detail, hint):
    """Records a data issue, which travels to the report."""
    text(TEXT_ISSUE, {"id": identity, "severity": severity, "detail": detail, "hint": hint})


def fail(where, error):
    """Something of ours failed: one data issue, and nothing more from this process. Never raises."""
    if not calls.enabled:
        return
    calls.enabled = False
    try:
        issue(
            "shim-failed",
            "error",
            "recording of this Python process ended while " + where + ": " + _words(error),
            "the command itself went on; please report this with the versions of Python and torch",
        )
    except Exception:
        pass


def _words(error):
    return (type(error).__name__ + ": " + str(error))[:400]
