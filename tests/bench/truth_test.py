"""The ground truth's own helpers: what is said to be evicted, locked or limited, is. Skips what needs root."""

import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from truth import files, limits, resident, statistics  # noqa: E402


class Files(unittest.TestCase):
    def setUp(self):
        # The build folder lies on a disk; /tmp may be memory.
        self.folder = tempfile.TemporaryDirectory(dir=os.getcwd())
        self.paths = []
        for number in range(4):
            path = pathlib.Path(self.folder.name, f"{number}.bin")
            path.write_bytes(os.urandom(40_000 + number))
            self.paths.append(str(path))
        try:
            self.disk = files.disk_of(self.folder.name)
        except LookupError as reason:
            self.folder.cleanup()
            self.skipTest(str(reason))

    def tearDown(self):
        self.folder.cleanup()

    def test_read_is_resident_and_evicted_is_not(self):
        for path in self.paths:
            pathlib.Path(path).read_bytes()
        self.assertGreater(files.resident_fraction(self.paths), 0.9)
        files.evict(self.paths)
        self.assertLess(files.resident_fraction(self.paths), 0.001)

    def test_locked_files_withstand_eviction(self):
        files.evict(self.paths)
        try:
            with resident.resident(self.paths) as held:
                self.assertEqual(held, sum(os.stat(path).st_size for path in self.paths))
                with self.assertRaises(RuntimeError):
                    files.evict(self.paths)
                self.assertEqual(files.resident_fraction(self.paths), 1.0)
        except RuntimeError as reason:
            if "locked" in str(reason):
                self.skipTest(str(reason))
            raise
        files.evict(self.paths)

    def test_a_file_that_is_gone_is_said(self):
        with self.assertRaises(RuntimeError):
            with resident.resident([self.folder.name + "/gone"]):
                pass

    def test_the_disk_is_a_whole_one(self):
        self.assertRegex(self.disk, r"^\d+:\d+$")
        self.assertFalse(pathlib.Path("/sys/dev/block", self.disk, "partition").exists())
        with self.assertRaises(LookupError):
            files.disk_of("/proc")

    def test_a_limited_command_runs_in_its_groups_and_they_go_away(self):
        try:
            with limits.Limits(read_bytes_per_s=50e6, path=self.folder.name, cpus=1) as limit:
                groups = list(limit.groups)
                done = subprocess.run(limit.wrap(["cat", "/proc/self/cgroup"]), stdout=subprocess.PIPE, text=True,
                                      check=True)
                for group in groups:
                    self.assertIn(group.name, done.stdout)
        except limits.Unavailable as reason:
            self.skipTest(str(reason))
        self.assertEqual(len(groups), 2)
        self.assertFalse(any(group.exists() for group in groups))

    def test_limited_memory_holds_a_part_of_the_files_that_were_read(self):
        path = pathlib.Path(self.folder.name, "large.bin")
        path.write_bytes(os.urandom(40_000_000))
        files.evict([path])
        try:
            with limits.Limits(memory_bytes=20_000_000) as limit:
                subprocess.run(limit.wrap(["cat", str(path)]), stdout=subprocess.DEVNULL, check=True)
                self.assertGreater(limit.peak_memory_bytes(), 15_000_000)
                self.assertLessEqual(limit.peak_memory_bytes(), 20_000_000)
                self.assertTrue(0.1 < files.resident_fraction([path]) < 0.5)
        except limits.Unavailable as reason:
            self.skipTest(str(reason))


class Statistics(unittest.TestCase):
    def test_variants_alternate_and_turn_round(self):
        seen = []
        results = statistics.alternate(2, {name: lambda name=name: seen.append(name) or name for name in "ABC"})
        self.assertEqual("".join(seen), "ABCCBA")
        self.assertEqual(results["B"], ["B", "B"])

    def test_spread_and_median(self):
        self.assertEqual(statistics.spread([3.0, 1.0, 2.0]), 2.0)
        self.assertEqual(statistics.median([3.0, 1.0, 2.0]), 2.0)

    def test_the_interval_of_a_mean(self):
        self.assertAlmostEqual(statistics.half_interval([1.0, 2.0, 3.0]), 4.30 / 3**0.5)
        self.assertAlmostEqual(statistics.half_interval([0.0, 2.0] * 10), 2.20 * (20 / 19) ** 0.5 / 20**0.5)
        self.assertEqual(statistics.half_interval([1.0]), float("inf"))

    def test_a_command_without_limits_is_itself(self):
        self.assertEqual(limits.Limits().wrap(["true"]), ["true"])


class Statistics(unittest.TestCase):
    def test_results_that_repeat_equally_well_stay_within_the_critical_range(self):
        self.assertAlmostEqual(statistics.critical_range([94, 97, 100, 103, 106], 5), 18.5, delta=0.05)
        draw = random.Random(1)
        many = [draw.gauss(100, 2) for _ in range(2000)]
        limit = statistics.critical_range(many, 5)
        inside = [statistics.spread([draw.gauss(100, 2) for _ in range(5)]) <= limit for _ in range(4000)]
        self.assertAlmostEqual(sum(inside) / len(inside), 0.95, delta=0.02)
        wider = [statistics.spread([draw.gauss(100, 5) for _ in range(5)]) <= limit for _ in range(1000)]
        self.assertLess(sum(wider) / len(wider), 0.4)


if __name__ == "__main__":
    unittest.main()
