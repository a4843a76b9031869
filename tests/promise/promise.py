#!/usr/bin/env python3
"""Holds runs of a seeded command under stallcast against two plain ones: the promise that the training stays the user's.

    promise.py [options] -- COMMAND...       the command runs in copies of --folder, each time at the same path

Compared, where the two plain runs agree: exit status, what the command prints, all files that it leaves (names and
bytes), what it logs of its batches and generators (witness.py), temporary files, processes left behind.
A row each: name, mode, same or DIFFERENT, seconds plain and in this run, what was left out. Status 1 on any difference.
"""
import argparse
import contextlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

import compare
import runs

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def found_stallcast():
    """The build that is there."""
    for folder in ("build/release", "build/dev"):
        if os.path.exists(f"{ROOT}/{folder}/cli/stallcast"):
            return f"{ROOT}/{folder}/cli/stallcast"
    return shutil.which("stallcast") or "stallcast"


def parser(description, modes="as_is,measured"):
    """The options that all who compare share."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--stallcast", default=os.environ.get("STALLCAST_CLI") or found_stallcast(), metavar="BIN")
    made.add_argument("--modes", default=modes, help="as_is, measured or both (default: %(default)s)")
    made.add_argument("--options", default="", help="more options of `profile` where it measures, e.g. '--budget 40s'")
    made.add_argument("--runs", type=int, default=1, help="runs of each mode (default: 1)")
    made.add_argument("--keep", metavar="DIR", help="where the runs stay (default: a temporary folder that goes)")
    made.add_argument("--rates", action="store_true", help="also print which rates were measured, and the issues")
    return made


def need_torch():
    """Leaves with 77 (skipped) where this Python has no torch."""
    lacking = [name for name in ("torch", "numpy") if importlib.util.find_spec(name) is None]
    if lacking:
        print(f"skipped: {sys.executable} has no {' and no '.join(lacking)}")
        sys.exit(77)


@contextlib.contextmanager
def template(command, environment=None):
    """A folder that a command has made in, to be copied for each run; None where the command failed."""
    folder = tempfile.mkdtemp(prefix="promise-template-")
    environment = {**os.environ, "PYTHONPATH": HERE, "PYTHONDONTWRITEBYTECODE": "1", **(environment or {})}
    environment.pop("CASE_LOG", None)
    try:
        done = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, env=environment, check=False)
        yield folder if done.returncode == 0 else None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def differences(job, plain, again, other):
    """What a run under stallcast did otherwise, and what was not compared."""
    wrong, without = [], []

    def add(kind, pair):
        wrong.extend(f"{kind}: {words}" for words in pair[0])
        without.extend(f"{kind}: {words}" for words in pair[1])

    if plain.status != again.status:
        without.append(f"status ({plain.status} and {again.status})")
    elif other.status != plain.status:
        wrong.append(f"status {other.status} instead of {plain.status}")
    names = sorted({name for run in (plain, again, other) for name in os.listdir(run.part("log"))})
    if not names:
        without.append("log: the command writes none")
    for name in names:
        add("log", compare.logs(*(run.text("log/" + name) for run in (plain, again, other))))
    for name in ("stdout", "stderr"):
        add(name, compare.texts(*(run.text(name) for run in (plain, again, other)), job.dropped_lines))
    add("files", compare.trees(*(run.part("work") for run in (plain, again, other))))
    if plain.temporary != again.temporary:
        without.append("number of temporary files")
    elif other.temporary != plain.temporary:
        wrong.append(f"{other.temporary} temporary files instead of {plain.temporary}")
    # Workers of a loader in a cycle of references end when the garbage collector comes by, or are killed where it does so, or
    # not at all, at the interpreter's end (torch says so at length): by what everybody allocates. More must not be killed.
    if other.killed > max(plain.killed, again.killed):
        wrong.append(f"{other.killed} folders of workers that were killed instead of {plain.killed}")
    elif not plain.killed == again.killed == other.killed:
        without.append("temporary: folders of workers that were killed at the end")
    if other.ours:
        wrong.append("left behind: " + " ".join(other.ours))
    if len(other.processes) > max(len(plain.processes), len(again.processes)):
        wrong.append("processes left: " + ", ".join(compare.shortened(words, 60) for words in other.processes))
    return wrong, without


def of_the_tool(job, other):
    """What the tool itself did wrong: nothing that stood in the command's way, but it must not be."""
    issues = {issue["id"] for issue in other.profile.get("issues", [])}
    wrong = [f"issue {name}" for name in sorted(issues & {"shim-failed"})]
    wrong += [f"no issue {name}" for name in job.expects if name not in issues]
    if not other.profile:
        lines = other.text("tool.err").strip().splitlines()
        wrong.append("no profile" + (f" ({compare.shortened(lines[-1])})" if lines else ""))
    return wrong


