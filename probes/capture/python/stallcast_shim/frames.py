"""Our functions stand between a script and torch's. What Python shows of who called whom is as without them.

Warnings look at what called them (stacklevel), and leave out the frames of Python's own import machinery, which they
know by their file's name: ours say that name as well. Of an error's traceback ours are taken out.
"""

import os
import sys

_LEFT_OUT = " (importlib._bootstrap)"
_RAISE_ADDS = sys.version_info < (3, 11)  # `raise` alone goes back to the traceback that the error had when it came


def unseen(function):
    """The function itself, no longer counted as a caller by warnings."""
    code = function.__code__
    if hasattr(code, "replace"):  # since Python 3.8
        function.__code__ = code.replace(co_filename=code.co_filename + _LEFT_OUT)
    return function


_OURS = os.path.dirname(unseen.__code__.co_filename) + os.sep


def is_ours(code):
    """Whether it was written by us, unseen or not."""
    return code.co_filename.startswith(_OURS)


def leave_out(error):
    """Takes our frames out of the traceback of an error that a function of ours is about to raise again, by `raise`
    alone. Before Python 3.11 its own frame stays."""
    try:
        _leave_out(error)
    except Exception:
        pass  # the script's error goes on as it is


def _leave_out(error):
    first = last = None
    outermost = at = error.__traceback__
    while at is not None:
        if not is_ours(at.tb_frame.f_code):
            if last is None:
                first = at
            elif last.tb_next is not at:
                last.tb_next = at
            last = at
        at = at.tb_next
    if last is not None:
        last.tb_next = None
    if not _RAISE_ADDS:
        BaseException.with_traceback(error, first)  # its class may refuse that attributes are set
    elif outermost is not first:
        outermost.tb_next = first
