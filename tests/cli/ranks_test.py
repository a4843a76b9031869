#!/usr/bin/env python3
"""Phased runs of several ranks on one machine, and what goes wrong with them."""
import json
import unittest

from phased import SAMPLES, PhasesTest


class Ranks(PhasesTest):
    def test_two_ranks_switch_at_the_same_batch(self):
        """Each step is a collective: ranks whose batches did not go together would wait for each other for ever."""
        ran = self.run_alone(ranks=2, workers=1, persistent=True, samples=2 * SAMPLES)
        self.assert_measured(ran)
        self.assertEqual((ran.profile["job"]["ranks_seen"], ran.profile["job"]["ranks_expected"]), (2, 2))
        self.assertEqual(len(ran.profile["ranks"]), 2)
        self.assertIsNone(ran.issue("phases-missed"), ran.issue("phases-missed"))
        self.assertIsNotNone(ran.rate("cached"), ran.profile["absent"])
        self.assertIsNotNone(ran.rate("synthetic"), ran.profile["absent"])
        passes = []
        for rank in ("0", "1"):
            lines = (self.folder / ("seen-alone." + rank)).read_text().splitlines()
            ran.epochs = [json.loads(line) for line in lines]
            self.assert_passes_whole(ran, SAMPLES)
            passes.append(len(lines))
        self.assertEqual(passes[0], passes[1])
        self.assertEqual(self.processes_left(), [])

    def test_what_ranks_exchange(self):
        ran = self.run_alone(ranks=2, workers=1, ddp=True, samples=2 * SAMPLES, budget="10s", phases="synthetic")
        exchange = ran.profile["exchange"]
        self.assertEqual((exchange["backend"], exchange["ranks"], exchange["buckets"]), ("gloo", 2, 1))
        self.assertEqual(exchange["bytes"], 4)  # one weight
        self.assertGreaterEqual(exchange["iterations"], 3)
        times = {name: exchange[name + "_s"]["mean"] for name in ("time", "exposed", "forward", "backward", "waiting")}
        self.assertGreater(times["exposed"], 0.0)
        self.assertLessEqual(times["exposed"], times["time"])
        self.assertLess(times["time"], 0.1)  # four bytes within a machine
        self.assertGreaterEqual(times["waiting"], 0.0)
        self.assertIsNone(ran.issue("shim-failed"), ran.profile["issues"])

    def test_a_launcher_that_waits_for_results_is_ended_with_its_ranks(self):
        ran = self.finish(self.begin("results", ranks=2, results=True, workers=0, budget="6s", phases="synthetic"))
        self.assertEqual(ran.status, 0, ran.errors[-4000:])
        self.assertEqual(ran.profile["outcome"]["status"], "measured")
        self.assertEqual(ran.profile["outcome"]["child_exit_code"], 0)
        self.assertEqual(ran.issue("launcher-stayed")["severity"], "info")
        self.assertIsNone(ran.issue("job-hung"))
        self.assertEqual(self.processes_left(), [])

    # --- trouble -----------------------------------------------------------------------------------------------------

    def run_ranks(self, rank_1, **options):
        """Two ranks that do not wait for each other."""
        ran = self.run_alone(ranks=2, workers=1, collective=False, rank_1=rank_1, samples=2 * SAMPLES, budget="20s",
                             **options)
        self.assertEqual(self.processes_left(), [])
        self.assertIsNone(ran.issue("shim-failed"), ran.profile["issues"])
        return ran

    def test_passes_of_unequal_length(self):
        """Blocks that do not fit into the passes of all ranks are left out; every rank keeps its own length."""
        ran = self.run_ranks({"stop_after": 45})
        self.assert_measured(ran)
        for rank, batches in (("0", 60), ("1", 45)):
            lines = (self.folder / ("seen-alone." + rank)).read_text().splitlines()
            self.assertEqual({len(json.loads(line)["sizes"]) for line in lines}, {batches})

    def test_a_rank_that_never_asks_its_loader(self):
        ran = self.run_ranks({"idle": True})
        self.assert_measured(ran)
        self.assertIsNotNone(ran.rate("synthetic"), ran.profile["absent"])

    def test_a_rank_that_dies(self):
        ran = self.run_ranks({"dies_after": 200})
        self.assertNotEqual(ran.profile["outcome"]["child_exit_code"], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
