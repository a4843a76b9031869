"""The job of tests/bench/emulation: reads a list of files in a fixed random order, in some processes, by read, fread or
pread, and prints as JSON how many it read in how many seconds.

  emulation_reader.py HOW PROCESSES FILE_WITH_NAMES

`fread` is numpy's: np.fromfile() goes through libc's fread(), as np.load() does.
"""

import json
import multiprocessing
import os
import sys
import time


def by_read(name):
    with open(name, "rb", buffering=0) as file:
        return len(file.read())


def by_pread(name):
    descriptor = os.open(name, os.O_RDONLY)
    try:
        return len(os.pread(descriptor, os.fstat(descriptor).st_size, 0))
    finally:
        os.close(descriptor)


def by_fread(name):
    import numpy

    return numpy.fromfile(name, dtype=numpy.uint8).nbytes


HOW = {"read": by_read, "fread": by_fread, "pread": by_pread}


def work(how, names, begins, results):
    read = HOW[how]
    if how == "fread":
        import numpy  # noqa: F401  (its files are not part of what is measured)
    begins.wait()
    begin = time.monotonic()
    sizes = [read(name) for name in names]
    results.put((begin, time.monotonic(), len(sizes), sum(sizes)))


def main():
    how, processes, listing = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with open(listing, encoding="utf-8") as file:
        names = file.read().splitlines()
    begins, results = multiprocessing.Barrier(processes), multiprocessing.Queue()
    workers = [multiprocessing.Process(target=work, args=(how, names[number::processes], begins, results))
               for number in range(processes)]
    for worker in workers:
        worker.start()
    rows = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
    seconds = max(end for _, end, _, _ in rows) - min(begin for begin, _, _, _ in rows)
    print(json.dumps({"seconds": seconds, "files": sum(row[2] for row in rows), "bytes": sum(row[3] for row in rows)}))


if __name__ == "__main__":
    main()
