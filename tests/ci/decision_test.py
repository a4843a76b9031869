"""What the check runs, in which order, and what it decides. The tool is played by fake_tool.py."""
import pathlib
import sys
import unittest

from harness import CheckTest

FAKE = pathlib.Path(__file__).resolve().with_name("fake_tool.py")


class Decision(CheckTest):
    def setUp(self):
        super().setUp()
        tool = self.folder / "tool"
        tool.write_text(f"#!/bin/sh\nexec {sys.executable} {FAKE} \"$@\"\n")
        tool.chmod(0o755)
        self.calls = self.folder / "calls"

    def decide(self, *words, command="train", **environment):
        return self.check("run", "--stallcast", self.folder / "tool", "--base", "base", "--head", "head", "--output",
                          self.output, "--command", command, *words, FAKE_CALLS=str(self.calls), **environment)

    def called(self, task):
        return [line.split() for line in self.calls.read_text().splitlines() if line.split()[1] == task]

    def test_sides_alternate_after_a_warm_up_of_both(self):
        self.assert_status(self.decide("--rounds", 3), 0)
        ran = [(pathlib.Path(words[words.index("-o") + 1]).parent.name, words[0]) for words in self.called("profile")]
        self.assertEqual(ran, [("warm-up", "base"), ("warm-up", "head"), ("round-1", "base"), ("round-1", "head"),
                               ("round-2", "head"), ("round-2", "base"), ("round-3", "base"), ("round-3", "head")])
        self.calls.unlink()
        self.assert_status(self.decide("--rounds", 1, "--warm-up", "false", "--output", self.folder / "other"), 0)
        self.assertEqual([words[0] for words in self.called("profile")], ["base", "head"])

    def test_words_of_options_and_command_reach_the_tool_and_no_shell(self):
        command = "train 'a b' $(touch made) `touch made` ; x"
        done = self.decide("--options=--phases as_is --budget 1min", command=command)
        self.assert_status(done, 0)
        first = self.called("profile")[0]
        self.assertEqual(first[2:5], ["--stop", "-q", "--force"])
        line = " ".join(first)
        self.assertIn("--phases as_is --budget 1min -- train a b $(touch made) `touch made` ; x", line)
        self.assertEqual([*self.folder.rglob("made")], [])

    def test_conditions_are_one_a_line_and_are_asked_of_the_same_workload(self):
        self.assert_status(self.decide("--fail-on", "a>+1%\n\n  b<-2%  \n", "--fail-on", "c>+3%"), 0)
        self.assertEqual(self.called("diff")[-1][2:], "base head --same-workload -f md --fail-on a>+1% --fail-on b<-2% "
                                                      "--fail-on c>+3%".split())

    def test_most_rounds_decide(self):
        for rounds, status, word in (("1", 1, "failed"), ("0", 0, "passed"), ("5", 5, "unjudged"), ("1,0", 0, "passed"),
                                     ("1,1", 1, "failed"), ("1,5", 5, "unjudged"), ("0,5", 0, "passed"),
                                     ("1,0,1", 1, "failed"), ("1,0,5", 5, "unjudged"), ("70,70", 5, "unjudged")):
            with self.subTest(rounds):
                output, told = self.folder / rounds, self.folder / f"{rounds}.output"
                done = self.decide("--rounds", rounds.count(",") + 1, "--output", output, FAKE_DIFF=rounds,
                                   GITHUB_OUTPUT=str(told))
                self.assert_status(done, status)
                self.assertEqual(told.read_text(), f"verdict={word}\n")

    def test_what_cannot_be_judged_may_be_a_warning_and_is_never_called_passed(self):
        self.assert_status(self.decide("--rounds", 1, "--on-unjudged", "warn", FAKE_DIFF="5"), 0)
        page = self.page()
        self.assertIn("**Not judged", page)
        self.assertIn("no pass", page)
        self.assertIn("`````\nstallcast: not known ````\n`````", page)  # the fence is longer than what it holds
        self.assertNotIn("Passed", page)

    def test_a_side_that_does_not_run(self):
        for statuses, status, part in (("3,0", 5, "ended with status 3 on the base"),
                                       ("0,3", 1, "ended with status 3 on the head"),
                                       ("0,-9", 5, "could not profile the head"),
                                       ("125,0", 5, "could not profile the base")):
            with self.subTest(statuses):
                self.output = self.folder / statuses
                self.assert_status(self.decide(FAKE_PROFILE=statuses), status)
                self.assertIn(part, self.page())
        self.assertEqual(len(self.called("profile")), 1 + 2 + 2 + 1)  # nothing runs after it

    def test_the_page(self):
        self.assert_status(self.decide("--name", "small.data", "--rounds", 2, FAKE_DIFF="1,1"), 1)
        page = self.page()
        self.assertEqual(page.splitlines()[0], "<!-- stallcast-check: small.data -->")
        self.assertIn("Failed: a condition holds beyond noise in 2 of 2 rounds.", page)
        self.assertIn("\n### stallcast diff: of round 1\n", page)
        self.assertIn("<details><summary>Round 2: a condition holds</summary>", page)
        self.assertEqual(self.summary.read_text(), page + "\n")

    def test_what_is_too_long_for_a_comment_is_left_out_and_named(self):
        self.assert_status(self.decide("--rounds", 2, FAKE_TABLE="40000"), 0)
        page = self.page()
        self.assertLess(len(page), 65536)
        self.assertIn("Round 2 is too long", page)
        self.assertEqual(page.count("x" * 40000), 1)

    def test_without_a_summary_the_page_is_printed(self):
        del self.environment["GITHUB_STEP_SUMMARY"]
        done = self.decide()
        self.assert_status(done, 0)
        self.assertIn(self.page(), done.stdout)

    def test_wrong_options_cost_no_run(self):
        for words, part in ((("--fail-on", "nonsense"), "not a condition"), (("--rounds", "0"), "at least 1"),
                            (("--name", "a --> b"), "letters"), (("--base", "missing"), "no folder"),
                            (("--command", "   "), "empty"), (("--command", "'open"), "--command or --options")):
            with self.subTest(words):
                done = self.decide(*words)
                self.assert_status(done, 2)
                self.assertIn(part, done.stderr)
        self.assertEqual(self.called("profile"), [])
        self.assert_status(self.decide("--stallcast", self.folder / "nothing"), 3)

    def test_a_run_that_was_cut_off_leaves_no_earlier_result(self):
        self.assert_status(self.decide(), 0)
        (self.folder / "tool").write_text("#!/bin/sh\n[ \"$1\" = diff ] || kill -9 $PPID\n")
        self.assertNotEqual(self.decide().returncode, 0)
        self.assertFalse((self.output / "check.md").exists())


if __name__ == "__main__":
    unittest.main()
