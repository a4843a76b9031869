"""Cases of bad_input.py: what the training script does with its loaders and processes."""
import itertools
import multiprocessing
import signal
import subprocess
import sys
import threading
from collections import UserDict

import torch
import witness
from job_parts import EPOCHS, Files, Trainee
from torch.utils.data import DataLoader

BATCH = 8


def loader_of(**more):
    return DataLoader(Files(), **{"batch_size": BATCH, "shuffle": True, "num_workers": 2, **more})


def steps(trainee, loader, most=None, **facts):
    for batch in itertools.islice(loader, most):
        witness.batch(batch, **facts)
        trainee.step(batch)


def breaks(**more):
    """Leaves every other pass early; a whole pass follows."""
    trainee, loader = Trainee(), loader_of(**more)
    for number in range(EPOCHS):
        witness.epoch(number, **witness.own(generator=loader.generator))
        for count, batch in enumerate(loader, 1):
            witness.batch(batch, **witness.own(generator=loader.generator))
            trainee.step(batch)
            if number % 2 == 0 and count == 7:
                break
        trainee.save(number)
    trainee.finish()


def stops_early():
    """Ends the training in the middle of a pass, where the loss says so."""
    trainee, loader, total = Trainee(), loader_of(persistent_workers=True), 0.0
    for _ in range(EPOCHS):
        for batch in loader:
            witness.batch(batch)
            total += trainee.step(batch)
            if total > 24 * EPOCHS * 0.6 * 1.4:
                trainee.save(1)
                return trainee.finish()
    return trainee.finish()


def replaces_loader():
    """Another loader in the middle of a pass, which the first one's workers do not outlive."""
    trainee, size = Trainee(), BATCH
    for _ in range(EPOCHS):
        loader = loader_of(batch_size=size)
        for count, batch in enumerate(loader, 1):
            witness.batch(batch)
            trainee.step(batch)
            if count == 10:
                break
        del loader
        size = 4 if size == BATCH else BATCH
        steps(trainee, loader_of(batch_size=size), 14)
    trainee.finish()


def step_raises():
    """Every ninth step fails after it took its batch; the loop goes on with the same iterator."""
    trainee, loader = Trainee(), loader_of()
    for _ in range(EPOCHS):
        for count, batch in enumerate(loader, 1):
            try:
                witness.batch(batch)
                if count % 9 == 0:
                    raise FloatingPointError("the loss is not finite")
                trainee.step(batch)
            except FloatingPointError as error:
                print(error, flush=True)
    trainee.finish()


def holds_pipe():
    """A process at the other end of a pipe ends once the last who holds the pipe has closed it."""
    trainee, loader = Trainee(), loader_of(persistent_workers=True)
    logger = subprocess.Popen([sys.executable, "-c", "import sys; open('logged', 'w').write(sys.stdin.read())"],
                              stdin=subprocess.PIPE, text=True)
    for number in range(EPOCHS):
        steps(trainee, loader)
        print("epoch", number, file=logger.stdin, flush=True)
    del loader
    logger.stdin.close()
    print("the logger said", logger.wait(timeout=60))
    trainee.finish()


def counts_children():
    """Tells with each batch what children, threads and SIGCHLD the training process has."""
    ended = []
    signal.signal(signal.SIGCHLD, lambda number, frame: ended.append(number))
    trainee, loader = Trainee(), loader_of(persistent_workers=True)
    for _ in range(EPOCHS):
        for batch in loader:
            witness.batch(batch, children=len(multiprocessing.active_children()), signals=len(ended),
                          threads=sorted(thread.name for thread in threading.enumerate()))
            trainee.step(batch)
    trainee.finish()


def two_loaders():
    """Two loaders side by side, batch by batch, as for GANs and for labelled and unlabelled samples."""
    trainee, one, two = Trainee(), loader_of(), loader_of(num_workers=1, batch_size=4)
    for _ in range(EPOCHS):
        for first, second in zip(one, two):
            witness.batch((first, second))
            trainee.step(first)
            trainee.step(second)
    trainee.finish()


class Popped(UserDict):
    """A batch as tokenizers make them."""


