"""A job of which states are made is given its own batches, as without us; what is held back shows in the recording."""

import json
import os
import re
import sys
import time
import unittest

import harness

COLD, CACHED, SYNTHETIC, END = 1, 2, 3, 15
JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "job.py")


def segment(first, batches, phase, at_once=0, made_as=0, argument=0):
    return first, batches, phase, 0, at_once, argument, 0, made_as


def dense(until, end=True):
    """Every means, one behind the other, from turn 12 on."""
    turn, made = 12, []
    while turn < until:
        for batches, phase, at_once, made_as in ((3, COLD, 0, 0), (4, SYNTHETIC, 0, COLD), (2, SYNTHETIC, 0, COLD),
                                                 (5, CACHED, 1, 0), (3, SYNTHETIC, 0, CACHED), (4, CACHED, 2, 0)):
            made.append(segment(turn, batches, phase, at_once, made_as))
            turn += batches
        turn += 2
    return made + ([segment(turn, 0, END)] if end else [])


class Measured(harness.ShimTest):
    NEEDS = "torch"

    OPTIONS = [
        {"workers": 0}, {"workers": 1}, {"workers": 2}, {"workers": 2, "batch_sampler": True},
        {"workers": 2, "persistent": True}, {"workers": 2, "stop_after": 4}, {"workers": 0, "stop_after": 4},
        {"workers": 2, "persistent": True, "stop_after": 3}, {"workers": 2, "evaluate": True},
        {"workers": 2, "iterable": True, "samples": 61}, {"workers": 2, "iterable": True, "samples": 50, "persistent": True},
        {"workers": 0, "iterable": True}, {"workers": 2, "getitems": True, "batch": "dict"},
        {"workers": 2, "evaluate_again": True}, {"workers": 0, "evaluate_again": True, "samples": 41},
        {"workers": 2, "batch_size": None, "samples": 20}, {"workers": 2, "shuffle": False, "drop_last": True},
    ]

    def plain(self, jobs):
        """The line that each job prints, without us."""
        plain = self.python(JOB, json.dumps(jobs), shim=False)
        self.assertEqual((plain.status, plain.err), (0, ""))
        return plain.out.splitlines(keepends=True)

    def same(self, options, segments, expected=None):
        job = dict({"epochs": 9}, **options)
        expected = expected or self.plain([job])[0]
        measured = self.python(JOB, json.dumps([job]), segments=segments)
        self.assertEqual((measured.status, measured.err, measured.out), (0, "", expected), options)
        return measured

    def test_batches_are_the_same_whatever_is_made_of_them(self):
        expected = self.plain([dict({"epochs": 9}, **options) for options in self.OPTIONS])
        for options, line in zip(self.OPTIONS, expected):
            with self.subTest(**options):
                self.same(options, dense(40), line)

    def test_spawned_workers(self):
        self.same({"workers": 2, "context": "spawn", "persistent": True}, dense(40))

    def test_a_run_that_ends_in_the_middle_of_a_segment(self):
        self.same({"workers": 2}, dense(500, end=False))

    def test_all_means_were_used(self):
        run = self.same({"workers": 2}, dense(30)).run
        consumer = run.consumer if hasattr(run, "consumer") else max(run.recordings, key=lambda r: len(r.waits))
        announced = {text["segment"] for text in consumer.texts["segment"]}
        self.assertGreater(len(announced), 4)
        bursts = consumer.texts["burst"]
        self.assertGreater(len(bursts), 2)
        for burst in bursts:
            self.assertNotIn("refused", burst)
            self.assertGreater(burst["made_ns"], 0)
            self.assertLessEqual(burst["asked_ns"], burst["made_ns"])
            self.assertLessEqual(burst["made_ns"], burst["released_ns"])
            self.assertLessEqual(burst["released_ns"], burst["until_ns"])
        self.assertTrue(any(mark["what"] == "let_go" for mark in consumer.texts["mark"]))
        made = [batch for recording in run.recordings for batch in recording.batches if batch.worker != harness_unknown]
        for burst in bursts:  # the workers rested
            for batch in made:
                inside = burst["released_ns"] < batch.begin_ns < burst["until_ns"]
                self.assertFalse(inside, (burst, batch))

    def test_an_evaluation_over_the_same_loader_is_left_alone(self):
        """Passes of 5 batches, so that the ninth, from which on the loader is armed, is one of the evaluation."""
        for workers in (0, 2):
            for persistent in {False, workers > 0}:
                with self.subTest(workers=workers, persistent=persistent):
                    run = self.same({"workers": workers, "persistent": persistent, "samples": 40, "evaluate_again": True},
                                    dense(40)).run
                    consumer = max(run.recordings, key=lambda r: len(r.waits))
                    passes = list(dict.fromkeys(wait.iterator_id for wait in consumer.waits))
                    self.assertEqual(len(passes), 18)
                    measured = {segment["iterator_id"] for segment in consumer.texts["segment"]}
                    self.assertGreater(len(measured), 2)
                    self.assertLessEqual(measured, set(passes[0::2]))

    def test_a_tool_that_is_gone_holds_nobody(self):
        job = [json.dumps([{"workers": 2, "epochs": 9}])]
        begin = time.monotonic()
        plain = self.python(JOB, *job, shim=False)
        between = time.monotonic()
        left = self.python(JOB, *job, segments=dense(40), alive=False)
        self.assertEqual((left.status, left.err, left.out), (0, "", plain.out))
        self.assertLess(time.monotonic() - between, 20 + 2 * (between - begin))

    def test_only_torchs_own_samplers_are_asked_how_long_they_are(self):
        script = self.write("length.py", """
            import sys

            sys.path.insert(0, %r)
            from stallcast_shim import describe
            from torch.utils.data import BatchSampler, RandomSampler, Sampler

            class Asked(Sampler):
                def __init__(self): pass
                def __iter__(self): return iter(range(64))
                def __len__(self): raise SystemExit("a user's sampler was asked for its length")

            class Repeat:
                def __init__(self, sampler): self.sampler = sampler

            class Iterator:
                def __init__(self, sampler): self._index_sampler = sampler

            own, users = BatchSampler(RandomSampler(range(64)), 8, False), BatchSampler(Asked(), 8, False)
            print(describe.sampler_length(own), describe.sampler_length(users), describe.sampler_length(Asked()))
            print(describe.period(Iterator(Repeat(own))), describe.period(Iterator(Repeat(users))),
                  describe.period(Iterator(own)), describe.period(Iterator(Repeat(Asked()))))
            """ % harness.SHIM)
        told = self.python(script, shim=False)
        self.assertEqual((told.status, told.out), (0, "8 None None\n8 None None None\n"), told.err)

    def test_warnings_are_of_the_lines_that_they_are_of_without_us(self):
        script = self.write("warn.py", """
            import warnings
            from torch.utils.data import DataLoader, Dataset, IterableDataset

            class Stream(IterableDataset):
                def __iter__(self):
                    return iter(range(5))
                def __len__(self):
                    return 3
                def __repr__(self):
                    return "stream"

            class Warns(Dataset):
                def __len__(self):
                    return 40
                def __getitem__(self, index):
                    warnings.warn("of the fetcher", stacklevel=2)
                    return index

            for workers in (0, 2):
                stream = DataLoader(Stream(), num_workers=workers, pin_memory=True)
                len(stream)
                for batch in stream:
                    pass
                for batch in DataLoader(Warns(), num_workers=min(workers, 1), batch_size=8):
                    pass
            """)
        plain = self.python(script, shim=False)
        self.assertIn("Length of IterableDataset", plain.err)
        self.assertEqual(self.python(script, segments=dense(40)).err, plain.err)

    @unittest.skipIf(sys.version_info < (3, 11), "a frame of ours stays before Python 3.11")
    def test_tracebacks_are_as_without_us(self):
        script = self.write("raises.py", """
            import gc, traceback
            from torch.utils.data import DataLoader, Sampler

            class Data:
                def __init__(self, at): self.at = at
                def __len__(self): return 320
                def __getitem__(self, index):
                    if index == self.at:
                        raise KeyError("of a sample")
                    return index

            class Raises(Sampler):
                def __init__(self): pass
                def __iter__(self):
                    yield from range(264)
                    raise ValueError("of the sampler")

            class Frozen(Exception):
                def __setattr__(self, name, value):
                    raise AttributeError("frozen")

            def collate(samples):
                if 260 in samples:
                    raise Frozen("of the collate")
                return samples

            def tell(**options):
                try:
                    for batch in DataLoader(batch_size=8, **options):
                        pass
                except Exception:
                    traceback.print_exc()
                gc.collect()  # an iterator that dies in a later worker complains of that, plainly as well

            for workers in (0, 1):
                tell(dataset=Data(260), num_workers=workers)
                tell(dataset=Data(-1), sampler=Raises(), num_workers=workers)
                tell(dataset=Data(-1), collate_fn=collate, num_workers=workers)
            for batch in DataLoader(Data(250), batch_size=8):
                pass
            """)
        plain = self.python(script, shim=False)
        self.assertEqual(plain.status, 1)
        self.assertGreaterEqual(plain.err.count("Traceback"), 7)
        def without_addresses(text):
            return re.sub("0x[0-9a-f]+", "0x", text)

        self.maxDiff = None
        for segments in (None, dense(40)):
            measured = self.python(script, segments=segments)
            self.assertEqual(measured.status, 1)
            self.assertTrue(any(recording.waits for recording in measured.run.recordings))
            self.assertMultiLineEqual(without_addresses(measured.err), without_addresses(plain.err))

    def test_a_tool_that_has_died_is_let_go_of(self):
        job = {"workers": 2, "epochs": 30}
        slow = json.dumps([dict(job, step_s=0.08)])  # some 17 s
        left = self.python(JOB, slow, segments=dense(200, end=False), alive=4)
        self.assertEqual((left.status, left.err, left.out), (0, "", self.plain([job])[0]))
        consumer = max(left.run.recordings, key=lambda r: len(r.waits))
        self.assertTrue(any(mark["what"] == "let_go" for mark in consumer.texts["mark"]))
        self.assertGreater(len(consumer.waits), 200)  # what came after is recorded as well

    def test_segments_that_come_too_late_are_left_out(self):
        measured = self.same({"workers": 2}, [segment(1, 2, SYNTHETIC, made_as=COLD), segment(3, 5, COLD)])
        consumer = max(measured.run.recordings, key=lambda r: len(r.waits))
        self.assertEqual(consumer.texts["segment"], [])


