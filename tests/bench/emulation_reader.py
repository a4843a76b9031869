"""The job of tests/bench/emulation: reads a list of files in a fixed random order, in some processes, by read, fread or
pread, hashes each (its preparation), and prints as JSON how much it read in a second after its first fifth.

  emulation_reader.py HOW PROCESSES FILE_WITH_NAMES [PASSES]

`fread` is numpy's: np.fromfile() goes through libc's fread(), as np.load() does.
"""

import hashlib
import json
import multiprocessing
import os
import sys
import time


def by_read(name):
    with open(name, "rb", buffering=0) as file:
        return file.read()


def by_pread(name):
    descriptor = os.open(name, os.O_RDONLY)
    try:
        return os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    finally:
        os.close(descriptor)


def by_fread(name):
    import numpy

    return numpy.fromfile(name, dtype=numpy.uint8).tobytes()


HASHES = 8  # about 1 ms for a file of 120 KB
HOW = {"read": by_read, "fread": by_fread, "pread": by_pread}


def work(how, names, begins, results):
    read = HOW[how]
    if how == "fread":
        import numpy  # noqa: F401  (its files are not part of what is measured)
    begins.wait()
    skipped, begin, total = len(names) // 5, 0.0, 0
    for number, name in enumerate(names):
        if number == skipped:
            begin, total = time.monotonic(), 0
        content = read(name)
        for _ in range(HASHES):
            hashlib.sha1(content).digest()
        total += len(content)
    results.put(total / (time.monotonic() - begin))


def main():
    how, processes, listing = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with open(listing, encoding="utf-8") as file:
        names = file.read().splitlines()
    names *= int(sys.argv[4]) if len(sys.argv) > 4 else 1
    begins, results = multiprocessing.Barrier(processes), multiprocessing.Queue()
    workers = [multiprocessing.Process(target=work, args=(how, names[number::processes], begins, results))
               for number in range(processes)]
    for worker in workers:
        worker.start()
    rates = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
    print(json.dumps({"bytes_per_s": sum(rates)}))


if __name__ == "__main__":
    main()
