#!/usr/bin/env python3
"""diff: what changed between two profiles, and the exit status that a build server sees."""
import json
import pathlib
import unittest

from harness import CliTest

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"
PREP = GOLDEN / "prep-bound.json"
FETCH = GOLDEN / "fetch-bound.json"


class Diff(CliTest):
    def conditions(self, *words):
        done = self.cli("diff", *words, "--json")
        return done.returncode, [one["state"] for one in json.loads(done.stdout)["conditions"]]

    def noisy(self, factor, half):
        """PREP with its rate times `factor`, +- `half` of it, and nothing else to compare."""
        profile = json.loads(PREP.read_text())
        mean = profile["rates"]["as_is_samples_per_s"]["mean"] * factor
        profile["rates"]["as_is_samples_per_s"] = {"mean": mean, "ci95_low": mean * (1 - half),
                                                   "ci95_high": mean * (1 + half), "n": 100}
        path = self.folder / f"{factor}.json"
        path.write_text(json.dumps(profile))
        return path

    def test_json_keeps_the_contract(self):
        done = self.cli("diff", PREP, FETCH, "--json")
        self.assert_status(done, 0)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["schema_version"], 1)
        rate = next(one for one in answer["numbers"] if one["key"] == "as_is_samples_per_s")
        self.assertEqual(rate["verdict"], "changed")
        self.assertAlmostEqual(rate["change"]["mean"], rate["b"]["mean"] / rate["a"]["mean"] - 1)
        absent = next(one for one in answer["numbers"] if one["key"] == "cold_samples_per_s")
        self.assertEqual((absent["a"], absent["change"], absent["verdict"]), (None, None, "not_comparable"))
        self.assertIn("phases", absent["reason"])
        self.assertIn("filesystem", [one["key"] for one in answer["settings"]])

    def test_a_profile_against_itself(self):
        self.assertEqual(self.conditions(PREP, PREP, "--fail-on", "as_is_fetch_frac>0%"), (0, ["not_exceeded"]))
        answer = json.loads(self.cli("diff", PREP, PREP, "--json").stdout)
        self.assertNotIn("changed", {one["verdict"] for one in answer["numbers"]})
        self.assertEqual(answer["settings"], [])

    def test_a_condition_that_holds(self):
        self.assertEqual(self.conditions(PREP, FETCH, "--fail-on", "as_is_fetch_frac>+5%"), (1, ["holds"]))
        self.assertEqual(self.conditions(FETCH, PREP, "--fail-on", "as_is_fetch_frac>+5%"), (0, ["not_exceeded"]))
        self.assertEqual(self.conditions(FETCH, PREP, "--fail-on", "as_is_fetch_frac<-5%"), (1, ["holds"]))
        both = ("--fail-on", "as_is_fetch_frac>+90%", "--fail-on", "as_is_samples_per_s<-10%")
        self.assertEqual(self.conditions(PREP, FETCH, *both), (1, ["not_exceeded", "holds"]))

    def test_a_change_within_noise_does_not_count_and_is_told(self):
        before, after = self.noisy(1.0, 0.2), self.noisy(0.9, 0.2)
        words = ("--fail-on", "as_is_samples_per_s<-5%")
        self.assertEqual(self.conditions(before, after, *words), (0, ["within_noise"]))
        self.assertIn(b"more than asked but within noise", self.cli("diff", before, after, *words).stdout)
        self.assertEqual(self.conditions(self.noisy(1.0, 0.01), self.noisy(0.9, 0.01), *words), (1, ["holds"]))

    def test_an_absent_number_cannot_be_judged(self):
        done = self.cli("diff", PREP, FETCH, "--fail-on", "fetch_frac>+5%")
        self.assert_status(done, 5)
        self.assertIn(b"needs phases", done.stderr)
        self.assertIn(b"Conditions", done.stdout)  # the comparison is printed all the same
        self.assertEqual(self.conditions(PREP, FETCH, "--fail-on", "fetch_frac>+5%", "--fail-on",
                                         "as_is_fetch_frac>+5%"), (1, ["not_enough_data", "holds"]))

    def test_another_workload_is_refused_where_that_is_asked(self):
        done = self.cli("diff", PREP, FETCH, "--same-workload", "--fail-on", "as_is_fetch_frac>+90%")
        self.assert_status(done, 5)
        self.assertIn(b"not of the same workload", done.stderr)
        self.assertIn(b"job.dataset_samples: 12000 before, 1281167 after", done.stderr)
        self.assert_status(self.cli("diff", PREP, PREP, "--same-workload", "--fail-on", "as_is_fetch_frac>+90%"), 0)
        profile = json.loads(PREP.read_text())
        (self.folder / "command").write_text(json.dumps(dict(profile, command=["python", "other.py"])))
        done = self.cli("diff", PREP, self.folder / "command", "--same-workload")
        self.assert_status(done, 5)
        self.assertIn(b"command: ", done.stderr)
        for section, key, value in (("job", "batch_size", 7), ("job", "num_workers", 9), ("job", "dataset_type", "Other")):
            with self.subTest(key):
                other = json.loads(json.dumps(profile))
                other[section][key] = value
                (self.folder / key).write_text(json.dumps(other))
                done = self.cli("diff", PREP, self.folder / key, "--same-workload")
                self.assert_status(done, 5)
                self.assertIn(f"job.{key}: ".encode(), done.stderr)
        profile["job"]["prefetch_factor"], profile["host"]["kernel"] = 7, "other"
        (self.folder / "prefetch").write_text(json.dumps(profile))
        self.assert_status(self.cli("diff", PREP, self.folder / "prefetch", "--same-workload"), 0)

    def test_wrong_questions(self):
        for condition, hint in (("fetch_frac", b"KEY>+N%"), ("fetch_frac>5", b"'fetch_frac>+5%'"),
                                ("fetch_frac<5%", b"fetch_frac<-N%"), ("fetch>5%", b"fetch_frac")):
            with self.subTest(condition=condition):
                done = self.cli("diff", PREP, FETCH, "--fail-on", condition)
                self.assert_status(done, 2)
                self.assertEqual(done.stdout, b"")
                self.assertIn(hint, done.stderr)
        self.assert_status(self.cli("diff", PREP), 2)
        self.assert_status(self.cli("diff", PREP, FETCH, "--json", "-f", "md"), 2)
        self.assert_status(self.cli("diff", PREP, FETCH, "-f", "csv"), 2)
        self.assert_status(self.cli("diff", PREP, self.folder / "nothing"), 4)

    def test_a_file_of_every_format(self):
        for name, part in (("text", b"Changed beyond noise"), ("json", b'"schema_version"'), ("md", b"## stallcast diff"),
                           ("html", b"<!doctype html>")):
            with self.subTest(name):
                path = self.folder / name
                self.assert_status(self.cli("diff", PREP, FETCH, "-f", name, "-o", path), 0)
                self.assertIn(part, path.read_bytes())


if __name__ == "__main__":
    unittest.main(verbosity=2)
