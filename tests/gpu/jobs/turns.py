#!/usr/bin/env python3
"""A training job that takes turns: for each line on stdin it trains one block of steps, and prints what it took as JSON.

Several of these, one measured and one not, are alive at once; whoever drives them lets one train at a time. So what they
cost is compared block by block on the same machine in the same minute, and each does the same steps in its block.
"""

import argparse
import contextlib
import json
import sys
import time

import parts
import stand_in
import torch
from torch.utils.data import DataLoader

SETTLING_STEPS = 10  # of each block, before its window: clocks rise, the queue fills


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--blocks", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True, help="of a block's window")
    parser.add_argument("--pace", type=float, default=0.0, help="seconds in which a worker makes a batch")
    parser.add_argument("--profiler", action="store_true", help="torch.profiler looks on")
    parser.add_argument("--trace", help="each block's trace is written to this, with its number")
    parser.add_argument("--events", action="store_true", help="tell by CUDA's events when the device was idle in a wait")
    parser.add_argument("--stand-in", choices=("no", "driver"), default="no")
    return parser.parse_args()


def profiler_of(args: argparse.Namespace):
    return torch.profiler.profile() if args.profiler else contextlib.nullcontext()


class Ends:
    """When the device has done each step, by CUDA's events: they cost a microsecond, and no step is waited for."""

    def __init__(self):
        self.reference, self.after = torch.cuda.Event(enable_timing=True), []
        self.reference.record()
        torch.cuda.synchronize()
        self.reference_ns = time.monotonic_ns()

    def step_is_given(self) -> None:
        self.after.append(torch.cuda.Event(enable_timing=True))
        self.after[-1].record()

    def idle_in(self, waits: list[tuple[int, int]]) -> int:
        """ns of the waits, each before a step, in which the device had nothing more to do."""
        done = [self.reference_ns, *(self.reference_ns + int(1e6 * self.reference.elapsed_time(event))
                                     for event in self.after)]
        return sum(max(0, end - max(begin, before)) for (begin, end), before in zip(waits, done, strict=False))


def block(trainer: parts.Trainer, batches, args: argparse.Namespace) -> dict:
    """Trains; the window's ends and the waits in it, in ns of CLOCK_MONOTONIC."""
    waits, ends = [], None

    def step() -> None:
        begin = time.monotonic_ns()
        with torch.profiler.record_function("kit_wait"):
            images, labels = next(batches)
        waits.append((begin, time.monotonic_ns()))
        trainer.step(images, labels, non_blocking=True)
        if ends is not None:
            ends.step_is_given()

    for _ in range(SETTLING_STEPS):
        step()
    trainer.wait()
    waits.clear()
    ends = Ends() if args.events else None
    begin = time.monotonic_ns()
    with torch.profiler.record_function("kit_window"):
        for _ in range(args.steps):
            step()
        trainer.wait()
    done = {"window_ns": (begin, time.monotonic_ns()), "waits_ns": list(waits)}
    return {**done, "idle_in_waits_ns": ends.idle_in(waits)} if ends else done


def main() -> int:
    args = arguments()
    if args.stand_in == "driver":
        stand_in.play_driver()
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    trainer = parts.Trainer(args.model, torch.device(args.device), args.side)
    count = (args.blocks + 1) * (args.steps + SETTLING_STEPS)
    dataset = parts.Paced(count, args.batch, args.side, args.pace)
    batches = iter(DataLoader(dataset, batch_size=None, num_workers=args.workers, pin_memory=args.device == "cuda"))
    for number, _ in enumerate(sys.stdin):
        with profiler_of(args) as profiler:
            done = block(trainer, batches, args)
        if args.trace:
            done["trace"] = f"{args.trace}-{number}.json"
            profiler.export_chrome_trace(done["trace"])
        done["kineto"] = torch.profiler.kineto_available()
        print(json.dumps(done), flush=True)
    time.sleep(0.5)  # the probe tells whole fifths of a second: the last window lies before the last of them
    return 0


if __name__ == "__main__":
    sys.exit(main())
