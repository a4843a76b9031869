"""Finds the operators that a data set's samples pass through: transforms, alone and in chains. Looks, calls nothing.

    dataset.transform = Compose([Resize(256), crop, ToTensor()])   ->   transform, transform[0], [1], [2]

Only attributes are followed whose name or content says that they hold operators, and data sets within data sets.
"""

import types

MOST_OBJECTS = 256
_DEEPEST = 8
_MOST_LOOKS = 4096  # at things that may be operators: a list may hold anything

_OPERATOR_WORDS = ("transform", "augment", "preprocess")
_DATASET_NAMES = ("dataset", "datasets", "_dataset", "_datasets", "base_dataset", "ds", "source")
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)


class Operator:
    """A callable, where it was found, and the Operator of the chain that calls it (None: something unknown does)."""

    def __init__(self, called, where, chain):
        self.called = called
        self.where = where
        self.chain = chain
        self.elements = []  # of a chain, its Operators in order


def find(dataset, collate_fn):
    """The operators below both, each object (but functions) once."""
    walk = _Walk()
    walk.dataset(dataset, "", 0)
    walk.dataset(collate_fn, "collate", 0)
    return walk.operators


def is_function(called):
    """Whether it has no class of its own that could be told from others."""
    return isinstance(called, _FUNCTIONS + (type,)) or type(called).__module__ in ("builtins", "functools")


def fields(thing):
    """The attributes of an object as a dict, an nn.Module's parts among them; never calls the script's code."""
    try:
        own = object.__getattribute__(thing, "__dict__")
    except Exception:
        return {}
    if not isinstance(own, dict):
        return {}
    modules = own.get("_modules")
    return dict(own, **modules) if isinstance(modules, dict) and modules else own


class _Walk:
    def __init__(self):
        self.operators = []
        self.seen = set()
        self.looks = 0

    def _enters(self, thing, depth):
        if depth > _DEEPEST or id(thing) in self.seen or len(self.seen) >= MOST_OBJECTS:
            return False
        self.seen.add(id(thing))
        return True

    def dataset(self, thing, where, depth):
        """Operators that a data set (or a collate function) holds, and data sets that it holds."""
        if not self._enters(thing, depth):
            return
        for name, value in list(fields(thing).items()):
            if not isinstance(name, str):
                continue
            place = where + "." + name if where else name
            if name in _DATASET_NAMES or _is_dataset(value):
                for part, index in _each(value):
                    self.dataset(part, where if index is None else place + index, depth + 1)
            elif _names_operators(name) or _elements(value):
                self.operator(value, place, None, depth + 1)

    def operator(self, thing, where, chain, depth):
        """`thing` as one operator, and those inside it; a list of operators is none itself."""
        self.looks += 1
        if depth > _DEEPEST or self.looks > _MOST_LOOKS:
            return None
        if isinstance(thing, (list, tuple, dict)):
            for part, index in _each(thing):
                self.operator(part, where + index, None, depth + 1)
            return None
        is_twice = not is_function(thing) and not self._enters(thing, depth)  # a function is nothing but its place
        if not callable(thing) or is_twice or len(self.operators) >= MOST_OBJECTS:
            return None
        found = Operator(thing, where, chain)
        self.operators.append(found)
        if is_function(thing):
            return found
        elements = _elements(thing)
        for part, index in elements:
            element = self.operator(part, where + index, found, depth + 1)
            found.elements.append(element)
        inside = {id(part) for part, _ in elements}
        for name, value in list(fields(thing).items()):
            if isinstance(name, str) and _names_operators(name) and name != "transforms" and id(value) not in inside:
                self.operator(value, where + "." + name, None, depth + 1)
        return found


def _names_operators(name):
    lower = name.lower()
    return any(word in lower for word in _OPERATOR_WORDS)


def _is_dataset(value):
    return any(
        base.__name__ == "Dataset" and base.__module__.startswith("torch.utils.data") for base in type(value).__mro__
    )


def _each(value):
    """(part, "[index]") of a list, tuple or dict; (value, None) for anything else."""
    if isinstance(value, (list, tuple)):
        return [(part, "[%d]" % number) for number, part in enumerate(value[:MOST_OBJECTS])]
    if isinstance(value, dict):
        return [(part, "[%s]" % key) for key, part in list(value.items())[:MOST_OBJECTS]]
    return [(value, None)]


def _elements(thing):
    """What a Compose-like object calls, as (operator, "[index]"): its `transforms`, or a Sequential's modules."""
    if isinstance(thing, (list, tuple, dict)) or is_function(thing) or not callable(thing):
        return []
    own = fields(thing)
    held = own.get("transforms")
    if held is None and _is_sequential(thing):
        held = list(own.get("_modules", {}).values())
    elif _is_sequential(held):
        held = list(fields(held).get("_modules", {}).values())
    if not isinstance(held, (list, tuple)) or not all(callable(part) for part in held[:MOST_OBJECTS]):
        return []
    return _each(held)


def _is_sequential(thing):
    return any(
        base.__name__ in ("Sequential", "ModuleList") and base.__module__.startswith("torch.nn")
        for base in type(thing).__mro__
    )
