#!/usr/bin/env python3
"""Loaders that are not PyTorch's, from the script to the answer: marked loops, tf.data and DALI by scripted modules."""
import json
import pathlib
import sys
import textwrap
import unittest

from harness import PYTHON, CliTest

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "shim"))
import scripted_dali  # noqa: E402
import scripted_tf  # noqa: E402

LOOP = """
import os, sys, time
import stallcast

def batches():
    for number in range(120):
        batch = []
        for name in ("a", "b"):
            with stallcast.sample(number):
                with open(name + ".bin", "rb", buffering=0) as file:
                    batch.append(file.read())
        until = time.thread_time() + 0.004
        while time.thread_time() < until:
            pass
        yield batch

seen = 0
for batch in stallcast.wrap(batches(), WORKERSsamples=2):
    time.sleep(0.002)
    seen += len(batch[0])
print(seen)
"""

TF_LOOP = """
import time
from tensorflow.python.data.ops import iterator_ops

class Slow(iterator_ops.RangeDataset):
    def make(self):
        for number in range(120):
            time.sleep(0.006)
            yield iterator_ops.Array([number] * 4)

seen = 0
for batch in Slow():
    time.sleep(0.004)
    seen += sum(batch)
print(seen)
"""

# Epochs of PER_EPOCH batches, of which a thread keeps some ready; a line for each epoch: what was seen in it.
PER_EPOCH = 60
THREAD = """
import json, queue, sys, threading, time

EPOCHS = int(sys.argv[1])

def ahead(count, make, kept=4):
    ready = queue.Queue(kept)
    def fill():
        for number in range(count):
            time.sleep(0.008)
            ready.put(make(number))
        ready.put(None)
    threading.Thread(target=fill, daemon=True).start()
    return iter(ready.get, None)

def train(epochs_of):
    for epoch in range(EPOCHS):
        seen = []
        for batch in epochs_of(epoch):
            time.sleep(0.004)
            seen.append(batch[0])
        print(json.dumps(seen), flush=True)
"""

PHASED = {
    "tf.data": THREAD + """
from tensorflow.python.data.ops import iterator_ops

class Threaded(iterator_ops.RangeDataset):
    def cardinality(self):
        return 60
    def make(self):
        return ahead(60, lambda number: iterator_ops.Array([number] * 4))

class Evaluation(Threaded):
    pass
dataset = Threaded()
evaluation = Evaluation()
def epochs_of(epoch):
    if epoch > 0:
        assert [batch[0] for batch in evaluation] == list(range(60)), "an evaluation's batches are its own"
        with open("model.keras", "w") as file:
            file.write(str(epoch))
    return dataset
train(epochs_of)
""",
    "dali": THREAD + """
from nvidia.dali.plugin.pytorch import DALIClassificationIterator
from nvidia.dali.plugin.base_iterator import Array
class Pipeline:
    max_batch_size = 4
    num_threads = 1
    size = 240
    def __init__(self):
        self.made = ahead(1 << 20, lambda number: True)
    def run(self, begin):
        next(self.made)
        return Array([begin // 4] * 4)
AUTO_RESET = "auto" in sys.argv
iterator = DALIClassificationIterator(Pipeline(), auto_reset=AUTO_RESET)
def epochs_of(epoch):
    if epoch and not AUTO_RESET:
        iterator.reset()
    return ([part] for (part,) in iterator)
train(lambda epoch: (batch[0] for batch in epochs_of(epoch)))
""",
    "python": THREAD + """
import stallcast
class Loader:
    def __len__(self):
        return 60
    def __iter__(self):
        for number in range(60):
            time.sleep(0.008)
            yield [number] * 4
loader = stallcast.wrap(Loader(), workers=0, samples=4)
train(lambda epoch: loader)
""",
}


