"""(g) Two processes on one GPU, each under a tool of its own: each sees its own work, and its rate is that of plain runs."""

import concurrent.futures
import dataclasses
from collections.abc import Iterator

from . import commands, predictions, traces
from .checks import Check, holds, note, truth_of
from .machine import Machine


def run(machine: Machine) -> Iterator[Check]:
    sizes = machine.sizes
    command = commands.job(machine, machine.data, "--epochs", sizes.shared_epochs, "--workers", max(1, sizes.most // 2))
    folder = machine.folder("sharing")
    places = [folder / "first", folder / "second"]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        measured = list(pool.map(lambda place: commands.profile(machine, place, command, "--phases", "as_is"), places))
        plain = list(pool.map(lambda _: commands.cells_of(commands.run(machine, command).stdout)[0], places))
    truth = truth_of([cell["samples_per_s"] for cell in plain])
    for place, (profile, (cell,)) in zip(places, measured, strict=True):
        found = traces.recordings(place)
        yield holds(f"{place.name}: one recording, and no refusal", len(found) == 1 and not found[0].absent,
                    "; ".join(one.absent for one in found))
        busy, why = commands.mean_of(profile, "gpu.busy_frac")
        yield holds(f"{place.name}: the device's busy share is there", busy is not None, why or f"{busy:.3f}")
        yield dataclasses.replace(predictions.compare_rate(profile, "as_is", truth), what=f"{place.name}: rate as_is")
        yield note(f"{place.name}: its own rate", cell["samples_per_s"], "samples/s")
