"""(a) The tool sees the machine; the injection loads, torch works, and torch.profiler gets CUPTI when it begins."""

import json
from collections.abc import Iterator

from . import commands, traces
from .checks import Check, holds, note
from .machine import Machine

NEEDED = ("capture_library", "python_shim", "run_folder", "shared_memory")
NEEDED_OF_GPU = ("gpu", "cupti")


def doctor(machine: Machine) -> Iterator[Check]:
    answer = json.loads(commands.run(machine, [str(machine.tool), "doctor", "--json"]).stdout)
    for check in answer["checks"]:
        judged = NEEDED if machine.rehearsal else NEEDED + NEEDED_OF_GPU
        if check["id"] in judged:
            yield holds(f"doctor: {check['id']}", check["state"] == "ok", check["seen"])
        elif check["id"] in (*NEEDED_OF_GPU, "perf_events", "kernel_limits", "page_cache"):
            yield note(f"doctor: {check['id']} ({check['state']})", check["seen"])


def run(machine: Machine) -> Iterator[Check]:
    yield from doctor(machine)
    folder = machine.folder("injection") / "measured"
    words = ["--repeats", machine.sizes.profiler_repeats, "--profiler-from", machine.sizes.profiler_from]
    profile, (cell,) = commands.profile(machine, folder, commands.job(machine, machine.data, *words), "--phases", "as_is")
    yield holds("torch trains under the injection", cell["loss"] == cell["loss"], f"loss {cell['loss']:.3f}")
    kinds = cell.get("profiler_events", {})
    wanted = "CPU" if machine.rehearsal else "CUDA"
    yield holds(f"torch.profiler, begun later, has its {wanted} events", kinds.get(wanted, 0) > 0, str(kinds))
    found = traces.recordings(folder)
    yield holds("one process left a recording of its GPU", len(found) == 1, f"{len(found)}")
    recording = found[0]
    yield holds("a libcupti was found", bool(recording.library), recording.library)
    yield holds("activity was recorded before", bool(recording.bins), f"{len(recording.bins)} bins")
    yield holds("the probe yielded to it", recording.absent == "yielded to torch.profiler", recording.absent)
    source = profile.get("gpu", {}).get("source")
    yield holds("the profile has a GPU part", source == "CUPTI", str(source))
    busy, why = commands.mean_of(profile, "gpu.busy_frac")
    yield holds("the device's busy share is there", busy is not None, why or f"{busy:.3f}")
    if not machine.rehearsal:
        names = [device["name"] for device in recording.devices]
        yield holds("the device has its name", names == [cell["device"]], f"{names} beside {cell['device']}")
