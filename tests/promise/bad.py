#!/usr/bin/env python3
"""The promise under bad input. `bad.py [CASE...]`, --list for the cases of bad_input.py. What cannot run here is told."""
import os
import socket
import subprocess
import sys

import promise
import runs

HERE = os.path.dirname(os.path.abspath(__file__))
FULL = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=8m tmpfs /dev/shm && exec "$@"', "sh"]
FEW_DESCRIPTORS = ["sh", "-c", 'ulimit -n 256; exec "$@"', "sh"]
# Of a user who has no other processes: the job's own, and room for one or two more.
FEW_PROCESSES = ["setpriv", "--reuid=31415", "--clear-groups", "sh", "-c", 'ulimit -u 28 2> /dev/null || ulimit -p 28; exec "$@"', "sh"]


def works(command):
    try:
        return subprocess.run([*command, "true"], capture_output=True, timeout=30).returncode == 0
    except OSError:
        return False


def lacking(name):
    """Why a case cannot run here, or None."""
    if name == "cuda-batches":
        import torch

        return None if torch.cuda.is_available() else "no CUDA device"
    if name == "full-shared-memory":
        return None if works(FULL) else "no mount of an own /dev/shm without root"
    if name == "few-processes":
        if not works(FEW_PROCESSES):
            return "no limit of processes for another user without root"
        readable = ["setpriv", "--reuid=31415", "--clear-groups", sys.executable, "-c", "import torch"]
        return None if subprocess.run(readable, capture_output=True).returncode == 0 else "another user cannot run this Python"
    return None


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def job(name, folder):
    command = [sys.executable, f"{HERE}/bad_input.py", name]
    made = runs.Job(name, command, folder, {"PYTHONPATH": HERE, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
                    {"PROMISE_STEP_MS": "0"}, timeout=240)
    if name == "ranks":
        made.command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", f"--master_port={free_port()}",
                        *command[1:]]
    if name == "sampler-raises-uncaught":
        made.status = "1"
    if name == "full-shared-memory":
        made.prefix = FULL
    if name == "few-descriptors":
        made.prefix = FEW_DESCRIPTORS
    if name == "few-processes":
        made.prefix, made.user = FEW_PROCESSES, 31415
    return made


def main():
    sys.path.insert(0, HERE)
    import bad_input

    made = promise.parser(__doc__)
    made.add_argument("names", nargs="*", help="which, or how their names begin (default: all)")
    made.add_argument("--part", metavar="N/M", help="every M-th case, from the N-th (from 1)")
    made.add_argument("--list", action="store_true", help="print the names")
    args = made.parse_args()
    if not args.list:
        promise.need_torch()
    names = [name for name in bad_input.CASES if not args.names or any(name.startswith(start) for start in args.names)]
    if args.part:
        number, count = map(int, args.part.split("/"))
        names = names[number - 1::count]
    if args.list:
        print("\n".join(names))
        return 0
    with promise.template([sys.executable, f"{HERE}/bad_input.py", "--make"]) as folder:
        jobs = []
        for name in names:
            if lacking(name):
                print(f"{name:34} skipped: {lacking(name)}")
            else:
                jobs.append(job(name, folder))
        return promise.check_all(jobs, args)


if __name__ == "__main__":
    sys.exit(main())
