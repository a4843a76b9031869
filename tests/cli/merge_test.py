#!/usr/bin/env python3
"""Recordings of several nodes as one profile. Nodes are tools in UTS namespaces, each with a host name of its own."""
import functools
import json
import os
import shutil
import subprocess
import unittest

from harness import CLI, JOB, PATIENCE_S, PYTHON, CliTest

BATCHES = 60


@functools.lru_cache(maxsize=1)
def unsharing():
    """Words that give what follows a host name of its own to set, or None."""
    for words in (("unshare", "-u"), ("unshare", "-Ur", "-u")):
        try:
            done = subprocess.run([*words, "sh", "-c", "hostname stallcast-node"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, timeout=PATIENCE_S, check=False)
        except OSError:
            return None
        if done.returncode == 0:
            return words
    return None


class MergeTest(CliTest):
    def setUp(self):
        super().setUp()
        self.shared = self.folder / "shared"

    def on_node(self, host, *words, **variables):
        """Starts `words` on a host of that name."""
        if unsharing() is None:
            self.skipTest("this user may not make a UTS namespace: no second host name")
        script = 'hostname "$0" && exec "$@"'
        process = subprocess.Popen([*unsharing(), "sh", "-c", script, host, *map(str, words)], cwd=self.folder,
                                   env={**self.environment, **variables}, stdin=subprocess.DEVNULL, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        return process

    def profile_on_nodes(self, *options, world=2, hosts=("node0", "node1"), job=(BATCHES, 0.01), **variables):
        """One tool a rank, all writing to the shared folder; what each of them has said."""
        started = [self.on_node(host, CLI, "profile", "-o", self.shared, *options, "--", PYTHON, JOB, *job, RANK=str(rank),
                                WORLD_SIZE=str(world), **variables) for rank, host in enumerate(hosts)]
        ended = []
        for process in started:
            said, errors = process.communicate(timeout=PATIENCE_S)
            ended.append((process.returncode, said, errors))
        return ended

    def read(self, folder):
        return json.loads((folder / "profile.json").read_text())

    def merge(self, *words, status=0):
        done = self.cli("merge", *words, "-q")
        self.assert_status(done, status)
        return done.stderr.decode()


class Shared(MergeTest):
    def test_two_nodes_that_share_a_folder(self):
        for status, said, errors in self.profile_on_nodes():
            self.assertEqual(status, 0, errors)
            self.assertEqual(said, f"batches {BATCHES}\n")  # no report for each of many ranks
        self.assertEqual(sorted(path.name for path in self.shared.iterdir()), ["node0-0", "node1-1"])
        first = self.read(self.shared / "node0-0")
        self.assertEqual((first["job"]["ranks_seen"], first["job"]["ranks_expected"]), (1, 2))
        self.assertEqual(first["phases"], [])
        self.merge(self.shared)
        both = self.read(self.shared)
        self.assertEqual((both["job"]["ranks_seen"], both["job"]["ranks_expected"], both["host"]["hosts_seen"]), (2, 2, 2))
        self.assertEqual([(rank["rank"], rank["host"]) for rank in both["ranks"]], [(0, "node0"), (1, "node1")])
        self.assertEqual([rank["batches"] for rank in both["ranks"]], [BATCHES, BATCHES])
        rates = [self.read(self.shared / part)["rates"]["as_is_samples_per_s"]["mean"] for part in ("node0-0", "node1-1")]
        self.assertAlmostEqual(both["rates"]["as_is_samples_per_s"]["mean"], sum(rates), places=6)
        self.assertEqual(sorted(path.name for path in (self.shared / "recordings").iterdir()), ["node0-0", "node1-0"])
        self.assertTrue((self.shared / "report.html").is_file())
        issues = {issue["id"]: issue for issue in both["issues"]}
        self.assertIn("nodes-not-aligned", issues)
        self.assertNotIn("ranks-missing", issues)
        # The same again: from the nodes, and from what was kept of them.
        self.merge(self.shared)
        self.assertEqual(self.read(self.shared), both)
        again = self.folder / "again"
        self.assert_status(self.cli("analyze", self.shared, "-o", again, "-q"), 0)
        self.assertEqual(self.read(again), both)
        self.assert_status(self.cli("report", self.shared), 0)

    def test_what_each_tool_says(self):
        ended = self.profile_on_nodes()
        self.assertIn("one of several stallcast processes for one job (WORLD_SIZE=2)", ended[0][2])
        self.assertIn("each only records its own ranks", ended[0][2])
        self.assertIn(f"when all have ended: stallcast merge {self.shared}", ended[0][2])
        self.assertNotIn("one of several", ended[1][2])

    def test_phases_are_refused_and_nothing_is_left(self):
        for status, _, errors in self.profile_on_nodes("--phases", "cold,cached"):
            self.assertEqual(status, 125)
            self.assertIn("states need one stallcast around all ranks", errors)
            self.assertIn("start stallcast around the launcher", errors)
        self.assertEqual(list(self.shared.iterdir()), [])
        for status, _, errors in self.profile_on_nodes("--phases", "as_is"):
            self.assertEqual(status, 0, errors)

    def test_a_second_run_into_the_same_folder(self):
        self.profile_on_nodes()
        for status, _, errors in self.profile_on_nodes():
            self.assertEqual(status, 125)
            self.assertIn("--force", errors)
        for status, _, errors in self.profile_on_nodes("--force"):
            self.assertEqual(status, 0, errors)
        self.merge(self.shared)

    def test_without_o_the_job_names_the_folder(self):
        shared = self.folder / "stallcast-profile-17"
        ended = [self.on_node(f"node{rank}", CLI, "profile", "--", PYTHON, JOB, 30, 0.01, SLURM_PROCID=str(rank),
                              SLURM_STEP_NUM_TASKS="2", SLURM_JOB_ID="17") for rank in (0, 1)]
        for process in ended:
            self.assertEqual(process.communicate(timeout=PATIENCE_S)[0], "batches 30\n")
        self.merge(shared)
        self.assertEqual(self.read(shared)["job"]["ranks_seen"], 2)

    def test_a_batch_script_is_one_tool(self):
        self.environment.update(SLURM_NTASKS="4", SLURM_PROCID="0", SLURM_JOB_ID="17")
        self.assert_status(self.profile(PYTHON, JOB, 30, 0.01), 0)
        self.assertTrue((self.out / "profile.json").is_file())


class Nodes(MergeTest):
    def test_a_launcher_that_starts_the_ranks_itself(self):
        runs = self.folder / "runs"
        script = 'eval "$("$1" env --out "$2" 2>/dev/null)"; shift 2; exec "$@"'
        started = [self.on_node(f"node{rank}", "sh", "-c", script, "sh", CLI, runs, PYTHON, JOB, BATCHES, 0.01,
                                RANK=str(rank), WORLD_SIZE="2") for rank in (0, 1)]
        for process in started:
            said, errors = process.communicate(timeout=PATIENCE_S)
            self.assertEqual(said, f"batches {BATCHES}\n", errors)
        places = sorted(runs.glob("stallcast-*"))
        self.assertEqual(len(places), 2)
        self.merge(*places, "-o", self.out)
        both = self.read(self.out)
        self.assertEqual((both["job"]["ranks_seen"], both["job"]["ranks_expected"], both["host"]["hosts_seen"]), (2, 2, 2))
        self.assertNotIn("tool-ended-early", self.issues())
        self.assertEqual(sorted(runs.glob("stallcast-*")), places)
        self.merge(runs)
        self.assertEqual(self.read(runs)["rates"], both["rates"])

    def test_a_node_is_missing(self):
        self.profile_on_nodes()
        self.merge(self.shared / "node0-0", "-o", self.out)
        issue = self.issues()["ranks-missing"]
        self.assertIn("1 ranks of 2 were seen; there are none of rank 1", issue["detail"])
        shutil.rmtree(self.shared / "node1-1/recordings")
        errors = self.merge(self.shared / "node0-0", self.shared / "node1-1", "-o", self.folder / "no", status=4)
        self.assertIn("node1-1", errors)
        self.assertFalse((self.folder / "no").exists())

    def test_what_does_not_belong_together(self):
        self.profile_on_nodes()
        first, second = self.shared / "node0-0", self.shared / "node1-1"
        errors = self.merge(first, first / "recordings", status=4)
        self.assertIn("are the same run", errors)
        self.shared = self.folder / "other"
        self.profile_on_nodes(world=4)
        self.assertIn("one has 2 ranks, the other 4", self.merge(first, self.shared / "node1-1", status=4))
        self.shared = self.folder / "longer"
        self.profile_on_nodes(job=(BATCHES + 1, 0.01))
        self.assertIn("the commands differ", self.merge(first, self.shared / "node1-1", status=4))
        self.shared = self.folder / "twin"
        self.profile_on_nodes()
        self.assertIn("both hold rank 0", self.merge(first, self.shared / "node0-0", status=4))
        self.shared = self.folder / "named"
        self.profile_on_nodes(TORCHELASTIC_RUN_ID="a")
        self.merge(self.shared)
        self.assertIn("are of different jobs", self.merge(self.shared / "node0-0", self.folder / "longer/node1-1", status=4))
        self.assertFalse((self.folder / "stallcast-profile").exists())
        self.merge(first, second)
        self.assertTrue((self.folder / "stallcast-profile/profile.json").is_file())

    def test_results_do_not_replace_what_is_read(self):
        self.profile_on_nodes()
        first = self.shared / "node0-0"
        before = {path: path.read_bytes() for path in first.rglob("*") if path.is_file()}
        errors = self.merge(first, self.shared / "node1-1", "-o", first, "--force", status=2)
        self.assertIn("would replace it", errors)
        self.assertEqual(before, {path: path.read_bytes() for path in first.rglob("*") if path.is_file()})
        self.merge(self.shared)
        self.merge(self.shared / "recordings", "-o", self.shared, "--force", status=2)
        self.merge(self.shared / "recordings", "-o", self.out)
        self.assertEqual(self.read(self.out), self.read(self.shared))

    def test_a_folder_without_recordings(self):
        (self.folder / "empty").mkdir()
        self.assertIn("no recording in", self.merge(self.folder / "empty", status=4))
        self.assertIn("nowhere", self.merge(self.folder / "nowhere", status=4))
        self.assert_status(self.cli("merge"), 2)


@unittest.skipIf(shutil.which("mpirun") is None, "no mpirun here")
class Mpi(MergeTest):
    def mpirun(self, *words):
        command = ["mpirun", "-n", "2", "--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])]
        return [*command, *map(str, words)]

    def test_one_tool_around_mpirun(self):
        self.assert_status(self.profile(*self.mpirun(PYTHON, JOB, BATCHES, 0.01)), 0)
        seen = self.read(self.out)
        self.assertEqual((seen["job"]["ranks_seen"], seen["job"]["ranks_expected"], seen["host"]["hosts_seen"]), (2, 2, 1))
        self.assertEqual([rank["rank"] for rank in seen["ranks"]], [0, 1])

    def test_one_tool_in_each_rank(self):
        done = subprocess.run(self.mpirun(CLI, "profile", "-o", self.shared, "--", PYTHON, JOB, BATCHES, 0.01),
                              env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.merge(self.shared)
        both = self.read(self.shared)
        self.assertEqual((both["job"]["ranks_seen"], both["job"]["ranks_expected"], both["host"]["hosts_seen"]), (2, 2, 1))
        self.assertEqual([rank["rank"] for rank in both["ranks"]], [0, 1])


if __name__ == "__main__":
    unittest.main()
