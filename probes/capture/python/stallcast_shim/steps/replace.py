"""Code that calls something else in the place of what it was. The function stays the script's own object, and whoever
holds it, or a method bound to it, calls that.
"""

import atexit
import functools
import itertools
import linecache
import os
import sys
import types
import weakref

from ..frames import is_ours, leave_out, unseen
from . import compilers


def copy_of(function):
    """A function of its own with what `function` does now."""
    copy = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__,
                              function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__qualname__ = function.__qualname__
    copy.__doc__ = function.__doc__
    if hasattr(function, "__annotate__"):  # since Python 3.14: asking for annotations evaluates them
        copy.__annotate__ = function.__annotate__
    else:
        copy.__annotations__ = function.__annotations__
    return copy


def call_instead(function, original, run):
    """From here on, calling `function` is run(*args, **kwargs). `original`: its copy."""
    target = _Target(original, run)
    key = "%d.%d" % (os.getpid(), next(_numbers))
    _originals[key] = weakref.ref(original, lambda _: _originals.pop(key, None))
    _replaced.append((weakref.ref(function), weakref.ref(original)))
    function.__code__ = _calling(function.__code__, target, key)
    compilers.skip(function.__code__)
    if not hasattr(function, "__wrapped__"):
        function.__wrapped__ = original  # whoever asks for its source or its signature has the original's


def put_back(function, original):
    """Calling `function` is what it was, where its code is still ours."""
    if not is_ours(function.__code__):
        return
    function.__code__ = original.__code__
    if getattr(function, "__wrapped__", None) is original:
        del function.__wrapped__


class _Target:
    """What the function's code calls. A function that is sent to another process by value (cloudpickle) takes the
    original along, and nothing of ours."""

    def __init__(self, original, run):
        self._original = original
        self._run = run

    leave_out = staticmethod(leave_out)

    @unseen
    def __call__(self, *args, **kwargs):
        return self._run(*args, **kwargs)

    def __reduce__(self):
        return functools.partial, (self._original,)


def _put_all_back():
    """At the interpreter's end, what the functions' code needs goes before they do."""
    for function, original in _alive():
        put_back(function, original)


def _keep_out():
    for function, _ in _alive():
        if is_ours(function.__code__):
            compilers.skip(function.__code__)


def _alive():
    pairs = [(one(), other()) for one, other in _replaced]
    return [pair for pair in pairs if None not in pair]


atexit.register(_put_all_back)
compilers.before_any(_keep_out)


def original_of(key):
    """What a compiler finds in the place of the target."""
    return _originals[key]()


def _file_of(code, template):
    """TensorFlow's AutoGraph reads a function's source by the file and the line of its code: it finds the function's own."""
    if "tensorflow" not in sys.modules:
        return template.co_filename
    name = template.co_filename + " for " + code.co_filename
    lines = linecache.getlines(code.co_filename)
    linecache.cache.setdefault(name, (sum(map(len, lines)), None, lines, name))
    return name


def _calling(code, target, key):
    """Code that calls `target` with all that it is given. A closure's cells are carried along unused."""
    compiler = getattr(sys.modules.get("torch"), "compiler", None)
    template = _template.__code__
    places = {_PLACE: target, _KEY: key, _COMPILER: hasattr(compiler, "is_compiling")}
    constants = tuple(places.get(constant, constant) if type(constant) is str else constant
                      for constant in template.co_consts)
    names = {"co_filename": _file_of(code, template), "co_name": code.co_name, "co_firstlineno": code.co_firstlineno,
             "co_consts": constants, "co_freevars": code.co_freevars}
    if hasattr(code, "co_qualname"):
        names["co_qualname"] = code.co_qualname
    return template.replace(**names)


_numbers = itertools.count()
_replaced = []  # weak references to functions and their originals
_originals = {}  # key of a target -> weak reference to the original
_PLACE = "stallcast: the function that is called"
_KEY = "stallcast: the key of its original"
_COMPILER = "stallcast: whether there may be a compiler"


@unseen
def _template(*args, **kwargs):
    has_compiler = "stallcast: whether there may be a compiler"
    if has_compiler:
        from torch.compiler import is_compiling

        if is_compiling():  # a compiler looks into this, and cannot read what the target is
            from stallcast_shim.steps.replace import original_of

            return original_of("stallcast: the key of its original")(*args, **kwargs)
    target = "stallcast: the function that is called"
    try:
        return target(*args, **kwargs)
    except BaseException as error:
        if hasattr(target, "leave_out"):  # in another process it is the original
            target.leave_out(error)
        raise
