#!/usr/bin/env python3
"""The kit's own logic, without torch: limits, unions of time, what a rehearsal may say, and parts that run over."""

import argparse
import contextlib
import dataclasses
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

from kit import checks, commands, cost, machine, parts, traces  # noqa: E402

MS = 1_000_000  # ns


def load_run():
    """tests/gpu/run, as a module."""
    loader = importlib.machinery.SourceFileLoader("kit_run", str(FOLDER / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("kit_run", loader))
    loader.exec_module(module)
    return module


def part_of(*found):
    return checks.Part("sample", "x", "a part", 1.0, lambda _: iter(found))


def outcome(*found, rehearsal=False):
    return checks.carry_out(part_of(*found), None, rehearsal)["state"]


class Checks(unittest.TestCase):
    def test_limits_hold_on_both_sides(self):
        self.assertEqual(checks.near("rate", 104.9, checks.Truth(100.0)).state, checks.PASS)
        self.assertEqual(checks.near("rate", 95.1, checks.Truth(100.0)).state, checks.PASS)
        self.assertEqual(checks.near("rate", 105.1, checks.Truth(100.0)).state, checks.FAIL)
        self.assertEqual(checks.near("rate", 94.9, checks.Truth(100.0)).state, checks.FAIL)

    def test_plain_runs_that_do_not_repeat_are_no_truth(self):
        truth = checks.truth_of([90.0, 110.0])
        self.assertEqual((truth.mean, truth.spread), (100.0, 20.0))
        found = checks.near("rate", 100.0, truth)
        self.assertEqual(found.state, checks.ABSENT)
        self.assertIn("do not repeat", found.why)
        self.assertIsNone(checks.truth_of([90.0, None]))
        self.assertIsNone(checks.truth_of([]))
        self.assertEqual(checks.at_most("share", 1.01, 1.0, "%").state, checks.FAIL)

    def test_what_was_not_measured_is_absent_with_its_reason(self):
        for check in (checks.near("rate", None, checks.Truth(100.0), why="refused"), checks.near("rate", 1.0, None),
                      checks.at_most("share", None, 1.0, "%"), checks.at_most("share", float("nan"), 1.0, "%")):
            self.assertEqual(check.state, checks.ABSENT)
            self.assertTrue(check.why)

    def test_a_part_is_as_good_as_its_worst_figure(self):
        good, bad, gone = checks.holds("a", True), checks.holds("b", False), checks.absent("c", "why")
        self.assertEqual(outcome(good), checks.PASS)
        self.assertEqual(outcome(good, gone), checks.ABSENT)
        self.assertEqual(outcome(good, gone, bad), checks.FAIL)
        self.assertEqual(outcome(), checks.ABSENT)
        self.assertEqual(outcome(checks.note("d", 1.0)), checks.ABSENT)

    def test_a_part_that_raises_failed_and_one_that_lacks_something_is_absent(self):
        def raises(_):
            yield checks.holds("a", True)
            raise ValueError("broken")

        def lacks(_):
            yield checks.holds("a", True)
            raise checks.Absent("no such thing")

        with contextlib.redirect_stderr(io.StringIO()):
            failed = checks.carry_out(dataclasses.replace(part_of(), run=raises), None, False)
        self.assertEqual(failed["state"], checks.FAIL)
        self.assertIn("ValueError: broken", failed["checks"][-1]["why"])
        self.assertEqual(checks.carry_out(dataclasses.replace(part_of(), run=lacks), None, False)["state"], checks.ABSENT)

    def test_a_rehearsal_never_says_pass(self):
        truth = checks.Truth(100.0)
        found = [checks.holds("a", True), checks.near("slow", 50.0, truth), checks.near("right", 100.0, truth)]
        result = checks.carry_out(part_of(*found), None, True)
        self.assertEqual(result["state"], checks.REHEARSED)
        self.assertTrue(result["rehearsal"])
        self.assertEqual([check["state"] for check in result["checks"]], [checks.REHEARSED, checks.NOTE, checks.NOTE])
        self.assertEqual(outcome(*found[1:], rehearsal=True), checks.ABSENT)
        self.assertEqual(outcome(checks.holds("a", False), rehearsal=True), checks.FAIL)
        self.assertNotIn('"pass"', json.dumps(result))

    def test_the_table_has_a_line_for_each_figure(self):
        near = checks.near("rate", 103.0, checks.Truth(100.0))
        result = checks.carry_out(part_of(near, checks.note("words", "w" * 40)), None, False)
        text = checks.table([result], ["heading"])
        self.assertIn("(x) sample: PASS", text)
        self.assertRegex(text, r"pass +rate +3 % +<= 5 %")
        self.assertIn("103 beside 100 run plainly", text)
        self.assertIn("w" * 40, text)

    def test_an_interval(self):
        mean, half = checks.mean_and_half([1.0, 2.0, 3.0])
        self.assertAlmostEqual(mean, 2.0)
        self.assertAlmostEqual(half, 2.48, places=2)
        self.assertEqual(checks.mean_and_half([1.0])[1], float("inf"))

    def test_a_cost_that_is_lost_in_noise_is_absent(self):
        self.assertEqual(cost.judge(0.1, 0.2).state, checks.PASS)
        self.assertEqual(cost.judge(-0.3, 0.2).state, checks.PASS)
        self.assertEqual(cost.judge(0.1, 0.6).state, checks.ABSENT)
        self.assertEqual(cost.judge(0.6, 0.2).state, checks.FAIL)
        self.assertEqual(cost.judge(5.0, 9.0).state, checks.ABSENT)
        self.assertEqual(cost.judge(-3.0, 9.0).state, checks.ABSENT)
        self.assertEqual(cost.judge(5.0, 3.0).state, checks.FAIL)
        rounds = [{"plain": {"window_ns": (0, 100 * MS)}, "stallcast": {"window_ns": (0, end * MS)}} for end in (101, 101)]
        self.assertAlmostEqual(cost.cost_of("stallcast", rounds, 10)[0], 1.0)


class Traces(unittest.TestCase):
    EXPECTED = traces.Shares(busy=0.5, copy_in=0.3, exposed=0.2, idle=0.3, starved=0.1)

    def assert_shares(self, seen):
        for field in dataclasses.fields(traces.Shares):
            self.assertAlmostEqual(getattr(seen, field.name), getattr(self.EXPECTED, field.name), msg=field.name)

    def test_the_worked_example(self):
        self.assert_shares(traces.shares([(1, 4), (3, 6)], [(5, 8)], [], (0, 10), [(7, 9)]))

    def test_what_lies_outside_of_the_window_does_not_count(self):
        self.assert_shares(traces.shares([(-5, -1), (1, 4), (3, 6), (20, 30)], [(5, 8)], [], (0, 10), [(7, 9), (15, 25)]))

    def test_a_trace_of_torch_profiler(self):
        def event(category, name, begin, end):
            return {"ph": "X", "cat": category, "name": name, "ts": begin, "dur": end - begin}

        events = [event("user_annotation", "kit_window", 0, 10), event("user_annotation", "kit_wait", 7, 9),
                  event("kernel", "gemm", 1, 4), event("gpu_memset", "Memset (Device)", 3, 5),
                  event("gpu_memcpy", "Memcpy DtoD (Device -> Device)", 5, 6),
                  event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 5, 8), event("cpu_op", "aten::mm", 0, 10),
                  {"ph": "i", "name": "mark", "ts": 3}]
        self.assert_shares(traces.shares_of_trace({"traceEvents": events}, "kit_window", "kit_wait"))
        with self.assertRaises(ValueError):
            traces.shares_of_trace({"traceEvents": events[1:]}, "kit_window", "kit_wait")

    def recording(self, *lines):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "gpu-1.jsonl")
            path.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"kind": "bi')
            return traces.read_recording(path)

    def test_bins_of_the_probe(self):
        members = {"busy_ns": [MS, MS, MS, MS, MS, 0, 0], "copy_in_ns": [0, 0, 0, 0, MS, MS, MS],
                   "exposed_ns": [0, 0, 0, 0, 0, MS, MS], "any_ns": [MS] * 7}
        found = self.recording({"kind": "gpu", "library": "lib", "begin_ns": 0}, {"kind": "device", "device": 0, "name": "H"},
                               {"kind": "bins", "begin_ns": MS, "width_ns": MS, **members},
                               {"kind": "covered", "until_ns": 20 * MS, "records": 9, "dropped": 0, "late": 0},
                               {"kind": "absent", "reason": "yielded to torch.profiler"})
        self.assert_shares(found.shares((0, 10 * MS), [(7 * MS, 9 * MS)]))
        self.assertEqual((found.library, found.absent, len(found.devices)), ("lib", "yielded to torch.profiler", 1))
        with self.assertRaises(ValueError):
            found.shares((15 * MS, 25 * MS), [])