def rates(run):
    """Which rates the profile has."""
    found = []
    for name, value in (run.profile.get("rates") or {}).items():
        if isinstance(value, dict) and value.get("mean") is not None:
            found.append(f"{name.replace('_samples_per_s', '')} {value['mean']:.4g}")
    issues = [issue["id"] for issue in run.profile.get("issues", [])]
    return f"rates: {', '.join(found) or 'none'}; issues: {', '.join(issues) or 'none'}"


def check(job, args, place):
    """Runs a job twice plainly, and in each mode; prints a row for each run under stallcast. Returns how many differ."""
    folder = os.path.join(place, job.name.replace("/", "-"))
    os.makedirs(folder, exist_ok=True)
    plain, again = runs.run(job, folder, "plain"), runs.run(job, folder, "plain-again")
    if "hung" in plain.status + again.status:
        print(f"{job.name:34} plain     {plain.status}, {again.status}: the plain command does not end", flush=True)
        return 1
    if plain.status != job.status:
        print(f"{job.name:34} plain     exit {plain.status} instead of {job.status}: the plain command does not work; see {folder}", flush=True)
        return 1
    bad = 0
    for mode in args.modes.split(","):
        for number in range(args.runs):
            title = mode + (f"-{number + 1}" if args.runs > 1 else "")
            other = runs.run(job, folder, title, mode, args.stallcast, shlex.split(args.options))
            wrong, without = differences(job, plain, again, other)
            wrong += of_the_tool(job, other)
            bad += bool(wrong)
            row(job.name, mode, wrong, without, plain, other)
            if args.rates:
                print(f"    {rates(other)}", flush=True)
    if not args.keep and not bad:
        shutil.rmtree(folder, ignore_errors=True)
    return bad


def row(name, mode, wrong, without, plain, other):
    words = "same" if not wrong else "DIFFERENT"
    print(f"{name:34} {mode:9} {words:10} plain {plain.seconds:5.1f} s, here {other.seconds:5.1f} s, exit {other.status}", flush=True)
    for line in wrong[:8]:
        print(f"    DIFFERENT {line}", flush=True)
    if wrong:
        print(f"    runs in {os.path.dirname(other.folder)}", flush=True)
    for kind in sorted({line.partition(":")[0] for line in without}):
        lines = [line.partition(": ")[2] for line in without if line.partition(":")[0] == kind]
        print(f"    left out of {kind}: {compare.shortened('; '.join(lines), 400)}", flush=True)


def check_all(jobs, args, summary=True):
    """Every job; a last line that counts. 0 where nothing differs, else 1."""
    args.stallcast = os.path.abspath(args.stallcast) if os.path.sep in args.stallcast else args.stallcast
    place = os.path.abspath(args.keep or tempfile.mkdtemp(prefix="promise-"))
    os.makedirs(place, exist_ok=True)
    bad = sum(check(job, args, place) for job in jobs)
    count = len(jobs) * len(args.modes.split(",")) * args.runs
    if summary:
        print(f"{count - bad} of {count} runs under stallcast were as the plain ones" + (f"; see {place}" if bad or args.keep else ""))
    if not bad and not args.keep:
        shutil.rmtree(place, ignore_errors=True)
    return 1 if bad else 0


def main():
    made = parser(__doc__)
    made.add_argument("--folder", default="", help="working folder to copy for each run (default: an empty one)")
    made.add_argument("--drop", action="append", default=[], help="expression of lines of output that are not compared")
    made.add_argument("--timeout", type=float, default=600)
    made.add_argument("command", nargs=argparse.REMAINDER)
    args = made.parse_args()
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        made.error("no command")
    job = runs.Job(os.path.basename(command[0]), command, args.folder, dropped_lines=tuple(args.drop), timeout=args.timeout)
    return check_all([job], args)


if __name__ == "__main__":
    sys.exit(main())
