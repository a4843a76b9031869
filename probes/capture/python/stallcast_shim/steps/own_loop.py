"""Loops without a loader: batches that functions of the script make between two steps (nanoGPT's get_batch).

Where optimizers step (or backward.py or jax_loop.py counts) and no loader delivers to their thread, two steps are watched
(watch.py), and the functions that make the batches have their calls timed from then on: each is a wait, and the making of a
batch, or of a part of it, by the training thread itself, as those of `stallcast.wrap(loader, workers=0)` are. A function
stays the script's own object; its code calls what it was.
Calls without gradients are evaluation, unless all are: these are told as a loader of their own.
Batches that others make, and hand over, are those of handover.py.
"""

import atexit
import functools
import gc
import os
import sys
import threading
import time
import types
import weakref

from .. import capture, sizes, thread
from ..capture import calls
from ..frames import leave_out, unseen
from ..loaders import passes
from ..thread import current
from . import handover, replace, running, watch

PASSES = "backward passes"  # these step, where no optimizer does
PYTORCH, JAX = "pytorch", "jax"  # what steps
_WATCHED = (3, 10, 30)  # steps of the first optimizer after which the loop is watched, until a function is found
_MISSED = 2  # steps in a row without a call, after which a function that may be made anew is looked for
_MOST_IN_VAIN = 4  # such looks, one after the other
_MOST_LOOKING_S, _MOST_LOOKING = 1.0, 0.002  # seconds that they may take, and the part of the time since that they may

_state = {"optimizer": None, "steps": 0, "watch": None, "until": 0, "thread": None, "over": False, "at": "",
          "taken": handover.NOBODY, "timed": None, "library": PYTORCH, "made": 0,
          "parts": [], "followed": []}  # all that is timed, and what of it may be made anew


def _enter_child():
    """A forked child is not watched on."""
    _end_watch()


os.register_at_fork(after_in_child=_enter_child)


def is_over():
    """Whether nothing is looked for any more."""
    return _state["over"] and not _state["followed"]


def is_timed(library):
    """Whether what gives the batches to steps of this library is timed."""
    return _state["timed"] == library


def is_watching():
    """Whether this thread's step is being watched."""
    return _state["watch"] is not None and _state["thread"] == threading.get_ident()


def step_begins(values):
    """A jitted function that trains is called with these."""
    _state["watch"].step_begins(values)


def count(stepped, library=PYTORCH, result=None):
    """An optimizer stepped, or what stands for one and gave the result. What fails here is said, and ends the looking alone:
    steps and waits are recorded on."""
    _state["made"] += 1
    if is_over():
        return
    try:
        if _state["over"]:
            if id(stepped) == _state["optimizer"]:
                _follow()
            return
        _state["library"] = library
        if _state["watch"] is not None and result is not None:
            _state["watch"].step_gave(result)
        _count(stepped)
    except Exception as error:
        _state.update(over=True, followed=[])
        _end_watch()
        _say_none("looking for it failed: %s: %s" % (type(error).__name__, str(error)[:200]))


def _count(stepped):
    state = _state
    taken = handover.taken_by()
    if taken == handover.TRAINING or (taken == handover.UNKNOWN and state["watch"] is not None):
        _end_watch()
        state["over"] = taken == handover.TRAINING
    if taken in (handover.TRAINING, handover.UNKNOWN):
        return
    state["taken"] = taken
    if state["optimizer"] == id(PASSES) != id(stepped):  # an optimizer steps after all
        _end_watch()
        state.update(optimizer=None, steps=0)
    if state["optimizer"] is None:
        state["optimizer"], state["thread"] = id(stepped), threading.get_ident()
    if id(stepped) != state["optimizer"] or threading.get_ident() != state["thread"]:
        return
    state["steps"] += 1
    if state["steps"] == 1:
        state["at"] = _caller()
    if state["watch"] is not None:
        if state["steps"] >= state["until"]:
            _judge()
    elif state["steps"] in _WATCHED:
        _begin_watch()


