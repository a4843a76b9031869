#!/usr/bin/env python3
"""whatif, recommend and validate: what scripts read of them, and what they say to a wrong question."""
import csv
import io
import json
import pathlib
import unittest

from harness import CliTest

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"
PREP = GOLDEN / "prep-bound.json"
FETCH = GOLDEN / "fetch-bound.json"


class Report(CliTest):
    def test_a_price_is_told_in_the_formats_that_tell_costs(self):
        for form in ("text", "json", "html", "md"):
            done = self.cli("report", PREP, "-f", form, "--price", "32USD/h")
            self.assert_status(done, 0)
            self.assertIn(b"USD", done.stdout)
        epoch = json.loads(self.cli("report", PREP, "-f", "json", "--price", "32/h").stdout)["epoch"]
        whole = epoch["passes"][0]["whole"]
        self.assertAlmostEqual(whole["cost"]["mean"], whole["time_s"]["mean"] * 32 / 3600)
        self.assertEqual(epoch["currency"], "")

    def test_a_wrong_price_is_told_what_to_write(self):
        for price in ("32", "32USD", "-1/h", "x/h", "32/min"):
            with self.subTest(price=price):
                done = self.cli("report", PREP, "--price=" + price)
                self.assert_status(done, 2)
                self.assertIn(b"32USD/h", done.stderr)
                self.assertEqual(done.stdout, b"")
        done = self.cli("report", PREP, "-f", "csv", "--price", "32/h")
        self.assert_status(done, 2)
        self.assertIn(b"csv", done.stderr)


