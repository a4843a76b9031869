#!/usr/bin/env python3
"""slowest.py JUNIT.xml...: names the ten tests that took longest, each with the reason why it may.

A test among them without a reason in the table below is told as such: make it faster, or say here what it takes time for.
"""

import re
import sys
import xml.etree.ElementTree

MOST = 10

# Test (a regular expression for the whole name) -> what it takes time for.
REASONS = {
    r"cli\.phases\..*": "real jobs for tens of seconds each: a state is measured in blocks of seconds",
    r"promise\..*": "each job runs plainly twice and measured, to compare them",
    r"cli\.signals": "signals at many moments of real commands, each with its grace",
    r"cli\.ranks.*": "two ranks on two cores, several rounds",
    r"frameworks|streams": "real jobs of other libraries, plainly and measured",
    r"shim\..*": "a hundred short Python processes that each import torch",
    r"cli\.(verify|emulate|kernel_limits|storage|network|mapped|reading|loaders|cpu|streams)": "measures real reads or CPU time over seconds",
    r"cli\.(recording|operators|warnings|own_loop|notebook|pytest)": "trains real jobs until enough steps were seen",
    r"(analyzer|model)_.*_tests": "statistics: how often intervals hold the truth, over many drawn jobs",
    r"reports_browser": "a real browser, every page in several widths",
    r"capture_.*": "starts hundreds of guests, one for each family of calls",
    r"collect_perf_tests": "samples real commands, which takes their CPU time",
    r"simulation_tests": "draws thousands of jobs against closed forms",
    r"gpu\.rehearsal": "every part of the GPU kit trains, though no GPU is there",
    r"samples_.*": "the sample job from end to end",
    r"fuzz_.*": "thousands of damaged inputs to a parser",
    r"layers.*|docs.*|packaging.*|python.*|ci.*": "starts the tool or an interpreter many times",
}


def times_of(paths):
    """Yields (seconds, name) of every test that ran."""
    for path in paths:
        try:
            cases = xml.etree.ElementTree.parse(path).getroot().iter("testcase")
        except (OSError, xml.etree.ElementTree.ParseError):
            continue  # .ci/run has told that it is missing
        for case in cases:
            if case.get("status") == "run":
                yield float(case.get("time", 0)), case.get("name")


def reason_of(name):
    return next((why for pattern, why in REASONS.items() if re.fullmatch(pattern, name)), "NO REASON GIVEN (tests/slowest.py)")


def main():
    slowest = sorted(times_of(sys.argv[1:]), reverse=True)[:MOST]
    for seconds, name in slowest:
        print(f"{seconds:7.1f} s  {name}: {reason_of(name)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
