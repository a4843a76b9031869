"""(c) Measured runs: states and stalls of a real network on JPEGs, and weights that are the same bit for bit."""

import concurrent.futures
import re
from collections.abc import Iterator

from . import commands
from .checks import Check, absent, holds, note
from .machine import Machine

STATES, LARGER = "states", "larger"  # folders of profiles that other parts predict from
RATES = ("as_is", "cached", "cold", "synthetic", "supply_cached")
STALLS = ("as_is_wait_frac", "as_is_fetch_frac", "as_is_prep_frac", "prep_frac", "fetch_frac")
GPU = ("busy_frac", "exposed_copy_frac", "idle_frac", "starved_frac", "pageable_frac", "copy_in_bytes", "kernels")
MEASURED_EPOCHS = 1000  # --stop ends the run


def measured(machine: Machine, name: str, budget_s: float, phases: tuple[str, ...], *words: object) -> dict:
    command = commands.job(machine, machine.data, "--epochs", MEASURED_EPOCHS, *words)
    options = [*phases, "--no-extras", "--stop", "--evict", "all", "--budget", f"{budget_s:g}s"]
    return commands.profile(machine, machine.folder(name), command, *options)[0]


def told(profile: dict, needed: tuple[str, ...]) -> Iterator[Check]:
    """What a profile says: rates that must be there, and all others as they are."""
    for state in RATES:
        value, why = commands.mean_of(profile, f"rates.{state}_samples_per_s")
        if state in needed:
            yield holds(f"rate {state} is there", value is not None, why or f"{value:.5g} samples/s")
        else:
            yield note(f"rate {state}", value if value is not None else f"absent: {why}", "samples/s")
    for section, keys in (("stalls", STALLS), ("gpu", GPU)):
        for key in keys:
            value, why = commands.mean_of(profile, f"{section}.{key}")
            yield note(f"{section}.{key}", value if value is not None else f"absent: {why}")
    yield holds("the device's busy share is there", commands.mean_of(profile, "gpu.busy_frac")[0] is not None,
                commands.mean_of(profile, "gpu.busy_frac")[1])
    yield note("issues", ", ".join(issue["id"] for issue in profile["issues"]) or "none")


def states(machine: Machine) -> Iterator[Check]:
    profile = measured(machine, STATES, machine.sizes.states_budget_s, (), "--workers", machine.sizes.profiled)
    yield from told(profile, ("as_is", "cold", "synthetic"))


def larger(machine: Machine) -> Iterator[Check]:
    """Many workers, and copies that wait: what pinned memory would change. Epochs that are longer than what 14 workers have
    under way."""
    sizes = machine.sizes
    profile = measured(machine, LARGER, sizes.burst_budget_s, ("--phases", "synthetic"), "--workers", sizes.most,
                       "--pin", 0, "--non-blocking", 0, "--batch", sizes.batch, "--model", sizes.larger, "--repeats", 4)
    yield from told(profile, ("as_is", "synthetic"))
    if not machine.rehearsal:
        pageable, why = commands.mean_of(profile, "gpu.pageable_frac")
        yield holds("what is not pinned is seen as such", pageable is not None and pageable > 0.99, why or f"{pageable:.3f}")


def weights(machine: Machine) -> Iterator[Check]:
    """Two plain trainings and a measured one, at once: what they take of each other does not change their numbers.

    Pictures of half the side, as the deterministic network does not pool."""
    sizes = machine.sizes
    command = commands.job(machine, machine.data, "--epochs", sizes.promise_epochs, "--deterministic", "--workers",
                           min(5, sizes.profiled), "--side", sizes.side // 2)
    folder = machine.folder("weights") / "measured"
    options = ["--evict", "all", "--budget", f"{sizes.promise_budget_s:g}s"]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        plain = [pool.submit(commands.run, machine, command) for _ in range(2)]
        (profile, (cell,)) = pool.submit(commands.profile, machine, folder, command, *options).result()
        first, second = (commands.cells_of(run.result().stdout)[0] for run in plain)
    yield holds("two plain runs end with the same weights", first["weights"] == second["weights"],
                f"{first['steps']} steps, loss {first['loss']:.6f} and {second['loss']:.6f}")
    if first["weights"] != second["weights"]:
        yield absent("a measured run ends with the same weights", "two plain runs differ: nothing to hold it against")
    else:
        yield holds("a measured run ends with the same weights", cell["weights"] == first["weights"],
                    f"{cell['steps']} steps, loss {cell['loss']:.6f}")
    made = [f"{block['phase']}{'' if not block['left_out'] else ' (left out)'}" for block in profile["phases"]]
    yield holds("states were made in it", bool(made), re.sub(r"[\[\]']", "", str(made)))
