"""What a device did in a stretch of time: by the probe's bins, and by torch.profiler's own trace.

Both are unions: what overlaps counts once. Worked example, a window of 10 ms. Kernels 1-4 and 3-6, a copy to the device 5-8:
busy 5 ms (not 6), copying 3 ms, of which 2 exposed (6-8), idle 3 ms.
"""

import dataclasses
import json
import pathlib

# Kineto's categories of what keeps a device busy; copies within it do, as fills do.
KERNELS = ("kernel", "gpu_memset")
COPY = "gpu_memcpy"

Spans = list[tuple[float, float]]


@dataclasses.dataclass
class Shares:
    """Of a window's time, each 0 to 1."""

    busy: float
    copy_in: float
    exposed: float
    idle: float
    starved: float  # idle while a batch was waited for


def union(spans: Spans) -> Spans:
    """In order, and without overlaps."""
    merged: Spans = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged


def within(spans: Spans, windows: Spans) -> float:
    """How much of the windows (which do not overlap) a union covers."""
    return sum(max(0.0, min(end, last) - max(begin, first)) for first, last in windows for begin, end in spans)


def shares_of_trace(trace: dict, window: str, wait: str) -> Shares:
    """Of an exported trace of torch.profiler, within its annotation `window`; waits are annotated with `wait`."""
    events = [event for event in trace["traceEvents"] if event.get("ph") == "X"]
    spans = {name: [(event["ts"], event["ts"] + event["dur"]) for event in events
                    if event.get("cat") == "user_annotation" and event["name"] == name] for name in (window, wait)}
    if len(spans[window]) != 1:
        raise ValueError(f"the trace has {len(spans[window])} windows called {window}")
    busy: Spans = []
    copies: Spans = []
    others: Spans = []
    for event in events:
        span = (event["ts"], event["ts"] + event["dur"])
        category = event.get("cat")
        if category in KERNELS or (category == COPY and "DtoD" in event["name"]):
            busy.append(span)
        elif category == COPY:
            (copies if "HtoD" in event["name"] else others).append(span)
    return shares(busy, copies, others, spans[window][0], spans[wait])


def shares(busy: Spans, copies: Spans, others: Spans, window: tuple[float, float], waits: Spans) -> Shares:
    """Of intervals in one clock; `others`: copies from the device."""
    whole = window[1] - window[0]
    any_span = union(busy + copies + others)
    waits = union([(max(begin, window[0]), min(end, window[1])) for begin, end in waits
                   if end > window[0] and begin < window[1]])
    waited = sum(end - begin for begin, end in waits)
    in_window = [window]
    busy_s = within(union(busy), in_window)
    return Shares(busy_s / whole, within(union(copies), in_window) / whole,
                  (within(union(busy + copies), in_window) - busy_s) / whole,
                  1.0 - within(any_span, in_window) / whole, (waited - within(any_span, waits)) / whole)


@dataclasses.dataclass
class Recording:
    """What gpu-PID.jsonl says. Bins: (begin_ns, end_ns, member -> ns or count)."""

    library: str
    absent: str
    begin_ns: int
    covered_ns: int
    records: int
    dropped: int
    late: int
    devices: list[dict]
    bins: list[tuple[int, int, dict[str, int]]]
    windows: Spans  # in which it records; none where it always does

    def total(self, member: str, spans: Spans) -> float:
        """Of a member, within spans in CLOCK_MONOTONIC ns; what lies in a bin counts as spread over it."""
        return sum(values[member] * max(0.0, min(end, last) - max(begin, first)) / (end - begin)
                   for first, last in spans for begin, end, values in self.bins)

    def shares(self, window: tuple[float, float], waits: Spans) -> Shares:
        """Within a window that the probe covered."""
        if window[0] < self.begin_ns or window[1] > self.covered_ns:
            raise ValueError("the probe's records do not cover the window")
        whole = window[1] - window[0]
        part = {name: self.total(name, [window]) / whole for name in ("busy_ns", "copy_in_ns", "exposed_ns", "any_ns")}
        waited = sum(end - begin for begin, end in waits) - self.total("any_ns", waits)
        return Shares(part["busy_ns"], part["copy_in_ns"], part["exposed_ns"], 1.0 - part["any_ns"], waited / whole)


def read_recording(path: pathlib.Path) -> Recording:
    """Reads the lines that probes/capture/gpu/lines.hpp describes; a torn last one is left out."""
    found = Recording("", "", 0, 0, 0, 0, 0, [], [], [])
    text = path.read_text()
    for line in text[:text.rfind("\n") + 1].splitlines():
        values = json.loads(line)
        if values["kind"] == "gpu":
            found.library, found.begin_ns = values["library"], values["begin_ns"]
        elif values["kind"] == "device":
            found.devices.append(values)
        elif values["kind"] == "covered":
            found.covered_ns, found.records = values["until_ns"], values["records"]
            found.dropped, found.late = values["dropped"], values["late"]
        elif values["kind"] == "window":
            found.windows.append((values["begin_ns"], values["end_ns"]))
        elif values["kind"] == "absent":
            found.absent = values["reason"]
        elif values["kind"] == "bins":
            members = {name: column for name, column in values.items() if isinstance(column, list)}
            for number in range(len(values["busy_ns"])):
                begin = values["begin_ns"] + number * values["width_ns"]
                found.bins.append((begin, begin + values["width_ns"],
                                   {name: column[number] for name, column in members.items()}))
    return found


def recordings(folder: pathlib.Path) -> list[Recording]:
    """Of all processes of a run that used a GPU; `folder`: what -o named."""
    return [read_recording(path) for path in sorted(folder.glob("recordings/**/gpu-*.jsonl"))]
