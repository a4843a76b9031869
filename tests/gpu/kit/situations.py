"""What stands in the way of the GPU part: the job is measured without it, trains as ever, and the profile says why.

Nothing here needs a GPU: somebody plays the driver and CUPTI. Where there is one, those that can be had there are real, too.
"""

import concurrent.futures
import dataclasses
import pathlib
from collections.abc import Iterator

from . import commands
from .checks import Check, holds
from .machine import Machine


@dataclasses.dataclass(frozen=True)
class Situation:
    """`told`: what the reason must name. `stand_in`: who is played (jobs/train.py). `with_driver`: what is told instead on
    a machine that has a driver, which then loads the probe: no CUPTI is played there."""

    name: str
    told: str
    with_driver: str = ""
    stand_in: str = "cuda-build"
    script: str = "good"
    variables: tuple[tuple[str, str], ...] = ()


PLAYED = (
    Situation("no driver", "no accelerator", "no work was seen on a GPU", stand_in="no",
              variables=(("CUDA_VISIBLE_DEVICES", ""),)),
    Situation("CUPTI held by another", "MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39)", script="held"),
    Situation("MIG, where CUPTI refuses it", "MIG_DEVICE_NOT_SUPPORTED (43)", script="mig"),
    Situation("no libcupti", "libcupti cannot be loaded", variables=(("STALLCAST_CUPTI_LIB", "/nowhere/libcupti.so"),)),
    Situation("an injection of the job's own", "CUDA_INJECTION64_PATH is set to",
              variables=(("CUDA_INJECTION64_PATH", "{other}"),)),
    Situation("the probe switched off", "STALLCAST_GPU_PROBE", variables=(("STALLCAST_GPU_PROBE", "off"),)),
    Situation("a GPU that the job leaves alone", "CUDA was not started", "no work was seen on a GPU",
              stand_in="idle-cuda-build"),
)
ON_GPU = (
    Situation("the probe switched off, on the GPU", "STALLCAST_GPU_PROBE", variables=(("STALLCAST_GPU_PROBE", "off"),)),
    Situation("no libcupti, on the GPU", "libcupti cannot be loaded",
              variables=(("STALLCAST_CUPTI_LIB", "/nowhere/libcupti.so"),)),
)


def command_of(machine: Machine, situation: Situation, played: bool) -> list[str]:
    """A small job; where the situation is played, on the CPU of whichever machine."""
    words = ["--epochs", 2, "--workers", 1, "--deterministic", "--batch", 8, "--side", 32, "--model", "tiny", "--limit-files",
             320]
    command = commands.job(machine, machine.data, *words, stand_in=situation.stand_in)
    return [*command, "--device", "cpu", "--stand-in", situation.stand_in] if played else command


def variables_of(machine: Machine, situation: Situation, played: bool) -> dict[str, str]:
    scripted = {"STALLCAST_CUPTI_LIB": str(machine.scripted_cupti), "STALLCAST_FAKE_CUPTI": situation.script}
    if not played or (situation.with_driver and not machine.rehearsal):
        scripted = {}
    given = {name: value.format(other=machine.scripted_cupti) for name, value in situation.variables}
    return {**scripted, **given}


def check(machine: Machine, situation: Situation, folder: pathlib.Path, played: bool, plain: dict) -> list[Check]:
    """Measures the job in the situation, beside what it did plainly."""
    command = command_of(machine, situation, played)
    place = folder / "".join(letter if letter.isalnum() else "-" for letter in situation.name)
    profile, (cell,) = commands.profile(machine, place, command, "--phases", "as_is",
                                        **variables_of(machine, situation, played))
    text = " ".join(commands.report(machine, place).split())
    told = situation.with_driver if situation.with_driver and not machine.rehearsal else situation.told
    rate = commands.mean_of(profile, "rates.as_is_samples_per_s")[0]
    busy, why = commands.mean_of(profile, "gpu.busy_frac")
    return [holds(f"{situation.name}: the job ends as ever", cell["weights"] == plain["weights"], f"loss {cell['loss']:.6f}"),
            holds(f"{situation.name}: measured", rate is not None),
            holds(f"{situation.name}: without the GPU part", busy is None),
            holds(f"{situation.name}: the report says why", told in text, why)]


def check_all(machine: Machine, name: str, situations: tuple[Situation, ...], played: bool) -> Iterator[Check]:
    """Several at once: no figure here depends on how fast they are."""
    folder = machine.folder(name)
    (plain,) = commands.cells_of(commands.run(machine, command_of(machine, situations[0], played)).stdout)
    with concurrent.futures.ThreadPoolExecutor(2 if machine.rehearsal else 8) as pool:
        for found in pool.map(lambda situation: check(machine, situation, folder, played, plain), situations):
            yield from found


def run(machine: Machine) -> Iterator[Check]:
    yield from check_all(machine, "situations", PLAYED, played=True)


def held_by_the_job(machine: Machine) -> Iterator[Check]:
    """The job itself has subscribed to CUPTI: whether CUPTI then gives records to others is its version's to say."""
    folder = machine.folder("held")
    command = [*command_of(machine, ON_GPU[0], played=False), "--stand-in", "subscriber"]
    profile, _ = commands.profile(machine, folder, command, "--phases", "as_is")
    busy, why = commands.mean_of(profile, "gpu.busy_frac")
    yield holds("CUPTI held by the job: measured", commands.mean_of(profile, "rates.as_is_samples_per_s")[0] is not None)
    yield holds("CUPTI held by the job: a GPU part, or CUPTI's words", busy is not None or "CUPTI" in why, why or f"{busy:.3f}")


def on_gpu(machine: Machine) -> Iterator[Check]:
    """A rehearsal plays these, too, but for the one that needs CUPTI itself."""
    yield from check_all(machine, "refusals", ON_GPU, played=machine.rehearsal)
    if not machine.rehearsal:
        yield from held_by_the_job(machine)
