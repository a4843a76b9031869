"""What the tool is told of the batches that the script will be given next: their index lists, and how their samples are
called. It asks through the control block; a text of the recording answers.
"""

import ctypes
import json
from time import monotonic

from .. import at_once, capture
from ..capture import calls
from . import names
from .segment_run import run

_NAMED_BATCHES = 8  # that were given, whose samples are named
_MOST_NAMED = 512  # samples of them
_MOST_ENTRIES = 40000  # of all tables together
_FEWEST_SAID = 0.9  # of samples that were given, by a table that is of use
_MOST_BYTES = 8 << 20  # of these
_LONGEST_S = 1.0  # what reading them may take the script; mostly some milliseconds
_ENTRY_BYTES = 24  # of an entry, its name aside
_MOST_AT_ONCE = 1500  # samples of a batch, which has to fit into a text
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
    try:
        as_wholes = at_once.makes_at_once(measured.dataset())
        if run.passes < 2 or as_wholes:
            _tell_names(measured, serial, lists, as_wholes)
    except Exception:  # whatever a data set holds: then its names are not known, which is said of the blocks that lack them
        pass
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


def _tell_names(measured, serial, lists, as_wholes):
    """In a first pass nobody has seen what these samples read: how they are called, where they may lie, and batches of some
    that were read. `as_wholes`: batches are made by one call each, and nobody ever sees what one sample of them reads."""
    number = measured.position
    before = measured.prediction.lists(max(0, number - _NAMED_BATCHES), min(number, _NAMED_BATCHES))
    batches = _last([_flat([one]) for one in before], _MOST_NAMED, as_wholes)
    batches = [batch for batch in batches if len(batch) <= _MOST_AT_ONCE]
    for _, part in _parts(batches):
        capture.text(capture.TEXT_AHEAD, {"serial": serial, "given": part})
    dataset = measured.dataset()
    samples = (measured.current_pass.loader.text or {}).get("dataset_samples")
    if dataset is None or samples is None:
        return
    until = monotonic() + _LONGEST_S
    _tell_tables(names.Names(dataset, samples), serial, _flat(batches), _flat(lists), until)


def _tell_tables(found, serial, given, coming, until):
    """What tables say of these samples, first of those that were given; what is most likely of use comes first."""
    kinds = [("names", table) for table in found.names()]
    kinds += [("numbers" if are_large else "labels", table) for table, are_large in found.numbers(given + coming)]
    left = _Left()
    of_use = []
    said = []
    for kind, table in kinds:
        known = table.told(given, until)
        if len(known) >= _FEWEST_SAID * len(given) and not (known and known in said):
            said.append(known)
            of_use.append((kind, table))
            _tell_entries(serial, kind, table, known, left)
    for kind, table in of_use:
        _tell_entries(serial, kind, table, table.told(coming[: max(0, left.entries)], until), left)


class _Left:
    """What may still be told."""

    def __init__(self):
        self.entries = _MOST_ENTRIES
        self.bytes = _MOST_BYTES


def _tell_entries(serial, kind, table, entries, left):
    """Writes them, in parts that fit into a text each, as far as they may still be told."""
    left.entries -= len(entries)
    begin, size = 0, 0
    for number in range(len(entries) + 1):
        bytes_of = len(json.dumps(entries[number][1])) + _ENTRY_BYTES if number < len(entries) else _MOST_TEXT
        if size + bytes_of > _MOST_TEXT and number > begin:
            left.bytes -= size
            if left.bytes < 0:
                return
            capture.text(capture.TEXT_AHEAD, {"serial": serial, "table": table.where[:200], kind: entries[begin:number]})
            begin, size = number, 0
        size += bytes_of


def _last(batches, most, as_wholes):
    """The last ones, with so many indices together. `as_wholes`: no batch is cut, and one is kept whatever it has."""
    kept = []
    for batch in reversed(batches):
        if len(batch) <= most or (as_wholes and not kept):
            kept.insert(0, batch)
        elif most > 0 and not as_wholes:
            kept.insert(0, batch[-most:])
        most -= len(batch)
        if most <= 0:
            break
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
