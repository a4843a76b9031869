#!/usr/bin/env python3
"""A job that marks its batches through the C API: no torch needed. Options say how it behaves.

    marked_job.py BATCHES SECONDS_PER_BATCH [exit=N] [die=SIGNAL] [count=FILE] [until=FILE] [fill=FOLDER] [crowd=N]
                  [done=FILE] [ignore=SIGNAL,...]

count: counts SIGINT, SIGTERM, SIGHUP and SIGUSR1 in FILE, and ends with 0 at the first SIGINT or SIGTERM.
until: goes on until FILE exists, or its folder is gone. fill: fills the disk of FOLDER half-way. crowd: has N idle children.
done: writes FILE at the end. ignore: names of signals.
"""
import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import time


def is_over(until):
    return os.path.exists(until) or not os.path.isdir(os.path.dirname(until))


def options(words):
    return dict(word.split("=", 1) for word in words)


def count_signals(path):
    counts = {}
    stop = []

    def handler(number, _frame):
        counts[number] = counts.get(number, 0) + 1
        lines = "".join("%s %d\n" % (signal.Signals(key).name, counts[key]) for key in sorted(counts))
        pathlib.Path(path).write_text(lines)
        if number in (signal.SIGINT, signal.SIGTERM):
            stop.append(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, handler)
    pathlib.Path(path).write_text("")
    return stop


def fill(folder):
    """Leaves no byte free."""
    with open(os.path.join(folder, "filler"), "wb", buffering=0) as file:
        size = 1 << 20
        while size:
            try:
                file.write(b"x" * size)
            except OSError:
                size //= 2


def main():
    batches, seconds = int(sys.argv[1]), float(sys.argv[2])
    wanted = options(sys.argv[3:])
    api = ctypes.CDLL(None)
    api.stallcast_wait_end.argtypes = [ctypes.c_uint64, ctypes.c_uint64] + [ctypes.c_uint32] * 3
    stop = count_signals(wanted["count"]) if "count" in wanted else []
    for name in filter(None, wanted.get("ignore", "").split(",")):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    crowd = [subprocess.Popen(["sleep", "100"]) for _ in range(int(wanted.get("crowd", 0)))]
    batch = 0
    while True:
        if stop or (is_over(wanted["until"]) if "until" in wanted else batch >= batches):
            break
        api.stallcast_wait_begin()
        time.sleep(seconds / 2)
        api.stallcast_wait_end(1, batch, 8, 0xFFFFFFFF, 2 if batch == 0 else 0)
        time.sleep(seconds / 2)
        api.stallcast_step()
        if "fill" in wanted and batch == batches // 2:
            fill(wanted["fill"])
        batch += 1
    for child in crowd:
        child.kill()
        child.wait()
    if "done" in wanted:
        pathlib.Path(wanted["done"]).write_text(str(batch))
    if "die" in wanted:
        os.kill(os.getpid(), int(wanted["die"]))
    print("batches", batch)
    return int(wanted.get("exit", 0))


if __name__ == "__main__":
    sys.exit(main())
