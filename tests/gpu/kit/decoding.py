"""(f) Decoding on the device (nvJPEG through torchvision) as the truth of `operator=all:gpuN`."""

import json
from collections.abc import Iterator

from . import commands, predictions
from .checks import Check, absent, all_there, note, truth_of
from .machine import Machine
from .training import STATES


def prepare_s(profile: dict) -> tuple[float | None, str]:
    """Seconds that a worker takes to prepare a sample: all operators that `all` stands for."""
    rows = [row for row in profile.get("operators", []) if row["kind"] == "operator"]
    if not rows:
        return None, "the profile has no operators"
    return sum(row["wall_s_per_sample"]["mean"] for row in rows), ""


def run(machine: Machine) -> Iterator[Check]:
    sizes = machine.sizes
    profile = commands.load_profile(machine.scratch / STATES)
    worker_s, why = prepare_s(profile)
    command = commands.job(machine, machine.data, "--decode", "device", "--seconds", sizes.cell_s, "--repeats", 40, "--cells",
                           json.dumps([{}, {"workers": sizes.most}, {}]))
    cell, more, again = commands.cells_of(commands.run(machine, command).stdout)
    device_s = cell["prepare_s_per_sample"]
    rates = [cell["samples_per_s"], again["samples_per_s"]]
    yield all_there("every setting was run plainly", [*rates, more["samples_per_s"]])
    yield note("prepared on the device", 1e6 * device_s, "us a sample")
    yield note(f"run plainly, decoding there, {sizes.most} workers", more["samples_per_s"], "samples/s")
    if worker_s is None:
        yield absent("whatif operator=all:gpu", why)
        return
    yield note("prepared by a worker", 1e6 * worker_s, "us a sample")
    setting = f"operator=all:gpu{worker_s / device_s:.4g}"
    yield predictions.compare(machine, STATES, setting, truth_of(rates), predictions.IN_MEMORY)
