"""Medians, spread, alternation, and whether the machine is quiet enough to measure."""

import math
import statistics
import time

median = statistics.median


def spread(values):
    """Largest minus smallest: with three to five runs nothing finer is honest."""
    return max(values) - min(values)


# Of 2, 3, ... results of a normal distribution: the range, in standard deviations, that 95 % of such samples stay within
# (ISO 5725-6:1994, Table 1: critical range factors).
CRITICAL_RANGE_FACTORS = (2.8, 3.3, 3.6, 3.9, 4.0, 4.2, 4.3, 4.4, 4.5)


def critical_range(values, count):
    """How far `count` results may lie apart if they repeat as well as `values` do: ISO 5725-6's critical range, of the
    standard deviation of `values`. Two samples of five that repeat equally well differ in their spread by chance alone:
    one of them is the wider one every time.

    Worked example: 94, 97, 100, 103 and 106 have a standard deviation of 4.7; five others may span 3.9 * 4.7 = 18.5."""
    return CRITICAL_RANGE_FACTORS[min(count, 10) - 2] * statistics.stdev(values)


STUDENT_T = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20)  # by degrees of freedom, 1 on


def half_interval(values):
    """Half the width of the 95 % interval of their mean (Student's t). Infinite of a single one."""
    if len(values) < 2:
        return math.inf
    return STUDENT_T[min(len(values) - 1, len(STUDENT_T)) - 1] * statistics.stdev(values) / math.sqrt(len(values))


def alternate(rounds, variants):
    """Runs the callables of {name: callable} in turn (A B C A B C ...); returns {name: [result, ...]}."""
    results = {name: [] for name in variants}
    for number in range(rounds):
        # Every second round in the opposite order, so that a drift does not favour one of them.
        names = list(variants) if number % 2 == 0 else list(variants)[::-1]
        for name in names:
            results[name].append(variants[name]())
    return results


def busy_cores(seconds=1.0):
    """How many cores the machine is using for others right now."""

    def sample():
        with open("/proc/stat", encoding="ascii") as file:
            fields = [int(field) for field in file.readline().split()[1:9]]
        return sum(fields), fields[3] + fields[4]

    begin = sample()
    time.sleep(seconds)
    end = sample()
    total = max(1, end[0] - begin[0])
    with open("/proc/stat", encoding="ascii") as file:
        cores = sum(1 for line in file if line.startswith("cpu")) - 1
    return cores * (1.0 - (end[1] - begin[1]) / total)


def wait_until_quiet(most=0.15, patience_s=120.0):
    """Waits for others to come to rest. Returns True if they did; says so if not, and the figures are then doubtful."""
    until = time.monotonic() + patience_s
    while True:
        busy = busy_cores()
        if busy <= most:
            return True
        if time.monotonic() > until:
            print(f"NOT QUIET: others use {busy:.2f} cores; do not trust these figures")
            return False
