"""A loader whose batches a thread of the script takes, and the training gets from that thread.

How long that thread waits says nothing of the training: it takes batches ahead. Where optimizers step in a thread that
never waited for a batch while another one did, that is told, no states are made of the loader any more, and from then on
what the training thread gets from a queue.Queue is timed, if it is a batch. Other ways to hand over are not seen.
"""

import queue
import threading

from .. import capture, sizes
from ..capture import calls
from ..frames import unseen
from ..loaders import passes
from ..states import phases
from ..thread import current
from ..torch_loader import loader
from . import replace

_LOOKED_AT = 3  # steps; before it the first batch may have been taken otherwise

_state = {"steps": 0, "over": False, "thread": None}


def look():
    """An optimizer stepped in this thread."""
    if _state["over"] or not loader.delivers():
        return
    if current.has_waited:
        _state["over"] = True
        return
    _state["steps"] += 1
    if _state["steps"] < _LOOKED_AT:
        return
    _state["over"] = True
    _state["thread"] = threading.get_ident()
    capture.text(capture.TEXT_MARK, {"what": "loader in thread"})
    phases.give_up()
    _time_queues()


def _time_queues():
    real = replace.copy_of(queue.Queue.get)
    known = passes.Known("pytorch", passes.loader_text("queue", composition="unknown"), sizes.of_batch)
    under_way = {}  # id of a queue -> its pass; queues live as long as their passes do

    @unseen
    def get(self, *args, **kwargs):
        if current.busy or not calls.enabled or threading.get_ident() != _state["thread"]:
            return real(self, *args, **kwargs)
        calls.wait_begin()
        item = real(self, *args, **kwargs)
        try:
            samples = sizes.of_batch(item)
            if samples:
                _delivered(self, samples)
        except Exception as error:
            capture.fail("timing a queue", error)
        return item

    def _delivered(source, samples):
        found = under_way.get(id(source))
        if found is None:
            found = under_way[id(source)] = known.pass_over(source)
            found.source = source
            loader.announce(None, found, known.framework)
        number = found.delivered
        calls.wait_end(found.iterator_id, number, samples, capture.UNKNOWN, 0 if number else capture.FIRST)
        found.delivered = number + 1
        found.loader.delivered += 1

    replace.call_instead(queue.Queue.get, real, get)
