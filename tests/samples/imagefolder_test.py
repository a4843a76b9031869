"""The sample job: its data are the same every time, its window leaves out both ends, and it trains.

Run as `imagefolder_test.py SAMPLES_DIR`. Exits with 77 (skipped) where numpy, PIL or torch is missing.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SAMPLES = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(SAMPLES))
try:
    import torch  # noqa: F401
    import numpy
    from PIL import Image

    import train
    from data import open_folder
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


def run(script, *arguments):
    command = [sys.executable, str(SAMPLES / script), *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


def contents(root):
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in pathlib.Path(root).rglob("*.*")}


class MakeDataset(unittest.TestCase):
    def test_same_arguments_make_the_same_files_with_any_number_of_processes(self):
        for kind, files in (("jpeg", 6), ("jpeg256", 6), ("arrays20k", 6), ("audio", 6), ("mapped", 2), ("packed", 4)):
            with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
                for root, jobs in ((one, 1), (two, 2)):
                    done = run("make_dataset.py", root, "--samples", 6, "--kind", kind, "--jobs", jobs, "--classes", 2)
                    self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(contents(one), contents(two))
                self.assertEqual(len(contents(one)), files + 1)

    def test_sizes_are_those_of_photos(self):
        with tempfile.TemporaryDirectory() as root:
            run("make_dataset.py", root, "--samples", 120)
            sizes = numpy.array([path.stat().st_size for path in pathlib.Path(root).rglob("*.jpg")])
            self.assertEqual(len(sizes), 120)
            self.assertTrue(80e3 < sizes.mean() < 130e3, sizes.mean())
            self.assertTrue(0.35 < numpy.log(sizes).std() < 0.7, numpy.log(sizes).std())
            widths = []
            for path in pathlib.Path(root).rglob("*.jpg"):
                with Image.open(path) as image:
                    widths.append(image.size[0])
            self.assertTrue(350 < numpy.mean(widths) < 550, numpy.mean(widths))

    def test_small_photos_have_one_size(self):
        with tempfile.TemporaryDirectory() as root:
            run("make_dataset.py", root, "--samples", 60, "--kind", "jpeg256")
            files = list(pathlib.Path(root).rglob("*.jpg"))
            self.assertEqual(len(files), 60)
            for path in files:
                with Image.open(path) as image:
                    self.assertEqual(image.size, (256, 256))
            self.assertTrue(10e3 < numpy.mean([path.stat().st_size for path in files]) < 40e3)

    def test_another_data_set_in_the_folder_is_not_touched(self):
        with tempfile.TemporaryDirectory() as root:
            run("make_dataset.py", root, "--samples", 4, "--kind", "arrays20k")
            before = contents(root)
            self.assertEqual(run("make_dataset.py", root, "--samples", 4, "--kind", "arrays20k").returncode, 0)
            done = run("make_dataset.py", root, "--samples", 5, "--kind", "arrays20k")
            self.assertEqual(done.returncode, 1)
            self.assertIn("another data set", done.stderr)
            self.assertEqual(contents(root), before)


class SteadyWindow(unittest.TestCase):
    def test_leaves_out_the_start_and_the_end_and_keeps_whole_turns(self):
        times = list(range(100))
        window = train.steady_window(times, workers=4, prefetch=2, epoch_steps=100)
        self.assertEqual(window[0], 12)          # three turns of the workers
        self.assertLess(window[-1], 100 - 10)    # four workers with two batches each, and two more
        self.assertEqual(len(window) % 4, 0)

    def test_an_epoch_cut_short_did_not_drain(self):
        window = train.steady_window(list(range(50)), workers=1, prefetch=2, epoch_steps=1000)
        self.assertEqual((window[0], window[-1]), (3, 49))

    def test_a_short_epoch_has_no_steady_part(self):
        self.assertEqual(train.steady_window(list(range(8)), workers=2, prefetch=2, epoch_steps=8), [])


class Training(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.roots = {}
        for kind, samples in (("jpeg", 48), ("arrays20k", 96), ("audio", 24), ("mapped", 24), ("packed", 24)):
            cls.roots[kind] = str(pathlib.Path(cls.folder.name, kind))
            run("make_dataset.py", cls.roots[kind], "--samples", samples, "--kind", kind, "--classes", 2)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def summary_of(self, *arguments):
        done = run("train.py", *arguments, "--json", "--image-size", 64)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    def test_every_kind_of_data_trains_and_counts_its_steps(self):
        for kind, steps in (("jpeg", 24), ("arrays20k", 48), ("audio", 12), ("mapped", 12), ("packed", 12)):
            summary = self.summary_of(self.roots[kind], "--batch-size", 2, "--workers", 1)
            self.assertEqual(summary["steps_total"], steps)
            self.assertGreater(summary["samples_per_s"], 0)

    def test_the_parts_of_a_step_make_the_rate(self):
        for workers in (0, 2):
            summary = self.summary_of(self.roots["jpeg"], "--batch-size", 1, "--workers", workers)
            step = summary["wait_s_per_step"] + summary["compute_s_per_step"]
            self.assertTrue(0.5 < step * summary["samples_per_s"] <= 1.0 + 1e-9, summary)

    def test_an_emulated_accelerator_takes_its_time_and_spawned_workers_work(self):
        summary = self.summary_of(self.roots["arrays20k"], "--accelerator-ms", 20, "--batch-size", 4, "--workers", 1,
                                  "--start-method", "spawn")
        self.assertGreaterEqual(summary["compute_s_per_step"], 0.02)

    def test_synthetic_waits_for_nothing(self):
        summary = self.summary_of(self.roots["jpeg"], "--synthetic", "--batch-size", 2, "--workers", 1)
        self.assertEqual(summary["steps_total"], 24)
        self.assertLess(summary["wait_s_per_step"], summary["compute_s_per_step"])

    def test_an_image_becomes_a_normalised_tensor(self):
        image, label = open_folder(self.roots["jpeg"], 64, False)[0]
        self.assertEqual(tuple(image.shape), (3, 64, 64))
        self.assertIn(label, (0, 1))
        self.assertLess(abs(float(image.mean())), 3.0)


if __name__ == "__main__":
    unittest.main()