class Loaders(CliTest):
    def setUp(self):
        super().setUp()
        for name in "ab":
            (self.folder / (name + ".bin")).write_bytes(b"x" * 1000)

    def run_script(self, content, expected, phases="as_is"):
        script = self.folder / "train.py"
        script.write_text(content)
        done = self.profile(PYTHON, script, phases=phases)
        self.assert_status(done, 0)
        self.assertTrue(done.stdout.startswith(expected + b"\n"), done.stdout[:200])
        return json.loads((self.out / "profile.json").read_text())

    def test_a_loop_that_makes_its_batches_is_divided(self):
        profile = self.run_script(LOOP.replace("WORKERS", "workers=0, "), b"120000")
        job, stalls = profile["job"], profile["stalls"]
        self.assertEqual((job["framework"], job["loader_kind"], job["composition"]), ("python", "python", "serial"))
        self.assertEqual(job["num_workers"], 0)
        self.assertEqual(profile["ranks"][0]["batches"], 120)
        self.assertGreater(stalls["as_is_wait_frac"]["mean"], 0.3)
        self.assertGreater(stalls["as_is_prep_frac"]["mean"], 0.8 * stalls["as_is_wait_frac"]["mean"])
        self.assertEqual(profile["dataset"]["files"], 2)
        self.assertEqual(profile["dataset"]["bytes_per_sample"], 1000)

    def test_a_loop_that_does_not_say_is_measured_and_not_divided(self):
        profile = self.run_script(LOOP.replace("WORKERS", ""), b"120000")
        self.assertGreater(profile["stalls"]["as_is_wait_frac"]["mean"], 0.3)
        self.assertIsNone(profile["stalls"]["as_is_prep_frac"])
        self.assertEqual(profile["job"]["composition"], "unknown")

    def install(self, modules):
        """For scripts in the test's folder."""
        for name, content in modules.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(content))

    def run_asked_for_states(self, kind, *arguments, epochs=5, options=()):
        """The profile of a run that was asked for states which its loader does not let anybody make: the script must see,
        print and save what it would without us."""
        script = self.folder / "train.py"
        script.write_text(PHASED[kind])
        done = self.profile(PYTHON, script, epochs, *arguments, phases="cold,cached,synthetic", options=["--force", *options])
        self.assert_status(done, 0)
        epochs_seen = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"[")]
        profile = json.loads((self.out / "profile.json").read_text())
        issues = self.issues()
        self.assertNotIn("shim-failed", issues)
        refused = issues["phases-unsupported"]["detail"]
        self.assertIn("made by the loop itself" if kind == "python" else "cannot be held back", refused)
        self.assertIn("batches of %s " % kind, refused)
        self.assertEqual(profile["job"]["loader_kind"], kind)
        self.assertEqual(profile["stalls"]["method"], "attributed")
        self.assertIsNone(profile["rates"]["cold_samples_per_s"])
        return profile, epochs_seen

    def assert_all_seen(self, epochs, count=5):
        self.assertEqual(len(epochs), count)
        self.assertEqual({len(epoch) for epoch in epochs}, {PER_EPOCH})

    def test_states_asked_for_of_tf_data(self):
        self.install(scripted_tf.MODULES)
        (self.folder / "model.keras").write_text("before")
        _, epochs = self.run_asked_for_states("tf.data")
        self.assertEqual(epochs, [list(range(PER_EPOCH))] * 5)
        self.assertEqual((self.folder / "model.keras").read_text(), "4")

    def test_states_asked_for_of_an_iterator_that_serves_all_epochs(self):
        self.install(scripted_dali.MODULES)
        for arguments in ((), ("auto",)):
            with self.subTest(arguments):
                _, epochs = self.run_asked_for_states("dali", *arguments)
                self.assert_all_seen(epochs)

    def test_states_asked_for_of_a_loop_that_makes_its_own(self):
        _, epochs = self.run_asked_for_states("python")
        self.assert_all_seen(epochs)

    def test_a_job_of_which_no_states_can_be_made_is_ended_after_the_budget(self):
        profile, epochs = self.run_asked_for_states("python", epochs=100000, options=["--stop", "--budget", "3s"])
        self.assertIn("ended as asked", profile["outcome"]["words"])
        self.assertLessEqual({len(epoch) for epoch in epochs}, {PER_EPOCH})

    def test_tf_data(self):
        self.install(scripted_tf.MODULES)
        profile = self.run_script(TF_LOOP, b"%d" % (4 * sum(range(120))))
        job = profile["job"]
        self.assertEqual((job["framework"], job["loader_kind"], job["composition"]),
                         ("tensorflow", "tf.data", "overlapped"))
        wait = profile["stalls"]["as_is_wait_frac"]["mean"]
        self.assertGreater(wait, 0.4)
        for setting, status, words in (("workers=4", 2, b"threads of its own"), ("cache=50%", 5, b"side by side")):
            asked = self.cli("whatif", self.out, "--set", setting)
            self.assertEqual(asked.returncode, status, asked.stderr)
            self.assertIn(words, asked.stderr)
        answer = self.cli("whatif", self.out, "--set", "gpu_speedup=4", "--json")
        self.assert_status(answer, 0)
        (prediction,) = json.loads(answer.stdout)["predictions"]
        found = profile["rates"]["as_is_samples_per_s"]["mean"]
        self.assertAlmostEqual(prediction["throughput_samples_per_s"]["mean"] / found, 1.0, delta=0.1)
        self.assertIn(prediction["bound"], ("loader", "prep"))
        advice = self.cli("recommend", self.out)
        self.assert_status(advice, 0)
        self.assertNotIn(b"DataLoader", advice.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