def _follow():
    """Functions that may be made anew (for each pass) are found again, or given up with all that is told of them."""
    if _state["thread"] == threading.get_ident() and not all(timed.follow() for timed in _state["followed"]):
        for timed in _state["parts"]:
            timed.give_up()
        _state["followed"] = []
        _say_none("functions that make the batches are made anew in each step, or called no longer: "
                  + ", ".join(_place(timed.code) for timed in _state["parts"]))


def _begin_watch():
    torch = sys.modules.get("torch") if _state["library"] == PYTORCH else None
    new = watch.Watch(torch, handover.sources(), handover.blocking(), _state["optimizer"] == id(PASSES))
    if new.begin():
        atexit.register(_end_watch)  # at the interpreter's very end, it would be called without its modules
        _state["watch"], _state["until"] = new, _state["steps"] + watch.STEPS
    elif _state["steps"] == _WATCHED[-1]:
        _find_none("another profiler holds the training thread (sys.setprofile)")


def _end_watch():
    atexit.unregister(_end_watch)
    seen, _state["watch"] = _state["watch"], None
    if seen is not None:
        seen.end()
    return seen


def _judge():
    seen = _end_watch()
    is_taken = _state["taken"] == handover.OTHER
    if is_taken and not seen.is_lost and not seen.is_training:
        _state["over"] = True  # this thread only steps the optimizer
        return
    if is_taken:
        handover.tell()
    codes, is_proven = ([], False) if seen.is_lost else seen.makers()
    if not seen.is_lost and _time_found(seen, codes, is_proven, is_taken):
        _state.update(over=True, timed=_state["library"])
    elif _state["steps"] >= _WATCHED[-1]:
        _find_none(_why(seen, codes))


def _time_found(seen, codes, is_proven, is_taken):
    """Whether something was found that gives batches; it is timed from here on."""
    if is_taken:  # what is called with a batch makes something of it
        codes = seen.fresh(codes) if is_proven else []
    handed = seen.handed_over() if is_taken else seen.handed_as_is(codes)
    if handed:
        handover.time_sources(handed)
        return True
    may_be_else = not is_proven and thread.process.delivers  # batches of a loader, of which several steps are made
    if not may_be_else and _time_functions(seen, codes, is_proven, is_taken):
        return True
    if is_taken and seen.blocked:
        handover.time_blocking(seen.blocked)
        return True
    return False


def _find_none(reason):
    """Nothing gives batches that could be timed."""
    _state["over"] = True
    if _state["taken"] == handover.OTHER:
        handover.tell()
    else:
        _say_none(reason)


def _why(seen, codes):
    if seen.is_lost:
        return "a step makes too many calls to be watched"
    if len(codes) > 1:
        return "several functions may make what a step is given: " + ", ".join(sorted(_place(code) for code in codes)[:4])
    if codes:
        return "the function that makes the batches cannot be timed: " + _place(codes[0])
    return "no function of the script returns what the model is given: batches are made within the loop itself"


def _say_none(reason):
    capture.text(capture.TEXT_MARK, {"what": "no batch function", "reason": reason, "at": _state["at"]})


def _caller():
    """Where the script steps: file and line of its innermost frame."""
    frame = sys._getframe(2)
    while frame is not None and not watch.is_script(frame.f_code):
        frame = frame.f_back
    return "" if frame is None else "%s:%d" % (frame.f_code.co_filename, frame.f_lineno)


def _place(code):
    return "%s (%s:%d)" % (_name(code), code.co_filename, code.co_firstlineno)


def _function_of(code, copies=()):
    """The one function object of this code, but for copies of ours; None where there is none, or several, or its calls are
    coroutines. That of a generator expression is called once, and made anew for each pass."""
    if code.co_flags & watch.COROUTINES or code.co_name == "<genexpr>":
        return None
    found = [one for one in gc.get_referrers(code)
             if type(one) is types.FunctionType and one.__code__ is code and not any(one is copy for copy in copies)]
    return found[0] if len(found) == 1 else None


