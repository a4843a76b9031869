"""The process in which a notebook's cells are measured: how it is written down, started and listened to."""

import codecs
import json
import os
import signal
import subprocess
import sys

from . import _program

_RUNNER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_cells.py")


def write(folder, cells, by_ipython):
    """Writes the cells for _cells.py; returns the variables that name them. The command line stays the same: reports
    show it, and comparisons go by it."""
    listed = []
    for number, source, is_known in cells:
        path = os.path.join(folder, "this-cell.py" if number is None else "cell-%d.py" % number)
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        listed.append({"number": number, "file": path, "is_known": is_known})
    path = os.path.join(folder, "cells.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"cells": listed, "by_ipython": by_ipython}, file)
    return {"STALLCAST_CELLS": path}


def run(program, words, variables):
    """Runs it to its end, what it prints goes to this cell's output; returns its status. An interrupt is passed on.

    In a session of its own: what ends the command must not end the notebook's kernel.
    """
    command = [program, "profile", *words, "--", sys.executable, "-u", _RUNNER]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               env=dict(_program.environment(), **variables), start_new_session=True)
    interrupts = 0
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while True:
        try:
            piece = os.read(process.stdout.fileno(), 65536)
            sys.stdout.write(decoder.decode(piece, final=not piece))
            sys.stdout.flush()
            if not piece:
                break
        except KeyboardInterrupt:
            interrupts += 1
            os.killpg(process.pid, signal.SIGINT if interrupts == 1 else signal.SIGKILL)
    process.stdout.close()
    status = process.wait()
    return 130 if interrupts else status


def text(program, output):
    """What a step waits for, in about eight lines: the head of the report, for front ends without HTML."""
    done = subprocess.run([program, "report", output, "--format", "text"], env=_program.environment(),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    paragraphs = done.stdout.decode("utf-8", "replace").split("\n\n")
    return "\n".join(paragraphs[:2] + ["  the whole report: stallcast report " + output])
