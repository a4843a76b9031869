"""(b) Windows as often as can be, in jobs whose steps are limited by launching kernels: switching harms nobody.

The probe's first form switched CUPTI on and off from a thread of its own, and one process of eight ended with SIGSEGV.
"""

import subprocess
from collections.abc import Iterator

from . import commands, traces
from .checks import Check, holds
from .machine import Machine
from .turns import turns_command

JOBS = 3  # at the same time
FEWEST, FEWEST_IN_REHEARSAL = 100, 20  # windows of each


def run(machine: Machine) -> Iterator[Check]:
    sizes = machine.sizes
    steps = sizes.switched_steps
    command = turns_command(machine, "--blocks", 1, "--steps", steps, "--batch", max(4, sizes.batch // 8), "--pace",
                            sizes.switched_pace_s)
    folders = [machine.folder("windows") / f"job{number}" for number in range(JOBS)]
    jobs = [subprocess.Popen(commands.profile_command(machine, folder, command, "--phases", "as_is"), stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=machine.scratch,
                             env=commands.environment(machine, STALLCAST_GPU_PROBE="often")) for folder in folders]
    for job in jobs:
        job.stdin.write("block\n")
        job.stdin.close()
    for number, (job, folder) in enumerate(zip(jobs, folders, strict=True)):
        said = job.stdout.read()
        status = job.wait()
        yield holds(f"job {number} ends as ever", status == 0 and '{"window_ns"' in said, f"status {status}")
        found = sum(len(recording.windows) for recording in traces.recordings(folder))
        fewest = FEWEST_IN_REHEARSAL if machine.rehearsal else FEWEST
        yield holds(f"job {number} had {fewest} windows", found >= fewest, f"{found}")
