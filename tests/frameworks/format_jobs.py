"""Jobs on data as large data sets are stored: each a file format, read by its own library under torch's loader.

  format_jobs.py NAME DATA SEEN EPOCHS

As jobs.py. The files are made of the arrays in DATA by the first run.
"""
import glob
import json
import multiprocessing
import os

import numpy
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

from jobs import BATCH, WORKERS, Arrays, main, train

SHAPE = (3, 32, 32)
SHARDS = 4
ROWS = 16  # of a group, a chunk or a record batch


def made(folder, name, make):
    """The folder `name`, which `make(folder, arrays)` fills once, in a process of its own: libraries start threads."""
    target = os.path.join(folder, name)
    if not os.path.isdir(target):
        os.makedirs(target + ".part")
        process = multiprocessing.get_context("spawn").Process(target=make, args=(target + ".part", Arrays(folder)))
        process.start()
        process.join()
        assert process.exitcode == 0
        os.rename(target + ".part", target)
    return target


def shard_path(folder, number, ending):
    return os.path.join(folder, "%04d.%s" % (number, ending))


def rows_of(arrays, shard):
    """Bytes and label of each sample of a shard."""
    return [(arrays[index][0].numpy().tobytes(), arrays[index][1]) for index in range(shard, len(arrays), SHARDS)]


def tensor_of(data):
    return torch.frombuffer(bytearray(data), dtype=torch.float32).reshape(SHAPE)


def streamed(samples):
    return DataLoader(samples, batch_size=BATCH, num_workers=WORKERS)


def drawn(samples):
    generator = torch.Generator().manual_seed(7)
    return DataLoader(samples, batch_size=BATCH, shuffle=True, num_workers=WORKERS, generator=generator)


class Shards(IterableDataset):
    """Samples that `read` gives of each path, shards split by worker."""

    def __init__(self, paths, read):
        self.paths, self.read = paths, read

    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for path in self.paths[first::step]:
            for data, label in self.read(path):
                yield tensor_of(data), int(label)


def table_of(arrays, shard):
    import pyarrow

    data, labels = zip(*rows_of(arrays, shard))
    return pyarrow.table({"data": list(data), "label": list(labels)})


def make_parquet(target, arrays):
    import pyarrow.parquet

    for shard in range(SHARDS):
        pyarrow.parquet.write_table(table_of(arrays, shard), shard_path(target, shard, "parquet"), row_group_size=ROWS)


def rows_of_batches(batches):
    for batch in batches:
        for data, label in zip(batch.column("data"), batch.column("label")):
            yield data.as_py(), label.as_py()


def parquet(folder, seen, epochs):
    """Groups of rows by pyarrow, whose threads read the columns."""
    import pyarrow.parquet

    paths = sorted(glob.glob(os.path.join(made(folder, "parquet", make_parquet), "*")))
    read = lambda path: rows_of_batches(pyarrow.parquet.ParquetFile(path).iter_batches(batch_size=ROWS))  # noqa: E731
    train(streamed(Shards(paths, read)), seen, epochs)


def make_arrow(target, arrays):
    import pyarrow

    for shard in range(SHARDS):
        table = table_of(arrays, shard)
        with pyarrow.OSFile(shard_path(target, shard, "arrow"), "wb") as file:
            with pyarrow.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table, max_chunksize=ROWS)


def arrow(folder, seen, epochs):
    """Record batches of Arrow files that are mapped."""
    import pyarrow

    def read(path):
        with pyarrow.memory_map(path) as file:
            reader = pyarrow.ipc.open_file(file)
            yield from rows_of_batches(map(reader.get_batch, range(reader.num_record_batches)))

    paths = sorted(glob.glob(os.path.join(made(folder, "arrow", make_arrow), "*")))
    train(streamed(Shards(paths, read)), seen, epochs)


class Rows(Dataset):
    """Samples by number, of what `open_file` opens once in each worker."""

    def __init__(self, length, open_file, read):
        self.length, self.open_file, self.read, self.file = length, open_file, read, None

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        if self.file is None:
            self.file = self.open_file()
        data, label = self.read(self.file, index)
        return tensor_of(data), int(label)


def make_saved(target, arrays):
    import datasets

    rows = [row for shard in range(SHARDS) for row in rows_of(arrays, shard)]
    table = {"data": [data for data, _ in rows], "label": [label for _, label in rows]}
    datasets.Dataset.from_dict(table).save_to_disk(target)


