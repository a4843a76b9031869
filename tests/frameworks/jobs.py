"""Small real jobs of several frameworks, each an ordinary script that knows nothing of stallcast.

  jobs.py NAME DATA SEEN EPOCHS

Trains on the arrays in DATA and writes a line of JSON to SEEN for every batch that its training step gets: the epoch,
the shapes, and a hash of the bytes.
"""
import glob
import hashlib
import json
import os
import sys
import time

import numpy
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

BATCH = 8
WORKERS = 2
STEP_S = 0.005


class Seen:
    """What the training step was given."""

    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8")  # closed with the process

    def batch(self, epoch, inputs, labels):
        tensors = [inputs, labels]
        digest = hashlib.sha1(b"".join(t.detach().cpu().contiguous().numpy().tobytes() for t in tensors)).hexdigest()
        line = {"epoch": int(epoch), "shapes": [list(t.shape) for t in tensors], "hash": digest}
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()
        time.sleep(STEP_S)


class Arrays(Dataset):
    def __init__(self, folder):
        self.paths = sorted(glob.glob(os.path.join(folder, "*.npy")))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return torch.from_numpy(numpy.load(self.paths[index])), index % 10


class Stream(IterableDataset):
    """The same samples, each worker every other one."""

    def __init__(self, folder):
        self.arrays = Arrays(folder)

    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for index in range(first, len(self.arrays), step):
            yield self.arrays[index]


class Endless:
    """A sampler that begins anew for ever."""

    def __init__(self, sampler):
        self.sampler = sampler

    def __iter__(self):
        while True:
            yield from self.sampler


