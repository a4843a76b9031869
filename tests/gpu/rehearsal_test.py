#!/usr/bin/env python3
"""The kit, rehearsed: parts without a figure of speed hold on a CPU, say that it was a rehearsal, and fail where they should.

Environment: STALLCAST_CLI, and STALLCAST_FAKE_CUPTI_LIB (the libcupti that plays a script)."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

from kit import checks, machine  # noqa: E402

PARTS = ("injection", "exchange", "situations", "refusals", "device")
# Runs the command and measures nothing: its profile is empty.
IDLE_TOOL = """#!/bin/sh
[ "$1" != --version ] || exec echo stallcast 0
while [ "$1" != -- ]; do [ "$1" != -o ] || out=$2; shift; done
shift
"$@" && mkdir -p "$out" && echo '{"absent": {}, "issues": [], "phases": []}' > "$out/profile.json"
"""


class Rehearsal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    def rehearse(self, *parts, rehearsal=True, **variables):
        """(status, results, table) of parts; the data is made once."""
        out = self.folder / "-".join(("out", *parts))
        words = ["--parts", ",".join(parts), "--out", out, "--scratch", self.folder / "scratch", "--limit", 280]
        done = subprocess.run([sys.executable, FOLDER / "run", *map(str, words), *["--rehearse"] * rehearsal], text=True,
                              env={**os.environ, **variables}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertIn(done.returncode, (0, 1), done.stdout)
        table = (out / "table.txt").read_text()
        return done.returncode, json.loads((out / "results.json").read_text()), table + (out / "log.txt").read_text()

    def test_parts_hold_and_say_that_it_was_a_rehearsal(self):
        status, results, table = self.rehearse(*PARTS)
        states = {part["part"]: part["state"] for part in results["parts"]}
        self.assertEqual(states, dict.fromkeys(PARTS, checks.REHEARSED), table)
        self.assertEqual(status, 0)
        self.assertTrue(results["rehearsal"])
        self.assertTrue(table.startswith("REHEARSAL ON A CPU"))
        self.assertIsNone(re.search(r"^ *pass |: PASS ", table, re.MULTILINE), table)

    def test_a_tool_that_measures_nothing_fails(self):
        tool = self.folder / "stallcast"
        tool.write_text(IDLE_TOOL)
        tool.chmod(0o755)
        status, results, table = self.rehearse("exchange", STALLCAST_CLI=str(tool))
        self.assertEqual((status, results["parts"][0]["state"]), (1, checks.FAIL), table)
        self.assertIn("an exchange of gradients", table)

    def test_without_a_gpu_nothing_passes(self):
        if machine.find_python()[1]["gpu"]:
            self.skipTest("here is a GPU")
        status, results, table = self.rehearse("sharing", "cost", rehearsal=False)
        self.assertEqual(status, 1)
        self.assertEqual({part["state"] for part in results["parts"]}, {checks.ABSENT})
        self.assertIn("torch sees no GPU here", table)


if __name__ == "__main__":
    try:
        machine.find_python()
    except checks.Absent as reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
