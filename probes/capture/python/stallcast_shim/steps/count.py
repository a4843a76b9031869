"""What a step of the training is to us, whoever makes it."""

from .. import describe
from ..capture import calls
from ..states import phases
from . import exchange, handover, own_loop


def count(stepped):
    """`stepped`: what made the step, an optimizer mostly."""
    describe.write_consumer(is_torch_complete=True)
    handover.stepped()
    calls.step()
    phases.count_step()
    exchange.look()
    own_loop.count(stepped)


def is_all_found():
    """Whether further steps of an optimizer that has made one are only to be counted: nothing is looked for, or timed, at
    steps."""
    return own_loop.is_over() and not handover.times_steps() and not exchange.is_watching()
