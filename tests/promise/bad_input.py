#!/usr/bin/env python3
"""`bad_input.py CASE`: small seeded trainings that do what a tool does not expect. CASES at the end names them all."""
import sys

import bad_data
import bad_scripts
import witness
from job_parts import make_files

CASES = {**bad_data.CASES, **bad_scripts.CASES}


def main():
    if sys.argv[1:] == ["--make"]:
        return make_files("data")
    witness.seed(2)
    CASES[sys.argv[1]]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
