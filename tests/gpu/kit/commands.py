"""The tool and the jobs around which it is run. Every process stays in its part's session, which ends with the part."""

import json
import os
import pathlib
import signal
import subprocess
import time

from .checks import Absent
from .machine import JOBS, ROOT, Machine


def job(machine: Machine, data: str | pathlib.Path, *words: object, model: str = "", stand_in: str = "driver") -> list[str]:
    """The command of the training job; in a rehearsal on a CPU, with somebody who plays the driver."""
    sizes = machine.sizes
    command = [machine.python, str(JOBS / "train.py"), str(data), "--model", model or sizes.model, "--side", sizes.side,
               "--batch", sizes.batch, "--workers", sizes.profiled, "--device", machine.device]
    if machine.rehearsal:
        command += ["--stand-in", stand_in]
    return [str(word) for word in [*command, *words]]


def environment(machine: Machine, **more: str) -> dict[str, str]:
    """This process's, without what an outer run left, and with the GPU recorded; a rehearsal's libcupti plays a script."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("STALLCAST_") and name != "CUDA_INJECTION64_PATH"}
    if machine.rehearsal:
        more = {"STALLCAST_CUPTI_LIB": str(machine.scripted_cupti), "STALLCAST_FAKE_CUPTI": "good", "OMP_NUM_THREADS": "1",
                **more}
    return {**kept, "STALLCAST_GPU_PROBE": "on", **more}


def run(machine: Machine, command: list[str], **variables: str) -> subprocess.CompletedProcess:
    """Runs a command to its end; raises with what it said where it failed."""
    done = subprocess.run(command, env=environment(machine, **variables), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, text=True, check=False, cwd=machine.scratch)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return done


def cells_of(output: str) -> list[dict]:
    """What the job printed of its cells."""
    return [json.loads(line) for line in output.splitlines() if line.startswith('{"cell"')]


def profile_command(machine: Machine, folder: pathlib.Path, command: list[str], *options: str) -> list[str]:
    return [str(machine.tool), "profile", "-q", "--force", "-o", str(folder), *options, "--", *command]


def profile(machine: Machine, folder: pathlib.Path, command: list[str], *options: str,
            **variables: str) -> tuple[dict, list[dict]]:
    """(profile.json, what the job printed) of a command under the tool."""
    done = run(machine, profile_command(machine, folder, command, *options), **variables)
    return load_profile(folder), cells_of(done.stdout)


def load_profile(folder: pathlib.Path) -> dict:
    path = folder / "profile.json"
    if not path.exists():
        raise Absent(f"{folder.name} holds no profile: the part that makes it comes first")
    return json.loads(path.read_text())


def report(machine: Machine, folder: pathlib.Path) -> str:
    """The text report of a profile."""
    return run(machine, [str(machine.tool), "report", str(folder)]).stdout


def whatif(machine: Machine, folder: pathlib.Path, *settings: str) -> tuple[dict | None, str]:
    """(samples/s predicted under the settings: mean, ci90_low, ci90_high; "") or (None, why the tool refused)."""
    command = [str(machine.tool), "whatif", str(folder), "--json"] + [f"--set={setting}" for setting in settings]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        return None, " ".join(done.stderr.split())
    return json.loads(done.stdout)["predictions"][0]["throughput_samples_per_s"], ""


def mean_of(profile_json: dict, key: str) -> tuple[float | None, str]:
    """(the mean of an estimate such as "rates.cached_samples_per_s", "") or (None, why it is absent)."""
    section, name = key.split(".")
    found = profile_json.get(section, {}).get(name)
    if found is None:
        return None, profile_json["absent"].get(key, f"the profile has no {key}")
    return (found["mean"] if isinstance(found, dict) else found), ""


def make_data(machine: Machine) -> None:
    """The JPEGs, from a seed, by all cores; made once."""
    run(machine, [machine.python, str(ROOT / "samples/imagefolder/make_dataset.py"), str(machine.data), "--kind", "jpeg256",
                  "--samples", str(machine.sizes.samples)])


def session_processes(session: int) -> list[int]:
    """All processes of a session, those that other processes adopted among them."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def end_session(session: int, patience_s: float = 3.0) -> None:
    """Ends what a part left: politely, then by force."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        until = time.monotonic() + patience_s
        for pid in session_processes(session):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        while session_processes(session) and time.monotonic() < until:
            time.sleep(0.05)
