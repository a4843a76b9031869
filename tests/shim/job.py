"""A training job whose every batch counts: prints a hash of all that its loop saw.

argv[1] is a JSON list of options; each is one job, and prints one line of JSON.
"""

import collections
import hashlib
import json
import random
import sys
import time

import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler

OPTIONS = {
    "samples": 50,
    "batch_size": 8,
    "workers": 0,
    "context": None,
    "persistent": False,
    "drop_last": False,
    "shuffle": True,
    "batch": "tuple",  # tuple, dict, namedtuple
    "batch_sampler": False,
    "getitems": False,
    "iterable": False,
    "epochs": 2,
    "stop_after": None,  # batches of an epoch after which the loop breaks
    "evaluate": False,  # over a loader of its own
    "evaluate_again": False,  # over the loader itself, without gradients
    "in_order": True,
    "step_s": 0,
}

Pair = collections.namedtuple("Pair", "image label")


class Numbers(Dataset):
    def __init__(self, samples, batch="tuple"):
        self.samples = samples
        self.batch = batch

    def __len__(self):
        return self.samples

    def __getitem__(self, index):
        # Random numbers of all three sources: any that the shim drew would change what follows.
        image = torch.rand(3, 4) + index + random.random()
        if self.batch == "dict":
            return {"name": "n%d" % index, "image": image, "label": index}
        if self.batch == "namedtuple":
            return Pair(image, index)
        return image, index


class ManyNumbers(Numbers):
    def __getitems__(self, indices):
        return [self[index] for index in indices]


class Stream(IterableDataset):
    def __init__(self, samples):
        self.samples = samples

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        first, stride = (info.id, info.num_workers) if info else (0, 1)
        return iter([(torch.rand(2), index) for index in range(first, self.samples, stride)])


def add_to(digest, batch):
    if isinstance(batch, torch.Tensor):
        digest.update(batch.numpy().tobytes())
    elif isinstance(batch, dict):
        for key in sorted(batch):
            add_to(digest, batch[key])
    elif isinstance(batch, (list, tuple)):
        digest.update(type(batch).__name__.encode())
        for part in batch:
            add_to(digest, part)
    else:
        digest.update(repr(batch).encode())


def make_loader(options):
    samples = options["samples"]
    if options["iterable"]:
        dataset = Stream(samples)
    else:
        dataset = (ManyNumbers if options["getitems"] else Numbers)(samples, options["batch"])
    arguments = {"num_workers": options["workers"], "persistent_workers": options["persistent"]}
    if options["workers"]:
        arguments["multiprocessing_context"] = options["context"]
    if not options["in_order"]:
        arguments["in_order"] = False
    if options["batch_sampler"]:
        arguments["batch_sampler"] = BatchSampler(RandomSampler(dataset), options["batch_size"], False)
    else:
        arguments["batch_size"] = options["batch_size"]
        if options["batch_size"] is not None:
            arguments["drop_last"] = options["drop_last"]
        if not options["iterable"]:
            arguments["shuffle"] = options["shuffle"]
    return DataLoader(dataset, **arguments)


def run(options):
    torch.manual_seed(1)
    random.seed(1)
    loader = make_loader(options)
    evaluation = DataLoader(Numbers(6), batch_size=3) if options["evaluate"] else None
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    digest = hashlib.sha256()
    seen = 0
    for _ in range(options["epochs"]):
        for number, batch in enumerate(loader):
            add_to(digest, batch)
            seen += 1
            weight.grad = torch.ones(1)
            optimizer.step()
            time.sleep(options["step_s"])
            if options["stop_after"] is not None and number + 1 >= options["stop_after"]:
                break
        for batch in evaluation or ():
            add_to(digest, batch)
        if options["evaluate_again"]:
            with torch.no_grad():
                for batch in loader:
                    add_to(digest, batch)
    digest.update(repr((random.random(), torch.rand(1).item())).encode())
    print(json.dumps({"hash": digest.hexdigest(), "batches": seen, "weight": weight.item()}))


if __name__ == "__main__":
    for chosen in json.loads(sys.argv[1]):
        run(dict(OPTIONS, **chosen))