class Whatif(CliTest):
    def ask(self, *words, profile=PREP):
        done = self.cli("whatif", profile, *words)
        self.assert_status(done, 0)
        return done.stdout.decode()

    def test_json_keeps_the_contract(self):
        answer = json.loads(self.ask("--set", "workers=4", "cpus=4", "--json"))
        self.assertEqual(answer["schema_version"], 1)
        self.assertEqual(len(answer["predictions"]), 1)
        prediction = answer["predictions"][0]
        self.assertEqual(prediction["scenario"], {"workers": "4", "cpus": "4"})
        rate = prediction["throughput_samples_per_s"]
        self.assertLessEqual(rate["ci90_low"], rate["mean"])
        self.assertLessEqual(rate["mean"], rate["ci90_high"])
        for key in ("step_s", "epoch_s", "stall_frac", "bound", "next_bound", "headroom_frac", "extrapolated"):
            self.assertIn(key, prediction)

    def test_nothing_set_gives_what_was_measured(self):
        measured = json.loads(PREP.read_text())["rates"]["as_is_samples_per_s"]
        rate = json.loads(self.ask("--json"))["predictions"][0]["throughput_samples_per_s"]
        self.assertLessEqual(rate["ci90_low"], measured["mean"])
        self.assertGreaterEqual(rate["ci90_high"], measured["mean"])

    def test_a_sweep_is_a_row_per_combination(self):
        rows = list(csv.DictReader(io.StringIO(self.ask("--set", "cpus=8", "--sweep", "workers=1,2,4", "prefetch=2,4",
                                                        "--csv"))))
        self.assertEqual([(row["workers"], row["prefetch"]) for row in rows],
                         [("1", "2"), ("1", "4"), ("2", "2"), ("2", "4"), ("4", "2"), ("4", "4")])
        for row in rows:
            self.assertEqual(row["cpus"], "8")
            self.assertGreater(float(row["throughput_samples_per_s"]), 0)

    def test_staging_tells_the_first_epoch_apart(self):
        words = ("--set", "staging=overlap", "local_disk_bandwidth=2GB/s")
        done = self.cli("whatif", GOLDEN / "fetch-bound.json", *words, "--json")
        self.assert_status(done, 0)
        prediction = json.loads(done.stdout)["predictions"][0]
        self.assertGreater(prediction["first_epoch_s"], prediction["epoch_s"])
        text = self.cli("whatif", GOLDEN / "fetch-bound.json", *words).stdout.decode()
        self.assertIn("First epoch, while data is staged\n  - staging=overlap local_disk_bandwidth=2GB/s: ", text)
        row = next(csv.DictReader(io.StringIO(
            self.cli("whatif", GOLDEN / "fetch-bound.json", *words, "--csv").stdout.decode())))
        self.assertAlmostEqual(float(row["first_epoch_s"]) / prediction["first_epoch_s"], 1.0, places=6)
        self.assertNotIn("first_epoch_s", self.ask("--set", "workers=4", "--json"))

    def test_text_has_the_run_as_profiled_to_compare_with(self):
        lines = self.ask("--set", "workers=4").splitlines()
        self.assertTrue(lines[1].startswith("as profiled"))
        self.assertTrue(lines[2].startswith("workers=4"))

    def test_a_simulation_stands_beside_the_closed_form(self):
        words = ("--set", "nodes=4", "cache=50%", "cache_policy=minio", "shared_storage_bandwidth=10GB/s", "--simulate=4",
                 "--seed", "7")
        text = self.ask(*words, "--json", profile=FETCH)
        self.assertEqual(text, self.ask(*words, "--json", profile=FETCH))
        prediction = json.loads(text)["predictions"][0]
        run = prediction["simulation"]
        self.assertEqual((run["ranks"], run["seed"], len(run["epochs"])), (4, 7, 4))
        self.assertEqual(run["epochs"][0]["from_storage_frac"], 1.0)
        self.assertLess(run["epochs"][3]["from_storage_frac"], run["epochs"][1]["from_storage_frac"])
        rate = prediction["throughput_samples_per_s"]
        inside = rate["ci90_low"] <= run["throughput_samples_per_s"] <= rate["ci90_high"]
        self.assertEqual(run["within_ci90"], inside)
        self.assertNotIn("simulation", json.loads(self.ask("--set", "nodes=4", "--json"))["predictions"][0])

    def test_a_simulation_as_text_and_csv(self):
        words = ("--set", "nodes=2", "cache=50%", "cache_policy=minio", "shared_storage_bandwidth=10GB/s", "--simulate")
        text = self.ask(*words, profile=FETCH)
        block = text[text.index("\nSimulated: "):].splitlines()
        self.assertEqual([line.split()[0] for line in block if line.startswith("      ") and line[6:7].isdigit()],
                         ["1", "2", "3"])
        self.assertTrue(any("the closed form's" in " ".join(block[i:i + 2]) for i in range(len(block))))
        for line in block[2:]:  # the first names the scenario, however long
            self.assertLessEqual(len(line), 80, line)
        self.assertIn("\nSimulated: ", self.ask("--simulate", "--lose-node", "--set", "cache=20%", profile=FETCH))
        row = next(csv.DictReader(io.StringIO(self.ask(*words, "--csv", profile=FETCH))))
        self.assertLessEqual(float(row["simulated_step_p50_s"]), float(row["simulated_step_p99_s"]))
        self.assertNotIn("simulated_step_p50_s", self.ask("--set", "nodes=2", "--csv"))

    def test_what_is_not_simulated(self):
        for words, status, hint in ((["--simulate=0"], 2, b"--simulate=3"), (["--simulate=x"], 2, b"--simulate=3"),
                                    (["--simulate=1001"], 2, b"1000"), (["--seed", "3"], 2, b"--simulate"),
                                    (["--simulate", "--lose-node"], 2, b"cache="),
                                    (["--simulate", "--set", "jobs=2"], 2, b"jobs"),
                                    (["--simulate", "--sweep", "workers=" + ",".join(map(str, range(1, 67)))], 2, b"64")):
            with self.subTest(words=words):
                done = self.cli("whatif", PREP, *words)
                self.assert_status(done, status)
                self.assertEqual(done.stdout, b"")
                self.assertIn(hint, done.stderr)

    def test_wrong_questions(self):
        for words, hint in ((["--set", "wrkers=2"], b"workers"), (["--set", "cache=35"], b"35%"),
                            (["--set", "cache=120%"], b""), (["--set", "workers"], b""),
                            (["--set", "storage_bandwidth=500"], b"MB/s"), (["--set", "staging=foo"], b"overlap"),
                            (["--set", "layout=shards"], b"shards:4MiB"), (["--json", "--csv"], b"")):
            with self.subTest(words=words):
                done = self.cli("whatif", PREP, *words)
                self.assert_status(done, 2)
                self.assertEqual(done.stdout, b"")
                self.assertIn(hint, done.stderr)
        self.assert_status(self.cli("whatif", self.folder / "nothing", "--set", "workers=2"), 4)
        (self.folder / "profile.json").write_text('{"schema_version": 99}')
        self.assert_status(self.cli("whatif", self.folder, "--set", "workers=2"), 4)

    def test_a_profile_that_holds_too_little(self):
        done = self.cli("whatif", GOLDEN / "absent-heavy.json", "--set", "workers=2")
        self.assert_status(done, 5)


