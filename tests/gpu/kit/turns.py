"""Several jobs that are alive at once and train in turns (jobs/turns.py)."""

import json
import pathlib
import subprocess

from . import commands
from .machine import JOBS, Machine

PLAIN, PASSIVE, ALWAYS, PROFILER, EVENTS = "plain", "stallcast", "stallcast, always tracing", "torch.profiler", "events"
MEASURED = (PASSIVE, ALWAYS)


def turns_command(machine: Machine, *words: object) -> list[str]:
    sizes = machine.sizes
    command = [machine.python, str(JOBS / "turns.py"), "--device", machine.device, "--model", sizes.model, "--side", sizes.side,
               "--batch", sizes.batch, "--workers", sizes.turn_workers]
    if machine.rehearsal:
        command += ["--stand-in", "driver"]
    return [str(word) for word in [*command, *words]]


class Turns:
    """Jobs by their names, as a context: each trains a block when it is told to."""

    def __init__(self, machine: Machine, folder: pathlib.Path, kinds: list[str], *words: object, traced: bool = False):
        self.machine, self.folder, self.kinds, self.words, self.traced = machine, folder, kinds, words, traced
        self.processes: dict[str, subprocess.Popen] = {}

    def measured(self, kind: str = PASSIVE) -> pathlib.Path:
        """Where the profile of a measured one is, once all have ended."""
        return self.folder / ("measured" if kind == PASSIVE else "measured-always")

    def __enter__(self):
        for kind in self.kinds:
            command = turns_command(self.machine, *self.words)
            if kind == PROFILER:
                command += ["--profiler", *(["--trace", str(self.folder / "trace")] if self.traced else [])]
            if kind == EVENTS:
                command += ["--events"]
            variables = {"STALLCAST_GPU_PROBE": "always"} if kind == ALWAYS else {}
            if kind in MEASURED:
                command = commands.profile_command(self.machine, self.measured(kind), command, "--phases", "as_is")
            with open(self.folder / f"{kind}.err", "w", encoding="utf-8") as errors:
                self.processes[kind] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                                                        text=True, env=commands.environment(self.machine, **variables),
                                                        cwd=self.machine.scratch)
        return self

    def __exit__(self, *_):
        statuses = {}
        for kind, process in self.processes.items():
            process.stdin.close()
            statuses[kind] = process.wait()
            process.stdout.close()
        if any(statuses.values()):
            raise RuntimeError(f"ended with {statuses}: {self.words_of_failure(statuses)}")

    def words_of_failure(self, statuses: dict[str, int]) -> str:
        return "; ".join((self.folder / f"{kind}.err").read_text()[-1500:] for kind, status in statuses.items() if status)

    def block(self, kind: str) -> dict:
        """What one of them says of its next block."""
        process = self.processes[kind]
        process.stdin.write("block\n")
        process.stdin.flush()
        for line in process.stdout:
            if line.startswith('{"window_ns"'):
                return json.loads(line)
        raise RuntimeError(f"{kind} ended: {(self.folder / f'{kind}.err').read_text()[-1500:]}")

    def rounds(self, count: int, warm_up: int = 1) -> list[dict[str, dict]]:
        """So many blocks of each, in an order that goes on by one each round, after some that warm up."""
        found = []
        for number in range(count + warm_up):
            order = self.kinds[number % len(self.kinds):] + self.kinds[:number % len(self.kinds)]
            found.append({kind: self.block(kind) for kind in order})
        return found[warm_up:]
