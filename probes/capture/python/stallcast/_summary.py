"""The numbers of a profile as one flat dict of floats, for what draws curves: wandb, MLflow, TensorBoard.

{"rates": {"as_is_samples_per_s": {"mean": 812.0, "ci95_low": 809.0, "ci95_high": 815.0, "n": 40}}} becomes
{"stallcast/as_is_samples_per_s": 812.0, "stallcast/as_is_samples_per_s_ci95_low": 809.0, ..._ci95_high": 815.0}.
What was not measured is no key.
"""

import json
import math
import os

_NEWEST_SCHEMA = 1
# Section of profile.json -> what stands before its keys, and which of them. Names are those of the file.
_TAKEN = {
    "rates": ("", (
        "as_is_samples_per_s", "cold_samples_per_s", "cached_samples_per_s", "synthetic_samples_per_s")),
    "stalls": ("", (
        "as_is_wait_frac", "as_is_fetch_frac", "as_is_prep_frac", "as_is_receive_frac", "fetch_frac", "prep_frac",
        "receive_frac", "epoch_pause_s")),
    "resources": ("", ("step_s", "bytes_from_storage_frac", "storage_bandwidth_bytes_per_s")),
    "gpu": ("gpu_", ("busy_frac", "starved_frac")),
    "overhead": ("overhead_", ("throughput_frac", "held_s")),
}


def read(folder):
    """The profile in `folder` (or that file itself); ValueError if it is none that this version understands."""
    path = os.fspath(folder)
    if os.path.isdir(path):
        path = os.path.join(path, "profile.json")
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    version = profile.get("schema_version") if isinstance(profile, dict) else None
    if not isinstance(version, int) or version > _NEWEST_SCHEMA:
        raise ValueError(path + " is no profile that this version of stallcast understands")
    return profile


def flat(profile):
    """{"stallcast/KEY": number} of what was measured."""
    numbers = {}
    for section, (before, keys) in _TAKEN.items():
        values = profile.get(section) or {}
        for key in keys:
            _put(numbers, "stallcast/" + before + key, values.get(key))
    return numbers


def _put(numbers, name, value):
    if not isinstance(value, dict):
        if _is_number(value):
            numbers[name] = float(value)
        return
    if not _is_number(value.get("mean")):
        return
    numbers[name] = float(value["mean"])
    for bound in ("ci95_low", "ci95_high"):
        if _is_number(value.get(bound)):
            numbers[name + "_" + bound] = float(value[bound])


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
