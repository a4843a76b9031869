"""Operators are named and made known to the capture library, which times them where their class is called.

The class's `__call__` is replaced (probes/capture/bridge/operators.cpp); objects, their lists and what calls them stay
as they are. A function has no class of its own: within a chain that calls its elements one after another and does
nothing else, its time is what passes between the operators beside it; anywhere else it is not told apart.
"""

import os
import sys
import types

from .. import capture
from ..capture import calls
from ..thread import current
from . import chains

_FIRST, _LAST = 16, 4095  # numbers of parts that a text names
_NAMES_PER_TEXT = 24
_TORCHVISION = ("torchvision.transforms.transforms", "torchvision.transforms.v2")

_numbers = {}  # (name, where) -> number; the same in forked children
_written = set()  # numbers whose names this process's recording has
_kinds = {}  # "timed" -> type of what replaces a __call__


def _forget():
    _written.clear()


os.register_at_fork(after_in_child=_forget)


def mark(dataset, collate_fn):
    """Called with each new fetcher: what its samples pass through is known from here on. Never raises."""
    if calls.timed_operator is None:
        return  # the Python fallback: samples and collates only
    try:
        known = list(_known(dataset, collate_fn))
        if not all(calls.know_operator(*each) for each in known):  # full of what earlier loaders had
            calls.forget_operators()
            for each in known:
                calls.know_operator(*each)
        _write_names()
    except Exception as error:
        capture.issue(
            "operators-not-found",
            "info",
            "transforms could not be told apart: %s: %s" % (type(error).__name__, str(error)[:200]),
            "",
        )


def _known(dataset, collate_fn):
    """The arguments of know_operator for each operator that can be timed."""
    for operator_class in _torchvision_classes():
        if _time(operator_class):
            yield operator_class, _number(_class_name(operator_class), ""), 0, 0, 0
    for operator in chains.find(dataset, collate_fn):
        if _is_timed(operator):
            yield (operator.called, _number_of(operator)) + _untimed_beside(operator)


def _torchvision_classes():
    """For chains that nobody finds: made where they are used, or held by a closure."""
    for name in _TORCHVISION:
        module = sys.modules.get(name)
        for value in list(vars(module).values()) if module is not None else ():
            if isinstance(value, type) and value.__module__.startswith("torchvision.transforms"):
                yield value


def _is_timed(operator):
    return operator is not None and not chains.is_function(operator.called) and _time(type(operator.called))


def _time(owner):
    """Has the class's calls timed; whether they are."""
    found = next((base.__dict__["__call__"] for base in owner.__mro__ if "__call__" in base.__dict__), None)
    if "timed" not in _kinds:
        _kinds["timed"] = type(calls.timed_operator(_plain))
    if type(found) is _kinds["timed"]:
        return True
    if type(found) is not types.FunctionType or not _may_time(owner):
        return False
    try:
        owner.__call__ = calls.timed_operator(found)
    except (TypeError, AttributeError):
        return False  # a class that cannot be changed
    return True


def _may_time(owner):
    """In the main process the model runs as well, and torch.compile reads its classes: they stay as they are."""
    if current.worker is not None or owner.__module__.startswith("torchvision.transforms"):
        return True
    return not any(base.__name__ == "Module" and base.__module__.startswith("torch.nn") for base in owner.__mro__)


# --- names ---


def _class_name(owner):
    """`Resize` of torchvision's and of the script's own; `augment.Cutout` of anybody else's."""
    module = owner.__module__
    if module.startswith("torchvision.transforms") or module in ("__main__", "__mp_main__", "builtins"):
        return owner.__qualname__
    return module.rpartition(".")[2] + "." + owner.__qualname__


def _name(called):
    inner = chains.fields(called).get("lambd")  # torchvision's Lambda
    if callable(inner):
        return _class_name(type(called)) + "(" + _name(inner) + ")"
    if isinstance(called, types.MethodType):
        called = called.__func__
    if type(called).__module__ == "functools":  # partial
        called = getattr(called, "func", called)
    if isinstance(getattr(called, "__qualname__", None), str):
        return _class_name(called) if isinstance(getattr(called, "__module__", None), str) else called.__qualname__
    return _class_name(type(called))


def _number(name, where):
    """The number of an operator in the records; 0 where there are too many."""
    key = (name[:200], where[:200])
    if key not in _numbers:
        if _FIRST + len(_numbers) > _LAST:
            return 0
        _numbers[key] = _FIRST + len(_numbers)
    return _numbers[key]


def _number_of(operator):
    return _number(_name(operator.called), operator.where)


def _write_names():
    new = [[number, name, where] for (name, where), number in _numbers.items() if number not in _written]
    for begin in range(0, len(new), _NAMES_PER_TEXT):
        capture.text(capture.TEXT_PART, {"parts": new[begin : begin + _NAMES_PER_TEXT]})
    _written.update(number for number, _, _ in new)


# --- what cannot be timed itself, in chains that do nothing but call their elements ---


def _plain(self, img):
    for t in self.transforms:
        img = t(img)
    return img


def _plain_pair(self, image, target):
    for t in self.transforms:
        image, target = t(image, target)
    return image, target


def _plain_inputs(self, *inputs):
    needs_unpacking = len(inputs) > 1
    for transform in self.transforms:
        outputs = transform(*inputs)
        inputs = outputs if needs_unpacking else (outputs,)
    return outputs


def _plain_sample(self, *inputs):
    sample = inputs if len(inputs) > 1 else inputs[0]
    for transform in self.transforms:
        sample = transform(sample)
    return sample


def _does(function):
    """What a function does, whatever its variables are called."""
    code = getattr(function, "__code__", None)
    return code and (code.co_code, code.co_names, code.co_consts[1:], code.co_argcount, code.co_flags & 0x0C)


_PLAIN = {_does(function) for function in (_plain, _plain_pair, _plain_inputs, _plain_sample)}


def _is_plain(chain):
    """Whether its class calls the elements of `transforms` in order, each once, and nothing else: shown by the code."""
    owner = type(chain)
    function = owner.__call__  # the real one, timed or not
    if function.__module__.startswith("torch.nn") and hasattr(owner, "forward"):
        function = owner.forward
    return _does(function) in _PLAIN


def _untimed_beside(operator):
    """(before, chain, after) for know_operator: numbers of the parts made of untimed elements; 0 where there is none."""
    before = after = chain = 0
    if operator.chain is not None and _has_gaps(operator.chain):
        elements = operator.chain.elements
        position = next(i for i, element in enumerate(elements) if element is operator)
        before = _gap(operator.chain, position)
        chain = _number_of(operator.chain)
    if operator.elements and _has_gaps(operator):
        after = _gap(operator, len(operator.elements))
    return before, chain if before else 0, after


def _has_gaps(chain):
    """An element that occurs twice has one number, so that nobody knows which of them comes next."""
    return None not in chain.elements and _is_timed(chain) and _is_plain(chain.called)


def _gap(chain, end):
    """The part made of the untimed elements right before position `end`; 0 if there are none."""
    begin = end
    while begin > 0 and not _is_timed(chain.elements[begin - 1]):
        begin -= 1
    if begin == end:
        return 0
    name = ", ".join(_name(element.called) for element in chain.elements[begin:end])
    last = "" if end - begin == 1 else "-%d" % (end - 1)
    return _number(name, "%s[%d%s]" % (chain.where, begin, last))
