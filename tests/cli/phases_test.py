#!/usr/bin/env python3
"""Phased runs of real PyTorch jobs: what the script sees, what is kept, what is left behind, and jobs that are trouble.

Nothing is said of times: every rate is there, or absent with its reason.
"""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

from harness import CLI
from phased import RATES, SAMPLES, PhasesTest, file_system, mounts_here


class Usual(PhasesTest):
    def test_the_script_sees_whole_passes_and_keeps_its_checkpoint(self):
        checkpoint = self.folder / "model.pt"
        checkpoint.write_bytes(b"precious")
        ran = self.run_all(
            workers_0=dict(workers=0),
            workers_2=dict(workers=2, save=str(checkpoint)),
            persistent=dict(workers=2, persistent=True),
        )
        for name, run in ran.items():
            with self.subTest(job=name):
                self.assert_measured(run)
                self.assert_passes_whole(run, SAMPLES)
                self.assertIsNone(run.issue("phases-missed"), run.issue("phases-missed"))
                self.assertIsNotNone(run.rate("synthetic"), run.profile["absent"])
                self.assertTrue({"cold", "cached"} <= {premise["phase"] for premise in run.profile["premises"]})
                self.assertIn("this is a throwaway run", run.errors)
        self.assertEqual(checkpoint.read_bytes(), b"precious")
        self.assertIsNotNone(ran["workers_2"].issue("checkpoint-discarded"))
        self.assertIsNone(ran["workers_0"].issue("checkpoint-discarded"))
        self.assertEqual(self.processes_left(), [])

    def test_phases_that_draw_more_than_they_repeat(self):
        ran = self.run_all(supply=dict(phases="supply"), cold=dict(phases="cold,supply_cold", workers=0))
        for name, run in ran.items():
            with self.subTest(job=name):
                self.assertEqual(run.status, 0, run.errors[-4000:])
                self.assert_passes_whole(run, SAMPLES)
        self.assertIn("supply_cached", ran["supply"].phases_run())

    def test_cached_blocks_need_no_cold_ones(self):
        ran = self.run_alone(phases="cached", workers=2, persistent=True)
        self.assertEqual(ran.status, 0, ran.errors[-4000:])
        self.assert_passes_whole(ran, SAMPLES)
        self.assertGreater(ran.rate("cached")["n"], 1, ran.profile["absent"])
        self.assertIsNone(ran.rate("cold"))
        premise = next(premise for premise in ran.profile["premises"] if premise["phase"] == "cached")
        self.assertTrue(premise["holds"], premise)

    def test_one_launch_a_phase(self):
        ran = self.run_alone(phases="cold,cached,synthetic", budget="45s", options=["--strategy", "separate"],
                             workers=2, persistent=True)
        self.assert_measured(ran)
        parts = {path.name for path in (ran.out / "recordings").iterdir() if path.is_dir()}
        self.assertEqual(parts, {"cold", "cached", "synthetic"})
        self.assertEqual(ran.issue("separate-launches")["count"], 3)
        self.assertIsNotNone(ran.rate("cached"), ran.profile["absent"])
        self.assertIsNotNone(ran.rate("synthetic"), ran.profile["absent"])
        again = self.folder / "again"
        self.assert_status(self.cli("analyze", ran.out, "-o", again, "--quiet"), 0)
        self.assertEqual(json.loads((again / "profile.json").read_text())["rates"], ran.profile["rates"])
        # An interleaved run in the same folder leaves nothing of it.
        self.finish(self.begin("alone", phases="synthetic", options=["--force"], workers=2, persistent=True))
        self.assertTrue((ran.out / "recordings/tool.jsonl").exists())
        self.assertEqual([path for path in (ran.out / "recordings").iterdir() if path.is_dir()], [])


