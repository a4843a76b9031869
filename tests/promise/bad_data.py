"""Cases of bad_input.py: data sets, what workers do as they start, and samplers."""
import fcntl
import functools
import gc
import multiprocessing
import queue
import random
import socket
import sys
import threading
import time

import numpy as np
import torch
import witness
from job_parts import EPOCHS, Files, Trainee
from torch.utils.data import DataLoader, get_worker_info

BATCH = 8


class OpensFiles(Files):
    """Opens its files in __init__: forked workers share the places in them."""

    def __init__(self):
        super().__init__()
        self.files = [open(path, "rb") for path in self.paths[:96]]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        # Each reading goes on where the last one ended: one that we added would be seen in the sample.
        data = self.files[index].read(768)
        if len(data) < 768:
            self.files[index].seek(0)
            data = self.files[index].read(768)
        image = self.augmented(index, np.frombuffer(data, dtype=np.uint8).astype(np.float32) / 255)
        return {"index": index, "image": image, "place": self.files[index].tell()}


class SharedCache(Files):
    """Keeps augmented samples in a Manager's dict and counts them under a lock: the first making decides."""

    def __init__(self):
        super().__init__()
        self.manager = multiprocessing.Manager()
        self.kept, self.lock, self.calls = self.manager.dict(), multiprocessing.Lock(), multiprocessing.Value("l", 0)

    def __getitem__(self, index):
        with self.lock:
            self.calls.value += 1
            if index not in self.kept:
                self.kept[index] = super().__getitem__(index)
            return self.kept[index]


class OwnCache(Files):
    """Keeps augmented samples in the worker; a sample is never made twice by one worker."""

    def __init__(self):
        super().__init__()
        self.kept, self.calls = {}, 0

    def __getitem__(self, index):
        self.calls += 1
        if index not in self.kept:
            self.kept[index] = super().__getitem__(index)
        return {**self.kept[index], "calls": self.calls}


class Prints(Files):
    """Tells of each sample on stdout and stderr."""

    def __getitem__(self, index):
        sys.stdout.write(f"making {index}\n")
        sys.stdout.flush()
        sys.stderr.write(f"made {index}\n")
        return super().__getitem__(index)


class Sleeps(Files):
    """One sample takes seconds."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds

    def __len__(self):
        return 64

    def __getitem__(self, index):
        if index == 37:
            time.sleep(self.seconds)
        return super().__getitem__(index)


class Allocates(Files):
    """Two samples take a gigabyte while it is made."""

    def __getitem__(self, index):
        if index % 96 == 5:
            block = np.ones(2**27, dtype=np.int64)
            assert int(block[-1]) == 1
        return super().__getitem__(index)


class Threads(Files):
    """Samples are made by a thread of the worker, asked through queues; another thread runs all the while."""

    def __init__(self):
        super().__init__()
        self.asked, self.thread = None, None

    def serve(self):
        while True:
            index = self.asked.get()
            self.made.put(super().__getitem__(index))

    def __getitem__(self, index):
        if self.thread is None or not self.thread.is_alive():
            self.asked, self.made = queue.Queue(), queue.Queue()
            self.thread = threading.Thread(target=self.serve, daemon=True)
            self.thread.start()
            threading.Thread(target=functools.partial(time.sleep, 3600), daemon=True).start()
        self.asked.put(index)
        return self.made.get(timeout=60)


class Children(Files):
    """A sample tells who the worker is and what children, threads and signals it has seen."""

    def __getitem__(self, index):
        with open("/proc/self/comm") as file:
            name = file.read()
        sample = super().__getitem__(index)
        # multiprocessing's own threads begin when something is first sent.
        threads = [thread.name for thread in threading.enumerate() if not thread.name.startswith(("QueueFeeder", "Thread-"))]
        seen = [len(multiprocessing.active_children()), threads, multiprocessing.current_process().name, name]
        return {**sample, "seen": " ".join(map(str, seen))}


class Fails(Files):
    """One sample cannot be made."""

    def __getitem__(self, index):
        if index == 77:
            raise ValueError("sample 77 is broken")
        return super().__getitem__(index)


class Batches:
    """Batches of 0..n-1 in turn, with what a case puts in the place of length and choice."""

    def __init__(self, count, length=None, choose=None, fails_after=None):
        self.count, self.length, self.choose, self.fails_after, self.passes = count, length, choose, fails_after, 0

    def __len__(self):
        return self.length(self)

    def __iter__(self):
        self.passes += 1
        for number in range(self.count // BATCH):
            if number == self.fails_after and self.passes % 2 == 0:
                raise RuntimeError("the sampler is broken")
            chosen = self.choose(number) if self.choose else range(number * BATCH, number * BATCH + BATCH)
            yield [int(index) for index in chosen]


def bind_port(ports, worker):
    """Two of one number at once would be an error."""
    get_worker_info().dataset.bound = bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind(("127.0.0.1", ports[worker]))
    bound.listen()


def lock_device(worker):
    """Nobody else may have it: a lock of the process as LMDB takes, and one that a copy of the descriptor would hold."""
    get_worker_info().dataset.device = device = open(f"device-{worker}", "w")
    deadline = time.monotonic() + 5  # the worker of the pass before may be about to go
    while True:
        try:
            fcntl.lockf(device, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return fcntl.flock(device, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def free_ports(count):
    taken = [socket.socket() for _ in range(count)]
    for one in taken:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in taken]
    for one in taken:
        one.close()
    return ports


def train(data, epochs=EPOCHS, trainee=None, **loader):
    """Trains on a loader with two workers; exceptions of the loader are told, and the next pass begins."""
    loader.setdefault("num_workers", 2)
    if "batch_sampler" not in loader:
        loader = {"batch_size": BATCH, "shuffle": True, **loader}
    loader = DataLoader(data, **loader)
    trainee = trainee or Trainee()
    for number in range(epochs):
        witness.epoch(number)
        try:
            for batch in loader:
                witness.batch(batch)
                trainee.step(batch)
        except (ValueError, RuntimeError) as error:
            witness.note(error=type(error).__name__, **witness.generators())
            print("goes on after", str(error).strip().splitlines()[-1], flush=True)
        # An iterator that an exception's traceback held would be found by the next workers' garbage collection.
        gc.collect()
        trainee.save(number)
    trainee.finish()


def shared_cache():
    data = SharedCache()
    train(data)
    witness.note(calls=data.calls.value, kept=len(data.kept))


def threads():
    """The script has one, too, and each worker makes its samples in threads."""
    threading.Thread(target=functools.partial(time.sleep, 3600), daemon=True).start()
    train(Threads(), persistent_workers=True)


def global_sampler():
    """Draws from all three global generators with every batch, as late as torch asks for it."""
    def choose(_):
        return [random.randrange(192), np.random.randint(192)] + torch.randint(192, (6,)).tolist()

    train(Files(), batch_sampler=Batches(192, lambda sampler: 24, choose))


def steered_sampler():
    """The step tells the sampler what to take next."""
    class Steers(Trainee):
        taken = 0

        def step(self, batch):
            self.taken = (self.taken + int(batch["index"].sum())) % 192
            return super().step(batch)

    trainee = Steers()
    train(Files(), batch_sampler=Batches(192, lambda sampler: 24, lambda number: [(trainee.taken + i) % 192 for i in range(BATCH)]),
          trainee=trainee)


def refuse(_):
    raise NotImplementedError("nobody knows")


def length_raises():
    train(Files(), batch_sampler=Batches(192, refuse))


def sampler_raises_uncaught():
    """The sampler's exception ends the script."""
    loader, trainee = DataLoader(Files(), batch_sampler=Batches(192, lambda sampler: 24, fails_after=11), num_workers=2), Trainee()
    for _ in range(EPOCHS):
        for batch in loader:
            witness.batch(batch)
            trainee.step(batch)


