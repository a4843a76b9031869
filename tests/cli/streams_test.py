#!/usr/bin/env python3
"""Measured runs of jobs of whose samples nobody can say which come next: streams, and loaders of their own.

Streams have cold blocks, and blocks from memory with all of their files held; of loaders that take batches in a way of
their own holds and what is found beside them are all that is made. Nothing is said of times: every rate is there, or
absent with its reason.
"""
import os
import unittest

from phased import SAMPLES, PhasesTest, passes_in

CHOSEN = ("cold", "cached", "supply")  # states that need to know which files come next


class StreamsTest(PhasesTest):
    def assert_stream_measured(self, ran):
        """Whatever was measured has premises that hold; no file is said to be out of reach."""
        self.assert_measured(ran)
        self.assertIsNone(ran.issue("files-not-chosen"), ran.issue("files-not-chosen"))
        self.assertIsNone(ran.issue("phases-impossible"), ran.issue("phases-impossible"))

    def assert_only_held(self, ran, words):
        """As found and computing alone were measured, or say why not; nothing else is claimed, and it is told why."""
        self.assert_measured(ran, absent=CHOSEN)
        told = ran.issue("files-not-chosen")
        self.assertEqual(told["severity"], "info")
        self.assertIn(words, told["detail"])
        self.assertIsNone(ran.issue("phases-impossible"), ran.issue("phases-impossible"))
        phases = {point["phase"] for point in ran.profile["points"] if point["method"] == "differential"}
        self.assertLessEqual(phases, {"as_is", "synthetic", "first_touch"})
        if phases:
            for phase in ("cold", "cached"):
                self.assertIn(words, ran.why_not(phase))


class Lengths(StreamsTest):
    def test_streams_of_every_kind(self):
        ran = self.run_all(
            workers_0=dict(iterable=True, workers=0, sized=True),
            sized=dict(iterable=True, workers=2, sized=True),
            persistent=dict(iterable=True, workers=2, persistent=True),
            anew=dict(iterable=True, workers=2, anew=True),
        )
        for name, run in ran.items():
            with self.subTest(job=name):
                self.assert_stream_measured(run)
        self.assert_all_as_plain(ran)
        self.assertEqual(self.processes_left(), [])

    def test_streams_that_end_otherwise(self):
        ran = self.run_all(
            left=dict(iterable=True, workers=2, stop_after=47, persistent=True),
            uneven=dict(iterable=True, workers=2, uneven=True, samples=2 * SAMPLES),
            short=dict(iterable=True, workers=2, samples=40, augment=True, save=str(self.folder / "model.pt"),
                       budget="40s"),
        )
        for name, run in ran.items():
            with self.subTest(job=name):
                self.assert_stream_measured(run)
        self.assert_all_as_plain(ran)


    def test_shards_that_last_longer_than_the_measuring(self):
        """What comes next nobody knows, but that each reader goes on in the file that it is in."""
        shards = self.folder / "shards"
        shards.mkdir()
        for number in range(2):
            with open(shards / ("%d.tar" % number), "wb") as file:
                for _ in range(96):
                    file.write(os.urandom(1 << 20))
                file.flush()
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        ran = self.run_alone(data=shards, iterable=True, workers=2, record_bytes=16384, step_s=0.04, budget="40s")
        self.assert_stream_measured(ran)
        self.assertEqual(len(ran.epochs), 0)  # ended within the first pass
        self.assertTrue([phase for phase in ran.profile["phases"] if phase["phase"] == "cached"], ran.why_not("cached"))


class Loaders(StreamsTest):
    def test_a_loader_that_takes_batches_in_its_own_way(self):
        ran = self.run_alone(own_iterator=True)
        self.assert_only_held(ran, "in a way of its own")
        self.assert_as_plain(ran)

    def test_phases_that_such_a_loader_does_not_have(self):
        ran = self.run_alone(own_iterator=True, phases="cold,cached", budget="6s")
        self.assertEqual(ran.status, 0, ran.errors[-4000:])
        self.assertIn("--phases synthetic", ran.issue("phases-impossible")["detail"])
        self.assertEqual(ran.profile["stalls"]["method"], "attributed")
        self.assert_as_plain(ran)

    def test_two_ranks_switch_at_the_same_batch(self):
        """Each step is a collective: ranks whose batches did not go together would wait for each other for ever."""
        ran = self.run_alone(ranks=2, workers=1, iterable=True, samples=2 * SAMPLES)
        self.assert_stream_measured(ran)
        self.assert_as_plain(ran, ranks=(0, 1))
        self.assertEqual(len(ran.of_rank(0)), len(ran.of_rank(1)))
        self.assertEqual(self.processes_left(), [])

    def test_a_worker_that_crashes(self):
        ran = self.run_alone(iterable=True, workers=2, crash_after=150, stop=False)
        self.assertEqual(ran.status, 1)
        self.assertEqual(ran.profile["outcome"]["child_exit_code"], 1)
        status, seen, errors = self.run_plain(ran.wanted)
        self.assertEqual(status, 1, errors)
        self.assertEqual(ran.epochs, passes_in(seen))
        self.assertEqual(self.processes_left(), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