def pop_label(rows):
    """Takes a field out of the data set's own rows."""
    return torch.utils.data.default_collate([{"label": row.pop("label"), **row} for row in rows])


def pops():
    """Collating changes the data set's rows, which works once for each worker; the step takes out of its batch."""
    class Rows(Files):
        def __init__(self):
            super().__init__()
            self.rows = [{"label": index % 4, "index": index} for index in range(len(self.paths))]

        def __getitem__(self, index):
            row = self.rows[index]
            row["image"] = super().__getitem__(index)["image"]
            return row

    trainee, loader = Trainee(), DataLoader(Rows(), batch_size=BATCH, num_workers=2, shuffle=True,
                                            collate_fn=lambda rows: Popped(pop_label(rows)))
    for _ in range(EPOCHS):
        for batch in loader:
            witness.batch(batch)
            batch.pop("label")
            batch["image"].mul_(0.5)
            trainee.step(batch)
    trainee.finish()


def grows():
    """Larger images in later passes, set before each."""
    trainee, data = Trainee(), Files()
    plain = data.augmented
    loader = DataLoader(data, batch_size=BATCH, num_workers=2, shuffle=True)
    for number in range(EPOCHS):
        data.augmented = lambda index, read, times=number + 1: plain(index, read).repeat(times)
        for batch in loader:
            witness.batch(batch)
            trainee.step({**batch, "image": batch["image"][:, :768]})
    trainee.finish()


def cycles():
    """The batches of one pass, kept and given again and again."""
    trainee = Trainee()
    steps(trainee, itertools.cycle(loader_of()), 24 * EPOCHS)
    trainee.finish()


def asks_anew():
    """An iterator for each step."""
    trainee, loader = Trainee(), loader_of()
    for _ in range(12):
        batch = next(iter(loader))
        witness.batch(batch)
        trainee.step(batch)
    trainee.finish()


def ranks():
    """Two ranks with a gradient summed in each step; they evaluate at different times. Run under torchrun."""
    import torch.distributed as dist
    from torch.utils.data.distributed import DistributedSampler

    dist.init_process_group("gloo")
    rank, data = dist.get_rank(), Files()
    torch.manual_seed(rank)
    sampler = DistributedSampler(data, shuffle=True)
    loader = DataLoader(data, batch_size=BATCH, sampler=sampler, num_workers=2)
    evaluated, trainee = DataLoader(Files(), batch_size=32, num_workers=1), Trainee()
    for number in range(EPOCHS):
        sampler.set_epoch(number)
        for count, batch in enumerate(loader, 1):
            witness.batch(batch)
            trainee.step(batch)
            dist.all_reduce(trainee.model.weight.data)
            trainee.model.weight.data /= 2
            if count == 4 + 4 * rank:
                for held in evaluated:
                    witness.batch(held)
        if rank == 0:
            trainee.save(number)
    witness.weights(trainee.model)
    dist.barrier()
    dist.destroy_process_group()


def cuda_batches():
    """Workers make batches on the device (spawn)."""
    trainee = Trainee()
    loader = DataLoader(OnDevice(), batch_size=BATCH, num_workers=2, multiprocessing_context="spawn", persistent_workers=True)
    for _ in range(EPOCHS):
        for batch in loader:
            witness.batch(batch)
            trainee.step({key: value.cpu() for key, value in batch.items()})
    trainee.finish()


class OnDevice(Files):
    def __getitem__(self, index):
        return {key: torch.as_tensor(value).cuda() for key, value in super().__getitem__(index).items()}


CASES = {
    "break": breaks,
    "break-persistent": lambda: breaks(persistent_workers=True),
    "break-generator": lambda: breaks(generator=torch.Generator().manual_seed(4)),
    "break-generator-persistent": lambda: breaks(generator=torch.Generator().manual_seed(4), persistent_workers=True),
    "stops-early": stops_early,
    "replaces-loader": replaces_loader,
    "step-raises": step_raises,
    "holds-pipe": holds_pipe,
    "counts-children": counts_children,
    "two-loaders": two_loaders,
    "pops": pops,
    "grows": grows,
    "cycles": cycles,
    "asks-anew": asks_anew,
    "ranks": ranks,
    "cuda-batches": cuda_batches,
}
