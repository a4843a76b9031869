"""Plays python3 for the templates' scripts: `-m venv DIR` puts this file there, anything else is written down.

STUB_CALLS   file for the words of each call, a JSON list a line
STUB_STATUS  exit status of `stallcast.check run`
"""
import json
import os
import pathlib
import shutil
import sys


def main():
    words = sys.argv[1:]
    if words[:2] == ["-m", "venv"]:
        program = pathlib.Path(words[-1], "bin", "python")
        program.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(__file__, program)
        program.chmod(0o755)
        return 0
    entry = {"words": words, "token": any("TOKEN" in name for name in os.environ)}
    with open(os.environ["STUB_CALLS"], "a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")
    return int(os.environ.get("STUB_STATUS", "0")) if "run" in words else 0


if __name__ == "__main__":
    sys.exit(main())
