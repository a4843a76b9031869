"""(b) What the probe says of a device, beside torch.profiler's own trace of the same steps.

CUPTI has one client a process, so processes train the same steps in turns, one under the tool, one under torch.profiler. The
probe traces all the time here, as windows would have to be met. Whoever traces makes steps longer and waits shorter. For how
long of its waits the device is still busy is held against a third process, which is not traced, by CUDA's own events.
"""

import dataclasses
import json
import pathlib
from collections.abc import Iterator

from . import commands, traces
from .checks import Absent, Check, at_most, holds, mean_and_half, note
from .machine import Machine
from .turns import ALWAYS, EVENTS, PROFILER, Turns

BLOCKS = 3
# What the scripted CUPTI plays at each flush of the probe, in three records.
SCRIPTED_S = {"busy": 0.030, "copy_in": 0.010}
SCRIPTED_RECORDS = 3


def shares_by_profiler(block: dict) -> traces.Shares:
    trace = json.loads(pathlib.Path(block["trace"]).read_text())
    return traces.shares_of_trace(trace, "kit_window", "kit_wait")


def of_window(block: dict, span_ns: int) -> float:
    begin, end = block["window_ns"]
    return span_ns / (end - begin)


def busy_in_waits(block: dict, starved: float) -> float:
    """Of the window: while a batch was waited for and the device was not idle."""
    return of_window(block, sum(end - begin for begin, end in block["waits_ns"])) - starved


def mean_shares(shares: list[traces.Shares]) -> dict[str, float]:
    names = [field.name for field in dataclasses.fields(traces.Shares)]
    return {name: mean_and_half([getattr(one, name) for one in shares])[0] for name in names}


def beside(what: str, value: float, truth: float) -> Check:
    check = at_most(what, 100 * (value - truth), 1.0, "% points")
    return dataclasses.replace(check, why=f"{100 * value:.2f} % beside {100 * truth:.2f} %")


def beside_profiler(rounds: list[dict[str, dict]], recording: traces.Recording) -> Iterator[Check]:
    """Each share of the windows, by both: means over the blocks."""
    if not rounds[0][PROFILER]["kineto"]:
        raise Absent("this torch was built without Kineto: torch.profiler sees no device")
    ours = [recording.shares(block[ALWAYS]["window_ns"], block[ALWAYS]["waits_ns"]) for block in rounds]
    theirs = [shares_by_profiler(block[PROFILER]) for block in rounds]
    seen, truth = mean_shares(ours), mean_shares(theirs)
    for name in ("busy", "copy_in", "exposed", "idle"):
        yield beside(f"{name} of the window: probe less torch.profiler", seen[name], truth[name])
    in_waits = [mean_and_half(shares)[0] for shares in (
        [busy_in_waits(block[ALWAYS], one.starved) for block, one in zip(rounds, ours, strict=True)],
        [busy_in_waits(block[EVENTS], of_window(block[EVENTS], block[EVENTS]["idle_in_waits_ns"])) for block in rounds])]
    yield beside("busy while a batch was waited for: probe less CUDA's events", *in_waits)
    yield holds("the device was busy at all, by torch.profiler", truth["busy"] > 0.0, f"{100 * truth['busy']:.2f} %")


def waits_in_trace(rounds: list[dict[str, dict]]) -> Iterator[Check]:
    """A trace without a device: all waiting is idle, and lasts as long as the job's own clock says."""
    if not rounds[0][PROFILER]["kineto"]:
        yield note("traces of torch.profiler", "not read: this torch was built without Kineto")
        return
    for number, block in enumerate(one[PROFILER] for one in rounds):
        begin, end = block["window_ns"]
        waited = 100 * sum(last - first for first, last in block["waits_ns"]) / (end - begin)
        seen = shares_by_profiler(block)
        check = at_most(f"block {number}: waiting in the trace beside the job's clock", 100 * seen.starved - waited, 1.0,
                        "% points", timed=False)
        yield dataclasses.replace(check, why=f"{100 * seen.starved:.2f} % beside {waited:.2f} %")
        yield holds(f"block {number}: the trace has no device", seen.busy == 0.0 and abs(seen.idle - 1.0) < 1e-9)


def beside_script(recording: traces.Recording) -> Iterator[Check]:
    """Of all that was recorded, what the scripted CUPTI played: a share that is known."""
    whole = (recording.begin_ns, recording.covered_ns)
    seconds = (whole[1] - whole[0]) * 1e-9
    for name, each_s in SCRIPTED_S.items():
        played = each_s * recording.records / SCRIPTED_RECORDS
        seen = recording.total(f"{name}_ns", [whole]) * 1e-9
        check = at_most(f"{name} beside what was played", 100 * (seen - played) / seconds, 1.0, "% points", timed=False)
        yield dataclasses.replace(check, why=f"{seen:.3f} s beside {played:.3f} s of {seconds:.1f} s")


def run(machine: Machine) -> Iterator[Check]:
    sizes = machine.sizes
    words = ["--blocks", BLOCKS + 1, "--steps", sizes.device_steps, "--pace", sizes.pace_s * sizes.turn_workers]
    kinds = [ALWAYS, PROFILER] + [EVENTS] * (not machine.rehearsal)
    with Turns(machine, machine.folder("device"), kinds, *words, traced=True) as turns:
        rounds = turns.rounds(BLOCKS)
    (recording,) = traces.recordings(turns.measured(ALWAYS))
    yield note("libcupti", recording.library)
    yield holds("no record was dropped or late", recording.dropped == 0 and recording.late == 0,
                f"{recording.dropped} dropped, {recording.late} late")
    if machine.rehearsal:
        yield from beside_script(recording)
        yield from waits_in_trace(rounds)
    else:
        yield from beside_profiler(rounds, recording)
    profile = commands.load_profile(turns.measured(ALWAYS))
    for key in ("gpu.busy_frac", "gpu.idle_frac", "gpu.starved_frac", "gpu.exposed_copy_frac"):
        value, why = commands.mean_of(profile, key)
        yield note(f"{key} of the whole profile", value) if value is not None else holds(f"{key} is there", False, why)
