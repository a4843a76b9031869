"""Which pages of a file are in memory, how to drop them, and which disk holds them."""

import ctypes
import mmap
import os
import pathlib
import random
import threading
import time

PAGE = mmap.PAGESIZE
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
LIBC.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
MAP_FAILED = ctypes.c_void_p(-1).value


def data_files(root):
    """The files of a data set below `root`, sorted; not its description."""
    return sorted(str(path) for path in pathlib.Path(root).glob("class_*/*") if path.is_file())


def map_file(path, flags):
    """(address, length) of a read-only shared map; length 0 for an empty file."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        length = os.fstat(descriptor).st_size
        if length == 0:
            return None, 0
        address = LIBC.mmap(None, length, mmap.PROT_READ, mmap.MAP_SHARED | flags, descriptor, 0)
        if address == MAP_FAILED:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
        return address, length
    finally:
        os.close(descriptor)


def resident_pages(path):
    """(pages in memory, pages). mincore tells the truth to a file's owner or writer only."""
    address, length = map_file(path, 0)
    if length == 0:
        return 0, 0
    pages = (length + PAGE - 1) // PAGE
    seen = ctypes.create_string_buffer(pages)
    try:
        if LIBC.mincore(address, length, seen) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
    finally:
        LIBC.munmap(address, length)
    return sum(byte & 1 for byte in seen.raw), pages


def resident_fraction(paths):
    """The share of the files' pages that is in memory."""
    counts = [resident_pages(path) for path in paths]
    return sum(resident for resident, _ in counts) / max(1, sum(pages for _, pages in counts))


class ResidencyWatch:
    """Looks every few seconds which share of the files' pages is in memory, at so many of the files (drawn by chance);
    1,000 of them cost about 1 % of a core."""

    def __init__(self, paths, files=1000, every_s=3.0):
        self.paths = random.Random(0).sample(paths, min(files, len(paths)))
        self.every_s = every_s
        self.seen = []  # (monotonic time, share)
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self):
        while not self.stopped.wait(self.every_s):
            self.seen.append((time.monotonic(), resident_fraction(self.paths)))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()

    def mean_of_last(self, seconds, until):
        """The mean share over so many seconds before `until` (monotonic)."""
        shares = [share for at, share in self.seen if until - seconds <= at <= until]
        return sum(shares) / len(shares)


def random_files(folder, sizes):
    """Names of files of random bytes with these sizes in `folder`, made where they are not there, and on the disk."""
    os.makedirs(folder, exist_ok=True)
    names = [os.path.join(folder, f"{number:05d}.bin") for number in range(len(sizes))]
    for name, size in zip(names, sizes):
        if not os.path.exists(name) or os.path.getsize(name) != size:
            with open(name, "wb") as file:
                file.write(os.urandom(size))
    os.sync()
    return names


def evict(paths, most=0.001):
    """Drops the files from memory; raises if more than the share `most` of their pages stays."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)  # a dirty page is not dropped
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)
    left = resident_fraction(paths)
    if left > most:
        raise RuntimeError(f"{left:.1%} of the pages stayed in memory after eviction")


def disk_of(path):
    """"major:minor" of the whole disk that holds `path`, as control groups want it.

    Raises LookupError where no block device stands behind it (tmpfs, network file systems, most overlays).
    """
    device = os.stat(path).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    block = pathlib.Path("/sys/dev/block", number)
    if not block.exists():
        raise LookupError(f"{path} does not lie on a block device (device {number})")
    block = block.resolve()
    if (block / "partition").exists():
        block = block.parent
    return (block / "dev").read_text().strip()