class Disk(PhasesTest):
    def test_a_cold_block_on_this_disk_reads_storage(self):
        kind = file_system(self.folder)
        if kind != "ext2/ext3":
            self.skipTest("what may be cold on %s is not known here" % kind)
        data = self.make_data(SAMPLES)
        # As where a script looks at one sample before it trains: not this run's pages, and no reason to leave the rest.
        with open(data / "00000.bin", "rb") as stranger:
            stranger.read()
        ran = self.run_alone(data=data, workers=2, persistent=True)
        self.assert_measured(ran)
        cold = next(premise for premise in ran.profile["premises"] if premise["phase"] == "cold")
        self.assertTrue(cold["holds"], cold)
        self.assertIsNotNone(ran.rate("cold"), ran.profile["absent"])
        self.assertIsNotNone(ran.profile["stalls"]["fetch_frac"], ran.profile["absent"])
        storage = ran.profile["storage"]
        self.assertEqual(storage["path"], os.path.realpath(data))
        self.assertEqual([rate["in_flight"] for rate in storage["rates"]][:2], [1, 2])
        self.assertGreater(storage["rates"][0]["bandwidth_bytes_per_s"]["mean"], 0)
        again = self.folder / "again"
        self.assert_status(self.cli("analyze", ran.out, "-o", again, "--quiet"), 0)
        self.assertEqual(json.loads((again / "profile.json").read_text())["storage"], storage)


class DataSets(PhasesTest):
    def test_too_little_data(self):
        ran = self.run_all(
            empty=dict(samples=0, shuffle=False, epochs=3),
            one_batch=dict(samples=5, budget="5s"),
            less_than_a_round=dict(samples=100, workers=0),
        )
        self.assertEqual(ran["empty"].status, 0, ran["empty"].errors)
        self.assertEqual([epoch["sizes"] for epoch in ran["empty"].epochs], [[]] * 3)
        self.assertTrue(all(ran["empty"].rate(phase) is None for phase in RATES))
        self.assert_measured(ran["one_batch"], absent=RATES)
        self.assert_passes_whole(ran["one_batch"], 5)
        self.assertIn("1 batches", ran["one_batch"].issue("phases-impossible")["detail"])
        self.assert_measured(ran["less_than_a_round"])
        self.assert_passes_whole(ran["less_than_a_round"], 100)
        self.assertIsNotNone(ran["less_than_a_round"].rate("synthetic"))

    def test_epochs_shorter_than_a_block(self):
        ran = self.run_all(
            workers_0=dict(samples=100, workers=0, evaluate=13),
            workers_2=dict(samples=100),
            persistent=dict(samples=100, persistent=True, evaluate=13),
            counting=dict(samples=100, counts=True),
            anew=dict(samples=100, anew=True, budget="6s"),
        )
        for name, run in ran.items():
            with self.subTest(job=name):
                self.assert_passes_whole(run, 100)
                if name != "anew":  # else no iterator can go on from one pass to the next
                    self.assert_measured(run)
                    self.assertIsNone(run.issue("phases-impossible"))
                    self.assertIn("epochs of 13 batches", run.issue("epochs-joined")["detail"])
                    self.assertIsNone(run.issue("phases-missed"), run.issue("phases-missed"))
                    self.assertIsNotNone(run.rate("synthetic"), run.profile["absent"])
                    self.assertIsNotNone(run.rate("cached"), run.profile["absent"])
        self.assertIsNone(ran["anew"].issue("epochs-joined"))
        self.assertIn("13 batches", ran["anew"].issue("phases-impossible")["detail"])
        self.assertEqual(self.processes_left(), [])

    def test_samples_that_differ_at_each_reading(self):
        ran = self.run_all(
            augment=dict(augment=True),
            stateful=dict(stateful=True, persistent=True),
            no_batches=dict(batch_size=None, samples=60, workers=1, step_s=0.002),
        )
        for name, passes in {"augment": (SAMPLES, 8), "stateful": (SAMPLES, 8), "no_batches": (60, 1)}.items():
            with self.subTest(job=name):
                self.assert_measured(ran[name])
                self.assert_passes_whole(ran[name], *passes)
                self.assertIsNotNone(ran[name].rate("synthetic"), ran[name].profile["absent"])

    def test_data_in_memory_is_never_cold(self):
        if file_system("/dev/shm") != "tmpfs":
            self.skipTest("/dev/shm is no tmpfs")
        data = pathlib.Path(tempfile.mkdtemp(prefix="data-", dir="/dev/shm"))
        self.addCleanup(shutil.rmtree, data, ignore_errors=True)
        ran = self.run_alone(data=self.make_data(SAMPLES, data))
        self.assert_measured(ran, absent=["cold"])
        self.assert_passes_whole(ran, SAMPLES)


