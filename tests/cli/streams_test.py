#!/usr/bin/env python3
"""Phased runs of jobs whose samples cannot be asked for twice: the length of their passes, what is measured, what not.

Nothing is said of times: every rate is there, or absent with its reason.
"""
import json
import unittest

from phased import SAMPLES, PhasesTest

BATCHES = 60  # of a pass over SAMPLES by 8, also where two workers share them
COLD = "cold_samples_per_s"
ROUNDS = 3  # fewest of a run


class StreamsTest(PhasesTest):
    def assert_stream_measured(self, ran, missed=False):
        """As found and replayed were measured; nothing else is claimed."""
        self.assert_measured(ran, absent=["cold", "cached", "supply"])
        self.assertIsNotNone(ran.issue("phases-of-a-stream"), ran.profile["issues"])
        if not missed:
            self.assertIsNone(ran.issue("phases-missed"), ran.issue("phases-missed"))
        self.assertGreaterEqual(ran.rate("synthetic")["n"], ROUNDS - 1, ran.profile["absent"])
        self.assertEqual(ran.phases_run(), {"as_is", "synthetic"})
        self.assertIn("asked for twice", ran.profile["absent"]["rates." + COLD])
        self.assertIsNotNone(ran.profile["stalls"]["as_is_wait_frac"])
        self.assertIn("this is a throwaway run", ran.errors)

    def assert_lengths(self, ran, batches, longer=()):
        """Every pass had so many batches; those named had more."""
        self.assertGreater(len(ran.epochs), 1, "the job was to see more than one pass")
        for number, epoch in enumerate(ran.epochs):
            if number in longer:
                self.assertGreater(len(epoch["sizes"]), batches)
            else:
                self.assertEqual(len(epoch["sizes"]), batches, epoch)


class Lengths(StreamsTest):
    def test_passes_keep_their_length_where_that_is_known(self):
        ran = self.run_all(
            workers_0=dict(iterable=True, workers=0, sized=True),
            workers_2=dict(iterable=True, workers=2, sized=True),
            persistent=dict(iterable=True, workers=2, sized=True, persistent=True),
        )
        for name, run in ran.items():
            with self.subTest(job=name):
                self.assert_stream_measured(run)
                self.assert_lengths(run, BATCHES)
                self.assertIsNone(run.issue("pass-longer"))
        self.assertEqual(self.processes_left(), [])

    def test_the_first_pass_with_blocks_may_be_longer_where_it_is_not(self):
        checkpoint = self.folder / "model.pt"
        checkpoint.write_bytes(b"precious")
        ran = self.run_all(
            workers_0=dict(iterable=True, workers=0, save=str(checkpoint)),
            workers_2=dict(iterable=True, workers=2),
            anew=dict(iterable=True, workers=2, anew=True),
            left=dict(iterable=True, workers=2, stop_after=47, persistent=True),
        )
        for name, run in ran.items():
            with self.subTest(job=name):
                self.assert_stream_measured(run, missed=name == "anew")  # its batches are under way before it is known
                if name == "left":
                    self.assert_lengths(run, 47)
                    continue
                more = [n for n, epoch in enumerate(run.epochs) if len(epoch["sizes"]) > BATCHES]
                self.assertLessEqual(len(more), 1)
                self.assert_lengths(run, BATCHES, longer=more)
                self.assertEqual(run.issue("pass-longer") is not None, len(more) == 1)
        self.assertEqual(checkpoint.read_bytes(), b"precious")
        self.assertIsNotNone(ran["workers_0"].issue("checkpoint-discarded"))

    def test_a_worker_with_fewer_batches_than_the_others(self):
        ran = self.run_alone(iterable=True, workers=2, uneven=True, samples=2 * SAMPLES)
        self.assertEqual(ran.status, 0, ran.errors[-4000:])
        self.assertIsNone(ran.issue("shim-failed"), ran.profile["issues"])
        lengths = [len(epoch["sizes"]) for epoch in ran.epochs]
        self.assertLessEqual(len([length for length in lengths if length != 80]), 1, lengths)  # 60 and 20
        self.assertIsNotNone(ran.rate("synthetic"), ran.profile["absent"])

    def test_a_stream_shorter_than_a_block(self):
        ran = self.run_alone(iterable=True, workers=2, samples=40, budget="6s")
        self.assertEqual(ran.status, 0, ran.errors[-4000:])
        self.assertIn("too short for a block", ran.issue("phases-impossible")["detail"])
        self.assertIsNone(ran.rate("synthetic") if ran.profile["stalls"]["method"] != "attributed" else None)
        self.assert_lengths(ran, 6, longer=[n for n, epoch in enumerate(ran.epochs) if len(epoch["sizes"]) > 6][:1])


class Loaders(StreamsTest):
    def test_a_loader_that_takes_batches_in_its_own_way(self):
        ran = self.run_alone(own_iterator=True)
        self.assert_measured(ran, absent=["cold", "cached", "supply"])
        self.assertIn("a way of its own", ran.issue("phases-of-a-stream")["detail"])
        self.assertIsNotNone(ran.rate("synthetic"), ran.profile["absent"])
        self.assert_lengths(ran, BATCHES)

    def test_phases_that_a_stream_does_not_have(self):
        ran = self.run_alone(iterable=True, phases="cold,cached", budget="6s")
        self.assertEqual(ran.status, 0, ran.errors[-4000:])
        self.assertIn("stream", ran.issue("phases-impossible")["detail"])
        self.assertEqual(ran.profile["stalls"]["method"], "attributed")
        self.assert_lengths(ran, BATCHES)

    def test_two_ranks_switch_at_the_same_batch(self):
        """Each step is a collective: ranks whose batches did not go together would wait for each other for ever."""
        ran = self.run_alone(ranks=2, workers=1, iterable=True, samples=2 * SAMPLES)
        self.assert_stream_measured(ran)
        passes = []
        for rank in ("0", "1"):
            lines = (self.folder / ("seen-alone." + rank)).read_text().splitlines()
            passes.append([len(json.loads(line)["sizes"]) for line in lines])
        self.assertEqual(passes[0], passes[1])
        self.assertEqual(self.processes_left(), [])

    def test_a_worker_that_crashes(self):
        ran = self.run_alone(iterable=True, workers=2, crash_after=150)
        self.assertEqual(ran.status, 1)
        self.assertIn("killed by signal: Killed", ran.errors)
        self.assertEqual(ran.profile["outcome"]["child_exit_code"], 1)
        self.assertEqual(self.processes_left(), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
