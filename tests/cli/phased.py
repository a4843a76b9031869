"""What tests of phased runs share: real PyTorch jobs on files of the disk, and what holds for every such run.

Importing it ends a Python without torch with 77: skipped.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from harness import CLI, PATIENCE_S, PYTHON, CliTest, end

try:
    import torch  # noqa: F401
except ImportError:
    print("this Python does not import torch")
    sys.exit(77)

JOB = str(pathlib.Path(__file__).with_name("phased_job.py"))
PHASES = "cold,cached,synthetic,supply"
RATES = {"cold": "cold_samples_per_s", "cached": "cached_samples_per_s", "synthetic": "synthetic_samples_per_s",
         "supply": "supply_cached_samples_per_s"}
SAMPLES = 476  # 59 batches of 8 and one of 4
SAMPLE_BYTES = 100_000


def file_system(folder):
    done = subprocess.run(["stat", "-f", "-c", "%T", str(folder)], stdout=subprocess.PIPE, check=False)
    return done.stdout.decode().strip()


if file_system(tempfile.gettempdir()) in ("tmpfs", "ramfs"):
    tempfile.tempdir = "/var/tmp"  # data in memory is never cold


def mounts_here():
    """Arguments that run a shell script with mounts of its own, or None where that cannot be done."""
    command = ["unshare", "-m", "sh", "-e", "-c"]
    try:
        done = subprocess.run([*command, "mount -t tmpfs -o size=1m tmpfs /dev/shm"], stderr=subprocess.DEVNULL,
                              check=False)
    except OSError:
        return None
    return command if done.returncode == 0 else None


class Ran:
    """A phased run that has ended."""

    def __init__(self, status, output, errors, out, seen):
        self.status = status
        self.output = output
        self.out = out
        self.errors = errors.decode(errors="replace")
        self.out = out
        self.profile = json.loads((out / "profile.json").read_text()) if (out / "profile.json").exists() else None
        self.epochs = [json.loads(line) for line in seen.read_text().splitlines()] if seen.exists() else []

    def issue(self, identity):
        return next((issue for issue in self.profile["issues"] if issue["id"] == identity), None)

    def rate(self, phase):
        return self.profile["rates"][RATES[phase]]

    def phases_run(self):
        return {point["phase"] for point in self.profile["points"] if point["method"] == "differential"}


class PhasesTest(CliTest):
    def make_data(self, samples, folder=None):
        """A folder of files that are on the disk and not in memory."""
        folder = folder or pathlib.Path(tempfile.mkdtemp(prefix="data-", dir=self.folder))
        for number in range(samples):
            with open(folder / ("%05d.bin" % number), "wb") as file:
                file.write(os.urandom(SAMPLE_BYTES))
                file.flush()
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return folder

    def begin(self, name, samples=SAMPLES, data=None, phases=PHASES, budget="30s", tool=(CLI,), options=(), **wanted):
        """Starts a job; finish() waits for its end. Jobs begun together run together. Three rounds are enough."""
        out = self.folder / ("out-" + name)
        seen = self.folder / ("seen-" + name)
        wanted = dict(wanted, data=str(data or self.make_data(samples)), seen=str(seen))
        command = [*tool, "profile", "-o", str(out), "--phases", phases, "--budget", budget, "--target", "100%", *options,
                   "--", PYTHON, JOB, json.dumps(wanted)]
        process = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(end, process)
        return process, out, seen

    def finish(self, begun):
        process, out, seen = begun
        output, errors = process.communicate(timeout=PATIENCE_S)
        ran = Ran(process.returncode, output, errors, out, seen)
        self.assert_nothing_left(out)
        return ran

    def run_all(self, **jobs):
        """Runs the jobs together: {name: Ran}."""
        begun = {name: self.begin(name, **options) for name, options in jobs.items()}
        return {name: self.finish(job) for name, job in begun.items()}

    def run_alone(self, **options):
        return self.finish(self.begin("alone", **options))

    # --- what holds for every run ----------------------------------------------------------------------------------

    def processes_left(self):
        """Of any run of this test: their environment names its folder."""
        left = []
        mark = b"STALLCAST_RUN_DIR=" + os.fsencode(self.temporary)
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if mark in pathlib.Path("/proc", pid, "environ").read_bytes():
                    left.append(pathlib.Path("/proc", pid, "cmdline").read_bytes())
            except OSError:
                pass
        return left

    def assert_nothing_left(self, out):
        for log in (out / "recordings").rglob("tool.jsonl"):
            run_id = json.loads(log.read_text().splitlines()[0])["run_id"]
            for folder in (pathlib.Path("/dev/shm"), self.temporary):
                self.assertEqual([path for path in folder.iterdir() if run_id in path.name], [])

    def assert_measured(self, ran, absent=()):
        """Status 0, and each phase has a rate, whose premise holds, or a reason."""
        self.assertEqual(ran.status, 0, ran.errors[-4000:])
        self.assertIsNone(ran.issue("shim-failed"), ran.profile["issues"])
        absences = ran.profile["absent"]
        differential = ran.profile["stalls"]["method"].startswith("differential")
        premises = {premise["phase"]: premise for premise in ran.profile["premises"]}
        for phase in RATES:
            name = "supply_cached" if phase == "supply" else phase
            if ran.rate(phase) is None:
                self.assertTrue(absences["rates." + RATES[phase]], phase)
                continue
            self.assertNotIn(phase, absent)
            self.assertTrue(differential, ran.profile["issues"])
            self.assertGreater(ran.rate(phase)["n"], 1)
            self.assertTrue(phase == "synthetic" or premises[name]["holds"], premises.get(name))
        for phase in absent:
            self.assertIsNone(ran.rate(phase), phase)

    def assert_passes_whole(self, ran, samples, batch_size=8):
        """Every pass had the loader's length, and its last batch what was left of the data set."""
        self.assertGreater(len(ran.epochs), 1, "the job was to see more than one pass")
        expected = [batch_size] * (samples // batch_size) + [samples % batch_size] * (samples % batch_size > 0)
        for epoch in ran.epochs:
            self.assertEqual(len(epoch["sizes"]) + epoch["errors"], epoch["length"], epoch)
            if not epoch["errors"]:
                self.assertEqual(epoch["sizes"], expected)
