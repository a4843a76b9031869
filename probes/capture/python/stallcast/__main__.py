"""The command: `stallcast`, or `python -m stallcast`. It is a program of its own, which takes this process' place."""

import os
import sys

from stallcast import _program


def main():
    program = _program.find(binary=True)
    if program is None:
        print("stallcast: " + _program.missing(), file=sys.stderr)
        return 127
    try:
        os.execv(program, ["stallcast", *sys.argv[1:]])
    except OSError as error:
        print(f"stallcast: {program} cannot be run: {error.strerror}", file=sys.stderr)
        print("  hint: this wheel is for Linux on x86-64 with glibc 2.28 or later", file=sys.stderr)
        return 126 if isinstance(error, PermissionError) else 127


if __name__ == "__main__":
    sys.exit(main())
