"""What the scripts of loops begin and end with: a small model, its step, and what it has become."""

from harness import ShimTest
from plain import Plain

HEAD = """
import torch
torch.manual_seed(3)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.arange(800.0).reshape(100, 8) / 800
def loss_of(x, y):
    return torch.nn.functional.cross_entropy(model(x), y)
def train(x, y):
    loss = loss_of(x, y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
"""
GET_BATCH = """
def get_batch(split, *, size=4):
    ix = torch.randint(100, (size,))
    return data[ix], (ix % 2)
"""
TAIL = """
print(sum(float(p.detach().sum()) for p in model.parameters()).hex(), torch.rand(1).item())
"""


def both(test, content):
    """The recordings of the script with the shim, which is held against the same without it."""
    path = test.write("script.py", HEAD + content + TAIL)
    plain, result = Plain(path), test.python(path)
    test.assertEqual((plain.status, plain.err), (0, ""))
    test.assert_fine(result)
    test.assertEqual((result.out, result.err), (plain.out, plain.err))
    return result.run.recordings


class LoopTest(ShimTest):
    """Of scripts that train in one process."""

    NEEDS = "torch"
    maxDiff = None

    def both(self, content):
        (recording,) = both(self, content)
        return recording

    def marks(self, consumer, what):
        return [mark for mark in consumer.texts["mark"] if mark["what"] == what]
