"""(c) Storage under a limit of the kernel's: the cold rate, and what a cache would bring; absent where no limit can be had."""

import pathlib
import subprocess
import sys
from collections.abc import Iterator

from . import commands, predictions
from .checks import Absent, Check, all_there, note, truth_of
from .machine import ROOT, Machine

sys.path.append(str(ROOT / "tests" / "bench"))
from truth.files import data_files, evict  # noqa: E402
from truth.limits import Limits, Unavailable  # noqa: E402


def run_limited(machine: Machine, command: list[str]) -> subprocess.CompletedProcess:
    """Under the limit, with nothing of the data in memory before."""
    evict(data_files(str(machine.data)))
    with Limits(read_bytes_per_s=machine.sizes.limit_bytes_per_s, path=str(machine.data)) as limits:
        return commands.run(machine, limits.wrap(command))


def run(machine: Machine) -> Iterator[Check]:
    sizes = machine.sizes
    command = commands.job(machine, machine.data, "--seconds", sizes.cell_s, "--workers", sizes.profiled)
    folder = pathlib.Path(machine.folder("cold"))
    try:
        (before,) = commands.cells_of(run_limited(machine, command).stdout)
        run_limited(machine, commands.profile_command(machine, folder, command, "--phases", "as_is"))
        (after,) = commands.cells_of(run_limited(machine, command).stdout)
    except Unavailable as reason:
        raise Absent(str(reason)) from reason
    profile = commands.load_profile(folder)
    rates = [cell["samples_per_s"] for cell in (before, after)]
    yield all_there("it was run plainly", rates)
    yield note("the kernel's limit", sizes.limit_bytes_per_s / 1e6, "MB/s")
    share, why = commands.mean_of(profile, "resources.bytes_from_storage_frac")
    yield note("of the bytes, from storage", share if share is not None else f"absent: {why}")
    yield predictions.compare_rate(profile, "as_is", truth_of(rates))
    in_memory = predictions.kept_cells(machine, "loader")[0]
    yield predictions.compare(machine, "cold", predictions.IN_MEMORY, in_memory)