def datasets_map(folder, seen, epochs):
    """`datasets`, by number: Arrow files that are mapped."""
    import datasets

    saved = datasets.load_from_disk(made(folder, "saved", make_saved))
    read = lambda rows, index: (rows[index]["data"], rows[index]["label"])  # noqa: E731
    train(drawn(Rows(len(saved), lambda: saved, read)), seen, epochs)


def datasets_parquet(folder, seen, epochs):
    """`datasets` as a stream of parquet files, through a shuffle buffer."""
    paths = sorted(glob.glob(os.path.join(made(folder, "parquet", make_parquet), "*")))
    train_pairs(paths, "parquet", seen, epochs, lambda row: {"x": tensor_of(row["data"]), "y": row["label"]})


def make_jsonl(target, arrays):
    for shard in range(SHARDS):
        with open(shard_path(target, shard, "jsonl"), "w", encoding="utf-8") as file:
            for data, label in rows_of(arrays, shard):
                values = numpy.frombuffer(data, numpy.float32)[:64].tolist()
                file.write(json.dumps({"data": values, "label": int(label)}) + "\n")


def datasets_jsonl(folder, seen, epochs):
    """`datasets` as a stream of lines of JSON."""
    paths = sorted(glob.glob(os.path.join(made(folder, "jsonl", make_jsonl), "*")))

    def decode(row):
        return {"x": torch.tensor(row["data"]).repeat(48).reshape(SHAPE), "y": row["label"]}

    train_pairs(paths, "json", seen, epochs, decode)


class Tensors:
    """A loader whose batches, of columns or of arrays, are handed on as two tensors."""

    def __init__(self, loader):
        self.loader = loader

    def __iter__(self):
        for batch in self.loader:
            values, labels = (batch["x"], batch["y"]) if isinstance(batch, dict) else batch
            yield torch.as_tensor(values), torch.as_tensor(labels)


def train_pairs(paths, kind, seen, epochs, decode):
    import datasets
    from datasets.distributed import split_dataset_by_node

    samples = datasets.load_dataset(kind, data_files=paths, split="train", streaming=True)
    samples = split_dataset_by_node(samples.shuffle(seed=5, buffer_size=32), rank=0, world_size=1)
    samples = samples.map(decode, remove_columns=["data", "label"]).with_format("torch")
    train(Tensors(streamed(samples)), seen, epochs)


def make_hdf5(target, arrays):
    import h5py

    with h5py.File(os.path.join(target, "samples.h5"), "w") as file:
        stacked = numpy.stack([arrays[index][0].numpy() for index in range(len(arrays))])
        file.create_dataset("data", data=stacked, chunks=(ROWS, *SHAPE))


def hdf5(folder, seen, epochs):
    """HDF5 in chunks, opened in each worker."""
    import h5py

    path = os.path.join(made(folder, "hdf5", make_hdf5), "samples.h5")
    length = len(Arrays(folder))
    train(drawn(Rows(length, lambda: h5py.File(path, "r")["data"], lambda file, index: (file[index].tobytes(), index % 10))),
          seen, epochs)


def make_zarr(target, arrays):
    import zarr

    stacked = numpy.stack([arrays[index][0].numpy() for index in range(len(arrays))])
    stored = zarr.open(os.path.join(target, "samples.zarr"), mode="w", shape=stacked.shape, chunks=(ROWS, *SHAPE),
                       dtype="float32")
    stored[:] = stacked


def zarr(folder, seen, epochs):
    """Zarr: a file for each chunk, read by an event loop's threads."""
    import zarr as library

    path = os.path.join(made(folder, "zarr", make_zarr), "samples.zarr")
    length = len(Arrays(folder))
    open_file = lambda: library.open(path, mode="r")  # noqa: E731
    read = lambda file, index: (numpy.asarray(file[index]).tobytes(), index % 10)  # noqa: E731
    train(drawn(Rows(length, open_file, read)), seen, epochs)


def make_lmdb(target, arrays):
    import lmdb as library

    with library.open(target, map_size=1 << 28) as store, store.begin(write=True) as transaction:
        for index in range(len(arrays)):
            transaction.put(b"%08d" % index, arrays[index][0].numpy().tobytes())


