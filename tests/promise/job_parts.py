"""What the small trainings of this folder share. PROMISE_STEP_MS: what a step sleeps (a plain run may do without)."""
import glob
import os
import random
import time

import numpy as np
import torch
import witness
from torch.utils.data import Dataset, get_worker_info

STEP_S = float(os.environ.get("PROMISE_STEP_MS", "20")) / 1000
EPOCHS = int(os.environ.get("PROMISE_EPOCHS", "8"))


def make_files(folder, count=192, size=12000):
    """The data set: files of bytes."""
    os.makedirs(folder, exist_ok=True)
    generator = np.random.default_rng(0)
    for index in range(count):
        with open(f"{folder}/{index:04d}.bin", "wb") as file:
            file.write(generator.integers(0, 255, size, dtype=np.uint8).tobytes())


def state():
    """The states of this process' generators as one number."""
    return int(witness.short(repr(sorted(witness.generators().items())).encode()), 16)


def trace(words):
    """A line in a file of this worker: what it made, in its order."""
    worker = get_worker_info()
    with open(f"trace-{worker.id if worker else 'main'}", "a") as file:
        file.write(words + "\n")


class Files(Dataset):
    """Each sample is read from a file and augmented by draws from three generators; it tells their states."""

    def __init__(self, folder="data", traced=False):
        self.paths = sorted(glob.glob(folder + "/*.bin"))
        self.traced = traced

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        before = state()
        with open(self.paths[index], "rb") as file:
            data = np.frombuffer(file.read(), dtype=np.uint8)[:768].astype(np.float32) / 255
        sample = self.augmented(index, data)
        after = state()
        if self.traced:
            trace(f"{index} {before} {after}")
        return {"index": index, "image": sample, "before": before, "after": after}

    def augmented(self, index, data):
        image = torch.from_numpy(data * random.random() + np.random.random(data.shape).astype(np.float32))
        return image + torch.rand(1)


class Trainee:
    """A small model and its optimizer."""

    def __init__(self, step_s=None):
        self.model = torch.nn.Linear(768, 4)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 1e-3, momentum=0.9)
        self.step_s = STEP_S if step_s is None else step_s

    def step(self, batch):
        loss = torch.nn.functional.cross_entropy(self.model(batch["image"]), batch["index"] % 4)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        time.sleep(self.step_s)
        return loss.item()

    def save(self, number, keep=2):
        """A checkpoint as trainers write it: renamed to its place, the oldest removed."""
        os.makedirs("checkpoints", exist_ok=True)
        torch.save({"epoch": number, "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}, "checkpoints/new")
        os.replace("checkpoints/new", f"checkpoints/{number:03d}.pt")
        for path in sorted(glob.glob("checkpoints/*.pt"))[:-keep]:
            os.remove(path)

    def finish(self):
        witness.weights(self.model)
        print("the last weight is", float(self.model.weight.flatten()[-1]), flush=True)
