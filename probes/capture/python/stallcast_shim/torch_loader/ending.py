"""An iterator that is given up with its workers running: they are sent away where it is dropped, and the script waits for
them. That is part of what an iterator made for each step costs."""

import functools
from time import monotonic_ns

from .. import capture
from ..capture import calls
from ..frames import leave_out, unseen
from ..thread import current

_FEW = 3  # batches: of longer passes it does not matter


def patch(owner, attribute):
    """Wraps _shutdown_workers of an iterator class; `attribute`: of the iterator, its Pass."""
    real = getattr(owner, "_shutdown_workers", None)
    if real is None:
        return
    now_ns, without_us = monotonic_ns, leave_out  # an iterator that lives to the interpreter's end is dropped after our globals

    @functools.wraps(real)
    @unseen
    def _shutdown_workers(self, *args, **kwargs):
        begin_ns = now_ns()
        try:
            result = real(self, *args, **kwargs)
        except BaseException as error:
            without_us(error)
            raise
        try:
            current_pass = self.__dict__.get(attribute)
            is_given_up = current_pass is not None and not current_pass.is_given_up and current_pass.delivered <= _FEW
            if is_given_up and calls.enabled and not current.busy:
                current_pass.is_given_up = True  # torch calls it again
                capture.text(capture.TEXT_MARK, {"what": "given up", "iterator_id": current_pass.iterator_id,
                                                 "ns": now_ns() - begin_ns})
        except Exception:
            pass  # within the end of the interpreter
        return result

    owner._shutdown_workers = _shutdown_workers
