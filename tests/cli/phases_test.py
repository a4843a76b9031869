#!/usr/bin/env python3
"""Measured runs of real PyTorch jobs: what the script sees, what it keeps, what is left behind, and jobs that are trouble.

Nothing is said of times: every rate is there, or absent with its reason.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

from harness import CLI
from phased import RATES, SAMPLES, PhasesTest, file_system, mounts_here, passes_in, torch


class Usual(PhasesTest):
    def assert_saved(self, ran):
        """The checkpoint is that of the last pass that ended."""
        path = pathlib.Path(ran.wanted["save"])
        self.assertEqual(path.exists(), len(ran.epochs) > 1)
        if path.exists():
            last = ran.epochs[-1]
            self.assertEqual(torch.load(path), {"epoch": last["epoch"], "weight": last["weight"]})

    def test_the_script_sees_and_saves_what_it_would_without_us(self):
        ran = self.run_all(
            workers_0=dict(workers=0),
            workers_2=dict(workers=2, save=str(self.folder / "model.pt")),
            persistent=dict(workers=2, persistent=True),
        )
        for name, run in ran.items():
            with self.subTest(job=name):
                self.assert_measured(run)
                self.assertIn("ended as asked", run.profile["outcome"]["words"])
        self.assert_all_as_plain(ran)
        self.assert_saved(ran["workers_2"])
        self.assertEqual(self.processes_left(), [])

    def test_a_command_that_is_not_ended_goes_on_to_its_own_end(self):
        """The default: measured for its budget, reported, and then recorded to its end."""
        ran = self.run_all(
            fine=dict(stop=False, budget="4s", epochs=10, save=str(self.folder / "model.pt")),
            failed=dict(stop=False, budget="4s", epochs=10, exits=3, persistent=True),
            early=dict(stop=False, budget="60s", epochs=2),
        )
        for name, passes, status in (("fine", 10, 0), ("failed", 10, 3), ("early", 2, 0)):
            with self.subTest(job=name):
                run = ran[name]
                self.assertEqual(run.status, status, run.errors[-4000:])
                self.assertEqual(run.profile["outcome"]["child_exit_code"], status)
                self.assertIsNone(run.issue("shim-failed"), run.profile["issues"])
                self.assertEqual(len(run.epochs), passes)
                self.assert_as_plain_with(run, status)
                # The report so far, unless the command was sooner, and the whole one.
                self.assertEqual("done measuring: the command goes on" in run.errors, name != "early", run.errors)
                self.assertIn(b"stallcast", run.output)
                self.assertTrue((run.out / "report.html").exists())
                self.assertEqual(run.profile["ranks"][0]["batches"], 60 * passes)
        self.assert_saved(ran["fine"])
        self.assertEqual(self.processes_left(), [])

    def assert_as_plain_with(self, ran, status):
        plain_status, seen, errors = self.run_plain(ran.wanted, save=None)
        self.assertEqual(plain_status, status, errors)
        self.assertEqual(ran.epochs, passes_in(seen))

    def test_some_of_the_states(self):
        ran = self.run_all(
            cached=dict(phases="cached", workers=2, persistent=True),
            cold=dict(phases="cold", workers=0),
        )
        for name, run in ran.items():
            with self.subTest(job=name):
                self.assert_measured(run, absent={"cached": ["cold"], "cold": ["cached"]}[name])
        self.assert_all_as_plain(ran)

    def test_one_launch_a_phase(self):
        begun = self.begin("alone", phases="cold,cached,synthetic", budget="15s", stop=False,
                           options=["--strategy", "separate"], workers=2, persistent=True)
        ran = self.finish(begun)
        self.assert_measured(ran)
        parts = {path.name for path in (ran.out / "recordings").iterdir() if path.is_dir()}
        self.assertEqual(parts, {"cold", "cached", "synthetic"})
        self.assertEqual(ran.issue("separate-launches")["count"], 3)
        again = self.folder / "again"
        self.assert_status(self.cli("analyze", ran.out, "-o", again, "--quiet"), 0)
        self.assertEqual(json.loads((again / "profile.json").read_text())["rates"], ran.profile["rates"])
        # A run of one launch in the same folder leaves nothing of it.
        self.finish(self.begin("alone", phases="synthetic", budget="3s", options=["--force"], workers=2))
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
        ran = self.run_alone(data=data, workers=2, persistent=True, budget="24s")  # with time to look at the storage
        self.assert_measured(ran)
        self.assert_as_plain(ran)
        cold = next(premise for premise in ran.profile["premises"] if premise["phase"] == "cold")
        self.assertTrue(cold["holds"], cold)
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
            empty=dict(samples=0, shuffle=False, epochs=3, stop=False),
            one_batch=dict(samples=5, budget="5s"),
            less_than_a_round=dict(samples=100, workers=0),
        )
        self.assertEqual([epoch["sizes"] for epoch in ran["empty"].epochs], [[]] * 3)
        self.assert_measured(ran["empty"], absent=RATES)
        self.assert_measured(ran["less_than_a_round"])
        # What was not measured has the status of the command, which Ctrl-C ended.
        one = ran["one_batch"]
        self.assertEqual(one.status, 0 if one.profile["outcome"]["status"] == "measured" else 130, one.errors[-4000:])
        self.assertTrue(all(one.rate(phase) or one.why_not(phase) for phase in RATES))
        self.assert_all_as_plain(ran)

    def test_epochs_shorter_than_a_block(self):
        ran = self.run_all(
            # A block goes on over many passes: the faster the machine, the more of a short budget it takes.
            workers_0=dict(samples=100, workers=0, evaluate=13, budget="40s"),
            workers_2=dict(samples=100, budget="40s"),
            persistent=dict(samples=100, persistent=True, evaluate=13, budget="40s"),
            counting=dict(samples=100, counts=True, budget="40s"),
            anew=dict(samples=100, anew=True, budget="40s"),
        )
        for name, run in ran.items():
            with self.subTest(job=name):
                self.assert_measured(run)
                self.assertTrue(run.profile["phases"], run.profile["absent"])
        self.assert_all_as_plain(ran)
        self.assertEqual(self.processes_left(), [])

    def test_from_memory_within_the_first_pass(self):
        """Nobody has read the files of what comes next: they are told by how they are called."""
        ran = self.run_alone(samples=1600, step_s=0.1, epochs=1, stop=False, budget="60s")
        self.assert_measured(ran)
        cached = [phase for phase in ran.profile["phases"] if phase["phase"] == "cached"]
        self.assertTrue(cached, ran.why_not("cached"))
        self.assertEqual([len(epoch["sizes"]) for epoch in ran.epochs], [200])
        self.assert_as_plain(ran)

    @unittest.skipUnless(hasattr(torch.utils.data.Subset, "__getitems__"), "this torch asks for one sample after another")
    def test_from_memory_of_batches_that_are_made_at_once(self):
        """Of none of their samples it is seen what it reads."""
        ran = self.run_alone(samples=1600, step_s=0.1, epochs=1, stop=False, at_once=True, budget="60s")
        self.assert_measured(ran)
        cached = [phase for phase in ran.profile["phases"] if phase["phase"] == "cached"]
        self.assertTrue(cached, ran.why_not("cached"))
        self.assert_as_plain(ran)

    def test_samples_that_differ_at_each_reading(self):
        ran = self.run_all(
            augment=dict(augment=True),
            stateful=dict(stateful=True, persistent=True),
            no_batches=dict(batch_size=None, samples=60, workers=1, step_s=0.01, budget="8s"),
        )
        for name, run in ran.items():
            with self.subTest(job=name):
                self.assert_measured(run)
        self.assert_all_as_plain(ran)

    def test_data_in_memory_is_never_cold(self):
        if file_system("/dev/shm") != "tmpfs":
            self.skipTest("/dev/shm is no tmpfs")
        data = pathlib.Path(tempfile.mkdtemp(prefix="data-", dir="/dev/shm"))
        self.addCleanup(shutil.rmtree, data, ignore_errors=True)
        ran = self.run_alone(data=self.make_data(SAMPLES, data))
        self.assert_measured(ran, absent=["cold"])
        self.assert_as_plain(ran)


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
        self.assert_all_as_plain(ran)
        ten = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
        for epoch in ran["evaluation"].epochs:
            self.assertEqual(epoch["evaluations"], [ten] * 8)
        self.assertTrue(all(epoch["seconds"] == 60 for epoch in ran["second"].epochs))
        self.assertTrue(all(epoch["sizes"] == [8] * 47 and epoch["left"] for epoch in ran["left"].epochs))


class Trouble(PhasesTest):
    def test_failures_are_the_scripts(self):
        gap, gap_2 = self.make_data(SAMPLES), self.make_data(SAMPLES)
        for folder in (gap, gap_2):
            os.unlink(folder / "00050.bin")
            os.symlink("nowhere", folder / "00050.bin")
        ran = self.run_all(
            crash=dict(crash_after=300, persistent=True, stop=False),
            unreadable=dict(data=gap, stop=False),
            leaves=dict(leaves_after=100, stop=False),
            forgiven=dict(data=gap_2, forgive=True, shuffle=False),
        )
        # A dead worker is seen by torch, or by whoever fetches a batch of it just then.
        for name, status, words in (("crash", 1, "Error"), ("unreadable", 1, "FileNotFoundError"), ("leaves", 3, "")):
            with self.subTest(job=name):
                run = ran[name]
                self.assertEqual(run.status, status, run.errors[-4000:])
                self.assertEqual(run.profile["outcome"]["child_exit_code"], status)
                self.assertIsNone(run.issue("shim-failed"), run.profile["issues"])
                self.assertIn(words, run.errors)
                plain_status, seen, errors = self.run_plain(run.wanted)
                self.assertEqual(plain_status, status, errors)
                self.assertEqual(run.epochs, passes_in(seen))
        self.assert_measured(ran["forgiven"])
        self.assert_as_plain(ran["forgiven"])
        self.assertTrue(all(epoch["errors"] for epoch in ran["forgiven"].epochs))
        self.assertEqual(self.processes_left(), [])

    def test_a_worker_that_hangs_is_the_jobs_own_and_ended_with_it(self):
        """Its rank never comes to the end of measuring: that is waited for, and not for ever."""
        ran = self.run_alone(hang_after=300, persistent=True, budget="4s")
        self.assert_measured(ran)
        self.assert_as_plain_until_it_hangs(ran)
        self.assertEqual(ran.profile["outcome"]["status"], "measured")
        self.assertEqual(self.processes_left(), [])

    def assert_as_plain_until_it_hangs(self, ran):
        ran.wanted["hang_after"] = None
        self.assert_as_plain(ran)

    def test_the_death_of_the_tool_leaves_the_job_to_its_own_end(self):
        for name, wanted in (("in-passing", {}), ("persistent", {"persistent": True})):
            with self.subTest(job=name):
                self.kill_tool_of(name, wanted)

    def kill_tool_of(self, name, wanted):
        status = self.folder / ("status-" + name)
        around = ("sh", "-c", '"$@"; echo $? > %s.new; mv %s.new %s' % (status, status, status), "sh")
        before = set(self.run_folders())
        process, _, wanted = self.begin(name, budget="60s", stop=False, around=around, epochs=10, exits=3,
                                        save=str(self.folder / (name + ".pt")), **wanted)

        def in_a_state():
            return any(b'"made_as"' in path.read_bytes() for folder in set(self.run_folders()) - before
                       for path in folder.glob("*.rec"))
        self.wait_for(in_a_state, "a state being made")
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.wait_for(status.exists, "the end of the job")
        self.assertEqual(status.read_text(), "3\n")
        plain_status, seen, errors = self.run_plain(wanted, save=None)
        self.assertEqual(plain_status, 3, errors)
        self.assertEqual(passes_in(wanted["seen"]), passes_in(seen))
        self.assertEqual(torch.load(wanted["save"])["epoch"], 9)
        self.wait_for(lambda: not self.processes_left(), "the end of its workers")
        (folder,) = set(self.run_folders()) - before
        run_id = folder.name[len("stallcast-"):]
        self.assertEqual([path for path in pathlib.Path("/dev/shm").iterdir() if run_id in path.name], [])
        out = self.folder / ("recovered-" + name)
        self.assert_status(self.cli("analyze", folder, "-o", out, "--quiet"), 0)
        profile = json.loads((out / "profile.json").read_text())
        self.assertEqual(profile["ranks"][0]["batches"], 600)
        self.assertNotIn("shim-failed", {issue["id"] for issue in profile["issues"]})


class Mounts(PhasesTest):
    def setUp(self):
        super().setUp()
        self.shell = mounts_here()
        if self.shell is None:
            self.skipTest("no mounts of our own here (unshare -m needs root)")

    def tool_behind(self, mounts):
        return [*self.shell, mounts + '; exec "$@"', "sh", CLI]

    def test_read_only_data_and_a_small_dev_shm(self):
        read_only, data = self.folder / "read-only", self.make_data(SAMPLES)
        read_only.mkdir()
        bind = "mount --bind %s %s; mount -o remount,ro,bind %s" % (data, read_only, read_only)
        ran = self.run_all(
            read_only=dict(data=read_only, tool=self.tool_behind(bind)),
            tiny=dict(tool=self.tool_behind("mount -t tmpfs -o size=16m tmpfs /dev/shm"), budget="20s"),
        )
        for name, run in ran.items():
            with self.subTest(job=name):
                self.assert_measured(run, absent=["synthetic", "supply"] if name == "tiny" else [])
        ran["read_only"].wanted["data"] = str(data)  # the mount was for the tool alone
        self.assert_all_as_plain(ran)
        self.assertIsNone(ran["read_only"].issue("hold-impossible"))
        self.assertIn("/dev/shm", ran["tiny"].issue("hold-impossible")["detail"])

    def test_overlay(self):
        data = self.make_data(SAMPLES)
        merged, upper, work = (self.folder / name for name in ("merged", "upper", "work"))
        for folder in (merged, upper, work):
            folder.mkdir()
        mount = "mount -t overlay overlay -o lowerdir=%s,upperdir=%s,workdir=%s %s" % (data, upper, work, merged)
        if subprocess.run([*self.shell, mount], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("no overlay can be mounted here")
        begun = self.begin("alone", data=merged, workers=2, persistent=True, tool=self.tool_behind(mount))
        ran = self.finish(begun)
        self.assert_measured(ran)
        ran.wanted["data"] = str(data)  # the mount was for the tool alone
        self.assert_as_plain(ran)
        self.assertEqual(ran.profile["dataset"]["filesystem"], "overlay")

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
        ran.wanted["data"] = str(data)
        self.assert_as_plain(ran)
        self.assertTrue(ran.profile["dataset"]["filesystem"].startswith("fuse"), ran.profile["dataset"])
        # How many blocks fit into the first pass is the machine's to say; of one there is no rate.
        if any(point["phase"] == "first_touch" and point["estimate"] for point in ran.profile["points"]):
            self.assertIn("samples/s", ran.issue("first-touch")["detail"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
