#!/usr/bin/env python3
"""Measured runs of several ranks on one machine, and what goes wrong with them."""
import unittest

from phased import SAMPLES, PhasesTest


class Ranks(PhasesTest):
    def test_two_ranks_switch_at_the_same_batch(self):
        """Each step is a collective: ranks whose batches did not go together would wait for each other for ever."""
        ran = self.run_alone(ranks=2, workers=1, persistent=True, samples=2 * SAMPLES, budget="15s")
        self.assert_measured(ran)
        self.assertEqual((ran.profile["job"]["ranks_seen"], ran.profile["job"]["ranks_expected"]), (2, 2))
        self.assertEqual(len(ran.profile["ranks"]), 2)
        self.assert_as_plain(ran, ranks=(0, 1))
        self.assertEqual(len(ran.of_rank(0)), len(ran.of_rank(1)))
        batches = [rank["batches"] for rank in ran.profile["ranks"]]
        self.assertLessEqual(max(batches) - min(batches), 1, "the ranks were ended at the same turn")
        self.assertEqual(self.processes_left(), [])

    def test_ranks_that_are_not_ended(self):
        ran = self.run_alone(ranks=2, workers=1, samples=2 * SAMPLES, epochs=8, stop=False, budget="5s")
        self.assertEqual(ran.status, 0, ran.errors[-4000:])
        self.assertIn("done measuring: the command goes on", ran.errors)
        self.assert_as_plain(ran, ranks=(0, 1))
        self.assertEqual([len(ran.of_rank(rank)) for rank in (0, 1)], [8, 8])
        self.assertEqual([rank["batches"] for rank in ran.profile["ranks"]], [480, 480])
        self.assertEqual(self.processes_left(), [])

    def test_what_ranks_exchange(self):
        ran = self.run_alone(ranks=2, workers=1, ddp=True, samples=2 * SAMPLES, phases="synthetic")
        exchange = ran.profile["exchange"]
        self.assertEqual((exchange["backend"], exchange["ranks"], exchange["buckets"]), ("gloo", 2, 1))
        self.assertEqual(exchange["bytes"], 4)  # one weight
        times = {name: exchange[name + "_s"]["mean"] for name in ("time", "exposed", "forward", "backward", "waiting")}
        self.assertGreater(times["exposed"], 0.0)
        self.assertLessEqual(times["exposed"], times["time"])
        self.assertGreaterEqual(times["waiting"], 0.0)
        self.assertIsNone(ran.issue("shim-failed"), ran.profile["issues"])
        self.assert_as_plain(ran, ranks=(0, 1))

    # --- trouble -----------------------------------------------------------------------------------------------------

    def run_ranks(self, rank_1, **options):
        """Two ranks that do not wait for each other."""
        ran = self.run_alone(ranks=2, workers=1, collective=False, rank_1=rank_1, samples=2 * SAMPLES, **options)
        self.assertEqual(self.processes_left(), [])
        self.assertIsNone(ran.issue("shim-failed"), ran.profile["issues"])
        return ran

    def test_passes_of_unequal_length(self):
        """Blocks that do not fit into the passes of all ranks are left out; every rank keeps its own length."""
        ran = self.run_ranks({"stop_after": 45})
        self.assert_measured(ran)
        self.assert_as_plain(ran, ranks=(0, 1))
        for rank, batches in ((0, 60), (1, 45)):
            self.assertLessEqual({len(epoch["sizes"]) for epoch in ran.of_rank(rank)}, {batches})

    def test_a_rank_that_never_asks_its_loader(self):
        ran = self.run_ranks({"idle": True})
        self.assert_measured(ran)
        ran.wanted["rank_1"] = {}
        self.assert_as_plain(ran, ranks=(0,))

    def test_a_rank_that_dies(self):
        """Its launcher waits for the other one, which goes on with its own batches."""
        ran = self.run_ranks({"dies_after": 200})
        self.assertNotEqual(ran.profile["outcome"]["child_exit_code"], 0)
        ran.wanted["rank_1"] = {}
        self.assert_as_plain(ran, ranks=(0, 1))


if __name__ == "__main__":
    unittest.main(verbosity=2)
