#!/usr/bin/env python3
"""Plays `stallcast` for the tests of what the check decides: writes down each call, and ends as the test wants.

FAKE_CALLS       file for the calls, one a line: the folder's name, then the words
FAKE_PROFILE     statuses of `profile` for the base and the head: "0,3"; "0,-9" is a signal
FAKE_DIFF        statuses of `diff`, one a round: "1,0"
FAKE_TABLE       characters of the table that diff prints
"""
import os
import pathlib
import signal
import sys

NO_SUCH_PROFILE = 4


def profile(words):
    side = pathlib.Path.cwd().name
    status = int(os.environ.get("FAKE_PROFILE", "0,0").split(",")[("base", "head").index(side)])
    pathlib.Path(words[words.index("-o") + 1]).mkdir()
    if status < 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


def diff(words):
    if "nonsense" in words:
        print("stallcast: 'nonsense' is not a condition", file=sys.stderr)
        return 2
    if not pathlib.Path("base").is_dir():
        return NO_SUCH_PROFILE
    number = int(pathlib.Path.cwd().name.split("-")[1])
    status = int(os.environ.get("FAKE_DIFF", "0,0,0,0").split(",")[number - 1])
    print(f"## stallcast diff: of round {number}\n\n" + "x" * int(os.environ.get("FAKE_TABLE", "1")))
    if status == 5:
        print("stallcast: not known ````", file=sys.stderr)
    return status


def main():
    with open(os.environ["FAKE_CALLS"], "a", encoding="utf-8") as file:
        file.write(" ".join([pathlib.Path.cwd().name, *sys.argv[1:]]) + "\n")
    return {"profile": profile, "diff": diff}[sys.argv[1]](sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
