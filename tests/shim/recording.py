"""A small reader of recordings for these tests, written against probes/record/layout.hpp."""

import collections
import glob
import json
import os
import struct

HEADER_BYTES = 4096
BLOCK_HEADER = struct.Struct("<IIII")
RECORD_HEADER = struct.Struct("<HHI")

TEXT_KINDS = {1: "process", 2: "loader", 3: "iterator", 4: "issue", 5: "mark", 6: "segment", 7: "part", 8: "burst", 9: "ahead"}

Wait = collections.namedtuple("Wait", "flags iterator_id batch begin_ns end_ns samples ready cpu_ns")
Step = collections.namedtuple("Step", "aux step time_ns")
Batch = collections.namedtuple(
    "Batch",
    "worker iterator_id batch asked_ns begin_ns collate_ns end_ns put_ns cpu_ns run_delay_ns"
    " read_ns read_bytes meta_ns reads opens stats major_faults samples unused system_ns",
)
Sample = collections.namedtuple("Sample", "batch index begin_ns wall_ns read_ns meta_ns read_bytes reads opens")
Part = collections.namedtuple("Part", "number whole_ns wall_ns cpu_ns read_ns flags period undivided")

# kind -> (name, type, format after the record header)
KINDS = {
    2: ("waits", Wait, struct.Struct("<QQQQIIQ")),
    3: ("steps", Step, struct.Struct("<QQ")),
    4: ("batches", Batch, struct.Struct("<QQQQQQQQQQQQIIIIIIQ")),
    5: ("samples", Sample, struct.Struct("<qQQQQQII")),
    10: ("parts", Part, struct.Struct("<QQQQHHI")),
}

UNKNOWN = 0xFFFFFFFF
END_OF_EPOCH, FIRST = 1, 2


class Recording:
    """One process: its texts by kind and its records by kind, each in the order of the file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.content = file.read()
        assert self.content[:8] == b"STALLREC", path
        self.version, header_bytes, self.block_bytes = struct.unpack_from("<III", self.content, 8)
        assert self.version == 1 and header_bytes == HEADER_BYTES
        self.pid, self.parent_pid = struct.unpack_from("<ii", self.content, 24 + 40 + 64 + 256)
        self.texts = collections.defaultdict(list)
        self.waits, self.steps, self.batches, self.samples, self.parts = [], [], [], [], []
        for offset in range(HEADER_BYTES, len(self.content) - 63, self.block_bytes):
            self._read_block(offset)

    def _read_block(self, begin):
        magic, _, _, committed = BLOCK_HEADER.unpack_from(self.content, begin)
        if magic != 0x4B4C4253:
            return
        offset = 64
        while offset < committed:
            kind, size, aux = RECORD_HEADER.unpack_from(self.content, begin + offset)
            self._read_record(begin + offset + 8, kind, size - 8, aux)
            offset += size

    def _read_record(self, offset, kind, size, aux):
        if kind == 1:
            text = self.content[offset : offset + size].rstrip(b"\0").decode()
            self.texts[TEXT_KINDS[aux]].append(json.loads(text))
        elif kind in KINDS:
            name, type_, layout = KINDS[kind]
            getattr(self, name).append(type_(aux, *layout.unpack_from(self.content, offset)))

    @property
    def role(self):
        return self.texts["process"][-1]["role"] if self.texts["process"] else None

    def part_names(self):
        """Number -> (name, where) of the parts."""
        named = [part for text in self.texts["part"] for part in text["parts"]]
        return {number: (name, where) for number, name, where in named}

    def deliveries(self, iterator_id=None):
        """Waits that ended with a batch."""
        return [
            wait
            for wait in self.waits
            if not wait.flags & END_OF_EPOCH and iterator_id in (None, wait.iterator_id)
        ]


class Run:
    """All recordings of a run folder."""

    def __init__(self, folder):
        self.recordings = [Recording(path) for path in sorted(glob.glob(os.path.join(folder, "*.rec")))]

    @property
    def consumer(self):
        """The one process that waited."""
        (found,) = [recording for recording in self.recordings if recording.waits]
        return found

    @property
    def workers(self):
        return [recording for recording in self.recordings if recording.role == "worker"]

    def worker(self, pid):
        (found,) = [recording for recording in self.workers if recording.pid == pid]
        return found

    @property
    def issues(self):
        return [issue for recording in self.recordings for issue in recording.texts["issue"]]
