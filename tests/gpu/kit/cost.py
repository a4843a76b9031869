"""(b) What a passive recording costs a step, beside torch.profiler: by blocks of three jobs in turns."""

import dataclasses
from collections.abc import Iterator

from . import commands
from .checks import Check, absent, at_most, holds, mean_and_half, note
from .machine import Machine
from .turns import PASSIVE, PLAIN, PROFILER, Turns

MOST_PERCENT = 0.5


def step_ms(block: dict, steps: int) -> float:
    begin, end = block["window_ns"]
    return (end - begin) * 1e-6 / steps


def cost_of(kind: str, rounds: list[dict[str, dict]], steps: int) -> tuple[float, float]:
    """(mean, half of its 95 % interval) in per cent of a plain step, over pairs of one round."""
    return mean_and_half([100 * (step_ms(one[kind], steps) / step_ms(one[PLAIN], steps) - 1) for one in rounds])


def judge(mean: float, half: float) -> Check:
    """A mean within the limit that is not known to within the limit shows nothing."""
    what = "cost of a passive recording, of a step"
    if half > MOST_PERCENT and abs(mean) <= MOST_PERCENT:
        return dataclasses.replace(absent(what, f"{mean:+.2f} % +- {half:.2f}: too noisy to tell"), timed=True)
    check = at_most(what, max(0.0, mean), MOST_PERCENT, "%")
    return dataclasses.replace(check, why=f"{mean:+.3f} % +- {half:.3f} (95 %)")


def run(machine: Machine) -> Iterator[Check]:
    sizes = machine.sizes
    with Turns(machine, machine.folder("cost"), [PLAIN, PASSIVE, PROFILER], "--blocks", sizes.blocks + 1, "--steps",
               sizes.block_steps) as turns:
        rounds = turns.rounds(sizes.blocks)
    busy, why = commands.mean_of(commands.load_profile(turns.measured), "gpu.busy_frac")
    yield holds("the measured one was measured", busy is not None, why)
    plain = mean_and_half([step_ms(one[PLAIN], sizes.block_steps) for one in rounds])
    yield note("a plain step", plain[0], "ms")
    mean, half = cost_of(PASSIVE, rounds, sizes.block_steps)
    yield note("cost of a passive recording", mean / 100 * plain[0], "ms a step")
    yield judge(mean, half)
    other = cost_of(PROFILER, rounds, sizes.block_steps)
    yield note("cost of torch.profiler", other[0] / 100 * plain[0], "ms a step")
    yield note("cost of torch.profiler, of a step", other[0], "%")
