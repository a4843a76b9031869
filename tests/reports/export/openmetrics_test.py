#!/usr/bin/env python3
"""The metrics as Prometheus' own parser reads them: every family is accepted, and says what the profile says."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

SYSTEM_PYTHON = "/usr/bin/python3"

try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
except ImportError:
    if sys.executable != SYSTEM_PYTHON and os.access(SYSTEM_PYTHON, os.X_OK):  # Debian's package is for that one
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, *sys.argv])
    print("skipped: no prometheus_client (Debian: apt install python3-prometheus-client)")
    sys.exit(77)

CLI = os.environ.get("STALLCAST_CLI") or sys.exit("STALLCAST_CLI names no stallcast")
GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "golden"


def samples(profile):
    """Every sample of the profile's metrics by name and labels."""
    done = subprocess.run([CLI, "report", str(profile), "-f", "openmetrics"], stdout=subprocess.PIPE, check=True)
    families = list(text_string_to_metric_families(done.stdout.decode("utf-8")))
    return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in families for sample in family.samples}


class Parsed(unittest.TestCase):
    def test_every_profile_is_accepted(self):
        profiles = sorted(GOLDEN.glob("*.json"))
        self.assertGreater(len(profiles), 5)
        for profile in profiles:
            if "rates" not in json.loads(profile.read_text()):
                continue  # a comparison of two
            with self.subTest(profile=profile.name):
                self.assertTrue(samples(profile))

    def test_rates_and_stalls_are_those_of_the_profile(self):
        for name in ("multi-rank", "fetch-bound", "hostile"):
            profile, seen = json.loads((GOLDEN / f"{name}.json").read_text()), samples(GOLDEN / f"{name}.json")
            wanted = [("stallcast_rate_samples_per_second", "phase", key[:-len("_samples_per_s")], estimate)
                      for key, estimate in profile["rates"].items()]
            wanted += [("stallcast_stall_ratio", "kind", kind, profile["stalls"][f"{kind}_frac"])
                       for kind in ("prep", "fetch")]
            for metric, label, value, estimate in wanted:
                for stat in ("mean", "ci95_low", "ci95_high"):
                    with self.subTest(name=name, metric=metric, value=value, stat=stat):
                        found = seen.get((metric, ((label, value), ("stat", stat))))
                        if estimate is None:
                            self.assertIsNone(found)
                        else:
                            self.assertAlmostEqual(found, estimate[stat], delta=1e-6 * abs(estimate[stat]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
