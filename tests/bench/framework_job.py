"""A job on loose files by way of a framework, that prints its own steady rate. For tests/bench/frameworks.

  framework_job.py plain|lightning|accelerate|ddp FOLDER ...

Reads files of FOLDER, spends `--work-ms` of CPU on each, and trains a network of one weight whose step sleeps for
`--step-ms`. `--synthetic` reuses the first batch. `ddp` starts `--ranks` processes, each with its own part of the
files, and prints the rate of all together.
"""

import argparse
import json
import multiprocessing
import os
import queue
import sys
import time

import torch
from job_parts import Files
from torch.utils.data import DataLoader, DistributedSampler

SKIPPED, REUSED, VALUES = 12, 400, 4096


class Reused:
    """The loader's first batch over and over: what the framework and the step take."""

    def __init__(self, loader):
        self.batch = next(iter(loader))

    def __len__(self):
        return REUSED

    def __iter__(self):
        return (self.batch for _ in range(REUSED))


class Clock:
    """When each step began; of every epoch the first and the last steps do not count."""

    def __init__(self, batch_size):
        self.batch_size, self.epochs = batch_size, []

    def step(self, number):
        if number == 0:
            self.epochs.append([])
        self.epochs[-1].append(time.monotonic())

    def rate(self):
        whole = [times for times in self.epochs if len(times) > 3 * SKIPPED]
        seconds = sum(times[-SKIPPED] - times[SKIPPED] for times in whole)
        return self.batch_size * sum(len(times) - 2 * SKIPPED for times in whole) / seconds


def files_of(args):
    return Files(args.folder, args.work_ms, VALUES)


def make_loader(args, sampler=None):
    loader = DataLoader(files_of(args), batch_size=args.batch_size, shuffle=sampler is None, sampler=sampler,
                        num_workers=args.workers, persistent_workers=args.persistent_workers)
    return Reused(loader) if args.synthetic else loader


def train_plain(args, loader, clock, model, backward=lambda loss: loss.backward()):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
    for _ in range(args.epochs):
        for number, batch in enumerate(loader):
            clock.step(number)
            optimizer.zero_grad()
            backward(model(batch.mean().reshape(1, 1)).sum())
            optimizer.step()
            time.sleep(args.step_ms * 1e-3)


def plain(args):
    clock = Clock(args.batch_size)
    train_plain(args, make_loader(args), clock, torch.nn.Linear(1, 1))
    return clock.rate()


def accelerate(args):
    from accelerate import Accelerator

    accelerator, clock = Accelerator(cpu=True), Clock(args.batch_size)
    loader = make_loader(args)
    model = accelerator.prepare(torch.nn.Linear(1, 1))
    if not args.synthetic:
        loader = accelerator.prepare(loader)
    train_plain(args, loader, clock, model, accelerator.backward)
    return clock.rate()


def lightning(args):
    import lightning as L

    clock = Clock(args.batch_size)

    class Module(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = torch.nn.Linear(1, 1)

        def training_step(self, batch, number):
            clock.step(number)
            time.sleep(args.step_ms * 1e-3)
            return self.model(batch.mean().reshape(1, 1)).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=1e-9)

    trainer = L.Trainer(max_epochs=args.epochs, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Module(), make_loader(args))
    return clock.rate()


def rank_of_ddp(args, rank, rates):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{args.port}", rank=rank,
                                         world_size=args.ranks)
    clock = Clock(args.batch_size)
    sampler = DistributedSampler(files_of(args), args.ranks, rank)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
    train_plain(args, make_loader(args, sampler), clock, model)
    rates.put(clock.rate())


def next_rate(rates, ranks):
    while True:
        try:
            return rates.get(timeout=1.0)
        except queue.Empty:
            if any(process.exitcode for process in ranks):
                sys.exit("a rank has died")


def ddp(args):
    context = multiprocessing.get_context("spawn")
    rates = context.Queue()
    ranks = []
    for rank in range(args.ranks):
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(args.ranks),
                          LOCAL_WORLD_SIZE=str(args.ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(args.port))
        ranks.append(context.Process(target=rank_of_ddp, args=(args, rank, rates)))
        ranks[-1].start()
    total = sum(next_rate(rates, ranks) for _ in ranks)
    for process in ranks:
        process.join()
    return total


JOBS = {"plain": plain, "lightning": lightning, "accelerate": accelerate, "ddp": ddp}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("job", choices=list(JOBS))
    parser.add_argument("folder")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--work-ms", type=float, default=0.0)
    parser.add_argument("--step-ms", type=float, default=20.0)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--port", type=int, default=29781)
    parser.add_argument("--persistent-workers", action="store_true")
    parser.add_argument("--synthetic", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    print(json.dumps({"samples_per_s": JOBS[args.job](args)}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
