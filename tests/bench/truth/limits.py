"""Limits that the kernel enforces on one command: storage, cores, memory, by control groups (root only).

  with Limits(read_bytes_per_s=20e6, path=data) as limits:
      subprocess.run(limits.wrap(["python3", "train.py"]))

Version 1 of the control groups where its controller is mounted, otherwise version 2. Raises Unavailable, with the
reason, where neither can be used: the benchmark is then skipped, not passed.
"""

import contextlib
import math
import os
import pathlib
import shlex

from .files import disk_of


class Unavailable(Exception):
    """This machine or this user cannot set such a limit."""


def mounts():
    """(kind, options, mount point) of each control group file system."""
    rows = []
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        left, right = line.split(" - ", 1)
        kind, _, options = right.split(" ")[:3]
        if kind in ("cgroup", "cgroup2"):
            rows.append((kind, options.split(","), pathlib.Path(left.split(" ")[4])))
    return rows


def make_group(controller, files, name=""):
    """A new group of the controller's version 1 or 2, with `files[version]` = [(file, text)] written into it."""
    v1 = {"io": "blkio"}.get(controller, controller)
    for kind, options, mount in mounts():
        if kind == "cgroup" and v1 in options:
            return fill(mount / group_name(controller, name), files[1])
    for kind, _, mount in mounts():
        if kind == "cgroup2" and controller in (mount / "cgroup.controllers").read_text().split():
            with contextlib.suppress(OSError):
                (mount / "cgroup.subtree_control").write_text(f"+{controller}")
            return fill(mount / group_name(controller, name), files[2])
    raise Unavailable(f"no control group controller '{controller}' is mounted")


def group_name(controller, name):
    return f"stallcast-bench-{controller}-{os.getpid()}{name}"


def fill(group, settings):
    try:
        group.mkdir(exist_ok=True)
        for name, text in settings:
            (group / name).write_text(text)
    except OSError as error:
        with contextlib.suppress(OSError):
            group.rmdir()
        raise Unavailable(f"cannot set {group}: {error.strerror} (root is needed)") from error
    return group


class Limits:
    """A context in which `wrap(command)` runs under the limits that were given."""

    def __init__(self, read_bytes_per_s=None, path=None, cpus=None, reads_per_s=None, name="", period_us=100_000,
                 memory_bytes=None):
        """`name`: of limits that hold side by side; `period_us`: of the share of CPU time; `memory_bytes`: of the
        processes and of the file pages that they bring in, math.inf to have it counted only."""
        self.name, self.period_us, self.memory_bytes = name, period_us, memory_bytes
        self.read_bytes_per_s, self.reads_per_s, self.path, self.cpus = read_bytes_per_s, reads_per_s, path, cpus
        self.groups = []

    def __enter__(self):
        try:
            if self.read_bytes_per_s or self.reads_per_s:
                disk, settings = disk_of(self.path), {1: [], 2: []}
                for v1, v2, rate in (("bps", "rbps", self.read_bytes_per_s), ("iops", "riops", self.reads_per_s)):
                    if rate:
                        settings[1].append((f"blkio.throttle.read_{v1}_device", f"{disk} {int(rate)}"))
                        settings[2].append(("io.max", f"{disk} {v2}={int(rate)}"))
                self.groups.append(make_group("io", settings, self.name))
            if self.cpus:
                quota, period = int(self.cpus * self.period_us), self.period_us
                self.groups.append(make_group("cpu", {1: [("cpu.cfs_period_us", str(period)),
                                                          ("cpu.cfs_quota_us", str(quota))],
                                                      2: [("cpu.max", f"{quota} {period}")]},
                                              self.name))
            if self.memory_bytes:
                limit = "" if math.isinf(self.memory_bytes) else str(int(self.memory_bytes))
                self.groups.append(make_group("memory", {1: [("memory.limit_in_bytes", limit or "-1")],
                                                         2: [("memory.max", limit or "max")]}, self.name))
        except LookupError as error:
            raise Unavailable(str(error)) from error
        except Unavailable:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for group in self.groups:
            with contextlib.suppress(OSError):
                group.rmdir()
        self.groups = []

    def peak_memory_bytes(self):
        """The most memory that commands used at a time, where `memory_bytes` was given."""
        for group in self.groups:
            for name in ("memory.max_usage_in_bytes", "memory.peak"):
                if (group / name).exists():
                    return int((group / name).read_text())
        raise Unavailable("no memory control group that tells its peak")

    def wrap(self, command):
        """The command that runs `command` under the limits."""
        if not self.groups:
            return list(command)
        joins = " && ".join(f"echo $$ > {shlex.quote(str(group / 'cgroup.procs'))}" for group in self.groups)
        return ["/bin/sh", "-c", f'{joins} && exec "$@"', "sh", *command]
