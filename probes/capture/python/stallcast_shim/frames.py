"""Our functions stand between a script and torch's, which warn about what called them (stacklevel). Python leaves out
the frames of its own import machinery there, which it knows by their file's name: ours say that name as well, so that a
warning is of the script's line with us as without.
"""

_LEFT_OUT = " (importlib._bootstrap)"


def unseen(function):
    """The function itself, no longer counted as a caller by warnings."""
    code = function.__code__
    if hasattr(code, "replace"):  # since Python 3.8
        function.__code__ = code.replace(co_filename=code.co_filename + _LEFT_OUT)
    return function
