#!/usr/bin/env python3
"""The kit's training job. Prints one JSON object for each cell: what it trained, and its steady rate.

A cell is a setting of the loader and the model. A plain run of several cells shares one start of Python and CUDA, so that
the truth of a prediction costs little more than its seconds of training. The rate counts from when the queue's start is
over, in whole turns of the workers (batches come in bunches), and ends with the device's last work.
"""

import argparse
import contextlib
import hashlib
import itertools
import json
import os
import sys
import time

import parts
import stand_in
import torch
from torch.utils.data import DataLoader

WARM_UP_STEPS = 10


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="folder of JPEGs, or 'memory': batches that were made before")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--side", type=int, default=224, help="of a picture, in pixels")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--prefetch", type=int, default=2)
    parser.add_argument("--pin", type=int, default=1)
    parser.add_argument("--non-blocking", type=int, default=1)
    parser.add_argument("--decode", choices=("workers", "device"), default="workers")
    parser.add_argument("--cells", type=json.loads, default=[{}], help="JSON list: what each cell sets otherwise")
    parser.add_argument("--seconds", type=float, help="train each cell for so long; else for --epochs")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=1, help="times that an epoch has each file")
    parser.add_argument("--limit-files", type=int, help="use no more than so many of them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--deterministic", action="store_true")
    parser.add_argument("--ddp", action="store_true", help="one rank: NCCL on a GPU, gloo on a CPU")
    parser.add_argument("--profiler-from", type=int, help="torch.profiler looks on from this step, for ten steps")
    parser.add_argument("--stand-in", default="no",
                        choices=("no", "driver", "cuda-build", "idle-cuda-build", "subscriber"),
                        help="plays the CUDA driver; and a build of torch for CUDA; the build alone; a holder of CUPTI")
    return parser.parse_args()


def loader_of(args: argparse.Namespace) -> DataLoader:
    raw = args.decode == "device"
    dataset = parts.Jpegs(args.data, args.side, args.repeats, raw, args.limit_files)
    queue = {"prefetch_factor": args.prefetch} if args.workers else {}
    return DataLoader(dataset, args.batch, shuffle=True, drop_last=True, num_workers=args.workers,
                      pin_memory=bool(args.pin) and args.device == "cuda" and not raw,
                      collate_fn=parts.joined if raw else None, **queue)


def batches_of(args: argparse.Namespace):
    """Endless from memory, else the loader's own, epoch after epoch."""
    if args.data == "memory":
        made = parts.Paced(8, args.batch, args.side, 0.0)
        ready = [(images.pin_memory(), labels) if args.device == "cuda" else (images, labels)
                 for images, labels in (made[index] for index in range(len(made)))]
        return itertools.cycle(ready)
    loader = loader_of(args)
    return itertools.chain.from_iterable(iter(loader) for _ in range(args.epochs))


class Rate:
    """Samples a second, from after the queue's start, over a whole number of turns of the workers."""

    def __init__(self, args: argparse.Namespace, trainer: parts.Trainer):
        self.turn = max(1, args.workers if args.data != "memory" else 1)
        self.skip = max(WARM_UP_STEPS, args.workers * (args.prefetch + 1) if args.data != "memory" else 0)
        self.batch, self.seconds, self.trainer = args.batch, args.seconds, trainer
        self.steps, self.begin, self.end, self.counted = 0, None, None, 0

    def stepped(self) -> bool:
        """Called after each step; whether the cell has been trained for long enough."""
        self.steps += 1
        if self.begin is None:
            if self.steps >= self.skip:
                self.trainer.wait()
                self.begin = time.monotonic()
            return False
        if (self.steps - self.skip) % self.turn:
            return False
        if self.seconds and time.monotonic() - self.begin >= self.seconds:
            self.finish()
            return True
        return False

    def finish(self) -> None:
        if self.begin is not None and self.end is None:
            self.trainer.wait()
            self.end, self.counted = time.monotonic(), self.steps - self.skip

    def samples_per_s(self):
        """None where the cell ended before the queue's start was over."""
        return self.counted * self.batch / (self.end - self.begin) if self.counted > 0 else None


@contextlib.contextmanager
def looked_on(args: argparse.Namespace, summary: dict):
    """A function to be called before each step, which has torch.profiler look on from step --profiler-from."""
    profiler = torch.profiler.profile() if args.profiler_from is not None else None
    first = args.profiler_from

    def look(step: int) -> None:
        if profiler is not None and step == first:
            profiler.start()
        elif profiler is not None and step == first + 10:
            profiler.stop()
            kinds = [str(event.device_type).rsplit(".", 1)[-1] for event in profiler.events()]
            summary["profiler_events"] = {kind: kinds.count(kind) for kind in set(kinds)}

    yield look


def prepare_s_per_sample(trainer: parts.Trainer, files: tuple) -> float:
    """What the device takes to decode and to augment a batch, of each of its samples."""
    repeats = 10
    trainer.prepared(files, non_blocking=False)
    trainer.wait()
    begin = time.monotonic()
    for _ in range(repeats):
        trainer.prepared(files, non_blocking=False)
    trainer.wait()
    return (time.monotonic() - begin) / repeats / len(files[1])


def train(args: argparse.Namespace) -> dict:
    """One cell, from a new model and a new loader."""
    torch.manual_seed(args.seed)
    device = torch.device(args.device)
    trainer = parts.Trainer(args.model, device, args.side, args.ddp, args.deterministic)
    rate, summary, loss = Rate(args, trainer), {}, None
    with looked_on(args, summary) as look:
        for images, labels in batches_of(args):
            look(rate.steps)
            loss = trainer.step(images, labels, bool(args.non_blocking))
            if rate.steps % 10 == 9:
                loss.item()  # as scripts that print their loss do
            if rate.stepped():
                break
    rate.finish()
    if args.decode == "device":
        summary["prepare_s_per_sample"] = prepare_s_per_sample(trainer, images)
    weights = hashlib.sha256()
    for parameter in trainer.model.state_dict().values():
        weights.update(parameter.detach().cpu().contiguous().numpy().tobytes())
    parameters = list(trainer.model.parameters())
    return {**summary, "samples_per_s": rate.samples_per_s(), "steps": rate.steps, "loss": float(loss),
            "weights": weights.hexdigest(), "gradient_bytes": sum(p.numel() * p.element_size() for p in parameters),
            "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu"}


def main() -> int:
    args = arguments()
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    if args.stand_in in ("driver", "cuda-build"):
        stand_in.play_driver()
    if args.stand_in in ("cuda-build", "idle-cuda-build"):
        stand_in.play_cuda_build()
    if args.stand_in == "subscriber":
        stand_in.subscribe_to_cupti()
    torch.backends.cudnn.benchmark = True
    if args.deterministic:
        parts.make_deterministic(args.seed)
    if args.ddp:
        address = f"file://{os.environ['STALLCAST_KIT_STORE']}"
        torch.distributed.init_process_group("nccl" if args.device == "cuda" else "gloo", address, rank=0, world_size=1)
    for cell in args.cells:
        cell_args = argparse.Namespace(**{**vars(args), **cell})
        print(json.dumps({"cell": cell, **train(cell_args)}), flush=True)
    if args.ddp:
        torch.distributed.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
