"""What tests of measured runs share: real PyTorch jobs on files of the disk, and what holds for every such run.

What a script saw is held against the same job without us. Nothing is said of how fast anything was: a rate is there, and
its premise holds, or it is absent with its reason.

Importing it ends a Python without torch with 77: skipped.
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from harness import CLI, PYTHON, RUN_S, CliTest, end

try:
    import torch  # noqa: F401 (also for those who import this)
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
    """A measured run that has ended. `wanted`: of its job."""

    def __init__(self, status, output, errors, out, wanted):
        self.status = status
        self.output = output
        self.errors = errors.decode(errors="replace")
        self.out = out
        self.wanted = wanted
        self.profile = json.loads((out / "profile.json").read_text()) if (out / "profile.json").exists() else None
        self.epochs = passes_in(wanted["seen"])

    def issue(self, identity):
        return next((issue for issue in self.profile["issues"] if issue["id"] == identity), None)

    def rate(self, phase):
        return self.profile["rates"][RATES[phase]]

    def why_not(self, phase):
        return self.profile["absent"]["rates." + RATES[phase]]

    def of_rank(self, rank):
        """The passes that this rank saw."""
        return passes_in("%s.%d" % (self.wanted["seen"], rank))


def passes_in(path):
    path = pathlib.Path(path)
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


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

    def begin(self, name, samples=SAMPLES, data=None, phases=PHASES, budget="10s", stop=True, tool=(CLI,), options=(),
              around=(), **wanted):
        """Starts a job; finish() waits for its end. Jobs begun together run together. Three rounds are enough.

        The job is ended once it was measured, unless `stop` is False: then it must end by itself."""
        out = self.folder / ("out-" + name)
        wanted = dict(wanted, data=str(data or self.make_data(samples)), seen=str(self.folder / ("seen-" + name)))
        command = [*tool, "profile", "-o", str(out), "--phases", phases, "--budget", budget, "--target", "100%",
                   *(["--stop"] if stop else []), *options, "--", *around, PYTHON, JOB, json.dumps(wanted)]
        process = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(end, process)
        return process, out, wanted

    def finish(self, begun):
        process, out, wanted = begun
        output, errors = process.communicate(timeout=RUN_S)
        ran = Ran(process.returncode, output, errors, out, wanted)
        self.assert_nothing_left(out)
        return ran

    def run_all(self, **jobs):
        """Runs the jobs together: {name: Ran}."""
        begun = {name: self.begin(name, **options) for name, options in jobs.items()}
        return {name: self.finish(job) for name, job in begun.items()}

    def run_alone(self, **options):
        return self.finish(self.begin("alone", **options))

    def run_plain(self, wanted, **other):
        """The job without us, in no time: (its status, its Ran.epochs, its stderr)."""
        plain = dict(wanted, seen=wanted["seen"] + "-plain", step_s=0, **other)
        done = subprocess.run([PYTHON, JOB, json.dumps(plain)], cwd=self.folder, env=self.environment,
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=RUN_S, check=False)
        return done.returncode, plain["seen"], done.stderr.decode(errors="replace")

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

    def assert_as_plain(self, ran, ranks=(None,)):
        """All passes that ended are those of the job without us, to the last bit."""
        most = max(len(ran.epochs if rank is None else ran.of_rank(rank)) for rank in ranks)
        status, seen, errors = self.run_plain(ran.wanted, epochs=max(1, most), save=None)
        self.assertEqual(status, 0, errors)
        for rank in ranks:
            measured = ran.epochs if rank is None else ran.of_rank(rank)
            plain = passes_in(seen if rank is None else "%s.%d" % (seen, rank))
            self.assertEqual(measured, plain[:len(measured)], "passes of rank %s" % rank)

    def assert_all_as_plain(self, ran):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for checked in [pool.submit(self.assert_as_plain, run) for run in ran.values()]:
                checked.result()

    def assert_measured(self, ran, absent=()):
        """Status 0, and each phase has a rate, or a reason; where blocks told it, their premise holds. `absent`: those
        that cannot be made."""
        self.assertEqual(ran.status, 0, ran.errors[-4000:])
        self.assertIsNone(ran.issue("shim-failed"), ran.profile["issues"])
        premises = {premise["phase"]: premise for premise in ran.profile["premises"]}
        for phase in RATES:
            if phase in absent:
                self.assertIsNone(ran.rate(phase), phase)
            if ran.rate(phase) is None:
                self.assertTrue(ran.why_not(phase), phase)
                continue
            name = "supply_cached" if phase == "supply" else phase
            self.assertGreater(ran.rate(phase)["n"], 1)
            by_blocks = any(point["phase"] == name and point["method"] == "differential" and point["estimate"]
                            for point in ran.profile["points"])
            if by_blocks and phase != "synthetic":
                self.assertTrue(premises[name]["holds"], premises[name])
