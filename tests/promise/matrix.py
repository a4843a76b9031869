#!/usr/bin/env python3
"""The promise under torch's loader: workers, start methods and samplers. `matrix.py [NAME...]`, --list for the names.

A few of each by default; --full runs every combination of workers, start method, persistence and sampler.
"""
import itertools
import json
import os
import sys

import promise
import runs

HERE = os.path.dirname(os.path.abspath(__file__))
USUAL = {
    "workers-0": {"workers": 0},
    "workers-0-loader-generator": {"workers": 0, "sampler": "loader"},
    "workers-1-fork": {"workers": 1, "sampler": "own"},
    "workers-1-spawn-persistent": {"workers": 1, "context": "spawn", "persistent": True},
    "workers-2-fork-evaluate": {"evaluate": True},
    "workers-2-fork-persistent": {"persistent": True, "sampler": "loader"},
    "workers-2-spawn": {"context": "spawn", "sampler": "distributed"},
    "workers-2-forkserver-persistent": {"context": "forkserver", "persistent": True},
    "workers-4-fork": {"workers": 4, "sampler": "batch"},
    "workers-4-fork-persistent-prefetch": {"workers": 4, "persistent": True, "prefetch": 3, "sampler": "weighted"},
    "distributed": {"sampler": "distributed"},
    "drawn-with-replacement": {"sampler": "drawn", "persistent": True},
    "endless": {"sampler": "endless"},
    "stream": {"data": "stream"},
    "stream-4-persistent": {"data": "stream", "workers": 4, "persistent": True},
    "at-once": {"data": "at-once", "persistent": True},
    "unordered": {"in_order": False},
    "unordered-4-persistent": {"in_order": False, "workers": 4, "persistent": True},
    "stateful-0": {"stateful": True, "workers": 0},
    "stateful": {"stateful": True},
    "break": {"break_after": 9, "sampler": "own"},
    "break-persistent": {"break_after": 9, "sampler": "loader", "persistent": True},
}


def every():
    """All combinations."""
    for workers, context, persistent, sampler in itertools.product(
            (0, 1, 2, 4), ("fork", "spawn"), (False, True),
            ("default", "own", "loader", "distributed", "weighted", "batch", "drawn", "endless")):
        if workers or (context == "fork" and not persistent):
            name = f"{sampler}-{workers}-{context}" + ("-persistent" if persistent else "")
            yield name, {"workers": workers, "context": context, "persistent": persistent, "sampler": sampler}


def lacking(wanted):
    """What this Python lacks for a job, or None."""
    import torch

    if not wanted.get("in_order", True) and tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 6):
        return "torch has no in_order before 2.6"
    if wanted.get("stateful"):
        try:
            import torchdata.stateful_dataloader  # noqa: F401
        except ImportError:
            return "no torchdata.stateful_dataloader"
    return None


def main():
    made = promise.parser(__doc__)
    made.add_argument("names", nargs="*", help="which, or how their names begin (default: all)")
    made.add_argument("--full", action="store_true", help="every combination instead of a few of each")
    made.add_argument("--part", metavar="N/M", help="every M-th job, from the N-th (from 1)")
    made.add_argument("--list", action="store_true", help="print the names")
    args = made.parse_args()
    if not args.list:
        promise.need_torch()
    wanted = {**USUAL, **dict(every())} if args.full else USUAL
    names = [name for name in wanted if not args.names or any(name.startswith(start) for start in args.names)]
    if args.part:
        number, count = map(int, args.part.split("/"))
        names = names[number - 1::count]
    if args.list:
        print("\n".join(names))
        return 0
    with promise.template([sys.executable, f"{HERE}/matrix_job.py", "--make"]) as folder:
        jobs = []
        for name in names:
            if lacking(wanted[name]):
                print(f"{name:34} skipped: {lacking(wanted[name])}")
                continue
            jobs.append(runs.Job(name, [sys.executable, f"{HERE}/matrix_job.py", json.dumps(wanted[name])], folder,
                                 {"PYTHONPATH": HERE}, {"PROMISE_STEP_MS": "0"}, timeout=240))
        return promise.check_all(jobs, args)


if __name__ == "__main__":
    sys.exit(main())
