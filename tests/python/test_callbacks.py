"""Callbacks of two trainers: with stand-ins of their libraries, and with the libraries where this Python has them."""

import importlib.util
import json
import unittest

from harness import JOB, PackageTest

TRANSFORMERS = """
class TrainerCallback:
    pass
"""

# Events in the order in which Trainer calls them.
TRAINER = JOB + """
import json, types
from stallcast.trainer import StallcastCallback
logged = []
trainer = types.SimpleNamespace(log=lambda numbers: logged.append((state.global_step, numbers)))
callback = StallcastCallback(trainer)
state = types.SimpleNamespace(global_step=0, max_steps=90, is_world_process_zero={first})
control = types.SimpleNamespace(should_training_stop=False)
for epoch in range(3):
    for step in range(30):
        train(0.01, 0.01, 1) if epoch else None
        state.global_step += 1
        callback.on_step_end(None, state, control)
    train(0.01, 0.01, 60)
    callback.on_epoch_end(None, state, control, model=None)
print(json.dumps(logged))
"""

LIGHTNING = TRAINER[:TRAINER.index("from stallcast.trainer")] + """
from stallcast.lightning import Callback, StallcastCallback
logged = []
logger = types.SimpleNamespace(log_metrics=lambda numbers, step: logged.append((step, numbers)))
trainer = types.SimpleNamespace(global_step=0, is_global_zero={first}, loggers=[logger])
callback = StallcastCallback()
train(0.01, 0.01, 60)
callback.on_train_epoch_end(trainer, None)
until = time.monotonic() + 100
while not logged and trainer.is_global_zero and time.monotonic() < until:
    train(0.01, 0.01, 1)
    trainer.global_step += 1
    callback.on_train_batch_end(trainer, None, None, None, 0)
callback.on_train_end(trainer, None)
print(json.dumps(logged))
"""

SHARE = "stallcast/as_is_wait_frac"


class StandInTest(PackageTest):
    def setUp(self):
        super().setUp()
        self.environment["PYTHONPATH"] += ":" + str(self.folder)

    def logged(self, script, first="True"):
        return json.loads(self.profile(script.replace("{first}", first)))

    def test_trainer(self):
        self.write("transformers.py", TRANSFORMERS)
        logged = self.logged(TRAINER)
        self.assertEqual(logged[-1][0], 90)  # the last, at the end of the last epoch
        for _, numbers in logged:
            self.assertIn(SHARE, numbers)
        self.assertEqual(self.logged(TRAINER, first="False"), [])
        self.assertEqual(self.left_behind(), [])

    def test_lightning(self):
        for name in ("lightning", "pytorch_lightning"):
            self.write("pytorch_lightning.py", "class Callback: name = 'pytorch_lightning'\n")
            if name == "lightning":
                (self.folder / "lightning").mkdir()
                self.write("lightning/__init__.py", "")
                self.write("lightning/pytorch.py", "class Callback: name = 'lightning'\n")
            else:
                self.write("lightning/pytorch.py", "raise ImportError\n")
            logged = self.logged(LIGHTNING + "\nassert Callback.name == %r\n" % name)
            self.assertEqual(len(logged), 2)
            for _, numbers in logged:
                self.assertIn(SHARE, numbers)
            self.assertGreater(logged[0][0], 0)
        self.assertEqual(self.logged(LIGHTNING, first="False"), [])

    def test_nothing_outside_a_run(self):
        self.write("transformers.py", TRANSFORMERS)
        done = self.run_python(self.write("job.py", TRAINER.replace("{first}", "True")))
        self.assertEqual((done.stdout, done.stderr), ("[]\n", ""))


class RealTest(PackageTest):
    def needs(self, *modules):
        for module in modules:
            if importlib.util.find_spec(module) is None:
                self.skipTest("this Python has no " + module)

    def test_trainer(self):
        self.needs("torch", "transformers", "accelerate")
        printed = self.profile("""
import time, torch
from transformers import Trainer, TrainingArguments
from stallcast.trainer import StallcastCallback
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 400
    def __getitem__(self, index):
        time.sleep(0.002)
        return {"x": torch.zeros(3), "labels": torch.ones(1)}
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)
    def forward(self, x, labels):
        return {"loss": ((self.layer(x) - labels) ** 2).mean()}
trainer = Trainer(model=Model(), train_dataset=Data(), args=TrainingArguments(
    output_dir="out-of-trainer", num_train_epochs=2, per_device_train_batch_size=4, report_to=[], disable_tqdm=True,
    save_strategy="no", use_cpu=True))
trainer.add_callback(StallcastCallback(trainer))
trainer.train()
print("\\nlogged", sum("stallcast/as_is_wait_frac" in line for line in trainer.state.log_history) > 0)
""")
        self.assertIn("\nlogged True\n", printed)

    def test_lightning(self):
        self.needs("torch", "lightning")
        printed = self.profile("""
import time, torch
import lightning.pytorch as pl
from stallcast.lightning import StallcastCallback
from lightning.pytorch.loggers.logger import DummyLogger
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 400
    def __getitem__(self, index):
        time.sleep(0.002)
        return torch.zeros(3)
class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)
    def training_step(self, batch, number):
        return self.layer(batch).mean()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-4)
logged = []
class Logger(DummyLogger):
    def log_metrics(self, metrics, step=None):
        logged.append(metrics)
trainer = pl.Trainer(max_epochs=2, logger=Logger(), callbacks=[StallcastCallback()], enable_progress_bar=False,
                     enable_checkpointing=False, accelerator="cpu")
trainer.fit(Model(), torch.utils.data.DataLoader(Data(), batch_size=4))
print("\\nlogged", sum("stallcast/as_is_wait_frac" in metrics for metrics in logged) > 0)
""")
        self.assertIn("\nlogged True\n", printed)


if __name__ == "__main__":
    unittest.main()
