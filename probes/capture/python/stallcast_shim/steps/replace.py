"""Code that calls something else in the place of what it was. The function stays the script's own object, and whoever
holds it, or a method bound to it, calls that.
"""

import functools
import types

from ..frames import unseen


def copy_of(function):
    """A function of its own with what `function` does now."""
    copy = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__,
                              function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__qualname__ = function.__qualname__
    return copy


def call_instead(function, original, run):
    """From here on, calling `function` is run(*args, **kwargs). `original`: its copy."""
    function.__code__ = _calling(function.__code__, _Target(original, run))
    if not hasattr(function, "__wrapped__"):
        function.__wrapped__ = original  # whoever asks for its source or its signature has the original's


class _Target:
    """What the function's code calls. A function that is sent to another process by value (cloudpickle) takes the
    original along, and nothing of ours."""

    def __init__(self, original, run):
        self._original = original
        self._run = run

    @unseen
    def __call__(self, *args, **kwargs):
        return self._run(*args, **kwargs)

    def __reduce__(self):
        return functools.partial, (self._original,)


def _calling(code, target):
    """Code that calls `target` with all that it is given. A closure's cells are carried along unused."""
    template = _template.__code__
    constants = tuple(target if constant == _PLACE else constant for constant in template.co_consts)
    names = {"co_name": code.co_name, "co_firstlineno": code.co_firstlineno, "co_consts": constants,
             "co_freevars": code.co_freevars}
    if hasattr(code, "co_qualname"):
        names["co_qualname"] = code.co_qualname
    return template.replace(**names)


_PLACE = "stallcast: the function that is called"


@unseen
def _template(*args, **kwargs):
    target = "stallcast: the function that is called"
    return target(*args, **kwargs)
