"""A job of one rank a node, for tests/bench/ranks: DistributedDataParallel over gloo, files read by a worker.

Reads files of FOLDER (each rank its own part of each pass), spends `--work-ms` of CPU on each, and trains layers whose
gradients have `--gradient-mb` together on an accelerator that sleeps: a third of `--step-ms` forward, two thirds
backward, layer by layer, so that gradients are exchanged behind it as on a real one. `--forget` drops what was read
from the page cache. After `--steps` steps it prints its own rate from step `--skip` on.
"""

import argparse
import datetime
import json
import time

import torch
from job_parts import Files
from torch.utils.data import DataLoader, Sampler

BATCH, LAYERS, FEATURES = 16, 8, 512


class OwnPart(Sampler):
    """Pass after pass in new orders; of each pass every `world`-th sample."""

    def __init__(self, files, rank, world, steps):
        self.files, self.rank, self.world, self.steps = files, rank, world, steps

    def __len__(self):
        return self.steps * BATCH

    def __iter__(self):
        order = torch.Generator().manual_seed(1)
        left = len(self)
        while left > 0:
            own = torch.randperm(self.files, generator=order).tolist()[self.rank::self.world][:left]
            left -= len(own)
            yield from own


class Accelerator(torch.autograd.Function):
    @staticmethod
    def forward(context, values, step_s):
        context.step_s = step_s
        time.sleep(step_s / 3 / LAYERS)
        return values.clone()

    @staticmethod
    def backward(context, gradient):
        time.sleep(context.step_s * 2 / 3 / LAYERS)
        return gradient, None


class Network(torch.nn.Module):
    def __init__(self, args):
        super().__init__()
        wide = max(1, round(args.gradient_mb * 1e6 / 4 / LAYERS / (2 * FEATURES)))
        self.step_s = args.step_ms * 1e-3
        self.layers = torch.nn.ModuleList(torch.nn.Sequential(torch.nn.Linear(FEATURES, wide, bias=False),
                                                              torch.nn.Linear(wide, FEATURES, bias=False))
                                          for _ in range(LAYERS))

    def forward(self, values):
        for layer in self.layers:
            values = Accelerator.apply(layer(values), self.step_s)
        return values


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--step-ms", type=float, default=100.0)
    parser.add_argument("--work-ms", type=float, default=1.0)
    parser.add_argument("--gradient-mb", type=float, default=1.0)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--skip", type=int, default=20)
    parser.add_argument("--forget", action="store_true")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--world", type=int, default=1)
    parser.add_argument("--master", default="127.0.0.1:29777")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = Network(args)
    # One rank, too, as `torchrun --nproc-per-node 1` has it: what wrapping costs is part of every run.
    torch.distributed.init_process_group("gloo", init_method=f"tcp://{args.master}", rank=args.rank,
                                         world_size=args.world, timeout=datetime.timedelta(seconds=120))
    model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    files = Files(args.folder, args.work_ms, FEATURES, args.forget)
    loader = DataLoader(files, batch_size=BATCH, sampler=OwnPart(len(files), args.rank, args.world, args.steps),
                        num_workers=args.workers, drop_last=True)
    begin = end = None
    for step, batch in enumerate(loader):
        end = time.monotonic()
        if step == args.skip:
            begin = end
        optimizer.zero_grad(set_to_none=False)
        # One row stands for all: what an accelerator computes shall not cost the host's cores.
        model(batch.mean(dim=0, keepdim=True) / 255.0).square().mean().backward()
        optimizer.step()
    rate = BATCH * (args.steps - 1 - args.skip) / (end - begin)  # from batch to batch
    print(json.dumps({"samples_per_s": rate, "rank": args.rank}), flush=True)


if __name__ == "__main__":
    main()
