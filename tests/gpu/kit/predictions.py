"""(d) What a profile predicts, each setting then run plainly: 5 % is what a cell may be off."""

import json
import pathlib
from collections.abc import Iterator

from . import commands
from .checks import Absent, Check, Truth, absent, all_there, near, note, truth_of
from .machine import Machine
from .training import LARGER, STATES

IN_MEMORY = "cache=100%"  # plain runs read what is in memory


def plain_cells(machine: Machine, name: str, cells: list[dict], *words: object) -> list[Truth | None]:
    """The steady rate of each cell, run plainly by one process, all of them twice, the second time the other way round; kept
    for other parts under `name`."""
    command = commands.job(machine, machine.data, "--cells", json.dumps([*cells, *reversed(cells)]), "--seconds",
                           machine.sizes.cell_s, "--repeats", 40, *words)
    rates = [cell["samples_per_s"] for cell in commands.cells_of(commands.run(machine, command).stdout)]
    found = [list(pair) for pair in zip(rates[:len(cells)], reversed(rates[len(cells):]), strict=True)]
    kept_path(machine, name).write_text(json.dumps(found))
    return [truth_of(pair) for pair in found]


def kept_path(machine: Machine, name: str) -> pathlib.Path:
    return machine.scratch / f"plain-{name}.json"


def kept_cells(machine: Machine, name: str) -> list[Truth | None]:
    """What an earlier part ran plainly."""
    path = kept_path(machine, name)
    if not path.exists():
        raise Absent(f"the plain runs of part {name} are not there: it comes first")
    return [truth_of(pair) for pair in json.loads(path.read_text())]


def compare(machine: Machine, profile: str, setting: str, truth: Truth | None, *more: str) -> Check:
    """A prediction beside a plain run."""
    predicted, why = commands.whatif(machine, machine.scratch / profile, *filter(None, (setting, *more)))
    what = f"whatif {setting or 'as profiled'}"
    if predicted is None:
        return absent(what, why)
    return near(what, predicted["mean"], truth, interval=(predicted["ci90_low"], predicted["ci90_high"]))


def compare_rate(profile: dict, state: str, truth: Truth | None) -> Check:
    """The rate of a state beside a plain run."""
    key = f"{state}_samples_per_s"
    rate = profile["rates"][key]
    if rate is None:
        return absent(f"rate {state}", profile["absent"][f"rates.{key}"])
    return near(f"rate {state}", rate["mean"], truth, interval=(rate["ci95_low"], rate["ci95_high"]))


def loader(machine: Machine) -> Iterator[Check]:
    """The smaller model's profile: its own rates, and other settings of its loader."""
    sizes = machine.sizes
    profile = commands.load_profile(machine.scratch / STATES)
    others = [count for count in sizes.workers if count != sizes.profiled]
    cells = [{}, {"data": "memory"}, *({"workers": count} for count in others), {"prefetch": 4}, {"batch": 2 * sizes.batch}]
    found, made, *rest = plain_cells(machine, "loader", cells, "--workers", sizes.profiled)
    yield all_there("every setting was run plainly", [found, made, *rest])
    yield note("run plainly as profiled", found and found.mean, "samples/s")
    for state, truth in (("as_is", found), ("cached", found), ("synthetic", made)):
        yield compare_rate(profile, state, truth)
    settings = ["", *(f"workers={count}" for count in others), "prefetch=4", f"batch={2 * sizes.batch}"]
    for setting, truth in zip(settings, [found, *rest], strict=True):
        yield compare(machine, STATES, setting, truth, IN_MEMORY)


def without_exposed_copies(profile: dict, batch: int) -> tuple[float | None, str]:
    """samples/s of a step that is shorter by the copies that nothing hid: what pinned memory can bring at most."""
    step, why_step = commands.mean_of(profile, "resources.step_s")
    exposed, why = commands.mean_of(profile, "gpu.exposed_copy_s")
    if step is None or exposed is None:
        return None, why_step or why
    return batch / (step - exposed), ""


def speedup(machine: Machine, profile: dict) -> tuple[float | None, str]:
    """How much shorter the smaller model keeps the device busy: of the two profiles' kernels."""
    slow, why_slow = commands.mean_of(profile, "gpu.busy_s")
    fast, why_fast = commands.mean_of(commands.load_profile(machine.scratch / STATES), "gpu.busy_s")
    return (None, why_slow or why_fast) if slow is None or fast is None else (slow / fast, "")


def transfer(machine: Machine) -> Iterator[Check]:
    """The larger model's profile: its own rates, copies that kernels hide, and a device that is faster."""
    sizes = machine.sizes
    profile = commands.load_profile(machine.scratch / LARGER)
    base = {"model": sizes.larger, "pin": 0, "non_blocking": 0}
    cells = [base, {**base, "pin": 1}, {**base, "pin": 1, "non_blocking": 1}, {**base, "model": sizes.model},
             {**base, "data": "memory"}]
    found, pinned, hidden, smaller, made = plain_cells(machine, "transfer", cells, "--workers", sizes.most)
    yield all_there("every setting was run plainly", [found, pinned, hidden, smaller, made])
    for name, rate in (("as profiled", found), ("pin_memory", pinned), ("pin_memory and non_blocking", hidden)):
        yield note(f"run plainly: {name}", rate and rate.mean, "samples/s")
    for state, truth in (("as_is", found), ("synthetic", made)):
        yield compare_rate(profile, state, truth)
    value, why = without_exposed_copies(profile, sizes.batch)
    yield near("pin_memory and non_blocking: a step without its exposed copies", value, hidden, why=why)
    times, why = speedup(machine, profile)
    if times is None:
        yield absent("whatif gpu_speedup", why)
    else:
        yield compare(machine, LARGER, f"gpu_speedup={times:.4g}", smaller, IN_MEMORY)
