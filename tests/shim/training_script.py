"""Scripts that train on numbers, run with the shim and without."""

from harness import ShimTest

DATA = """
import gc, os, signal, sys, weakref
import torch
from torch.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __init__(self, samples=12, fails_at=None, dies_at=None):
        self.samples, self.fails_at, self.dies_at = samples, fails_at, dies_at

    def __len__(self):
        return self.samples

    def __getitem__(self, index):
        if index == self.fails_at:
            raise KeyError("sample", index)
        if index == self.dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return torch.tensor([float(index)])
"""


class TrainingScript(ShimTest):
    NEEDS = "torch"

    def script(self, body, **options):
        path = self.write("script.py", "")
        with open(path, "w") as file:
            file.write(DATA + body)
        return self.python(path, **options)

    def same(self, body):
        """Runs the script with and without the shim, which must look the same; the one with it."""
        result = self.script(body)
        plain = self.script(body, shim=False)
        self.assertEqual((result.status, result.out, result.err), (plain.status, plain.out, plain.err))
        return result

    def fine(self, body):
        result = self.same(body)
        self.assert_fine(result)
        return result.run
