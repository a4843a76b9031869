"""Keeps torch.compile from what is ours: it would compile whatever is called beside what it has compiled.

The script's own functions are compiled as they would be without us: where one's code calls ours (replace.py), a compiler
that looks into it finds the original.
"""

import sys
import types

from ..frames import is_ours

_OURS = __name__.partition(".")[0]
_before = []


def patch(module):
    """Called with torch._dynamo.eval_frame just imported, before anything is compiled."""
    for action in _before:
        action()
    keep_out()


def are_there():
    return bool(_skipping())


def before_any(action):
    """action() is called once there is a compiler, before it compiles anything."""
    _before.append(action)


def keep_out():
    """Of all that we have imported by now."""
    if not _skipping():
        return
    seen = set()
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == _OURS:
            for thing in list(vars(module).values()):
                _skip_all(thing, seen)


def skip(code):
    """One code object, where there is a compiler."""
    for function in _skipping():
        function(code)


def _skipping():
    modules = [sys.modules.get(name) for name in ("torch._dynamo.eval_frame", "torch._C._dynamo.eval_frame")]
    return [module.skip_code for module in modules if hasattr(module, "skip_code")][:1]


def _skip_all(thing, seen):
    if isinstance(thing, (staticmethod, classmethod)):
        thing = thing.__func__
    if isinstance(thing, type) and thing.__module__.partition(".")[0] == _OURS:
        if thing not in seen:
            seen.add(thing)
            for part in list(vars(thing).values()):
                _skip_all(part, seen)
    elif isinstance(thing, types.FunctionType) and is_ours(thing.__code__):
        _skip_nested(thing.__code__)


def _skip_nested(code):
    skip(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _skip_nested(constant)
