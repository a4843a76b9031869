#!/usr/bin/env python3
"""A seeded training under a loader that argv[1], JSON, describes; DEFAULTS says what may be asked."""
import json
import sys

import job_parts
import torch
import witness
from job_parts import EPOCHS, Files, Trainee, make_files
from torch.utils.data import (BatchSampler, DataLoader, IterableDataset, RandomSampler, WeightedRandomSampler,
                              get_worker_info)
from torch.utils.data.distributed import DistributedSampler

DEFAULTS = {
    "workers": 2,
    "context": "fork",
    "persistent": False,
    "prefetch": None,
    "sampler": "default",  # or own, loader, distributed, weighted, batch, endless
    "data": "files",  # or stream, at-once
    "in_order": True,
    "stateful": False,  # torchdata's StatefulDataLoader
    "break_after": None,  # batches after which every other pass is left
    "evaluate": False,  # another loader is iterated after each pass
    "pin": False,
}
BATCH = 8


class Stream(IterableDataset):
    """Each worker gives a share of its own size, and tells in what state its generators end."""

    def __init__(self):
        self.files = Files()

    def __iter__(self):
        worker = get_worker_info()
        number, count = (worker.id, worker.num_workers) if worker else (0, 1)
        indices = range(number, len(self.files), count)
        for index in indices[:max(1, len(indices) // (number + 1))]:
            yield self.files[index]
        job_parts.trace(f"ends in {job_parts.state()}")


class AtOnce(Files):
    """Makes a batch by one call, with a draw that all of its samples share."""

    def __getitems__(self, indices):
        shared = torch.rand(1)
        samples = [self[index] for index in indices]
        for sample in samples:
            sample["image"] += shared
        return samples


class Grouped:
    """A batch sampler of the user's own: batches of uneven size, by the parity of a generator of its own."""

    def __init__(self, count):
        self.count, self.generator = count, torch.Generator()

    def __iter__(self):
        order = torch.randperm(self.count, generator=self.generator).tolist()
        while order:
            size = BATCH - int(torch.randint(4, (1,), generator=self.generator))
            yield order[:size]
            order = order[size:]


class Endless:
    """Batches without end, from a generator of its own."""

    def __init__(self, count):
        self.count, self.generator = count, torch.Generator()

    def __iter__(self):
        while True:
            yield torch.randint(self.count, (BATCH,), generator=self.generator).tolist()


def sampling(wanted, data):
    """Arguments of the loader for the sampler asked for, and the generator to watch."""
    kind, generator = wanted["sampler"], torch.Generator()
    generator.manual_seed(5)
    if wanted["data"] == "stream":
        return {"batch_size": BATCH}, None
    if kind == "default":
        return {"batch_size": BATCH, "shuffle": True}, None
    if kind == "loader":
        return {"batch_size": BATCH, "shuffle": True, "generator": generator}, generator
    if kind == "own":
        return {"batch_size": BATCH, "sampler": RandomSampler(data, generator=generator)}, generator
    if kind == "distributed":
        return {"batch_size": BATCH, "sampler": DistributedSampler(data, num_replicas=2, rank=1, seed=3)}, None
    if kind == "weighted":
        weights = torch.arange(1, len(data) + 1, dtype=torch.double)
        return {"batch_size": BATCH, "sampler": WeightedRandomSampler(weights, len(data), generator=generator)}, generator
    if kind == "drawn":
        return {"batch_sampler": BatchSampler(RandomSampler(data, replacement=True), BATCH, True)}, None
    sampler = Grouped(len(data)) if kind == "batch" else Endless(len(data))
    return {"batch_sampler": sampler}, sampler.generator


class Collate:
    """Keeps the last batch that it made in this process, to be known again."""

    made = None

    def __call__(self, samples):
        self.made = torch.utils.data.default_collate(samples)
        return self.made


def loader_of(wanted, data):
    arguments, generator = sampling(wanted, data)
    arguments.update(num_workers=wanted["workers"], pin_memory=wanted["pin"], collate_fn=Collate())
    if wanted["workers"]:
        arguments.update(persistent_workers=wanted["persistent"], multiprocessing_context=wanted["context"])
        if wanted["prefetch"]:
            arguments["prefetch_factor"] = wanted["prefetch"]
    if not wanted["in_order"]:
        arguments["in_order"] = False
    kind = DataLoader
    if wanted["stateful"]:
        from torchdata.stateful_dataloader import StatefulDataLoader as kind
    return kind(data, **arguments), generator


def one_pass(wanted, loader, generator, trainee, batches):
    """Trains on one pass (or on so many batches of an endless one)."""
    seen = []
    for number, batch in enumerate(batches, 1):
        facts = witness.own(generator=generator)
        if wanted["workers"] == 0:
            facts["same_object"] = batch is loader.collate_fn.made
        if wanted["stateful"] and number % 10 == 0:
            facts["state"] = witness.digest(loader.state_dict())
        if wanted["in_order"]:
            witness.batch(batch, **facts)
        else:  # which worker is sooner decides the order
            seen += batch["index"].tolist()
            witness.note(number=number, **witness.generators(), **facts)
        trainee.step(batch)
        if number == wanted["break_after"]:
            break
    if seen:
        witness.note(indices=sorted(seen))


def main():
    wanted = {**DEFAULTS, **json.loads(sys.argv[1])}
    witness.seed(1)
    broken = wanted["break_after"] or wanted["sampler"] == "endless" or not wanted["in_order"]
    kinds = {"files": Files, "at-once": AtOnce}
    data = Stream() if wanted["data"] == "stream" else kinds[wanted["data"]](traced=not broken)
    loader, generator = loader_of(wanted, data)
    evaluated = DataLoader(Files(), batch_size=16, num_workers=1)
    trainee, endless = Trainee(), None
    for number in range(EPOCHS):
        witness.epoch(number)
        if wanted["sampler"] == "distributed":
            loader.sampler.set_epoch(number)
        if wanted["sampler"] == "endless":
            endless = iter(loader) if endless is None else endless  # its length is not known: it is neither true nor false
            batches = (next(endless) for _ in range(20))
        else:
            batches = loader
        one_pass({**wanted, "break_after": wanted["break_after"] if number % 2 else None}, loader, generator, trainee, batches)
        if wanted["evaluate"]:
            for batch in evaluated:
                witness.batch(batch)
        if wanted["in_order"]:
            trainee.save(number)
    if wanted["in_order"]:
        trainee.finish()


if __name__ == "__main__":
    make_files("data") if sys.argv[1:] == ["--make"] else main()
