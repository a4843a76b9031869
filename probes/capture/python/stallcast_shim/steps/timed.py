"""Functions and generators that make batches, whose calls and items are waits from a moment on (own_loop.py)."""

import functools
import gc
import sys
import threading
import time
import types
import weakref

from .. import capture, sizes
from ..capture import calls
from ..frames import unseen
from ..loaders import passes
from ..thread import current
from . import handover, replace, running, watch

_MISSED = 2  # steps in a row without a call, after which a function that may be made anew is looked for
_MOST_IN_VAIN = 4  # such looks, one after the other
_MOST_LOOKING_S, _MOST_LOOKING = 1.0, 0.002  # seconds that they may take, and the part of the time since that they may


class _Steps:
    made = 0  # in this process


steps = _Steps()


def _function_of(code, copies=()):
    """The one function object of this code, but for copies of ours; None where there is none, or several, or its calls are
    coroutines. That of a generator expression is called once, and made anew for each pass."""
    if code.co_flags & watch.COROUTINES or code.co_name == "<genexpr>":
        return None
    found = [one for one in gc.get_referrers(code)
             if type(one) is types.FunctionType and one.__code__ is code and not any(one is copy for copy in copies)]
    return found[0] if len(found) == 1 else None


class Timed:
    """Calls of the function of a code, timed; or items of generators of it, where no function is known."""

    def __init__(self, code, found, is_taken, library, names=""):
        """`found`: the Makers that it is one of. `names`: all that make a batch, if it is made by several."""
        self.code = code
        self.is_by_code = running.can_follow(code)
        self.function = None if self.is_by_code else _function_of(code)
        self.name = name_of(code) if self.function is None else self.function.__qualname__
        self.whole = self  # whose batches this makes, or a part of
        self._copies = weakref.WeakSet()  # of functions, that do what these did
        names = names or self.name
        if is_taken:
            known = functools.partial(handover.known, names)
        else:
            known = functools.partial(_known, self.name, names, code, library)
        self._training = known("").pass_over(_Source())
        self._evaluation = known(" without gradients").pass_over(_Source())
        self._thread = threading.get_ident()
        self._is_without_gradients = found.is_without_gradients(code)
        self._calls_each = found.calls_each(code) if library != watch.PYTORCH else None
        self._step = self._calls = 0  # the step under way, and its calls
        self._replaced = (_nothing, _nothing)  # references to the function and to the copy that it calls
        self._asked = self._asked_before = self._missed = self._in_vain = 0
        self._looking_s, self._begun = 0.0, time.monotonic()

    def loader(self):
        """The Loader that stands for what gives the batches of the training."""
        return self._training.loader

    def belongs_to(self, main):
        """What this gives is a part of the batches of another one, whose samples are counted there."""
        self.whole = main
        for part, whole in ((self._training, main._training), (self._evaluation, main._evaluation)):
            part.loader.text["part_of"] = whole.loader.loader_id
            part.known.count = _none

    def begin(self):
        """From here on each call is a wait for a batch, or each item of its generators, also of those that have begun.
        Whether there is such a function or generator."""
        function, self.function = self.function, None  # it lives no longer because of us
        if self.is_by_code:
            return running.follow(self.code, self)
        is_generator = bool(self.code.co_flags & watch.GENERATOR)
        has_begun = is_generator and running.time(self.code, self, function is None)
        if function is not None:
            self._replace(function)
        return function is not None or has_begun

    def _replace(self, function):
        original = replace.copy_of(function)
        self._copies.add(original)
        self._replaced = weakref.ref(function), weakref.ref(original)
        run = self.generate if self.code.co_flags & watch.GENERATOR else self.call
        replace.call_instead(function, original, functools.partial(run, original))

    def _put_back(self):
        """A function that is called no longer may hold what holds it, through code of ours that no collection sees."""
        function, original = self._replaced[0](), self._replaced[1]()
        if function is not None and original is not None:
            replace.put_back(function, original)

    def may_be_made_anew(self):
        return bool(self.code.co_flags & watch.NESTED) and not self.is_by_code

    def follow(self):
        """After each step. False where it is called no longer, and no other function of its code is found."""
        if self._asked != self._asked_before:
            self._asked_before, self._missed, self._in_vain = self._asked, 0, 0
            return True
        self._missed += 1
        if self._missed < _MISSED:
            return True
        self._missed = 0
        self._in_vain += 1
        begin = time.monotonic()
        function = _function_of(self.code, self._copies)
        if function is not None:
            self._put_back()
            self._replace(function)
        now = time.monotonic()
        self._looking_s += now - begin
        is_affordable = self._looking_s < _MOST_LOOKING_S + _MOST_LOOKING * (now - self._begun)
        return is_affordable and self._in_vain < _MOST_IN_VAIN

    def give_up(self):
        """What was told is not what it was taken for."""
        self._put_back()
        self._thread = None
        for given in (self._training, self._evaluation):
            capture.text(capture.TEXT_MARK, {"what": "batch function lost", "loader_id": given.loader.loader_id})

    @unseen
    def wait(self, pull):
        if current.busy or not self.counts() or running.is_within_wait(sys._getframe(1)):
            return pull()
        return passes.wait(self.pass_for_wait(), pull)

    def is_its_thread(self):
        return threading.get_ident() == self._thread

    def counts(self):
        return calls.enabled and self.is_its_thread()

    def pass_for_wait(self):
        found = self._pass_now()
        self._asked += found is self._training
        return found

    def _pass_now(self):
        if self._calls_each is not None:
            trains = self._is_one_of_step()
        else:
            trains = self._is_without_gradients or sys.modules["torch"].is_grad_enabled()
        return self._training if trains else self._evaluation

    def _is_one_of_step(self):
        """JAX and TensorFlow have no mode without gradients: more batches than a step takes, before it comes, are those of an
        evaluation. Of these the first counts as the step's in the place of its own, which comes last."""
        if self._step != steps.made:
            self._step, self._calls = steps.made, 0
        self._calls += 1
        return self._calls <= self._calls_each

    @unseen
    def call(self, original, *args, **kwargs):
        return self.wait(functools.partial(original, *args, **kwargs))

    def generate(self, original, *args, **kwargs):
        return passes.through(original(*args, **kwargs), self.wait)


class _Source:
    """Stands for the loader of the evaluation."""


def _none(batch):
    return 0


def _nothing():
    return None


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def _known(name, names, code, library, suffix):
    text = passes.loader_text(
        "function", composition="serial", num_workers=0, dataset_type=(names + suffix)[:200], function=name[:200],
        function_file=code.co_filename[:400], function_line=code.co_firstlineno)
    return passes.Known(library, text, sizes.of_batch, makes_here=True, are_steps_seen=True)


def place(code):
    return "%s (%s:%d)" % (name_of(code), code.co_filename, code.co_firstlineno)
