#!/usr/bin/env python3
"""A job that trains on files with torch and writes down what it saw. argv[1] is JSON: DEFAULTS says what may be asked.

Each pass over the training loader is one line of JSON in `seen`, written when the pass has ended: sizes of its batches, a
checksum of all that was in them, in order, and the weight after it. Whoever runs the job twice finds the same lines. A run
that is ended within a pass leaves no line of it. Several ranks are started as launchers do, reduce a gradient in every
step, and write to `seen`.0, `seen`.1 and so on.
"""
import itertools
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import zlib

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
from torch.utils.data.dataloader import _BaseDataLoaderIter
from torch.utils.data.distributed import DistributedSampler

DEFAULTS = {
    "data": None,  # folder of files
    "seen": None,
    "batch_size": 8,
    "workers": 2,
    "epochs": 10000,
    "step_s": 0.02,
    "shuffle": True,
    "persistent": False,
    "augment": False,  # samples differ at each reading
    "stateful": False,  # samples depend on those made before them
    "iterable": False,  # the data set is a stream, of which each worker of each rank gives its share
    "sized": False,  # the stream has a length
    "record_bytes": 0,  # the stream goes through its files in order, by so much; 0: a sample is a file
    "uneven": False,  # the last worker's share is a third of the others'
    "own_iterator": False,  # the loader takes its batches in a way of its own, as torchdata's StatefulDataLoader does
    "at_once": False,  # the data set makes a batch by one call
    "anew": False,  # the loader is made anew for every pass
    "second": False,  # another loader is iterated beside
    "evaluate": 0,  # training batches between evaluations within the pass
    "counts": False,  # the script asks for as many batches as its loader has, and never beyond
    "stop_after": None,  # batches after which the script leaves a pass
    "save": None,  # file to write a checkpoint to, from the second pass on
    "forgive": False,  # go on after a sample that cannot be read
    "crash_after": None,  # samples after which a worker dies
    "hang_after": None,  # samples after which a worker hangs
    "dies_after": None,  # batches after which the process is killed
    "leaves_after": None,  # batches after which the script calls os._exit(3)
    "own_class": False,  # the script puts a class of its own in the place of torch's DataLoader
    "ranks": 1,
    "collective": True,  # each step sums a gradient over the ranks
    "ddp": False,  # ... as DistributedDataParallel does
    "idle": False,  # makes steps and never asks its loader
    "rank_1": {},  # what is otherwise for this rank
    "exits": 0,  # status of the job once its epochs are over
}


class Files(Dataset):
    def __init__(self, wanted):
        self.wanted = wanted
        self.paths = sorted(os.path.join(wanted["data"], name) for name in os.listdir(wanted["data"]))
        self.made = 0

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb") as file:
            data = file.read()
        self.made += 1
        if self.made == self.wanted["crash_after"]:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.made == self.wanted["hang_after"]:
            time.sleep(3600)
        image = torch.frombuffer(bytearray(data[:4096]), dtype=torch.uint8).float()
        if self.wanted["augment"]:
            image = image * random.random() + torch.rand(1)
        if self.wanted["stateful"]:
            image = image + self.made
        return image, index


class AtOnce(Files):
    """Makes a batch by one call, where torch knows of such calls (from 2.0 on)."""

    def __getitems__(self, indices):
        return [self[index] for index in indices]