class _Timed:
    """Calls of the function of a code, timed; or items of generators of it, where no function is known."""

    def __init__(self, code, seen, is_taken, names=""):
        """`seen`: the Watch that found it. `names`: all that make a batch, if it is made by several."""
        self.code = code
        self.is_by_code = running.can_follow(code)
        self.function = None if self.is_by_code else _function_of(code)
        self.name = _name(code) if self.function is None else self.function.__qualname__
        self._copies = weakref.WeakSet()  # of functions, that do what these did
        names = names or self.name
        if is_taken:
            known = functools.partial(handover.known, names)
        else:
            known = functools.partial(_known, self.name, names, code, _state["library"])
        self._training = known("").pass_over(_Source())
        self._evaluation = known(" without gradients").pass_over(_Source())
        self._thread = threading.get_ident()
        self._is_without_gradients = seen.is_without_gradients(code)
        self._calls_each = seen.calls_each(code) if _state["library"] == JAX else None
        self._step = self._calls = 0  # the step under way, and its calls
        self._replaced = (_nothing, _nothing)  # references to the function and to the copy that it calls
        self._asked = self._asked_before = self._missed = self._in_vain = 0
        self._looking_s, self._begun = 0.0, time.monotonic()

    def belongs_to(self, main):
        """What this gives is a part of the batches of another one, whose samples are counted there."""
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
        """JAX has no mode without gradients: more batches than a step takes, before it comes, are those of an evaluation. Of
        these the first counts as the step's in the place of its own, which comes last."""
        if self._step != _state["made"]:
            self._step, self._calls = _state["made"], 0
        self._calls += 1
        return self._calls <= self._calls_each

    @unseen
    def call(self, original, *args, **kwargs):
        return self.wait(functools.partial(original, *args, **kwargs))

    def generate(self, original, *args, **kwargs):
        return _through(original(*args, **kwargs), self.wait)


class _Source:
    """Stands for the loader of the evaluation."""


@unseen
def _through(generator, wait):
    """The generator, with each item waited for; what is sent and thrown reaches it."""
    pull = generator.__next__
    while True:
        try:
            item = wait(pull)
        except StopIteration as end:
            return end.value
        except BaseException as error:
            leave_out(error)
            raise
        try:
            sent = yield item
        except GeneratorExit:
            generator.close()
            raise
        except BaseException as error:
            pull = functools.partial(generator.throw, error)
        else:
            pull = generator.__next__ if sent is None else functools.partial(generator.send, sent)


def _none(batch):
    return 0


def _nothing():
    return None


def _name(code):
    return getattr(code, "co_qualname", code.co_name)


def _known(name, names, code, library, suffix):
    text = passes.loader_text(
        "function", composition="serial", num_workers=0, dataset_type=(names + suffix)[:200], function=name[:200],
        function_file=code.co_filename[:400], function_line=code.co_firstlineno)
    return passes.Known(library, text, sizes.of_batch, makes_here=True, are_steps_seen=True)


def _time_functions(seen, codes, is_proven, is_taken):
    """Whether the functions (or generators) of these codes are timed from here on. Of several that make a batch one after the
    other, one gives it, and the others are parts of its making."""
    main = codes[0] if len(codes) == 1 else None
    if len(codes) > 1 and not is_taken:
        codes, main = seen.in_turn(codes, is_proven)
    if main is None:
        return False
    names = " + ".join(_name(code) for code in codes) if len(codes) > 1 else ""
    timed = {code: _Timed(code, seen, is_taken, names if code is main else "") for code in codes}
    for code, part in timed.items():
        if code is not main:
            part.belongs_to(timed[main])
    # What is no function may be found not to be possible, before anything has begun.
    in_order = sorted(timed.values(), key=lambda one: one.function is not None or one.is_by_code)
    if len(in_order) > 1 and in_order[1].function is None and not in_order[1].is_by_code:
        return False
    for one in in_order:
        if not one.begin():
            return False
    for code, one in timed.items():
        capture.text(capture.TEXT_MARK, {
            "what": "batch function", "name": one.name, "file": code.co_filename, "line": code.co_firstlineno,
            "proven": is_proven, "generator": bool(code.co_flags & watch.GENERATOR)})
    _state["parts"] = list(timed.values())
    _state["followed"] = [one for one in timed.values() if one.may_be_made_anew()]
    return True
