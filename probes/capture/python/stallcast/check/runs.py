"""Runs the workload with and without the change, in turn, on one machine.

Order with two rounds and the warm-up: base, head (both uncounted) | base, head | head, base. What drifts on the machine
meanwhile then falls on both sides alike. Whatever goes wrong with the options shows in a run of the base, which is
always the first one.
"""

import os
import subprocess

OUR_FAILURE = 125  # of `stallcast profile`, and not of the command


class Measured:
    """Folders of the complete rounds, each with `base` and `head` below it; and the run that failed, if one did."""

    def __init__(self):
        self.rounds = []
        self.failed_side = None  # "base" or "head"
        self.failed_status = None
        self.commits = {}


def commit_of(folder):
    """Short name of the commit in `folder`, or None where git cannot tell."""
    try:
        done = subprocess.run(["git", "-C", folder, "rev-parse", "--short=12", "HEAD"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, universal_newlines=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def plan(rounds, warm_up):
    """Names of the folders of all rounds, with the sides in the order in which they run."""
    planned = [("warm-up", ("base", "head"))] if warm_up else []
    for number in range(1, rounds + 1):
        planned.append((f"round-{number}", ("base", "head") if number % 2 else ("head", "base")))
    return planned


def profile(tool, options, side, output):
    """One run; its output goes where ours goes. Returns the exit status."""
    command = [tool, "profile", "--stop", "-q", "--force", "-o", output, *options.options, "--", *options.command]
    return subprocess.run(command, cwd=getattr(options, side), stdin=subprocess.DEVNULL, check=False).returncode


def measure(tool, options):
    """Runs all rounds, until one side cannot be run."""
    tool = os.path.abspath(tool)
    measured = Measured()
    measured.commits = {side: commit_of(getattr(options, side)) for side in ("base", "head")}
    for name, sides in plan(options.rounds, options.warm_up == "true"):
        folder = os.path.abspath(os.path.join(options.output, name))
        os.makedirs(folder, exist_ok=True)
        for side in sides:
            print(f"stallcast check: {name}, {side}", flush=True)
            status = profile(tool, options, side, os.path.join(folder, side))
            if status != 0:
                measured.failed_side, measured.failed_status = side, status
                return measured
        if name != "warm-up":
            measured.rounds.append(folder)
    return measured
