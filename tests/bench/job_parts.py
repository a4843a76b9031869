"""What the jobs of the benchmarks have in common: files to read, and CPU time to spend on what was read."""

import glob
import hashlib
import os
import time


def spend_cpu(data, seconds):
    """Of this thread. Lets go of the GIL, which the thread that hands batches over needs, too."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        hashlib.sha256(data)


SKIPPED = 12  # batches of each epoch's begin and end


def train_steadily(epochs, batch_size, step_ms, rounds=0):
    """Samples a second of a job whose steps take next to nothing beside a pause: over all epochs, their begin and end aside.
    `epochs`: an iterable of batches for each; the mean of each batch's values is trained on. `rounds`: an epoch is made of
    so many alike, as of a shard of each worker: what counts begins and ends at the same place of one."""
    import torch

    torch.set_num_threads(1)
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    seconds = batches = 0
    for epoch in epochs:
        times = []
        for batch in epoch:
            times.append(time.monotonic())
            optimizer.zero_grad()
            (weight * batch.mean()).sum().backward()
            optimizer.step()
            time.sleep(step_ms * 1e-3)
        counted = len(times) - 2 * SKIPPED
        if rounds:
            counted = counted * rounds // len(times) * len(times) // rounds
        if counted > SKIPPED:
            seconds += times[SKIPPED + counted] - times[SKIPPED]
            batches += counted
    return batch_size * batches / seconds


class Files:
    """A map-style data set: of each FOLDER/*.bin the first `values` bytes as floats, after `work_ms` of CPU."""

    def __init__(self, folder, work_ms, values, forget=False):
        """`forget`: drops each file from the page cache once it was read."""
        self.names = sorted(glob.glob(os.path.join(folder, "*.bin")))
        self.work_s, self.values, self.forget = work_ms * 1e-3, values, forget

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        import torch  # not at the top: benchmarks import this without it

        with open(self.names[index], "rb") as file:
            data = file.read()
            if self.forget:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        spend_cpu(data, self.work_s)
        return torch.frombuffer(bytearray(data[:self.values]), dtype=torch.uint8).float()
