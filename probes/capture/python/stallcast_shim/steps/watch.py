"""Which function of the script makes its batches, where no loader is seen: two steps are watched once.

A profile function of this thread (sys.setprofile) sees every call from one optimizer step to the second after it, which
makes a tree. What trains in it (a module's forward, a backward pass, an optimizer) is no making of batches; what returns
arrays and does not train may be. Arrays that a forward pass is then given prove it.

    loop -> get_batch("train")      returns (x, y)            candidate: x is given to the model
         -> model(x)                a module                  trains
         -> loss.backward()                                   trains
         -> estimate_loss() -> get_batch("val")               trains inside: looked into; the same function
"""

import collections
import gc
import itertools
import os
import sys
import time
import weakref

from .. import sizes
from ..scripts import is_script
from . import compilers

STEPS = 2
_MOST_CALLS = 400000  # of two steps; more and the watching costs too much
_NEGLIGIBLE = 0.2  # of the time of what is proven to make batches
GENERATOR, NESTED = 0x20, 0x10  # flags of code; nested: the function is made each time that the one around it is called
COROUTINES = 0x80 | 0x100 | 0x200
# Whoever asks for the locals of such a frame has Python 3.11.2 crash, where garbage is collected while it gives something.
_RESUMED = GENERATOR | COROUTINES
_LISTS = ("<listcomp>", "<setcomp>", "<dictcomp>")
_EXPRESSIONS = (*_LISTS, "<genexpr>")
_DEPTH = 3  # of lists and dicts in a batch
_MOST_PARTS = 64


class Node:
    """One call. `made`: numbers of the arrays that it returned."""

    __slots__ = ("code", "number", "children", "made", "needs_gradients", "is_graded", "trains", "is_open", "is_early",
                 "seconds", "taken", "is_batch")

    def __init__(self, code, number, is_early):
        self.code = code
        self.number = number  # of all calls
        self.is_early = is_early  # no module was called yet in this step
        self.seconds = time.perf_counter()
        self.taken = set()  # numbers of the arrays that it was called with
        self.children = []
        self.made = ()
        self.needs_gradients = False
        self.is_graded = True
        self.trains = False
        self.is_open = True
        self.is_batch = False  # it handed over what looks like one


