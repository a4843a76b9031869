"""(b) What a passive recording costs a step, beside torch.profiler: by blocks of jobs in turns."""

import dataclasses
from collections.abc import Iterator

from . import commands, traces
from .checks import NOTE, Check, absent, at_most, holds, mean_and_half, note
from .machine import Machine
from .turns import ALWAYS, PASSIVE, PLAIN, PROFILER, Turns

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
    if half > MOST_PERCENT and mean - half <= MOST_PERCENT:
        return dataclasses.replace(absent(what, f"{mean:+.2f} % +- {half:.2f}: too noisy to tell"), timed=True)
    check = at_most(what, max(0.0, mean), MOST_PERCENT, "%")
    return dataclasses.replace(check, why=f"{mean:+.3f} % +- {half:.3f} (95 %)")


def costs(machine: Machine, title: str, kinds: list[str], steps: int, warm_up: int, *words: object) -> Iterator[Check]:
    """Of steps of one kind: a plain one, and what each kind of looking on adds to it."""
    blocks = machine.sizes.blocks
    folder = machine.folder(f"cost-{title.split()[-2]}")
    with Turns(machine, folder, [PLAIN, *kinds], "--blocks", blocks + warm_up, "--steps", steps, *words) as turns:
        rounds = turns.rounds(blocks, warm_up)
    found = traces.recordings(turns.measured())
    yield holds(f"{title}: one recording of its GPU", len(found) == 1 and not found[0].absent,
                str([one.absent for one in found]))
    busy, why = commands.mean_of(commands.load_profile(turns.measured()), "gpu.busy_frac")
    yield dataclasses.replace(holds(f"{title}: the measured one was measured", busy is not None, why), timed=True)
    plain = mean_and_half([step_ms(one[PLAIN], steps) for one in rounds])
    yield note(f"{title}: a plain step", plain[0], "ms")
    for kind in (PLAIN, *kinds):
        each = " ".join(f"{step_ms(one[kind], steps):.2f}" for one in rounds)
        yield note(f"{title}: {kind}, ms a step in each block", each)
    for kind in kinds:
        mean, half = cost_of(kind, rounds, steps)
        if kind == PASSIVE and PROFILER in kinds:
            yield dataclasses.replace(judge(mean, half), what=f"{title}: a passive recording costs")
        else:
            why = f"+- {half:.2f} (95 %); {mean / 100 * plain[0]:.3f} ms"
            yield Check(f"{title}: {kind} costs", mean, "% of a step", "", NOTE, why)


def run(machine: Machine) -> Iterator[Check]:
    """Where the device limits the step; and where launching kernels does, whose length moves by more than the limit: that
    is shown and not judged. Windows of the probe are dense at first, so that more blocks are left out there."""
    sizes = machine.sizes
    yield from costs(machine, "steps that the device limits", [PASSIVE, ALWAYS, PROFILER], sizes.block_steps, 1)
    yield from costs(machine, "steps that launching limits", [PASSIVE, ALWAYS], 2 * sizes.block_steps, 3, "--batch",
                     max(4, sizes.batch // 8))
