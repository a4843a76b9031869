"""Whether as many batches as a loader may have under way can lie ready at once: those of a job that waits for its data
never did."""

import os
import resource
import sys

_SPARE_BYTES = 16 << 20
_SPARE_DESCRIPTORS = 32


def lacking(batches, batch_bytes, tensors, pids):
    """What there is too little of for `batches` batches; None where there is enough. `tensors`: of one batch."""
    needed = 2 * batches * batch_bytes + _SPARE_BYTES
    free = _free_shm()
    if free is not None and free < needed:
        return "%d batches of %d bytes might not fit into /dev/shm (%d bytes free)" % (batches, batch_bytes, free)
    free = _free_memory()
    if free is not None and free < 2 * needed:
        return "%d batches of %d bytes would take too much of the memory (%d bytes free)" % (batches, batch_bytes, free)
    if not _passes_descriptors():
        return None
    needed = batches * tensors + _SPARE_DESCRIPTORS
    for pid in [os.getpid(), *pids]:
        free = _free_descriptors(pid)
        if free is not None and free < needed:
            return "%d tensors need a descriptor each, and process %d may open %d more" % (batches * tensors, pid, free)
    return None


def _free_shm():
    try:
        found = os.statvfs("/dev/shm")
    except OSError:
        return None
    return found.f_bavail * found.f_frsize


def _free_memory():
    """Of the machine, or of the control group if that has less."""
    free = [_meminfo_available()]
    for limit, used in (("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
                        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes")):
        most, taken = _number_in(limit), _number_in(used)
        if most is not None and taken is not None:
            free.append(max(0, most - taken))
    known = [value for value in free if value is not None]
    return min(known) if known else None


def _meminfo_available():
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) << 10
    except (OSError, ValueError):
        pass
    return None


def _number_in(path):
    try:
        with open(path) as file:
            return int(file.read())
    except (OSError, ValueError):  # "max": there is no limit
        return None


def _passes_descriptors():
    """torch's usual way on Linux: a descriptor for each tensor that a worker hands over."""
    shared = sys.modules.get("torch.multiprocessing")
    try:
        return shared is not None and shared.get_sharing_strategy() == "file_descriptor"
    except Exception:
        return False


def _free_descriptors(pid):
    try:
        most = resource.prlimit(pid, resource.RLIMIT_NOFILE)[0]
        return most - len(os.listdir("/proc/%d/fd" % pid))
    except (OSError, ValueError):
        return None