class Lasting(DataLoader):
    """One iterator for all epochs, so that workers live on: what scripts did before `persistent_workers`."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.batches = len(self.batch_sampler)
        object.__setattr__(self, "batch_sampler", Endless(self.batch_sampler))
        self.lasting = None

    def __len__(self):
        torch.rand(1, generator=self.generator)  # who asks changes the order of the epochs to come
        return self.batches

    def __iter__(self):
        if self.lasting is None:
            self.lasting = super().__iter__()
        for _ in range(self.batches):
            yield next(self.lasting)


def make_model():
    torch.manual_seed(1)
    return nn.Sequential(nn.Flatten(), nn.Linear(3072, 10))


def make_loader(folder, **options):
    generator = torch.Generator().manual_seed(7)
    return DataLoader(Arrays(folder), batch_size=BATCH, shuffle=True, num_workers=WORKERS, generator=generator,
                      **options)


def train(loader, seen, epochs, step=None):
    """The loop that most scripts have."""
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = nn.CrossEntropyLoss()
    model = step(model) if step else model
    for epoch in range(epochs):
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss_of(model(inputs), labels).backward()
            optimizer.step()
            seen.batch(epoch, inputs, labels)


def plain(folder, seen, epochs):
    train(make_loader(folder), seen, epochs)


def iterable(folder, seen, epochs):
    train(DataLoader(Stream(folder), batch_size=BATCH, num_workers=WORKERS), seen, epochs)


def compiled(folder, seen, epochs):
    train(make_loader(folder), seen, epochs, torch.compile)


def lasting(folder, seen, epochs):
    generator = torch.Generator().manual_seed(7)
    loader = Lasting(Arrays(folder), batch_size=BATCH, shuffle=True, num_workers=WORKERS, generator=generator)
    train(loader, seen, epochs)


def evaluating(folder, seen, epochs):
    """An evaluation in the midst of each epoch, by a loader of its own; gradients are accumulated over two batches."""
    model, loss_of = make_model(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    training, validation = make_loader(folder, persistent_workers=True), DataLoader(Arrays(folder), batch_size=32)
    for epoch in range(epochs):
        for number, (inputs, labels) in enumerate(training):
            loss_of(model(inputs), labels).backward()
            if number % 2:
                optimizer.step()
                optimizer.zero_grad()
            if number == len(training) // 2:
                with torch.no_grad():
                    for some, _ in validation:
                        model(some)
            seen.batch(epoch, inputs, labels)


def lightning(folder, seen, epochs):
    import lightning as L

    class Module(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = make_model()

        def training_step(self, batch, _):
            seen.batch(self.current_epoch, *batch)
            return nn.functional.cross_entropy(self.model(batch[0]), batch[1])

        def validation_step(self, batch, _):
            self.model(batch[0])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01)

    trainer = L.Trainer(max_epochs=epochs, accelerator="cpu", logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=2)
    trainer.fit(Module(), make_loader(folder), DataLoader(Arrays(folder), batch_size=32, num_workers=WORKERS))


def accelerate(folder, seen, epochs):
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    model, optimizer, loader = accelerator.prepare(model, optimizer, make_loader(folder))
    for epoch in range(epochs):
        for inputs, labels in loader:
            with accelerator.accumulate(model):
                accelerator.backward(nn.functional.cross_entropy(model(inputs), labels))
                optimizer.step()
                optimizer.zero_grad()
            seen.batch(epoch, inputs, labels)


def trainer(folder, seen, epochs):
    from transformers import Trainer, TrainingArguments

    class Named(Dataset):
        def __init__(self):
            self.arrays = Arrays(folder)

        def __len__(self):
            return len(self.arrays)

        def __getitem__(self, index):
            values, label = self.arrays[index]
            return {"values": values, "labels": label}

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = make_model()

        def forward(self, values, labels):
            logits = self.model(values)
            return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}

    class Watching(Trainer):
        def training_step(self, model, inputs, *rest):
            seen.batch(int(self.state.epoch or 0), inputs["values"], inputs["labels"])
            return super().training_step(model, inputs, *rest)

    arguments = TrainingArguments(output_dir=os.path.join(folder, "..", "trainer"), num_train_epochs=epochs,
                                  use_cpu=True, per_device_train_batch_size=BATCH, dataloader_num_workers=WORKERS,
                                  report_to=[], save_strategy="no", disable_tqdm=True, seed=3, logging_strategy="no")
    Watching(model=Classifier(), args=arguments, train_dataset=Named()).train()


def webdataset(folder, seen, epochs):
    import io
    import tarfile

    import webdataset as wds

    shards = os.path.join(folder, "shards")
    if not os.path.isdir(shards):
        os.makedirs(shards)
        paths = Arrays(folder).paths
        for shard in range(4):
            with tarfile.open(os.path.join(shards, "%04d.tar" % shard), "w") as tar:
                for path in paths[shard::4]:
                    tar.add(path, arcname=os.path.basename(path))
                    label = str(int(os.path.basename(path)[:5]) % 10).encode()
                    info = tarfile.TarInfo(os.path.basename(path)[:-3] + "cls")
                    info.size = len(label)
                    tar.addfile(info, io.BytesIO(label))
    urls = sorted(glob.glob(os.path.join(shards, "*.tar")))
    samples = wds.WebDataset(urls, shardshuffle=False).decode().to_tuple("npy", "cls")
    loader = wds.WebLoader(samples.batched(BATCH), batch_size=None, num_workers=WORKERS)
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(epochs):
        for inputs, labels in loader:
            inputs, labels = torch.as_tensor(numpy.asarray(inputs)), torch.as_tensor(labels)
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
            seen.batch(epoch, inputs, labels)


def streaming(folder, seen, epochs):
    from streaming import MDSWriter, StreamingDataset

    shards = os.path.join(folder, "mds")
    if not os.path.isdir(shards):
        with MDSWriter(out=shards, columns={"values": "ndarray:float32:3,32,32", "label": "int"}) as writer:
            arrays = Arrays(folder)
            for index in range(len(arrays)):
                values, label = arrays[index]
                writer.write({"values": values.numpy(), "label": int(label)})
    samples = StreamingDataset(local=shards, shuffle=True, shuffle_seed=5, batch_size=BATCH, num_canonical_nodes=1)
    loader = DataLoader(samples, batch_size=BATCH, num_workers=WORKERS)
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(epochs):
        for batch in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(batch["values"]), batch["label"]).backward()
            optimizer.step()
            seen.batch(epoch, batch["values"], batch["label"])


def stateful(folder, seen, epochs):
    from torchdata.stateful_dataloader import StatefulDataLoader

    generator = torch.Generator().manual_seed(7)
    train(StatefulDataLoader(Arrays(folder), batch_size=BATCH, shuffle=True, num_workers=WORKERS, generator=generator),
          seen, epochs)


def timm(folder, seen, epochs):
    from timm.data.loader import MultiEpochsDataLoader

    generator = torch.Generator().manual_seed(7)
    train(MultiEpochsDataLoader(Arrays(folder), batch_size=BATCH, shuffle=True, num_workers=WORKERS,
                                generator=generator), seen, epochs)


class Images(Arrays):
    """The same samples as bytes, as timm collates them."""

    def __getitem__(self, index):
        values, label = super().__getitem__(index)
        return (values.numpy() * 40 + 128).clip(0, 255).astype(numpy.uint8), label


def timm_prefetch(folder, seen, epochs):
    from timm.data.loader import PrefetchLoader, fast_collate

    generator = torch.Generator().manual_seed(7)
    loader = DataLoader(Images(folder), batch_size=BATCH, shuffle=True, num_workers=WORKERS, generator=generator,
                        collate_fn=fast_collate, persistent_workers=True)
    train(PrefetchLoader(loader, device=torch.device("cpu")), seen, epochs)


# name: (job, module that it needs beyond torch and numpy)
JOBS = {"plain": (plain, None), "lasting": (lasting, None), "iterable": (iterable, None),
        "evaluating": (evaluating, None), "compiled": (compiled, None), "lightning": (lightning, "lightning"),
        "accelerate": (accelerate, "accelerate"), "trainer": (trainer, "transformers"),
        "webdataset": (webdataset, "webdataset"), "streaming": (streaming, "streaming"),
        "stateful": (stateful, "torchdata"), "timm": (timm, "timm"), "timm_prefetch": (timm_prefetch, "timm")}


def main(jobs):
    name, folder, seen, epochs = sys.argv[1:]
    torch.manual_seed(11)
    torch.set_num_threads(1)
    jobs[name][0](folder, Seen(seen), int(epochs))


if __name__ == "__main__":
    main(JOBS)