class Runner(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_module = load_run()

    def session(self, limit_s):
        session = object.__new__(self.run_module.Session)
        session.args = argparse.Namespace(limit=limit_s, rehearse=False)
        session.begin, session.facts = time.monotonic(), {"gpu": None}
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        session.here = machine.Machine(FOLDER, "", FOLDER, pathlib.Path(folder.name), False)
        return session

    def test_a_part_that_runs_over_is_ended_with_all_that_it_started(self):
        script = "trap '' TERM; (trap '' TERM; sleep 60) & sleep 60; sleep 60"
        process = subprocess.Popen(["bash", "-c", script], start_new_session=True)
        result = self.session(1.0).result_of(part_of(), process, time.monotonic())
        self.assertEqual(result["state"], checks.FAIL)
        self.assertIn("ran over 1 s", result["checks"][0]["why"])
        self.assertEqual(commands.session_processes(process.pid), [])

    def test_a_part_that_dies_failed(self):
        process = subprocess.Popen(["sh", "-c", "exit 3"], start_new_session=True)
        result = self.session(9.0).result_of(part_of(), process, time.monotonic())
        self.assertEqual((result["state"], result["checks"][0]["why"][:12]), (checks.FAIL, "ended with 3"))

    def test_a_part_that_leaves_no_result_failed(self):
        process = subprocess.Popen(["true"], start_new_session=True)
        self.assertEqual(self.session(9.0).result_of(part_of(), process, time.monotonic())["state"], checks.FAIL)

    def test_what_is_not_started_has_a_reason(self):
        self.assertIn("no GPU", self.session(99.0).refused(part_of()))
        nothing_needed = dataclasses.replace(part_of(), needs_gpu=False)
        self.assertEqual(self.session(99.0).refused(nothing_needed), "")
        self.assertIn("left of --limit", self.session(0.1).refused(nothing_needed))

    def test_both_calls_fit_the_limit_of_one(self):
        first = [part for part in parts.ALL if part.letter in "abes" or part.name == "weights"]
        self.assertLessEqual(parts.planned_s(first), 300.0)
        self.assertLessEqual(parts.planned_s([part for part in parts.ALL if part not in first]), 400.0)
        self.assertLess(max(part.seconds for part in parts.ALL), parts.LIMIT_S)
        self.assertEqual(len({part.name for part in parts.ALL}), len(parts.ALL))

    def test_an_unknown_part_is_a_wrong_call(self):
        call = [sys.executable, FOLDER / "run", "--plan", "--parts"]
        self.assertEqual(subprocess.run([*call, "nothing"], stderr=subprocess.PIPE, check=False).returncode, 2)
        done = subprocess.run([*call, "b,situations"], stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual([line.split()[1] for line in done.stdout.splitlines() if line.startswith("(")],
                         ["situations", "device", "cost", "windows"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