class Loops(PhasesTest):
    def test_loaders_in_every_order(self):
        ran = self.run_all(
            anew=dict(anew=True),
            evaluation=dict(evaluate=7, workers=0),
            second=dict(second=True),
            left=dict(stop_after=47, persistent=True),
            own_class=dict(own_class=True),
        )
        for name, run in ran.items():
            with self.subTest(job=name):
                self.assert_measured(run)
                self.assertIsNotNone(run.rate("synthetic"), run.profile["absent"])
                if name != "left":
                    self.assert_passes_whole(run, SAMPLES)
        ten = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
        for epoch in ran["evaluation"].epochs:
            self.assertEqual(epoch["evaluations"], [ten] * 8)
        self.assertTrue(all(epoch["seconds"] == 60 for epoch in ran["second"].epochs))
        self.assertGreater(len(ran["left"].epochs), 1)
        self.assertTrue(all(epoch["sizes"] == [8] * 47 and epoch["left"] for epoch in ran["left"].epochs))


class Trouble(PhasesTest):
    def test_failures_are_the_scripts(self):
        gap, gap_2 = self.make_data(SAMPLES), self.make_data(SAMPLES)
        for folder in (gap, gap_2):
            os.unlink(folder / "00050.bin")
            os.symlink("nowhere", folder / "00050.bin")
        ran = self.run_all(
            crash=dict(crash_after=300, persistent=True),
            unreadable=dict(data=gap),
            forgiven=dict(data=gap_2, forgive=True, shuffle=False),
            leaves=dict(leaves_after=100),
        )
        self.assertEqual(ran["leaves"].status, 3)
        self.assertEqual(ran["leaves"].profile["outcome"]["child_exit_code"], 3)
        self.assertEqual(ran["crash"].status, 1)
        self.assertIn("killed by signal: Killed", ran["crash"].errors)
        self.assertEqual(ran["unreadable"].status, 1)
        self.assertIn("FileNotFoundError", ran["unreadable"].errors)
        for name in ("crash", "unreadable"):
            self.assertEqual(ran[name].profile["outcome"]["child_exit_code"], 1)
        self.assert_measured(ran["forgiven"])
        self.assert_passes_whole(ran["forgiven"], SAMPLES)
        self.assertTrue(any(epoch["errors"] for epoch in ran["forgiven"].epochs))
        self.assertEqual(self.processes_left(), [])

    def test_a_worker_that_hangs(self):
        begun = [self.begin("hang", hang_after=900, persistent=True, budget="8s"),
                 self.begin("early", hang_after=90, persistent=True, budget="5s")]
        for ran in map(self.finish, begun):
            self.assertEqual(ran.status, 0, ran.errors[-4000:])
            hung = ran.issue("job-hung")
            self.assertRegex(hung["detail"], r"it took \d+ batches, the last one \d+ s before")
            self.assertIn("timeout=", hung["hint"])
            self.assertEqual(ran.profile["outcome"]["status"], "measured")
            self.assertIn("hung", ran.profile["outcome"]["words"])
        self.assertEqual(self.processes_left(), [])

    def test_the_death_of_the_tool_ends_the_job(self):
        process, _, seen = self.begin("killed", budget="60s")

        def staged():
            return list(pathlib.Path("/dev/shm").glob("stallcast-stage-*/*")) and seen.exists()
        self.wait_for(staged, "a cached block")
        folder = self.run_folders()[0]
        process.kill()
        process.wait()
        begin = time.monotonic()
        self.wait_for(lambda: not self.processes_left() and not folder.exists(), "the end of the job")
        self.assertLess(time.monotonic() - begin, 30)
        name = folder.name[len("stallcast-"):]
        self.assertEqual([path for path in pathlib.Path("/dev/shm").iterdir() if name in path.name], [])
        self.assertEqual(self.run_folders(), [])


