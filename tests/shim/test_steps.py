"""Steps of optimizers: what is told of them, and that they are counted, compiled ones too, as without us."""

from harness import main
from training_script import TrainingScript


class Steps(TrainingScript):
    def needs_compiler(self):
        if self.torch_version() < (2, 6):
            self.skipTest("torch.compile works on this Python from torch 2.6 on")

    def test_what_distributed_data_parallel_timed(self):
        run = self.fine(
            """
torch.distributed.init_process_group("gloo", init_method="file://" + os.path.join(os.getcwd(), "ranks-meet"),
                                     rank=0, world_size=1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 4, bias=False))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(45):
    optimizer.zero_grad()
    model(torch.ones(1, 8)).sum().backward()
    optimizer.step()
torch.distributed.destroy_process_group()
"""
        )
        (recording,) = run.recordings
        timed = [text for text in recording.texts["mark"] if text["what"] == "exchange"]
        self.assertEqual([text["iteration"] for text in timed], [20, 30])
        for text in timed:
            self.assertEqual((text["backend"], text["bucket_bytes"], text["hook"]), ("gloo", [128], ""))
            self.assertGreater(text["forward_ns"], 0)
            self.assertGreater(text["backward_ns"], 0)
            self.assertGreaterEqual(text["span_ns"], text["overlap_ns"])

    def test_steps_of_which_all_was_found(self):
        """They are counted without a look, until there is something to find again."""
        run = self.fine(
            """
layer = torch.nn.Linear(1, 4, bias=False)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
def train(model):
    for batch in DataLoader(Numbers(45)):
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
def is_settled():
    shim = sys.modules.get("stallcast_shim.thread")
    return shim is None or bool(shim.process.settled)
train(layer)
print(is_settled())
child = os.fork()
if child == 0:
    train(layer)
    os._exit(0)
os.waitpid(child, 0)
torch.distributed.init_process_group("gloo", init_method="file://" + os.path.join(os.getcwd(), "ranks-meet-later"),
                                     rank=0, world_size=1)
model = torch.nn.parallel.DistributedDataParallel(layer)
print("stallcast_shim" not in sys.modules or not is_settled())
train(model)
torch.distributed.destroy_process_group()
"""
        )
        parent, child = sorted(run.recordings, key=lambda recording: -len(recording.steps))
        self.assertEqual([[step.step for step in recording.steps] for recording in (parent, child)],
                         [list(range(90)), list(range(45))])
        exchanges, gradients = ([[text for text in recording.texts["mark"] if text["what"] == what]
                                 for recording in (parent, child)] for what in ("exchange", "gradients"))
        self.assertEqual([len(texts) for texts in exchanges], [2, 0])
        self.assertEqual([[text["bytes"] for text in texts] for texts in gradients], [[16], [16]])

    def test_a_compiled_loop_still_runs(self):
        self.needs_compiler()
        body = """
weight = torch.nn.Parameter(torch.ones(4))
optimizer = torch.optim.SGD([weight], lr=0.1)
@torch.compile(backend="eager")
def step():
    optimizer.step()
for _ in range(2):
    weight.grad = torch.ones(4)
    step()
optimizer.step()
print(weight.tolist())
"""
        result = self.script(body)
        self.assertEqual((result.status, result.out), (0, self.script(body, shim=False).out))
        self.assertEqual(result.run.issues, [])
        self.assertIn(len(result.run.recordings[0].steps), (1, 3))  # inside a graph a step cannot be seen

    def test_a_step_that_is_compiled_after_others_were_counted(self):
        self.needs_compiler()
        body = """
weight = torch.nn.Parameter(torch.ones(4))
optimizer = torch.optim.SGD([weight], lr=0.1)
def step():
    weight.grad = torch.ones(4)
    optimizer.step()
for batch in DataLoader(Numbers(6)):
    step()
compiled = torch.compile(step, backend="eager")
for batch in DataLoader(Numbers(3)):
    compiled()
print(weight.tolist())
"""
        result = self.script(body)
        self.assertEqual((result.status, result.out), (0, self.script(body, shim=False).out))
        self.assertEqual(result.run.issues, [])
        self.assertIn(len(result.run.consumer.steps), (6, 9))


if __name__ == "__main__":
    main()