class Watch:
    """Sees the calls of this thread from begin() to end()."""

    def __init__(self, torch, sources=(), blocking=(), passes_are_steps=False):
        """`torch`: None where others train (step_begins). `sources`: code that hands batches over; `blocking`: code that
        waits for other threads; `passes_are_steps`: a step ends with its backward pass, as no optimizer is there."""
        self._sources, self._blocking = sources, blocking
        self._handed = []  # calls of sources
        self.blocked = {}  # blocking code -> {(code of the script, line)} that called it before a forward pass
        self.is_training = False  # a module was called, or a backward pass made
        self._forward, backward, self._optimizing = _training_code(torch) if torch is not None else (set(), set(), set())
        self._steps = backward if passes_are_steps else self._optimizing
        self._training = self._forward | backward | self._optimizing
        self._is_torch = torch is not None
        self._is_apart = False  # what is called now is called for us
        self._step_calls = []  # numbers of the calls that were the last before each step that is one call
        self._is_early = True
        self._roots = []
        self._stack = []
        self._is_graded = torch.is_grad_enabled if torch is not None else _always
        self._found = {}  # code -> its calls that made arrays
        self._numbers = {}  # id of an array -> (weak reference to it, its number): none lives longer because of us
        self._lengths = {}  # number of an array -> its leading dimension
        self._given = set()  # numbers of the arrays that modules were given
        self._gave = set()  # and of those that they returned
        self._forwards = 0  # modules whose call is open
        self._forward_calls = 0  # of modules within no other
        self._calls = 0
        self._count = 0  # of arrays
        self.is_lost = False  # too many calls, or something of ours failed

    def begin(self):
        """False where another profiler holds the thread."""
        if sys.getprofile() is not None:
            return False
        compilers.keep_out()
        sys.setprofile(self._event)
        return True

    def end(self):
        if getattr(sys.getprofile(), "__self__", None) is self:
            sys.setprofile(None)
        else:
            self.is_lost = True  # the script has set one of its own meanwhile

    def step_begins(self, values):
        """A step that is one call, which no profile function sees, is made with these."""
        self.is_training = True
        self._forward_calls += 1
        self._step_calls.append(self._calls)
        for open_node in self._stack:
            open_node.trains = True
        self._note_leaves(values, self._given)

    def step_gave(self, value):
        self._note_leaves(value, self._gave)

    def _note_leaves(self, values, into):
        """Of a pytree of JAX's. What nodes of the script's own do, to be taken apart, makes no batches."""
        self._is_apart = True
        try:
            self._note(sys.modules["jax"].tree_util.tree_leaves(values), into)
        finally:
            self._is_apart = False

    def _event(self, frame, event, argument):
        if self._is_apart:
            return
        # A collection of garbage in here goes through the frame of a generator that is about to give something, and
        # Python 3.11 ends with it: it comes as soon as the script goes on.
        collects = gc.isenabled()
        gc.disable()
        try:
            if event == "call":
                self._call(frame)
            elif event == "return":
                self._return(frame, argument)
        except Exception:
            self._lose()
        finally:
            if collects:
                gc.enable()

    def _lose(self):
        self.is_lost = True
        sys.setprofile(None)

    def _call(self, frame):
        self._calls += 1
        if self._calls > _MOST_CALLS:
            self._lose()
            return
        code = frame.f_code
        node = Node(code, self._calls, self._is_early)
        (self._stack[-1].children if self._stack else self._roots).append(node)
        self._stack.append(node)
        if is_script(code) and not code.co_flags & _RESUMED:
            self._note(list(frame.f_locals.values()), node.taken, are_fields=False)
        if code in self._forward:
            if not self._forwards:
                self._note(list(frame.f_locals.values()), self._given)
                self._forward_calls += 1
            self._forwards += 1
            self._is_early = False
        elif code in self._steps:
            self._is_early = True
        if code in self._blocking and self._is_early and not self._trains():
            self._block(code, frame.f_back)
        if code in self._training:
            self.is_training = self.is_training or code not in self._optimizing
            for open_node in self._stack:
                open_node.trains = True

    def _return(self, frame, value):
        if not self._stack:
            return  # of a call that began before
        node = self._stack.pop()
        node.is_open = False
        node.seconds = time.perf_counter() - node.seconds
        if node.code in self._forward:
            self._forwards -= 1
            if not self._forwards:
                self._note([value], self._gave)
        if value is None or node.trains or self._forwards:
            return
        if node.code in self._sources and not self._trains() and not _is_event_loop(frame.f_back):
            node.is_batch = sizes.of_batch(value) > 0
            self._handed.append(node)
        made = set()
        node.needs_gradients = self._note([value], made)
        node.made = made
        node.is_graded = self._is_graded()

    def _block(self, code, caller):
        """What a library waits for on its own, as for a thread that starts, is no hand-over."""
        place = script_place(caller)
        if place is not None and (is_script(caller.f_code) or (code not in self._sources and _is_event_loop(caller))):
            self.blocked.setdefault(code, set()).add(place)

    def _trains(self):
        """Whether this is within a model, a backward pass or an optimizer."""
        return any(node.code in self._training for node in self._stack)

    def _note(self, values, into, depth=_DEPTH, are_fields=True):
        """Adds the numbers of arrays with at least one dimension, also those of objects' fields where `are_fields`; whether
        one of them needs gradients."""
        needs = False
        for value in values:
            parts = _parts(value, are_fields) if depth else None
            if parts is not None:
                needs = self._note(parts, into, depth - 1, are_fields) or needs
            elif is_array(value):
                into.add(self._number(value))
                needs = needs or getattr(value, "requires_grad", False) is True
        return needs

    def _number(self, array):
        """The same for the same array; an id is used again once its array is gone."""
        reference, number = self._numbers.get(id(array), (None, 0))
        if reference is None or reference() is not array:
            self._count += 1
            number = self._count
            self._numbers[id(array)] = weakref.ref(array), number
            length = array.shape[0]
            self._lengths[number] = length if type(length) is int else 0  # of a compiler's, asking would fix a symbol
        return number

    def makers(self):
        """(code objects that make batches, whether a forward pass was given what they made). Empty: none was found. A
        generator of a library is one where no function of the script is proven to be."""
        codes, is_proven = self._makers(is_script)
        if not is_proven and self._is_torch:
            of_script = self._found
            of_library, is_proven = self._makers(_is_generator_of_library)
            made = [code for code in of_library if not any(self._is_of_model(node) for node in self._found[code])]
            if is_proven and made:
                return made, True
            is_proven, self._found = False, of_script
        return codes, is_proven

    def _is_of_model(self, node):
        """Whether it gave parameters, or what a module returned."""
        return node.needs_gradients or bool(node.made & self._gave)

    def _makers(self, may_be):
        self._found = found = {}
        for root in self._roots:
            self._look(root, found, may_be)
        proven = [code for code, nodes in found.items() if any(node.made & self._given for node in nodes)]
        if proven:
            least = _NEGLIGIBLE * sum(_seconds(found[code]) for code in proven)
            made = set().union(*(node.made for code in proven for node in found[code]))
            beside = [code for code, nodes in found.items() if code not in proven and _makes_too(nodes, made, least)]
            if not self._is_torch:  # where the forward pass begins is not seen: an evaluation may lie before it, too
                beside = [code for code in beside if len(found[code]) >= STEPS and all(map(self._is_like_given, found[code]))]
            return self._with_what_they_take(self._sources_among(proven + beside)), True
        return [code for code, nodes in found.items() if not any(node.needs_gradients for node in nodes)], False

    def _sources_among(self, codes):
        """What takes something that a module returned (the state of a recurrent one) passes it on. Where nothing else is
        there, all."""
        fresh = [code for code in codes if not any(node.taken & self._gave for node in self._found[code])]
        return fresh or codes

    def in_turn(self, codes, is_proven):
        """(these makers of one batch in the order of their calls, the one that gives it); nothing and None where that is not
        known. Where several are called in each step, it is the one that is called least often, the last of such: others are
        called for each of its parts. Those that may be it have to make arrays of one length; what is not proven, as long as
        those that modules were given."""
        if not is_proven:
            codes = [code for code in codes if all(self._is_like_given(node) for node in self._found[code])]
        codes = sorted(codes, key=lambda code: self._found[code][-1].number)
        calls = {code: len(self._trained_with(code)) for code in codes}
        fewest = min((count for count in calls.values() if count >= STEPS), default=None)
        taken = set().union(*(node.taken for code in codes for node in self._found[code]))
        may_give = [code for code in codes if calls[code] == fewest and not self._made_by(code) <= taken]
        if not may_give or not set.intersection(*map(self._lengths_of, may_give)):
            return [], None
        return codes, may_give[-1]

    def _made_by(self, code):
        return set().union(*(node.made for node in self._found[code]))

    def _lengths_of(self, code):
        return {self._lengths[number] for number in self._made_by(code)}

    def _is_like_given(self, node):
        given = {self._lengths[number] for number in self._given}
        return node.is_early and any(self._lengths[number] in given for number in node.made)

    def _trained_with(self, code):
        nodes = self._found[code]
        return [node for node in nodes if node.is_graded] or nodes

    def _with_what_they_take(self, codes):
        """These, and what makes the arrays that they are called with."""
        nodes = [node for code in codes for node in self._found[code]]
        taken = set().union(*(node.taken for node in nodes))
        before = [code for code, nodes in self._found.items() if code not in codes and any(node.made & taken for node in nodes)]
        return self._with_what_they_take(codes + before) if before else codes

    def handed_over(self):
        """Code that handed over what looks like batches."""
        return list(dict.fromkeys(node.code for node in self._outermost()))

    def handed_as_is(self, makers):
        """Code that handed over whole batches: what a forward pass was given, or what one of `makers` returned. Parts that
        make up a batch (results of a pool) are more than those. Where nothing makes batches, all that looks like some."""
        makings = [node for code in makers for node in self._found[code]]
        wanted = self._given.union(*(node.made for node in makings))
        handed = [node for node in self._outermost() if not makings or node.made & wanted]
        calls = collections.Counter(node.code for node in handed)
        return [code for code, count in calls.items() if count <= max(len(makings), self._forward_calls)]

    def _outermost(self):
        handed = [node for node in self._handed if node.is_batch]
        inner = {id(child) for node in handed for child in _below(node)}
        return [node for node in handed if id(node) not in inner]

    def fresh(self, codes):
        """Those that make batches of no other arrays."""
        return [code for code in codes if not any(node.taken for node in self._found[code])]

    def is_without_gradients(self, code):
        """Whether gradients were off in all calls of one of the makers."""
        return not any(node.is_graded for node in self._found[code])

    def calls_each(self, code):
        """Calls of one of the makers in a step; more are those of an evaluation."""
        numbers, calls, before = [node.number for node in self._found[code]], [], -1
        for last in self._step_calls:
            calls.append(sum(1 for number in numbers if before < number <= last))
            before = last
        return max(1, min(calls, default=1))

    def _look(self, node, found, may_be):
        is_maker = not node.trains and not node.is_open and node.made and may_be(node.code) and not _only_holds(node)
        if is_maker and node.code.co_name not in _EXPRESSIONS:
            found.setdefault(node.code, []).append(node)
            return
        before = sum(map(len, found.values()))
        for child in node.children:
            self._look(child, found, may_be)
        # An expression is the loop's own line, if functions make what it gives, and a list of arrays made within it is one.
        if is_maker and node.code.co_name not in _LISTS and before == sum(map(len, found.values())):
            found.setdefault(node.code, []).append(node)