def sampler_never_ends():
    class Endless:
        def __len__(self):
            return 2**31

        def __iter__(self):
            while True:
                yield torch.randint(192, (BATCH,)).tolist()

    trainee = Trainee()
    for number, batch in enumerate(DataLoader(Files(), batch_sampler=Endless(), num_workers=2)):
        witness.batch(batch)
        trainee.step(batch)
        if number == 24 * EPOCHS:
            break
    trainee.finish()


def full_shared_memory():
    """Batches of 1 MiB: /dev/shm has room for what torch has under way, and little more."""
    class Large(Files):
        def __getitem__(self, index):
            return {**super().__getitem__(index), "large": torch.full((32768,), float(index))}

    train(Large())


CASES = {
    "opens-files": lambda: train(OpensFiles(), num_workers=1, persistent_workers=True),
    "shared-cache": shared_cache,
    "own-cache": lambda: train(OwnCache(), persistent_workers=True, shuffle=False),
    "prints": lambda: train(Prints()),
    "sleeps": lambda: train(Sleeps(2), epochs=4),
    "timeout": lambda: train(Sleeps(3.5), epochs=4, timeout=5),
    "allocates": lambda: train(Allocates(), epochs=4, persistent_workers=True),
    "threads": threads,
    "children": lambda: train(Children(), persistent_workers=True),
    "sample-fails": lambda: train(Fails(), epochs=3),
    "sample-fails-persistent": lambda: train(Fails(), persistent_workers=True),
    "binds-port": lambda: train(Files(), worker_init_fn=functools.partial(bind_port, free_ports(2))),
    "locks-device": lambda: train(Files(), worker_init_fn=lock_device),
    "global-sampler": global_sampler,
    "steered-sampler": steered_sampler,
    "sampler-raises": lambda: train(Files(), batch_sampler=Batches(192, lambda sampler: 24, fails_after=11)),
    "sampler-raises-uncaught": sampler_raises_uncaught,
    "sampler-never-ends": sampler_never_ends,
    "length-wrong": lambda: train(Files(), batch_sampler=Batches(192, lambda sampler: 5)),
    "length-too-long": lambda: train(Files(), batch_sampler=Batches(192, lambda sampler: 500)),
    "length-changes": lambda: train(Files(), batch_sampler=Batches(192, lambda sampler: 7 * sampler.passes)),
    "length-raises": length_raises,
    "full-shared-memory": full_shared_memory,
    "few-descriptors": lambda: train(Files(), num_workers=4, prefetch_factor=4),
    "few-processes": lambda: train(Files()),
}
