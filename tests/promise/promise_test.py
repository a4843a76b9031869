#!/usr/bin/env python3
"""The comparing itself: a tool that changes something is found, and what plain runs differ in is left out by name."""
import argparse
import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest

import compare
import promise
import runs

# Stands for stallcast: runs the command, and does to it what FAKE says.
FAKE = '''#!/bin/sh
while [ "$1" != -- ]; do [ "$1" = -o ] && out=$2; shift; done
shift
mkdir -p "$out"
echo '{"issues": []}' > "$out/profile.json"
eval "$FAKE_BEFORE"
"$@"
status=$?
eval "$FAKE_AFTER"
exit $status
'''
JOB = 'echo "step 1 of 2 took $RANDOM s"; echo data > file; echo "$$" > "run-$$"; echo {\\"batch\\": 1} >> "$PROMISE_LOG"; ' \
      'mkdir "$TMPDIR/pymp-1"; exit 3'


class Promise(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.tool = self.folder / "stallcast"
        self.tool.write_text(FAKE)
        self.tool.chmod(0o755)
        self.linger, runs.LINGER_S = runs.LINGER_S, 0.5

    def tearDown(self):
        runs.LINGER_S = self.linger

    def check(self, before="", after="", **more):
        job = runs.Job("job", ["bash", "-c", JOB], environment={"FAKE_BEFORE": before, "FAKE_AFTER": after}, status="3", **more)
        args = argparse.Namespace(modes="as_is", runs=1, options="", keep=None, rates=False, stallcast=str(self.tool))
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            bad = promise.check(job, args, str(self.folder))
        return bad, printed.getvalue()

    def test_same(self):
        bad, printed = self.check()
        self.assertEqual(bad, 0, printed)
        self.assertIn("left out of files: what run-# holds", printed)

    def test_folders_of_killed_workers_are_named_and_left_out(self):
        bad, printed = self.check("", 'rmdir "$TMPDIR/pymp-1"')
        self.assertEqual(bad, 0, printed)
        self.assertIn("left out of temporary: folders of workers that were killed at the end", printed)

    def test_whatever_the_tool_changes_is_found(self):
        for name, before, after, words in (
                ("file", "", "echo x > more", "file more: 1 instead of 0"),
                ("bytes", "", "echo x >> file", "other bytes in file"),
                ("lost", "", "rm file", "no file file"),
                ("status", "", "status=0", "status 0 instead of 3"),
                ("output", "", 'echo other >> "$PROMISE_OUT/stdout"', "a line too many: 'other'"),
                ("errors", "", 'echo other >> "$PROMISE_OUT/stderr"', "a line too many: 'other'"),
                ("batches", "", 'echo {\\"batch\\": 2} >> "$PROMISE_LOG"', "2 lines instead of 1"),
                ("values", "", 'echo {\\"batch\\": 2} > "$PROMISE_LOG"', "line 1: batch (2 instead of 1)"),
                ("temporary", 'touch "$TMPDIR/x"', "", "1 temporary files instead of 0"),
                ("killed worker", "", 'touch "$TMPDIR/pymp-x"', "2 folders of workers that were killed instead of 1"),
                ("run folder", 'touch "$TMPDIR/stallcast-x"', "", "left behind: stallcast-x"),
                ("process", "", "sleep 31 &", "processes left: sleep 31"),
                ("profile", "", 'rm "$out/profile.json"', "no profile"),
                ("shim", "", 'echo "{\\"issues\\": [{\\"id\\": \\"shim-failed\\"}]}" > "$out/profile.json"', "issue shim-failed")):
            with self.subTest(name):
                bad, printed = self.check(before, after)
                self.assertEqual(bad, 1, printed)
                self.assertIn(words, printed)

    def test_a_command_that_fails_plainly_is_no_test(self):
        job = runs.Job("job", ["false"])
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(promise.check(job, argparse.Namespace(modes="as_is", keep=None), str(self.folder)), 1)


class Texts(unittest.TestCase):
    def test_numbers_in_which_plain_runs_differ(self):
        plain, again = "loss 0.5 rate 7\nloss 0.25 rate 7\n", "loss 0.5 rate 8\nloss 0.25 rate 7\n"
        self.assertEqual(compare.texts(plain, again, "loss 0.5 rate 9\nloss 0.25 rate 9\n")[0], [])
        self.assertEqual(len(compare.texts(plain, again, "loss 0.5 rate 9\nloss 0.26 rate 9\n")[0]), 1)

    def test_times(self):
        self.assertEqual(compare.texts("took 0:01, 1.5 s\n", "took 0:01, 1.5 s\n", "took 0:02, 9 s\n"), ([], []))

    def test_numbers_in_columns(self):
        plain, again = "rate   591/s (  9%)\n", "rate    91/s ( 10%)\n"
        self.assertEqual(compare.texts(plain, again, "rate  1039/s (100%)\n")[0], [])
        self.assertEqual(len(compare.texts(plain, again, "rate  1039/s  (100%)\n")[0]), 2)

    def test_lines_that_time_makes(self):
        differences, left_out = compare.texts("50%|\ndone\n", "done\n", "10%|\n20%|\ndone\n")
        self.assertEqual((differences, len(left_out)), ([], 1))
        self.assertEqual(compare.texts("a\nb\n", "a\nb\n", "b\na\n")[0], ["the same lines in another order"])
        self.assertEqual(compare.texts("a\nb\n", "b\na\n", "b\na\n"), ([], []))

    def test_lines_of_several_processes(self):
        plain, again = "made 1\nmade 2\nmade 3\n", "made 2\nmade 1\nmade 3\n"
        self.assertEqual(compare.texts(plain, again, "made 3\nmade 2\nmade 1\n"), ([], ["the order of lines like 'made #'"]))
        self.assertEqual(len(compare.texts(plain, again, "made 3\nmade 2\nmade 2\n")[0]), 1)

    def test_frames_of_the_shim(self):
        frame = 'Traceback:\n  File "a.py", line 1, in f\n    g()\n'
        ours = '  File "/x/stallcast_shim/torch_loader/wait.py", line 9, in __next__\n    real()\n    ^^^^\n'
        self.assertEqual(compare.texts(frame, frame, frame + ours), ([], ["frames of the shim in a traceback"]))

    def test_logs(self):
        lines = [json.dumps({"batch": 1, "clock": clock}) for clock in (1, 2, 3)]
        self.assertEqual(compare.logs(*lines), ([], ["'clock' of the log"]))
        self.assertEqual(len(compare.logs(lines[0], lines[0], lines[1])[0]), 1)


if __name__ == "__main__":
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.exit(unittest.main())