def _parts(value, are_fields):
    """Of a list, a tuple, a dict, or a dataclass; None of all else. Calls nothing of the script's."""
    kind = type(value)
    if issubclass(kind, tuple):
        return tuple.__getitem__(value, slice(_MOST_PARTS))
    if issubclass(kind, list):
        return list.__getitem__(value, slice(_MOST_PARTS))
    if issubclass(kind, dict):
        return list(itertools.islice(dict.values(value), _MOST_PARTS))
    if are_fields and (issubclass(kind, collections.UserDict) or any("__dataclass_fields__" in vars(one) for one in kind.__mro__)):
        try:
            return list(object.__getattribute__(value, "__dict__").values())[:_MOST_PARTS]
        except AttributeError:  # of slots
            return None
    return None


def _always():
    return True


def _below(node):
    for child in node.children:
        yield child
        yield from _below(child)


def _only_holds(node):
    """A named tuple's own code, which comes of no file, gives what it is called with."""
    return node.code.co_filename == "<string>" and node.made <= node.taken


def _is_generator_of_library(code):
    return bool(code.co_flags & GENERATOR) and not is_script(code)


def _makes_too(nodes, made, least):
    """Whether these calls make a part of the batch that no module is given (the targets of a loss), and take no short
    time for it. What is called with the batch makes something of it (a metric)."""
    if any(node.taken & made for node in nodes):
        return False
    early = [node for node in nodes if node.is_early and not node.needs_gradients]
    return _seconds(early) > least


