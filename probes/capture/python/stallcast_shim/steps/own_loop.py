"""Loops without a loader: batches that functions of the script make between two steps (nanoGPT's get_batch).

Where optimizers step (or backward.py, jax_loop.py or keras_loop.py counts) and no loader delivers to their thread, two steps
are watched (watch.py), and the functions that make the batches have their calls timed from then on: each is a wait, and the
making of a batch, or of a part of it, by the training thread itself, as those of `stallcast.wrap(loader, workers=0)` are.
Where steps have no batch of these later on, they are watched again: other functions may give theirs (by_turns.py). A function
stays the script's own object; its code calls what it was.
Calls without gradients are evaluation, unless all are: these are told as a loader of their own.
Batches that others make, and hand over, are those of handover.py.
"""

import atexit
import os
import sys
import threading

from .. import capture, thread
from ..scripts import is_script
from . import by_turns, handover, makers, timed, watch

PASSES = "backward passes"  # these step, where no optimizer does
_WATCHED = (3, 10, 30)  # steps of the first optimizer after which the loop is watched, until a function is found

_state = {"optimizer": None, "steps": 0, "watch": None, "until": 0, "thread": None, "over": False, "at": "",
          "taken": handover.NOBODY, "timed": None, "library": watch.PYTORCH,
          "parts": [], "followed": [],  # all that is timed, and what of it may be made anew
          "turns": by_turns.Turns(), "again": False}  # whether steps are watched for further functions


def _enter_child():
    """A forked child is not watched on."""
    _stop_looking()


os.register_at_fork(after_in_child=_enter_child)


def _stop_looking():
    _end_watch()
    _state["again"] = False
    _state["turns"].stop()


def is_over():
    """Whether nothing is looked for any more."""
    return _state["over"] and not _state["followed"] and not _state["again"]


def is_timed(library):
    """Whether what gives the batches to steps of this library is timed."""
    return _state["timed"] == library


def is_watching():
    """Whether this thread's step is being watched."""
    return _state["watch"] is not None and _state["thread"] == threading.get_ident()


def step_begins(values):
    """A compiled function that trains is called with these."""
    _state["watch"].step_begins(values)


def count(stepped, library=watch.PYTORCH, result=None):
    """An optimizer stepped, or what stands for one and gave the result. What fails here is said, and ends the looking alone:
    steps and waits are recorded on."""
    timed.steps.made += 1
    if is_over():
        look_again(stepped)
        return
    try:
        if is_watching():
            if id(stepped) == _state["optimizer"]:
                _state["watch"].step_ends()
            if result is not None:
                _state["watch"].step_gave(result)
        if _state["over"]:
            if id(stepped) == _state["optimizer"]:
                _follow()
                _watch_again()
            return
        _state["library"] = library
        _count(stepped)
    except Exception as error:
        _state.update(over=True, followed=[])
        _stop_looking()
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


def look_again(stepped):
    """An optimizer stepped; where others may give batches, too, that is looked for from here on."""
    try:
        is_its_thread = _state["thread"] == threading.get_ident()
        if is_its_thread and _state["parts"] and _state["turns"].is_due():
            _state["optimizer"] = id(stepped)  # another phase of the training may have one of its own
            _begin_again()
    except Exception as error:
        _stop_looking()
        capture.fail("looking for further functions that make batches", error)


def _begin_again():
    _begin_watch()
    _state["again"] = _state["watch"] is not None
    if _state["again"]:
        _state["until"] = watch.STEPS
        thread.process.settled.clear()


def _watch_again():
    """Another step was watched."""
    if not _state["again"]:
        return
    _state["until"] -= 1
    if _state["until"] > 0:
        return
    _state["again"] = False
    seen = _end_watch()
    found = makers.Makers(seen)
    codes, is_proven = ([], False) if seen.is_lost else found.find()
    known = {one.code: one for one in _state["parts"]}
    new = [code for code in codes if code not in known]
    beside = [code for code in codes if code in known and not found.are_by_turns([code, *new])]
    if new and is_proven and (_time_parts_of(known[beside[-1]].whole, found, new) if beside else _time_givers(found, new)):
        return
    if not seen.is_lost and _state["turns"].is_another_round():
        _begin_again()


def _time_givers(found, codes):
    """Whether these functions, which give batches by themselves, are timed from here on."""
    if found.are_by_turns(codes):
        return all([_time_functions(found, [code], True, False) for code in codes])
    return _time_functions(found, codes, True, False)


