#!/usr/bin/env python3
"""Trains a small network on a folder of images (or arrays, or audio): an ordinary PyTorch script.

  train.py DATA --workers 4 --batch-size 64 --epochs 2

It knows nothing of stallcast. It times its own waiting and its own steps, as many scripts do, and prints its steady
rate at the end; benchmarks hold stallcast's numbers against it.

--accelerator-ms N emulates an accelerator: each step waits N ms instead of computing forward and backward on the CPU,
as MLPerf Storage does. Loading, decoding, collating and copying stay real; the cores are as free for the workers as
they would be beside a GPU. Nothing is learned in such a run.
"""

import argparse
import json
import os
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader

from data import open_folder


class SmallNet(nn.Module):
    """Four strided convolutions and a linear layer: about 0.1 GFLOP for a 224 x 224 image."""

    def __init__(self, channels, classes, width=16):
        super().__init__()
        layers = []
        for size in (width, 2 * width, 4 * width, 4 * width):
            layers += [nn.Conv2d(channels, size, 3, stride=2, padding=1), nn.BatchNorm2d(size), nn.ReLU()]
            channels = size
        self.features = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.classifier = nn.Linear(channels, classes)

    def forward(self, batch):
        return self.classifier(self.features(batch))


class Trainer:
    """One step: copy the batch over, forward, backward, update. Or, emulated, wait and update nothing."""

    def __init__(self, args, channels, classes):
        self.device = torch.device(args.device)
        self.accelerator_s = args.accelerator_ms / 1e3
        self.model = SmallNet(channels, classes, args.width).to(self.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr, momentum=0.9)
        self.loss = nn.CrossEntropyLoss()

    def step(self, inputs, labels):
        begin = time.perf_counter()
        if self.accelerator_s > 0:
            self.optimizer.step()
            time.sleep(max(0.0, self.accelerator_s - (time.perf_counter() - begin)))
            return None
        inputs = inputs.to(self.device, non_blocking=True)
        labels = labels.to(self.device, non_blocking=True)
        self.optimizer.zero_grad()
        loss = self.loss(self.model(inputs), labels)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def make_loader(args, dataset):
    options = {}
    if args.workers > 0:
        options = {"prefetch_factor": args.prefetch_factor, "persistent_workers": args.persistent_workers,
                   "multiprocessing_context": args.start_method}
    return DataLoader(dataset, batch_size=args.batch_size, shuffle=True, num_workers=args.workers,
                      pin_memory=args.pin_memory, drop_last=True, **options)


class ReusedBatch:
    """The loader's first batch again and again: what the job could do if data came for free."""

    def __init__(self, loader):
        self.batch = next(iter(loader))
        self.length = len(loader)

    def __len__(self):
        return self.length

    def __iter__(self):
        return (self.batch for _ in range(self.length))


def train_epoch(trainer, batches, steps, print_every):
    """Up to `steps` steps; returns one (asked, delivered, done) of perf_counter per step."""
    times = []
    iterator = iter(batches)
    while len(times) < steps:
        asked = time.perf_counter()
        try:
            inputs, labels = next(iterator)
        except StopIteration:
            break
        delivered = time.perf_counter()
        loss = trainer.step(inputs, labels)
        times.append((asked, delivered, time.perf_counter()))
        if print_every and len(times) % print_every == 0:
            said = "emulated" if loss is None else f"loss {loss:.4f}"
            print(f"step {len(times)}: {said}, waited {delivered - asked:.4f} s", flush=True)
    return times


def steady_window(times, workers, prefetch, epoch_steps):
    """The steps of an epoch without the queue's start-up and without its end, when it only drains.

    Whole turns of the workers, because their batches arrive in bunches. Empty where the epoch is too short.
    """
    lead = max(3 * max(1, workers), workers * prefetch)
    end = min(len(times), epoch_steps - (workers * prefetch + 2))
    turns = (end - lead) // max(1, workers)
    return times[lead : lead + turns * max(1, workers)] if turns > 0 else []


def summarize(args, epochs, epoch_steps):
    windows = [steady_window(times, args.workers, args.prefetch_factor, epoch_steps) for times in epochs]
    windows = [window for window in windows if window]
    summary = {"samples_per_s": None, "wait_s_per_step": None, "compute_s_per_step": None,
               "steps": sum(len(window) for window in windows), "steps_total": sum(len(times) for times in epochs),
               "batch_size": args.batch_size, "workers": args.workers, "torch": torch.__version__}
    if windows:
        summary["epochs_samples_per_s"] = [len(window) * args.batch_size / (window[-1][2] - window[0][0])
                                           for window in windows]
        steps = summary["steps"]
        spent = sum(window[-1][2] - window[0][0] for window in windows)
        summary["samples_per_s"] = steps * args.batch_size / spent
        summary["wait_s_per_step"] = sum(step[1] - step[0] for window in windows for step in window) / steps
        summary["compute_s_per_step"] = sum(step[2] - step[1] for window in windows for step in window) / steps
    return summary


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="folder made by make_dataset.py, or any folder of class folders")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--prefetch-factor", type=int, default=2)
    parser.add_argument("--persistent-workers", action="store_true")
    parser.add_argument("--pin-memory", action="store_true")
    parser.add_argument("--start-method", choices=["fork", "spawn", "forkserver"], default=None)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--steps", type=int, default=sys.maxsize, help="at most so many steps an epoch")
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--torchvision", action="store_true", help="augment with torchvision's transforms")
    parser.add_argument("--width", type=int, default=16, help="channels of the first convolution")
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1, help="torch.set_num_threads of the training process")
    parser.add_argument("--cpus", type=int, default=0, help="use only so many CPUs (0: all that are allowed)")
    parser.add_argument("--accelerator-ms", type=float, default=0.0,
                        help="emulate an accelerator: wait so long per step instead of computing")
    parser.add_argument("--synthetic", action="store_true", help="reuse the first batch instead of loading")
    parser.add_argument("--print-every", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print the summary as one JSON line, last")
    return parser.parse_args()


def main():
    args = parse_args()
    if args.cpus > 0:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.cpus])
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    dataset = open_folder(args.data, args.image_size, args.torchvision)
    loader = make_loader(args, dataset)
    first = dataset[0][0]
    trainer = Trainer(args, first.shape[0], len(dataset.classes))
    batches = ReusedBatch(loader) if args.synthetic else loader
    epochs = [train_epoch(trainer, batches, args.steps, args.print_every) for _ in range(args.epochs)]
    summary = summarize(args, epochs, len(loader))
    if args.json:
        print(json.dumps(summary), flush=True)
    elif summary["steps"]:
        print(f"steady: {summary['samples_per_s']:.1f} samples/s, waited {summary['wait_s_per_step']:.4f} s and "
              f"computed {summary['compute_s_per_step']:.4f} s per step over {summary['steps']} steps")


if __name__ == "__main__":
    main()