class Recommend(CliTest):
    def test_text_and_json_agree(self):
        answer = self.cli("recommend", PREP, "--json")
        self.assert_status(answer, 0)
        answer = json.loads(answer.stdout)
        text = " ".join(self.cli("recommend", PREP).stdout.decode().split())
        self.assertIn("DataLoader(", answer["loader_line"])
        self.assertIn(answer["loader_line"], text)
        self.assertIn(answer["verdict"], text)
        for remedy in answer["remedies"]:
            self.assertIn(remedy["title"], text)

    def test_reports_hold_the_recommendation(self):
        line = json.loads(self.cli("recommend", PREP, "--json").stdout)["loader_line"]
        text = self.cli("report", PREP).stdout.decode()
        self.assertIn("Recommended loader", text)
        self.assertIn(" ".join(line.split()), " ".join(text.split()))
        self.assertIn("Recommended loader", self.cli("report", PREP, "-f", "html").stdout.decode())


class Plan(CliTest):
    CATALOG = GOLDEN.parent.parent / "samples" / "catalog" / "example.json"

    def plan(self, *words, status=0):
        done = self.cli("plan", PREP, "--catalog", self.CATALOG, *words)
        self.assert_status(done, status)
        return done

    def test_json_and_text_agree(self):
        words = ("--epochs", "90", "--target-time", "1000h")
        answer = json.loads(self.plan(*words, "--json").stdout)
        self.assertEqual(answer["schema_version"], 1)
        self.assertIsNone(answer["nearest"])
        choice = answer["choice"]
        self.assertTrue(choice["meets"])
        self.assertLessEqual(choice["time_s"]["mean"], 1000 * 3600)
        text = self.plan(*words).stdout.decode()
        self.assertIn(answer["verdict"], text)
        self.assertEqual(len([line for line in text.splitlines() if line.startswith("> ")]), 1)
        table = text[text.index("\nBest machines"):text.index("\nWhat to buy next")].splitlines()
        self.assertEqual(len(table) - 3, len(answer["front"]))
        for line in table[2:]:
            self.assertLessEqual(len(line), 80)

    def test_a_choice_that_is_not_on_the_front_has_its_row(self):
        words = ("--epochs", "90", "--target-time", "30min")
        answer = json.loads(self.plan(*words, "--json").stdout)
        same = [all(option[key] == answer["choice"][key] for key in ("machine", "nodes", "workers", "data")) for option in answer["front"]]
        self.assertNotIn(True, same)  # what is faster and cheaper is an upper bound, which meets nothing surely
        text = self.plan(*words).stdout.decode()
        self.assertEqual(len([line for line in text.splitlines() if line.startswith("> ")]), 1)
        self.assertIn("not among the best", text)

    def test_where_scaling_stops_is_told_alike(self):
        answer = json.loads(self.plan("--json").stdout)
        text = " ".join(self.plan().stdout.decode().split())
        self.assertEqual(len(answer["curves"]), 3)
        for curve in answer["curves"]:
            self.assertIn(curve["machine"], text)
            self.assertIn(curve["weak"]["stops"], text)
            self.assertIn(curve["strong"]["stops"], text)

    def test_the_page_goes_where_it_is_told(self):
        page = self.plan("-f", "html").stdout
        self.assertTrue(page.startswith(b"<!doctype html>"))
        self.assertIn(b"stallcast plan", page)
        target = self.folder / "plan.html"
        self.assertEqual(self.plan("-f", "html", "-o", target).stdout, b"")
        self.assertIn(b"<h1", target.read_bytes())
        self.assertIn(str(target).encode(), target.read_bytes())  # how to make it again
        self.assertEqual(json.loads(self.plan("-f", "json", "-o", "-").stdout), json.loads(self.plan("--json").stdout))
        self.plan("-f", "html", "-o", self.folder / "nowhere" / "plan.html", status=3)
        self.assertIn(b"text, json or html", self.plan("-f", "csv", status=2).stderr)
        self.plan("-f", "html", "--json", status=2)

    def test_names_of_a_catalogue_cannot_reach_the_terminal(self):
        catalog = json.loads(pathlib.Path(self.CATALOG).read_text())
        catalog["currency"] = catalog["machines"][0]["name"] = "\x1b[31mred \u202egpj.exe"
        hostile = self.folder / "hostile.json"
        hostile.write_text(json.dumps(catalog))
        for words in ((), ("--target-cost", "1000000"), ("--target-throughput", "1000000000/s")):
            done = self.cli("plan", PREP, "--catalog", hostile, *words)
            self.assert_status(done, 0)
            self.assertNotIn(b"\x1b", done.stdout)
            self.assertNotIn("\u202e", done.stdout.decode())

    def test_a_target_that_nothing_meets(self):
        answer = json.loads(self.plan("--target-throughput", "1000000000/s", "--json").stdout)
        self.assertIsNone(answer["choice"])
        self.assertIn("nothing in the catalogue", answer["verdict"])

    def test_wrong_questions(self):
        for words, hint in ((["--target-time", "8"], b"s"), (["--epochs", "0"], b"90"),
                            (["--target-throughput", "5000"], b"/s"), (["--target-cost=-1"], b"above 0"), (["--target-cost=0"], b"above 0"),
                            (["--target-cost=nan"], b"above 0")):
            with self.subTest(words=words):
                self.assertIn(hint, self.plan(*words, status=2).stderr)
        self.assert_status(self.cli("plan", PREP), 2)
        self.assert_status(self.cli("plan", PREP, "--catalog", self.folder / "nothing"), 4)
        wrong = self.folder / "wrong.json"
        wrong.write_text('{"schema_version": 1, "machines": [{"name": "a", "cores": -4}]}')
        done = self.cli("plan", PREP, "--catalog", wrong)
        self.assert_status(done, 4)
        self.assertIn(b"machines[0].cores", done.stderr)
        self.assert_status(self.cli("plan", GOLDEN / "absent-heavy.json", "--catalog", self.CATALOG), 5)


class Validate(CliTest):
    def test_the_ledger(self):
        done = self.cli("validate", "--json")
        self.assert_status(done, 0)
        answer = json.loads(done.stdout)
        predicted = [row for row in answer["rows"] if row["kind"] == "predicted"]
        self.assertEqual(answer["summary"]["predicted_rows"], len(predicted))
        self.assertGreater(len(predicted), 5)
        self.assertTrue(answer["summary"]["controls_hold"])
        close = [row for row in predicted if abs(row["err_beyond_reading_frac"]) <= 0.05]
        self.assertEqual(answer["summary"]["predicted_within_5_percent_as_read"], len(close))
        self.assertTrue(all(row["err_beyond_reading_frac"] == row["err_frac"] for row in predicted
                            if row["published_err_frac"] == 0))
        text = self.cli("validate").stdout.decode()
        self.assertEqual(sum(line.startswith("predicted ") for line in text.splitlines()), len(predicted))


if __name__ == "__main__":
    unittest.main(verbosity=2)