def _time_parts_of(whole, found, codes):
    """Whether these are timed from here on, as parts of the batches of what is timed already."""
    for code in codes:
        part = timed.Timed(code, found, False, _state["library"])
        part.belongs_to(whole)
        if not part.begin():
            return False
        _tell_timed(part, True)
        _state["parts"].append(part)
        _state["turns"].add_part_instead(part.loader())
    return True


def _follow():
    """Functions that may be made anew (for each pass) are found again, or given up with all that is told of them."""
    if _state["thread"] == threading.get_ident() and not all(one.follow() for one in _state["followed"]):
        for one in _state["parts"]:
            one.give_up()
        _state["followed"] = []
        _say_none("functions that make the batches are made anew in each step, or called no longer: "
                  + ", ".join(timed.place(one.code) for one in _state["parts"]))


def _begin_watch():
    new = watch.Watch(_state["library"], handover.sources(), handover.blocking(), _state["optimizer"] == id(PASSES))
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
    found = makers.Makers(seen)
    codes, is_proven = ([], False) if seen.is_lost else found.find()
    if not seen.is_lost and _time_found(found, codes, is_proven, is_taken, seen.blocked):
        _state.update(over=True, timed=_state["library"])
    elif _state["steps"] >= _WATCHED[-1]:
        _find_none(_why(seen, codes))


def _time_found(found, codes, is_proven, is_taken, blocked):
    """Whether something was found that gives batches; it is timed from here on."""
    if is_taken:  # what is called with a batch makes something of it
        codes = found.fresh(codes) if is_proven else []
    handed = found.handed_over() if is_taken else found.handed_as_is(codes)
    if handed:
        handover.time_sources(handed)
        return True
    may_be_else = not is_proven and thread.process.delivers  # batches of a loader, of which several steps are made
    if is_proven and not is_taken and found.are_by_turns(codes):
        return _time_givers(found, codes)
    if not may_be_else and _time_functions(found, codes, is_proven, is_taken):
        return True
    if is_taken and blocked:
        handover.time_blocking(blocked)
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
        return "several functions may make what a step is given: " + ", ".join(sorted(timed.place(code) for code in codes)[:4])
    if codes:
        return "the function that makes the batches cannot be timed: " + timed.place(codes[0])
    return "no function of the script returns what the model is given: batches are made within the loop itself"


def _say_none(reason):
    capture.text(capture.TEXT_MARK, {"what": "no batch function", "reason": reason, "at": _state["at"]})


def _caller():
    """Where the script steps: file and line of its innermost frame."""
    frame = sys._getframe(2)
    while frame is not None and not is_script(frame.f_code):
        frame = frame.f_back
    return "" if frame is None else "%s:%d" % (frame.f_code.co_filename, frame.f_lineno)


def _tell_timed(one, is_proven):
    capture.text(capture.TEXT_MARK, {
        "what": "batch function", "name": one.name, "file": one.code.co_filename, "line": one.code.co_firstlineno,
        "proven": is_proven, "generator": bool(one.code.co_flags & watch.GENERATOR)})


def _time_functions(found, codes, is_proven, is_taken):
    """Whether the functions (or generators) of these codes are timed from here on. Of several that make a batch one after the
    other, one gives it, and the others are parts of its making."""
    main = codes[0] if len(codes) == 1 else None
    if len(codes) > 1 and not is_taken:
        codes, main = found.in_turn(codes, is_proven)
    if main is None:
        return False
    names = " + ".join(timed.name_of(code) for code in codes) if len(codes) > 1 else ""
    parts = {code: timed.Timed(code, found, is_taken, _state["library"], names if code is main else "") for code in codes}
    for code, part in parts.items():
        if code is not main:
            part.belongs_to(parts[main])
    # What is no function may be found not to be possible, before anything has begun.
    in_order = sorted(parts.values(), key=lambda one: one.function is not None or one.is_by_code)
    if len(in_order) > 1 and in_order[1].function is None and not in_order[1].is_by_code:
        return False
    for one in in_order:
        if not one.begin():
            return False
    for one in parts.values():
        _tell_timed(one, is_proven)
    _state["parts"] += parts.values()
    _state["followed"] += [one for one in parts.values() if one.may_be_made_anew()]
    if not is_taken:
        _state["turns"].add(parts[main].loader())
        for one in parts.values():
            if one.whole is not one:
                _state["turns"].add_part(one.loader())
    return True
