"""A job that trains on tar shards of an IterableDataset and prints its own steady rate. For tests/bench/streams.

Each sample costs `--work-ms` of CPU, each step sleeps `--step-ms`. `--forget` drops what was read from the page cache
soon after: every byte comes from storage, also after an epoch that was left half-way. `--synthetic` reuses the first
batch.
"""

import argparse
import glob
import io
import json
import os
import sys
import tarfile
import time

from job_parts import spend_cpu

BATCH = 8
FORGOTTEN_TOGETHER = 8  # samples
SKIPPED = 12  # batches of each epoch's begin and end


def make_shards(folder, shards, samples, size):
    os.makedirs(folder, exist_ok=True)
    for number in range(shards):
        path = os.path.join(folder, f"{number:04d}.tar")
        if os.path.exists(path):
            continue
        with tarfile.open(path + ".part", "w") as tar:
            for sample in range(samples):
                info = tarfile.TarInfo(f"{sample:05d}.bin")
                info.size = size
                tar.addfile(info, io.BytesIO(os.urandom(size)))
        os.rename(path + ".part", path)
    os.sync()


def samples_of(args, worker, workers):
    import torch

    for path in sorted(glob.glob(os.path.join(args.folder, "*.tar")))[worker::workers]:
        with open(path, "rb") as file, tarfile.open(fileobj=file) as tar:
            for number, member in enumerate(tar):
                data = tar.extractfile(member).read()
                if args.forget and number % FORGOTTEN_TOGETHER == 0:
                    os.posix_fadvise(file.fileno(), 0, file.tell(), os.POSIX_FADV_DONTNEED)
                spend_cpu(data, args.work_ms * 1e-3)
                yield torch.frombuffer(bytearray(data[:4096]), dtype=torch.uint8).float()
            if args.forget:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def make_loader(args):
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info

    class Shards(IterableDataset):
        def __iter__(self):
            info = get_worker_info()
            return samples_of(args, *((0, 1) if info is None else (info.id, info.num_workers)))

    return DataLoader(Shards(), batch_size=BATCH, num_workers=args.workers)


def batches_of(loader, args):
    if not args.synthetic:
        yield from loader
        return
    kept = next(iter(loader))
    for _ in range(500):
        yield kept


def train(args):
    import torch

    torch.set_num_threads(1)
    loader = make_loader(args)
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    seconds = batches = 0
    for _ in range(args.epochs):
        times = []
        for batch in batches_of(loader, args):
            times.append(time.monotonic())
            optimizer.zero_grad()
            (weight * batch.mean()).sum().backward()
            optimizer.step()
            time.sleep(args.step_ms * 1e-3)
        if len(times) > 3 * SKIPPED:
            seconds += times[-SKIPPED] - times[SKIPPED]
            batches += len(times) - 2 * SKIPPED
    return BATCH * batches / seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--work-ms", type=float, default=0.0)
    parser.add_argument("--step-ms", type=float, default=20.0)
    parser.add_argument("--forget", action="store_true")
    parser.add_argument("--synthetic", action="store_true")
    args = parser.parse_args()
    print(json.dumps({"samples_per_s": train(args)}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
