"""Holds the waits of a recording against those that the script itself measured around next()."""
import importlib.util
import pathlib
import statistics

_READER = pathlib.Path(__file__).resolve().parent.parent / "shim" / "recording.py"

PRECISION = 0.02
COST_NS = 100000  # of recording a wait, where the caches are cold after a step; of shorter waits it is more than 2 %


def _recordings(folder):
    spec = importlib.util.spec_from_file_location("stallcast_test_recording", _READER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Run(str(folder)).recordings


def steps(recordings):
    """How many steps were recorded."""
    return sum(len(recording.steps) for recording in _recordings(recordings))


def compare(recordings, own, late=0):
    """(ratio of the recorded waiting to the script's own, why they disagree or None). `own`: the file SEEN.waits.

    Each wait must lie within a next() of the script's, and the script's next() must not take longer than the wait but
    for what it costs to record one: half of them, at least, by less than 2 % of the mean or by that cost. `late`: so many
    batches may be taken before it is found what gives them."""
    pulls = [tuple(map(int, line.split())) for line in own.read_text().splitlines()]
    found = [wait for recording in _recordings(recordings) for wait in recording.waits if wait.samples]
    found.sort(key=lambda wait: wait.begin_ns)
    if found and len(found) < len(pulls) <= len(found) + late:
        pulls = pulls[len(pulls) - len(found):]
    if len(found) != len(pulls):
        return None, f"{len(found)} waits were recorded of {len(pulls)}"
    for wait, (begin_ns, end_ns) in zip(found, pulls):
        if not begin_ns <= wait.begin_ns <= wait.end_ns <= end_ns:
            return None, f"batch {wait.batch} was waited for outside of next()"
    mean_ns = statistics.mean(end_ns - begin_ns for begin_ns, end_ns in pulls)
    beyond_ns = statistics.median((end_ns - begin_ns) - (wait.end_ns - wait.begin_ns)
                                  for wait, (begin_ns, end_ns) in zip(found, pulls))
    ratio = sum(wait.end_ns - wait.begin_ns for wait in found) / (mean_ns * len(pulls))
    if beyond_ns > max(PRECISION * mean_ns, COST_NS):
        return ratio, f"half of the waits are short by {beyond_ns / 1000:.0f} us or more, of {mean_ns / 1000:.0f} us"
    return ratio, None
