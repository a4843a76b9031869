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
