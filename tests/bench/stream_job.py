"""A job that trains on shards and prints its own steady rate. For tests/bench/streams and tests/bench/predictions.

The shards hold arrays that an IterableDataset reads, in tar, Parquet or Arrow files, or with `--webloader` photos that
WebDataset decodes and crops, shuffled and batched in the training process as its documentation shows. Of an array, each
sample costs `--work-ms` of CPU, each step sleeps `--step-ms`. `--forget` drops what was read from the page cache soon
after: every byte comes from storage, also after an epoch that was left half-way. `--synthetic` reuses the first batch.
"""

import argparse
import glob
import io
import json
import os
import sys
import tarfile

from job_parts import spend_cpu, train_steadily

FORGOTTEN_TOGETHER = 8  # samples
GROUP = 16  # rows that are read together


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


def make_photo_shards(folder, shards, samples, edge):
    import numpy
    from PIL import Image

    os.makedirs(folder, exist_ok=True)
    random = numpy.random.default_rng(0)
    for number in range(shards):
        path = os.path.join(folder, f"{number:04d}.tar")
        if os.path.exists(path):
            continue
        with tarfile.open(path + ".part", "w") as tar:
            for sample in range(samples):
                photo = io.BytesIO()
                Image.fromarray(random.integers(0, 255, (edge, edge, 3), dtype=numpy.uint8)).save(photo, "JPEG", quality=90)
                for ending, content in (("jpg", photo.getvalue()), ("cls", str(sample % 10).encode())):
                    info = tarfile.TarInfo(f"{number:02d}{sample:05d}.{ending}")
                    info.size = len(content)
                    tar.addfile(info, io.BytesIO(content))
        os.rename(path + ".part", path)
    os.sync()


def make_table_shards(folder, ending, shards, samples, size):
    """Parquet files in groups of GROUP rows, or Arrow files of batches of so many."""
    import pyarrow
    import pyarrow.parquet

    os.makedirs(folder, exist_ok=True)
    for number in range(shards):
        path = os.path.join(folder, f"{number:04d}.{ending}")
        if os.path.exists(path):
            continue
        table = pyarrow.table({"data": [os.urandom(size) for _ in range(samples)]})
        if ending == "parquet":
            pyarrow.parquet.write_table(table, path + ".part", row_group_size=GROUP, compression="none")
        else:
            with pyarrow.OSFile(path + ".part", "wb") as file, pyarrow.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table, max_chunksize=GROUP)
        os.rename(path + ".part", path)
    os.sync()


def tar_rows(path):
    with open(path, "rb") as file, tarfile.open(fileobj=file) as tar:
        for member in tar:
            yield tar.extractfile(member).read()


def parquet_rows(path):
    import pyarrow.parquet

    for batch in pyarrow.parquet.ParquetFile(path).iter_batches(batch_size=GROUP):
        yield from (value.as_py() for value in batch.column("data"))


def arrow_rows(path):
    import pyarrow

    with pyarrow.OSFile(path) as file:
        reader = pyarrow.ipc.open_file(file)
        for number in range(reader.num_record_batches):
            yield from (value.as_py() for value in reader.get_batch(number).column("data"))


ROWS = {"tar": tar_rows, "parquet": parquet_rows, "arrow": arrow_rows}


def samples_of(args, worker, workers):
    import torch

    for path in sorted(glob.glob(os.path.join(args.folder, "*.*")))[worker::workers]:
        done = 0  # bytes of rows: fewer than were read
        file = os.open(path, os.O_RDONLY) if args.forget else None
        for number, data in enumerate(ROWS[path.rpartition(".")[2]](path)):
            done += len(data)
            if args.forget and number % FORGOTTEN_TOGETHER == 0:
                os.posix_fadvise(file, 0, done, os.POSIX_FADV_DONTNEED)
            spend_cpu(data, args.work_ms * 1e-3)
            yield torch.frombuffer(bytearray(data[:4096]), dtype=torch.uint8).float()
        if args.forget:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)


def make_loader(args):
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info

    class Shards(IterableDataset):
        def __iter__(self):
            info = get_worker_info()
            return samples_of(args, *((0, 1) if info is None else (info.id, info.num_workers)))

    return DataLoader(Shards(), batch_size=args.batch_size, num_workers=args.workers)


def make_webloader(args):
    import webdataset
    from torchvision import transforms

    crop = transforms.Compose([transforms.RandomResizedCrop(args.image_size), transforms.ToTensor()])
    shards = sorted(glob.glob(os.path.join(args.folder, "*.tar")))
    photos = (webdataset.WebDataset(shards, shardshuffle=100, nodesplitter=webdataset.split_by_node)
              .shuffle(100).decode("pil").to_tuple("jpg", "cls").map_tuple(crop, int).batched(args.batch_size // 2))
    loader = webdataset.WebLoader(photos, batch_size=None, num_workers=args.workers)
    return loader.unbatched().shuffle(100).batched(args.batch_size)


def batches_of(loader, args):
    if not args.synthetic:
        for number, batch in enumerate(loader):
            if number == args.steps:
                return
            yield batch
        return
    kept = next(iter(loader))
    for _ in range(500):
        yield kept


def train(args):
    if args.cpus:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.cpus])
    loader = make_webloader(args) if args.webloader else make_loader(args)

    def values(batches):
        return (batch[0] for batch in batches) if args.webloader else batches

    shards = len(glob.glob(os.path.join(args.folder, "*.*")))
    rounds = shards // max(1, args.workers) if args.forget else 0  # a reader may take a shard into memory at once
    epochs = (values(batches_of(loader, args)) for _ in range(args.epochs))
    return train_steadily(epochs, args.batch_size, args.step_ms, rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--steps", type=int, help="of an epoch, at most")
    parser.add_argument("--cpus", type=int, help="cores that the job may use")
    parser.add_argument("--webloader", action="store_true", help="the shards hold photos")
    parser.add_argument("--image-size", type=int, default=96)
    parser.add_argument("--work-ms", type=float, default=0.0)
    parser.add_argument("--step-ms", type=float, default=20.0)
    parser.add_argument("--forget", action="store_true")
    parser.add_argument("--synthetic", action="store_true")
    args = parser.parse_args()
    print(json.dumps({"samples_per_s": train(args)}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