class Device(harness.ShimTest):
    """No GPU is needed: torch.cuda is scripted."""

    def test_time_is_told_once_the_device_has_passed(self):
        sys.path.insert(0, harness.SHIM)
        from stallcast_shim.states import device_clock

        now = {"ms": 0.0, "passed": False}

        class Event:
            def __init__(self, enable_timing):
                assert enable_timing

            def record(self):
                self.ms = now["ms"]

            def query(self):
                return now["passed"]

            def elapsed_time(self, other):
                return other.ms - self.ms

        class Cuda:
            is_initialized = staticmethod(lambda: True)
            Event = None

        Cuda.Event = Event
        real = sys.modules.get("torch")
        sys.modules["torch"] = type("Torch", (), {"cuda": Cuda})
        try:
            clock = device_clock.start()
            self.assertIsNone(clock.seconds())
            for ms in (10.0, 25.0, 41.0):
                now["ms"] = ms
                clock.mark()
            self.assertFalse(clock.is_passed())
            now["passed"] = True
            self.assertTrue(clock.is_passed())
            self.assertAlmostEqual(clock.seconds(), 0.031)
        finally:
            if real is None:
                del sys.modules["torch"]
            else:
                sys.modules["torch"] = real


harness_unknown = 0xFFFFFFFF

if __name__ == "__main__":
    harness.main()
