"""Loops that update their parameters by hand: each backward pass counts as a step, where nothing else can be one."""

from harness import ShimTest, main
from plain import Plain

HEAD = """
import inspect, sys, traceback
import torch
torch.manual_seed(3)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
data = torch.arange(800.0).reshape(100, 8) / 800
def get_batch(size=4):
    ix = torch.randint(100, (size,))
    return data[ix], ix % 2
def loss_of(x, y):
    return torch.nn.functional.cross_entropy(model(x), y)
def update():
    for p in model.parameters():
        p.data.add_(p.grad, alpha=-0.01)
    model.zero_grad()
def is_as_it_was():
    return torch.autograd.backward.__code__.co_filename, hasattr(torch.autograd.backward, "__wrapped__")
"""
TAIL = """
print(sum(float(p.detach().sum()) for p in model.parameters()).hex(), torch.rand(1).item())
"""
UNSEEN = 7  # the eighth pass is the first that counts


class BackwardTest(ShimTest):
    NEEDS = "torch"
    maxDiff = None

    def both(self, content):
        path = self.write("script.py", HEAD + content + TAIL)
        plain, result = Plain(path), self.python(path)
        self.assertEqual((plain.status, plain.err), (0, ""))
        self.assertEqual((result.status, result.out, result.err), (0, plain.out, plain.err))
        self.issues = [issue["id"] for issue in result.run.issues]
        (recording,) = result.run.recordings
        return recording

    def test_a_backward_pass_is_a_step(self):
        consumer = self.both("""
for step in range(30):
    loss_of(*get_batch()).backward()
    update()
""")
        self.assertEqual(self.issues, ["steps-counted"])
        self.assertEqual(len(consumer.steps), 30 - UNSEEN)
        (mark,) = [mark for mark in consumer.texts["mark"] if mark["what"] == "batch function"]
        self.assertEqual((mark["name"], mark["proven"]), ("get_batch", True))

    def test_the_state_of_a_recurrent_model_is_no_batch(self):
        consumer = self.both("""
cell = torch.nn.LSTM(8, 2)
def detached(state):
    return state.detach() if isinstance(state, torch.Tensor) else tuple(detached(part) for part in state)
state = torch.zeros(1, 4, 2), torch.zeros(1, 4, 2)
for step in range(30):
    x, y = get_batch()
    cell.zero_grad()
    state = detached(state)
    made, state = cell(x[None], state)
    torch.nn.functional.cross_entropy(made[0], y).backward()
    torch.nn.utils.clip_grad_norm_(cell.parameters(), 0.25)
    for p in cell.parameters():
        p.data.add_(p.grad, alpha=-0.1)
model = cell
""")
        names = [mark["name"] for mark in consumer.texts["mark"] if mark["what"] == "batch function"]
        self.assertEqual(names, ["get_batch"])

    def test_an_optimizer_that_steps_late_is_waited_for(self):
        consumer = self.both("""
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(40):
    loss_of(*get_batch()).backward()
    if step % 20 == 19:
        optimizer.step()
        optimizer.zero_grad()
print(is_as_it_was())
""")
        self.assertEqual(self.issues, [])
        self.assertEqual(len(consumer.steps), 2)

    def test_where_a_loader_delivers_its_batches_are_the_steps(self):
        consumer = self.both("""
from torch.utils.data import DataLoader, TensorDataset
for x, y in DataLoader(TensorDataset(data, torch.arange(100) % 2), batch_size=4):
    loss_of(x, y).backward()
    update()
print(is_as_it_was())
""")
        self.assertEqual(self.issues, [])
        self.assertEqual(len(consumer.steps), 0)

    def test_steps_that_the_script_tells_are_the_steps(self):
        consumer = self.both("""
try:
    import stallcast
except ImportError:  # the plain run
    stallcast = None
for step in range(160):
    loss_of(*get_batch()).backward()
    if step % 16 == 15:
        update()
        if stallcast is not None:
            stallcast.step()
print(is_as_it_was())
""")
        self.assertEqual(self.issues, [])
        self.assertEqual(len(consumer.steps), 10)

    def test_a_pass_within_another_is_a_part_of_it(self):
        consumer = self.both("""
class Within(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            made = x * 2
        torch.autograd.backward(made, grad)
        return x.grad
for step in range(20):
    x, y = get_batch()
    loss_of(Within.apply(x.requires_grad_()), y).backward()
    update()
""")
        self.assertEqual(len(consumer.steps), 20 - UNSEEN)

    def test_what_the_script_can_see_of_it(self):
        self.both("""
print(inspect.signature(torch.autograd.backward), torch.autograd.backward.__name__, torch.autograd.backward.__doc__[:40])
print(inspect.getsource(torch.autograd.backward) == inspect.getsource(inspect.unwrap(torch.autograd.backward)))
for step in range(12):
    loss = loss_of(*get_batch())
    loss.backward()
    try:
        loss.backward()
    except RuntimeError:
        frames = [(frame.filename, frame.name) for frame in traceback.extract_tb(sys.exc_info()[2])]
        print(frames if sys.version_info >= (3, 11) else "one more of ours")
    update()
""")

    def test_an_optimizer_that_comes_later(self):
        consumer = self.both("""
for step in range(20):
    loss_of(*get_batch()).backward()
    model.zero_grad()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(20):
    loss_of(*get_batch()).backward()
    optimizer.step()
    optimizer.zero_grad()
print(is_as_it_was())
""")
        self.assertEqual(self.issues, ["steps-counted"] * 2)
        self.assertIn(len(consumer.steps), (33, 34))  # torch 2 imports its compiler with the optimizer, before it steps

    def test_a_compiler_that_comes_later(self):
        if self.torch_version() < (2, 1):
            self.skipTest("no compiler")
        consumer = self.both("""
for step in range(40):
    if step == 20:
        import torch._dynamo
        print(is_as_it_was())
    loss_of(*get_batch()).backward()
    update()
""")
        self.assertEqual(self.issues, ["steps-counted"] * 2)
        self.assertEqual(len(consumer.steps), 20 - UNSEEN)

    def test_a_backward_of_the_scripts_own(self):
        consumer = self.both("""
real = torch.autograd.backward
def backward(*args, **kwargs):
    return real(*args, **kwargs)
torch.autograd.backward = backward
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(10):
    loss_of(*get_batch()).backward()
    optimizer.step()
    optimizer.zero_grad()
print(real.__code__.co_filename, backward.__code__.co_filename)
""")
        self.assertEqual((self.issues, len(consumer.steps)), ([], 10))

    def test_a_compiled_step_is_compiled_as_without_us(self):
        if self.torch_version() < (2, 1):
            self.skipTest("torch.compile of this version counts no frames")
        for imported in ("import torch._dynamo", ""):
            with self.subTest(imported=imported):
                self.both(imported + """
def train(x, y):
    loss = loss_of(x, y)
    loss.backward()
    return loss.detach() * 2
for step in range(3):
    train(*get_batch())
    update()
train = torch.compile(train, backend="eager")
for step in range(16):
    print(train(*get_batch()).item())
    update()
print(is_as_it_was(), sorted(torch._dynamo.utils.counters["frames"].items()))
""")
                self.assertEqual(self.issues, [])

    def test_a_forked_trainer_counts_its_own(self):
        path = self.write("script.py", HEAD + """
import os
for step in range(10):
    loss_of(*get_batch()).backward()
    update()
child = os.fork()
if child == 0:
    for step in range(20):
        loss_of(*get_batch()).backward()
        update()
    os._exit(0)
print(os.waitpid(child, 0)[1])
""")
        result = self.python(path)
        self.assertEqual((result.status, result.err), (0, ""))
        self.assertEqual(sorted(len(recording.steps) for recording in result.run.recordings), [10 - UNSEEN, 20 - UNSEEN])


if __name__ == "__main__":
    main()
