"""What the tool is told of the batches that the script will be given next: their index lists, and how their samples are
called. It asks through the control block; a text of the recording answers.
"""

import ctypes
import json

from .. import capture
from ..capture import calls
from . import names
from .segment_run import run

_NAMED_BATCHES = 8  # that were given, whose samples are named
_MOST_NAMED = 512  # samples of them
_MOST_ENTRIES = 20000  # of all tables together: writing them takes the script a fifth of a second
_MOST_TEXT = 12000  # bytes of an answer; a text holds 16 KiB

_u64 = ctypes.c_uint64


def give(measured):
    """Answers where the tool has asked something new. `measured`: the pass that the script takes batches of."""
    asked = (_u64 * 2)()
    serial = calls.library.stallcast_ahead(asked)
    if serial == run.answered or (measured.prediction is not None and measured.prediction.is_being_checked()):
        return
    run.answered = serial
    begin_ns = capture.now_ns()
    _write(measured, serial, asked)
    # What it took the script, told as being held back.
    capture.text(capture.TEXT_MARK, {"what": "answered", "begin_ns": begin_ns, "end_ns": capture.now_ns()})


def _write(measured, serial, asked):
    first, count = int(asked[0]), int(asked[1])
    told = measured.prediction
    why_not = _obstacle(measured)
    lists = told.lists(first - measured.base, count) if why_not is None else []
    if why_not is None and not lists:
        why_not = told.why_not or "these batches are beyond the end of the pass"
    if why_not is not None:
        capture.text(capture.TEXT_AHEAD, {"serial": serial, "turn": first, "done": True, "refused": why_not})
        return
    for begin, part in _parts(lists):
        capture.text(capture.TEXT_AHEAD, {"serial": serial, "turn": first + begin, "indices": part})
    if run.passes < 2 or _makes_at_once(measured.dataset()):
        _tell_names(measured, serial, lists)
    capture.text(capture.TEXT_AHEAD, {"serial": serial, "turn": first, "indices": [], "done": True})


def _obstacle(measured):
    """Why nothing can be told of this pass; None where something can."""
    if measured.is_stream:
        return "an iterable data set has no indices that say what comes next"
    if measured.reason is not None:
        return measured.reason
    if measured.prediction is None:
        return "this pass had begun before it could be told ahead"
    return measured.prediction.why_not


def _tell_names(measured, serial, lists):
    """In a first pass nobody has seen what these samples read: how they are called, where they may lie, and batches of some
    that were read."""
    number = measured.position
    before = measured.prediction.lists(max(0, number - _NAMED_BATCHES), min(number, _NAMED_BATCHES))
    batches = _last([_flat([one]) for one in before], _MOST_NAMED)
    for _, part in _parts(batches):
        capture.text(capture.TEXT_AHEAD, {"serial": serial, "given": part})
    dataset = measured.dataset()
    samples = (measured.current_pass.loader.text or {}).get("dataset_samples")
    if dataset is None or samples is None:
        return
    indices = _flat(batches) + _flat(lists)
    found = names.Names(dataset, samples)
    left = _MOST_ENTRIES
    for key, table, entries in _tables(found, indices):
        left -= len(entries)
        if left < 0:
            return
        for _, part in _parts(entries):
            capture.text(capture.TEXT_AHEAD, {"serial": serial, "table": table, key: part})


def _tables(found, indices):
    """What is told of each table first is what is most likely of use."""
    for table, entries in enumerate(found.tables(indices)):
        yield "names", table, entries
    for table, entries in found.numbers(indices):
        yield "numbers" if names.are_large(entries) else "labels", table, entries


def _makes_at_once(dataset):
    """Whether batches are made by one call each: which sample reads what is then learned from how they are called alone."""
    return callable(getattr(type(dataset), "__getitems__", None))


def _last(batches, most):
    """As many of the last ones as have no more than `most` indices."""
    kept = []
    for batch in reversed(batches):
        most -= len(batch)
        if most < 0:
            break
        kept.insert(0, batch)
    return kept


def _flat(lists):
    """The indices of these lists that are whole numbers."""
    indices = []
    for one in lists:
        indices.extend(index for index in (one if isinstance(one, list) else [one]) if type(index) is int)
    return indices


def _parts(lists):
    """(position, index lists) in parts that fit into a text each."""
    begin, part, size = 0, [], 0
    for position, indices in enumerate(lists):
        indices = indices if isinstance(indices, list) else [indices]
        bytes_of = len(json.dumps(indices, default=str)) + 2
        if part and size + bytes_of > _MOST_TEXT:
            yield begin, part
            begin, part, size = position, [], 0
        part.append(indices)
        size += bytes_of
    if part:
        yield begin, part