class Stream(IterableDataset):
    def __init__(self, files, wanted):
        self.files = files
        self.wanted = wanted

    def __iter__(self):
        worker = get_worker_info()
        first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        share = range(len(self.files))[int(os.environ.get("RANK", 0))::self.wanted["ranks"]][first::step]
        if self.wanted["uneven"] and first == step - 1:
            share = share[: len(share) // 3]
        return (self.files[index] for index in share)


class Sized(Stream):
    def __len__(self):
        return len(self.files) // self.wanted["ranks"]


class Records(Stream):
    def __iter__(self):
        worker = get_worker_info()
        first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        for number in range(len(self.files))[first::step]:
            with open(self.files.paths[number], "rb") as file:
                while data := file.read(self.wanted["record_bytes"]):
                    yield torch.frombuffer(bytearray(data[:4096]), dtype=torch.uint8).float(), number


class OwnIterator(_BaseDataLoaderIter):
    def _next_data(self):
        return self._collate_fn([self._dataset[index] for index in self._next_index()])


class OwnLoader(DataLoader):
    def _get_iterator(self):
        return OwnIterator(self)


def make_loader(dataset, wanted, **other):
    options = {"num_workers": wanted["workers"], "persistent_workers": wanted["persistent"] and wanted["workers"] > 0}
    options.update(batch_size=wanted["batch_size"], shuffle=wanted["shuffle"])
    options.update(other)
    if wanted["iterable"]:
        kind = Records if wanted["record_bytes"] else Sized if wanted["sized"] else Stream
        dataset, options["shuffle"] = kind(dataset, wanted), False
    elif wanted["ranks"] > 1:
        options.update(shuffle=False, sampler=DistributedSampler(dataset))
    if wanted["own_iterator"]:
        return OwnLoader(dataset, **dict(options, num_workers=0, persistent_workers=False))
    return DataLoader(dataset, **options)


class Echoing(DataLoader):
    """A class of the script's own, iterated through a generator."""

    def __iter__(self):
        yield from super().__iter__()


def replace_loader():
    global DataLoader
    DataLoader = torch.utils.data.DataLoader = Echoing


def size_of(index):
    return int(index.numel()) if torch.is_tensor(index) else 1


def checksum(batch, before):
    for part in map(torch.as_tensor, batch):
        before = zlib.crc32(part.contiguous().numpy().tobytes(), before)
    return before


class Job:
    def __init__(self, wanted):
        self.wanted = wanted
        self.taken = 0
        self.dataset = AtOnce(wanted) if wanted["at_once"] else Files(wanted)
        self.loader = make_loader(self.dataset, wanted)
        quiet = dict(wanted, crash_after=None, hang_after=None)
        self.evaluation = DataLoader(torch.utils.data.Subset(Files(quiet), range(10)), batch_size=4)
        self.second = make_loader(Files(quiet), wanted, num_workers=0, shuffle=False) if wanted["second"] else None
        self.model = torch.nn.Linear(1, 1, bias=False)
        if wanted["ddp"]:
            self.model = torch.nn.parallel.DistributedDataParallel(self.model)
        self.weight = next(self.model.parameters())
        self.optimizer = torch.optim.SGD([self.weight], lr=0.01)

    def step(self, image):
        self.optimizer.zero_grad()
        self.model(image.mean().reshape(1, 1)).sum().backward()
        if self.wanted["ranks"] > 1 and self.wanted["collective"] and not self.wanted["ddp"]:
            torch.distributed.all_reduce(self.weight.grad)
        self.optimizer.step()
        time.sleep(self.wanted["step_s"])

    def evaluate(self):
        return [index.tolist() for _, index in self.evaluation]

    def passes(self):
        """The batches of one pass, and the errors where these are forgiven."""
        iterator = iter(self.loader)
        for _ in range(len(self.loader)) if self.wanted["counts"] else itertools.count():
            try:
                yield next(iterator), None
            except StopIteration:
                return
            except OSError as error:
                if not self.wanted["forgive"]:
                    raise
                yield None, error

    def epoch(self):
        seen = {"sizes": [], "errors": 0, "evaluations": [], "seconds": 0, "left": False, "checksum": 0}
        second = iter(self.second) if self.second is not None else None
        for batch, error in self.passes():
            if error is not None:
                seen["errors"] += 1
                continue
            if second is not None:
                seen["seconds"] += next(second, None) is not None
            seen["sizes"].append(size_of(batch[1]))
            seen["checksum"] = checksum(batch, seen["checksum"])
            self.step(batch[0])
            self.taken += 1
            if self.taken == self.wanted["dies_after"]:
                os.kill(os.getpid(), signal.SIGKILL)
            if self.taken == self.wanted["leaves_after"]:
                os._exit(3)
            if self.wanted["evaluate"] and len(seen["sizes"]) % self.wanted["evaluate"] == 0:
                seen["evaluations"].append(self.evaluate())
            if len(seen["sizes"]) == self.wanted["stop_after"]:
                seen["left"] = True
                break
        return seen

    def run(self):
        while self.wanted["idle"]:
            self.step(torch.ones(1))
        for epoch in range(self.wanted["epochs"]):
            if self.wanted["anew"]:
                self.loader = make_loader(self.dataset, self.wanted)
            seen = dict(self.epoch(), epoch=epoch)
            seen["length"] = None if self.wanted["iterable"] else len(self.loader)
            seen["weight"] = self.weight.item()
            with open(self.wanted["seen"], "a") as file:
                file.write(json.dumps(seen) + "\n")
            if self.wanted["save"] and epoch > 0:
                torch.save({"epoch": epoch, "weight": self.weight.item()}, self.wanted["save"])


def launch(ranks):
    """Starts the ranks and waits for them; the status of the first that failed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = dict(os.environ, WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    started = [subprocess.Popen([sys.executable, *sys.argv], env=dict(shared, RANK=str(rank), LOCAL_RANK=str(rank)))
               for rank in range(ranks)]
    return next((status for status in [process.wait() for process in started] if status != 0), 0)


def main():
    wanted = dict(DEFAULTS, **json.loads(sys.argv[1]))
    if wanted["ranks"] > 1 and "RANK" not in os.environ:
        sys.exit(launch(wanted["ranks"]))
    torch.set_num_threads(1)
    if os.environ.get("RANK") == "1":
        wanted.update(wanted["rank_1"])
    if wanted["own_class"]:
        replace_loader()
    if wanted["ranks"] > 1:
        torch.distributed.init_process_group("gloo")
        wanted["seen"] += "." + os.environ["RANK"]
    random.seed(11)
    torch.manual_seed(11)
    Job(wanted).run()
    sys.exit(wanted["exits"])


if __name__ == "__main__":
    main()