class Mounts(PhasesTest):
    def setUp(self):
        super().setUp()
        self.shell = mounts_here()
        if self.shell is None:
            self.skipTest("no mounts of our own here (unshare -m needs root)")

    def tool_behind(self, mounts):
        return [*self.shell, mounts + '; exec "$@"', "sh", CLI]

    def test_read_only_and_small(self):
        read_only, data = self.folder / "read-only", self.make_data(SAMPLES)
        read_only.mkdir()
        self.environment.pop("XDG_RUNTIME_DIR", None)
        bind = "mount --bind %s %s; mount -o remount,ro,bind %s" % (data, read_only, read_only)
        begun = [self.begin("read-only", data=read_only, tool=self.tool_behind(bind)),
                 self.begin("tiny", tool=self.tool_behind("mount -t tmpfs -o size=16m tmpfs /dev/shm")),
                 self.begin("small", tool=self.tool_behind("mount -t tmpfs -o size=80m tmpfs /dev/shm"))]
        ran = [self.finish(job) for job in begun]
        for run, samples in zip(ran, (SAMPLES,) * 3):
            self.assert_measured(run)
            self.assert_passes_whole(run, samples)
        self.assertIsNone(ran[0].issue("no-stage"))
        self.assertIn("--shm-size", ran[1].issue("no-stage")["hint"])

    def test_overlay(self):
        data = self.make_data(SAMPLES)
        merged, upper, work = (self.folder / name for name in ("merged", "upper", "work"))
        for folder in (merged, upper, work):
            folder.mkdir()
        mount = "mount -t overlay overlay -o lowerdir=%s,upperdir=%s,workdir=%s %s" % (data, upper, work, merged)
        if subprocess.run([*self.shell, mount], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("no overlay can be mounted here")
        ran = self.run_alone(data=merged, workers=2, persistent=True, tool=self.tool_behind(mount))
        self.assert_measured(ran)
        self.assert_passes_whole(ran, SAMPLES)
        self.assertEqual(ran.profile["dataset"]["filesystem"], "overlay")
        self.assertIsNotNone(ran.rate("cached"), ran.profile["absent"])
        if file_system(data) == "ext2/ext3":
            self.assertIsNotNone(ran.rate("cold"), ran.profile["absent"])

    def test_cold_is_not_claimed_of_fuse(self):
        bindfs = shutil.which("bindfs")
        if bindfs is None or not os.path.exists("/dev/fuse"):
            self.skipTest("no FUSE here (bindfs and /dev/fuse)")
        data, mounted = self.make_data(4000), self.folder / "fuse"
        mounted.mkdir()
        # Its daemon ends with the tool: nothing may be left running.
        script = ("%s -f -o ro %s %s & daemon=$!; for i in $(seq 50); do mountpoint -q %s && break; sleep 0.1; done; "
                  'mountpoint -q %s; status=0; "$@" || status=$?; kill $daemon; exit $status'
                  % (bindfs, data, mounted, mounted, mounted))
        if subprocess.run([*self.shell, script, "sh", "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("bindfs cannot mount here")
        ran = self.run_alone(data=mounted, workers=2, persistent=True, step_s=0.05,  # several rounds in the first pass
                             tool=[*self.shell, script, "sh", CLI])
        self.assert_measured(ran, absent=["cold"])
        self.assertTrue(ran.profile["dataset"]["filesystem"].startswith("fuse"), ran.profile["dataset"])
        self.assertIsNotNone(ran.rate("cached"), ran.profile["absent"])
        self.assertIn("first_touch", ran.phases_run())
        self.assertIn("samples/s", ran.issue("first-touch")["detail"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
