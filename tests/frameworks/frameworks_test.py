#!/usr/bin/env python3
"""What a job of each framework sees with and without the tool: the same batches, in the same order and number.

Needs the frameworks (tests/frameworks/run installs them); one that is not there is skipped by name.
STALLCAST_FRAMEWORKS names the jobs to run, separated by commas.
"""
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent / "cli"), str(FOLDER)]

import waits  # noqa: E402
from harness import CLI  # noqa: E402

try:
    import numpy
    import torch
except ImportError:
    print("this Python does not import torch and numpy")
    sys.exit(77)

SAMPLES = 404  # 50 batches of 8 and one of 4
EPOCHS = 12
PATIENCE_S = 300
LIGHT = "plain,lasting,iterable,evaluating,wrapped"
# Batches come from threads or processes that cannot be held back: these jobs are recorded passively.
NOT_SWITCHED = ("wrapped", "tf_data", "tf_records", "keras", "dali", "dali_dynamic", "grain_threads", "grain_serial",
                "grain_processes", "grain_loader", "grain_evaluating", "datasets_batches", "datasets_stream",
                "nodes_threads", "nodes_serial", "spdl", "ray_data", "jax_tf_data", "jax_wrapped", "jax_function", "keras_jax",
                "keras_jax_threads", "tf_function", "tf_eager", "keras_on_batch")
LATE = {"jax_function": 12, "tf_function": 12, "tf_eager": 5, "keras_on_batch": 5}  # batches that are taken before it is found what makes them
UNSEEN_STEPS = {"jax_function": 1, "keras_jax": 0, "keras_jax_threads": 0, "tf_function": 0, "tf_eager": 0,
                "keras_on_batch": 0}  # of jobs without an optimizer of torch's
PACKAGES = {"streaming": "mosaicml-streaming", "nvidia.dali": "nvidia-dali-cuda120",
            "nvidia.dali.experimental.dynamic": "nvidia-dali-cuda120",
            "tensorflow": "tensorflow-cpu", "torch_sparse": "torch-sparse", "dgl.graphbolt": "dgl",
            "torch_geometric": "torch-geometric", "torchdata.nodes": "torchdata",
            "ray.data": "ray"}  # not called as their modules


def jobs():
    import format_jobs
    import graph_jobs
    import jax_jobs
    import jobs as torch_jobs
    import other_jobs
    import tensorflow_jobs
    import thread_jobs

    modules = (torch_jobs, thread_jobs, other_jobs, graph_jobs, jax_jobs, tensorflow_jobs, format_jobs)
    known = {name: (module.__name__ + ".py", needs) for module in modules
             for name, (_, needs) in module.JOBS.items()}
    wanted = os.environ.get("STALLCAST_FRAMEWORKS", LIGHT)
    return {name: known[name] for name in (known if wanted == "all" else wanted.split(","))}


def is_installed(module):
    try:
        return importlib.util.find_spec(module) is not None
    except Exception:  # of the package that it lies in, which may find no library for this torch
        return False


class Frameworks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="stallcast-frameworks-", dir="/var/tmp"))
        cls.addClassCleanup(subprocess.run, ["rm", "-rf", str(cls.folder)], check=False)
        cls.data = cls.folder / "data"
        cls.data.mkdir()
        random = numpy.random.default_rng(1)
        for number in range(SAMPLES):
            numpy.save(cls.data / f"{number:05d}.npy", random.standard_normal((3, 32, 32), dtype=numpy.float32))
        os.sync()

    def run_job(self, name, label, epochs, wrapper=()):
        """(exit status, what the job saw, its errors)."""
        seen = self.folder / f"{name}-{label}.jsonl"
        job = [sys.executable, FOLDER / jobs()[name][0], name, self.data, seen, epochs]
        command = [str(word) for word in (*wrapper, *job)]
        environment = {**os.environ, "TMPDIR": str(self.folder), "HF_HUB_OFFLINE": "1"}
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                              timeout=PATIENCE_S, check=False, env=environment)
        lines = [json.loads(line) for line in seen.read_text().splitlines()] if seen.exists() else []
        return done.returncode, lines, done.stderr.decode(errors="replace")[-3000:]

    def check_passive(self, name, found):
        out = self.folder / f"passive-{name}"
        wrapper = [CLI, "profile", "-q", "--phases", "as_is", "-o", out, "--"]
        status, seen, errors = self.run_job(name, "as_is", EPOCHS, wrapper)
        self.assertEqual(status, 0, errors)
        self.assertEqual(seen, found, f"{name}: the batches differ under a passive recording")
        profile = json.loads((out / "profile.json").read_text())
        self.assertEqual(profile["outcome"]["status"], "measured", profile["outcome"])
        self.check_waits(name, out)
        if name in UNSEEN_STEPS:
            self.assertEqual(waits.steps(out / "recordings"), len(found) - UNSEEN_STEPS[name], name)
        return profile

    def check_waits(self, name, out):
        """Where the job says how long it waited itself: the recording says the same."""
        own = self.folder / f"{name}-as_is.jsonl.waits"
        if own.exists():
            ratio, disagreement = waits.compare(out / "recordings", own, LATE.get(name, 0))
            self.assertIsNone(disagreement, name)
            print(f"{name}: waiting as recorded over the script's own: {ratio:.4f}", flush=True)

    def check_measured(self, name, found):
        """The same batches whatever was made of them; a job of whose loader no states can be made goes on as it is."""
        out = self.folder / f"measured-{name}"
        wrapper = [CLI, "profile", "-q", "--evict", "all", "--budget", "20s", "--target", "100%", "-o", out, "--"]
        status, seen, errors = self.run_job(name, "measured", EPOCHS, wrapper)
        self.assertEqual(status, 0, errors)
        self.assertEqual(seen, found, f"{name}: the batches differ in a measured run")
        profile = json.loads((out / "profile.json").read_text())
        self.assertEqual(profile["outcome"]["status"], "measured", profile["outcome"])
        issues = [issue["id"] for issue in profile["issues"]]
        self.assertNotIn("shim-failed", issues)
        if name in NOT_SWITCHED:
            self.assertIn("phases-unsupported", issues)
        return profile

    def test_each_framework(self):
        for name, (_, module) in jobs().items():
            if module and not is_installed(module):
                print(f"{name}: skipped, {module} is not installed", flush=True)
                continue
            with self.subTest(name):
                status, found, errors = self.run_job(name, "plain", EPOCHS)
                self.assertEqual(status, 0, errors)
                again = self.run_job(name, "again", EPOCHS)[1]
                self.assertEqual(found, again, f"{name}: the job itself is not reproducible")
                passive = self.check_passive(name, found)
                measured = self.check_measured(name, found)
                rates = {key.replace("_samples_per_s", ""): value and round(value["mean"])
                         for key, value in measured["rates"].items()}
                issues = sorted({issue["id"] for issue in measured["issues"]})
                package = PACKAGES.get(module, module) or "torch"
                version = importlib.metadata.version(package) if module else torch.__version__
                print(f"{name} ({package} {version}): {len(found)} batches, {passive['job']['loader_kind']}; "
                      f"by default {measured['stalls']['method']} {rates}; issues {issues}", flush=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
