"""The sample job, run plainly or under the tool, on data sets that are made once and kept."""

import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUDGET_S = 75.0  # of measuring, where a benchmark does not say otherwise
SAMPLE = ROOT / "samples" / "imagefolder"

# glibc gives memory back to the kernel after each step or sample and asks for it again, or does not: that depends on
# which small block happens to lie last in the heap. The step of a small network takes 50 or 75 ms with it, by process
# and by turns. Jobs that are measured against their own plain runs keep their memory, as a user can set it.
STEADY_HEAP = {"MALLOC_TRIM_THRESHOLD_": "2000000000", "MALLOC_MMAP_THRESHOLD_": "33554432"}


def bench_folder():
    """Where data sets are kept: $STALLCAST_BENCH_DIR, or a folder in $TMPDIR. It must lie on a real disk."""
    folder = os.environ.get("STALLCAST_BENCH_DIR") or os.path.join(tempfile.gettempdir(), "stallcast-bench")
    os.makedirs(folder, exist_ok=True)
    return folder


@functools.lru_cache(maxsize=None)
def training_python():
    """The python that imports torch: $STALLCAST_PYTHON, or the first on PATH that does."""
    done = subprocess.run(["bash", "-c", "source cmake/setup.sh && find_torch_python ."], cwd=ROOT,
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        skip("no python imports torch, numpy and PIL")
    return done.stdout.strip()


def has_module(name):
    """Whether that python imports it."""
    return subprocess.run([training_python(), "-c", f"import {name}"], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def skip(reason):
    """Ends a benchmark that cannot run here."""
    print(f"skipped: {reason}")
    sys.exit(77)


def dataset(kind, samples):
    """The folder of a data set with so many samples, made now if it is not there."""
    folder = os.path.join(bench_folder(), f"{kind}-{samples}")
    subprocess.run([training_python(), str(SAMPLE / "make_dataset.py"), folder, "--kind", kind,
                    "--samples", str(samples)], check=True, stdout=subprocess.DEVNULL)
    return folder


def train_command(data, *arguments):
    heap = [f"{name}={value}" for name, value in STEADY_HEAP.items()]
    return ["env", *heap, training_python(), str(SAMPLE / "train.py"), data, "--print-every", "0", "--json",
            *map(str, arguments)]


def warm_imports(python=None):
    """Brings what the job imports into memory: a storage limit holds for libraries, too, and start-up is measured
    without one. Pages leave memory by themselves on some machines, so this comes right before a run. `python`: the job's
    own (default: training_python())."""
    subprocess.run([python or training_python(), "-c", "import numpy, PIL.Image, torch, torch.utils.data"], check=True)


def run_plain(command):
    """Runs the job; returns the summary that it prints last."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise RuntimeError(f"{command} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    summaries = [line for line in done.stdout.splitlines() if line.startswith('{"samples_per_s"')]
    return json.loads(summaries[-1])


def find_tool(given):
    """The tool to measure: as given, or the release build's, or the development build's."""
    candidates = [given] if given else [ROOT / "build" / preset / "cli" / "stallcast" for preset in ("release", "dev")]
    for candidate in candidates:
        if os.access(candidate, os.X_OK):
            return str(pathlib.Path(candidate).resolve())
    skip(f"no stallcast at {' or '.join(map(str, candidates))}; build the preset release first")
    return ""


def run_profiled(tool, command, limits=None, environment=None, phases="as_is", budget_s=BUDGET_S):
    """Runs the job under `stallcast profile`; returns (the job's own summary, the profile).

    A run with phases is ended once it was measured, before the job prints its summary, which is then None.
    """
    output = tempfile.mkdtemp(prefix="profile-", dir=bench_folder())
    try:
        measured = [] if phases == "as_is" else ["--stop", "--budget", "%gs" % budget_s]
        whole = [tool, "profile", "--force", "-o", output, "--phases", phases, *measured, "--", *command]
        whole_environment = {**os.environ, **(environment or {})}
        done = subprocess.run(limits.wrap(whole) if limits else whole, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False, stdin=subprocess.DEVNULL, env=whole_environment)
        if done.returncode != 0:
            raise RuntimeError(f"{whole} ended with {done.returncode}:\n{done.stderr[-2000:]}")
        summaries = [line for line in done.stdout.splitlines() if line.startswith('{"samples_per_s"')]
        profile = json.loads(pathlib.Path(output, "profile.json").read_text())
        return json.loads(summaries[-1]) if summaries else None, profile
    finally:
        shutil.rmtree(output, ignore_errors=True)
