"""A job that trains on arrays in one of the formats that large data sets are kept in, and prints its own steady rate. For
tests/bench/formats.

  format_job.py KIND FOLDER --make     writes the data
  format_job.py KIND FOLDER            trains on them

Each sample costs `--work-ms` of CPU, each step sleeps `--step-ms`. `--forget` drops what was read of a mapped array after each
sample, with what the kernel read around it. `--synthetic` reuses the first batch.
"""

import argparse
import base64
import glob
import itertools
import json
import os
import sys

from job_parts import spend_cpu, train_steadily

REUSED = 400
VALUES = 4096  # of a sample, that the step sees
SHARDS = 8


def rows(args):
    import numpy

    drawn = numpy.random.default_rng(0)
    for _ in range(args.samples):
        yield drawn.integers(0, 255, args.size, dtype=numpy.uint8)


class Hdf5:
    """A chunk a sample."""

    def make(self, args):
        import h5py

        with h5py.File(args.folder + "/data.h5", "w") as file:
            data = file.create_dataset("data", shape=(args.samples, args.size), dtype="u1", chunks=(1, args.size))
            for number, row in enumerate(rows(args)):
                data[number] = row

    def open(self, args):
        import h5py

        return h5py.File(args.folder + "/data.h5", "r")["data"]

    def read(self, opened, number):
        return opened[number].tobytes()


class Zarr:
    """A file a sample."""

    def make(self, args):
        import zarr

        shape, chunk = (args.samples, args.size), (1, args.size)
        data = zarr.open(args.folder + "/data.zarr", mode="w", shape=shape, chunks=chunk, dtype="uint8")
        for number, row in enumerate(rows(args)):
            data[number] = row

    def open(self, args):
        import zarr

        return zarr.open(args.folder + "/data.zarr", mode="r")

    def read(self, opened, number):
        import numpy

        return numpy.asarray(opened[number]).tobytes()


class Lmdb:
    """Mapped, without the kernel's read-ahead, as its users are told to."""

    def make(self, args):
        import lmdb

        with lmdb.open(args.folder, map_size=2 * args.samples * args.size) as store:
            for number, row in enumerate(rows(args)):
                with store.begin(write=True) as transaction:
                    transaction.put(b"%08d" % number, row.tobytes())

    def open(self, args):
        import lmdb

        return lmdb.open(args.folder, readonly=True, lock=False, readahead=False).begin()

    def read(self, opened, number):
        return opened.get(b"%08d" % number)


class Npy:
    """Mapped: the kernel reads around each page that is touched."""

    def make(self, args):
        import numpy

        shape = (args.samples, args.size)
        data = numpy.lib.format.open_memmap(args.folder + "/data.npy", "w+", "uint8", shape)
        for number, row in enumerate(rows(args)):
            data[number] = row
        data.flush()

    def open(self, args):
        import numpy

        self.file = os.open(args.folder + "/data.npy", os.O_RDONLY) if args.forget else None
        return numpy.load(args.folder + "/data.npy", mmap_mode="r")

    def read(self, opened, number):
        import mmap

        data = opened[number].tobytes()
        if self.file is not None:
            opened._mmap.madvise(mmap.MADV_DONTNEED)
            os.posix_fadvise(self.file, 0, 0, os.POSIX_FADV_DONTNEED)
        return data


class Arrow:
    """`datasets`: Arrow files, mapped by the process that opened them."""

    def make(self, args):
        import shutil

        import datasets

        cache = args.folder + "/cache"
        made = datasets.Dataset.from_generator(lambda: ({"data": row.tobytes()} for row in rows(args)), cache_dir=cache)
        made.save_to_disk(args.folder + "/saved")
        shutil.rmtree(cache)

    def early(self, args):
        import datasets

        return datasets.load_from_disk(args.folder + "/saved")

    def read(self, opened, number):
        return opened[number]["data"]


class Jsonl:
    """Lines of JSON, shards split by worker: a stream."""

    def make(self, args):
        each = args.samples // SHARDS
        lines = (json.dumps({"data": base64.b64encode(row.tobytes()).decode()[:args.size]}) + "\n" for row in rows(args))
        for shard in range(SHARDS):
            with open(f"{args.folder}/{shard:02d}.jsonl", "w", encoding="utf-8") as file:
                file.writelines(next(lines) for _ in range(each))

    def stream(self, args, worker, workers):
        for path in sorted(glob.glob(args.folder + "/*.jsonl"))[worker::workers]:
            with open(path, encoding="utf-8") as file:
                for line in file:
                    yield json.loads(line)["data"].encode()


KINDS = {"hdf5": Hdf5, "zarr": Zarr, "lmdb": Lmdb, "npy": Npy, "arrow": Arrow, "jsonl": Jsonl}


def make(args):
    done = args.folder + "/done"
    if os.path.exists(done):
        return
    os.makedirs(args.folder, exist_ok=True)
    KINDS[args.kind]().make(args)
    os.sync()
    with open(done, "w", encoding="utf-8"):
        pass


def loader_of(args):
    import torch
    from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

    kind = KINDS[args.kind]()

    def tensor_of(data):
        spend_cpu(data, args.work_ms * 1e-3)
        return torch.frombuffer(bytearray(data[:VALUES]), dtype=torch.uint8).float()

    class Samples(Dataset):
        def __init__(self):
            self.opened = kind.early(args) if hasattr(kind, "early") else None

        def __len__(self):
            return args.samples

        def __getitem__(self, number):
            if self.opened is None:
                self.opened = kind.open(args)
            return tensor_of(kind.read(self.opened, int(number)))

    class Stream(IterableDataset):
        def __iter__(self):
            info = get_worker_info()
            return map(tensor_of, kind.stream(args, *((0, 1) if info is None else (info.id, info.num_workers))))

    if hasattr(kind, "stream"):
        return DataLoader(Stream(), batch_size=args.batch_size, num_workers=args.workers)
    return DataLoader(Samples(), batch_size=args.batch_size, num_workers=args.workers, shuffle=True)


def batches_of(loader, args):
    if not args.synthetic:
        yield from itertools.islice(loader, args.steps)
        return
    kept = next(iter(loader))
    for _ in range(REUSED):
        yield kept


def train(args):
    loader = loader_of(args)
    return train_steadily((batches_of(loader, args) for _ in range(args.epochs)), args.batch_size, args.step_ms)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("folder")
    parser.add_argument("--make", action="store_true")
    parser.add_argument("--samples", type=int, default=3200)
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--steps", type=int, help="of an epoch, at most")
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--work-ms", type=float, default=1.0)
    parser.add_argument("--step-ms", type=float, default=20.0)
    parser.add_argument("--forget", action="store_true")
    parser.add_argument("--synthetic", action="store_true")
    args = parser.parse_args()
    if args.make:
        make(args)
        return
    print(json.dumps({"samples_per_s": train(args)}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