def lmdb(folder, seen, epochs):
    """LMDB, mapped, opened in each worker."""
    import lmdb as library

    path = made(folder, "lmdb", make_lmdb)
    open_file = lambda: library.open(path, readonly=True, lock=False, readahead=False).begin()  # noqa: E731
    read = lambda file, index: (file.get(b"%08d" % index), index % 10)  # noqa: E731
    train(drawn(Rows(len(Arrays(folder)), open_file, read)), seen, epochs)


def make_litdata(target, arrays):
    from litdata.streaming.cache import Cache

    cache = Cache(target, chunk_size=64)
    for index in range(len(arrays)):
        values, label = arrays[index]
        cache[index] = {"data": values.numpy().tobytes(), "label": int(label)}
    cache.done()
    cache.merge()


def litdata(folder, seen, epochs):
    """litdata's StreamingDataset and its loader."""
    from litdata import StreamingDataLoader, StreamingDataset

    class Decoded(StreamingDataset):
        def __getitem__(self, index):
            row = super().__getitem__(index)
            return tensor_of(row["data"]), row["label"]

    samples = Decoded(made(folder, "litdata", make_litdata), shuffle=True, seed=3)
    train(StreamingDataLoader(samples, batch_size=BATCH, num_workers=WORKERS), seen, epochs)


def make_tar(target, arrays):
    import io
    import tarfile

    for shard in range(SHARDS):
        with tarfile.open(shard_path(target, shard, "tar"), "w") as tar:
            for number, (data, label) in enumerate(rows_of(arrays, shard)):
                for ending, content in (("bin", data), ("cls", str(label).encode())):
                    info = tarfile.TarInfo("%02d%05d.%s" % (shard, number, ending))
                    info.size = len(content)
                    tar.addfile(info, io.BytesIO(content))


def tar(folder, seen, epochs):
    """tarfile alone."""
    import tarfile

    def read(path):
        with tarfile.open(path) as file:
            data = None
            for member in file:
                content = file.extractfile(member).read()
                if member.name.endswith(".bin"):
                    data = content
                else:
                    yield data, content

    paths = sorted(glob.glob(os.path.join(made(folder, "tar", make_tar), "*")))
    train(streamed(Shards(paths, read)), seen, epochs)


def webdataset_resampled(folder, seen, epochs):
    """WebDataset: shards drawn with replacement without end, cut into epochs; shuffled in the workers."""
    import webdataset

    urls = sorted(glob.glob(os.path.join(made(folder, "tar", make_tar), "*")))
    samples = webdataset.DataPipeline(
        webdataset.ResampledShards(urls, deterministic=True, seed=3), webdataset.tarfile_to_samples(),
        webdataset.shuffle(16, seed=5), webdataset.to_tuple("bin", "cls"), webdataset.map_tuple(tensor_of, int),
        webdataset.batched(BATCH)).with_epoch(24)
    train(Tensors(webdataset.WebLoader(samples, batch_size=None, num_workers=WORKERS)), seen, epochs)


def webdataset_shuffled(folder, seen, epochs):
    """WebDataset: shards shuffled and split by worker; samples shuffled and batched in the process that trains."""
    import webdataset

    urls = sorted(glob.glob(os.path.join(made(folder, "tar", make_tar), "*")))
    samples = (webdataset.WebDataset(urls, shardshuffle=SHARDS, detshuffle=True, seed=3,
                                     workersplitter=webdataset.split_by_worker)
               .to_tuple("bin", "cls").map_tuple(tensor_of, int).batched(BATCH))
    loader = webdataset.WebLoader(samples, batch_size=None, num_workers=WORKERS)
    train(Tensors(loader.unbatched().shuffle(16, seed=5).batched(BATCH)), seen, epochs)


# name: (job, module that it needs beyond torch and numpy)
JOBS = {"tar": (tar, None), "parquet": (parquet, "pyarrow"), "arrow": (arrow, "pyarrow"),
        "datasets_map": (datasets_map, "datasets"), "datasets_parquet": (datasets_parquet, "datasets"),
        "datasets_jsonl": (datasets_jsonl, "datasets"), "hdf5": (hdf5, "h5py"), "zarr": (zarr, "zarr"),
        "lmdb": (lmdb, "lmdb"), "litdata": (litdata, "litdata"),
        "webdataset_resampled": (webdataset_resampled, "webdataset"),
        "webdataset_shuffled": (webdataset_shuffled, "webdataset")}


if __name__ == "__main__":
    main(JOBS)