def _seconds(nodes):
    """How long these calls of a function take: by the shortest, as a busy machine may interrupt any of them."""
    return len(nodes) * min((node.seconds for node in nodes), default=0)


def is_array(value):
    """A tensor or an array with a dimension. Other things of these libraries (modules) are not asked: they may run anything."""
    kind = type(value)
    try:
        library = kind.__module__.partition(".")[0]
        is_theirs = library in ("torch", "numpy") or (library in ("jaxlib", "jax") and kind.__name__ == "ArrayImpl")
        return is_theirs and hasattr(kind, "shape") and len(value.shape) > 0
    except Exception:
        return False


def _is_event_loop(frame):
    """asyncio asks for what is there already: it has waited for it in its selector."""
    return frame is not None and os.sep + "asyncio" + os.sep in frame.f_code.co_filename


def script_place(frame):
    """(code, line) of the script that is being executed there, None where there is none."""
    while frame is not None and not is_script(frame.f_code):
        frame = frame.f_back
    return None if frame is None else (frame.f_code, frame.f_lineno)


def _training_code(torch):
    """Code of a module's call, of a backward pass, of an optimizer step."""
    module, optimizer = torch.nn.Module, torch.optim.Optimizer
    forward = _codes(module.__call__, getattr(module, "_call_impl", None), getattr(module, "_wrapped_call_impl", None))
    backward = _codes(torch.Tensor.backward, torch.autograd.backward, torch.autograd.grad)
    steps = _codes(getattr(optimizer, "zero_grad", None), getattr(optimizer, "profile_hook_step", None))
    return forward, backward, steps


def _codes(*functions):
    return {function.__code__ for function in functions if hasattr(function, "__code__")}
