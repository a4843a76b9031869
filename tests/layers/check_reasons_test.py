"""The check of reasons itself: it must find each kind of reason that no test quotes, and pass over those that one does."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).with_name("check_reasons.py")


def check(source, test):
    """Runs the check on one source and one test; returns (exit status, output)."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in {"analyzer/rates.cpp": source, "tests/rates_test.cpp": test}.items():
            target = pathlib.Path(root, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        done = subprocess.run([sys.executable, str(CHECK), root], stdout=subprocess.PIPE, text=True, check=False)
        return done.returncode, done.stdout


class ReasonsCheck(unittest.TestCase):
    def test_a_reason_that_a_test_quotes_passes(self):
        source = 'return Measured<double>::absent("the loader was never seen at work");'
        self.assertEqual(check(source, 'CHECK(rate.reason() == "never seen at work");')[0], 0)

    def test_one_that_no_test_quotes_is_told(self):
        for source in ('return Measured<double>::absent("the loader was never "\n    "seen at work");',
                       'block.rejected = "the loader was never seen at work";',
                       'reason = fmt::format("{} of them were never seen at work", n);',
                       'constexpr const char* k_unseen = "the loader was never seen at work";'):
            with self.subTest(source):
                status, output = check(source, 'CHECK(rate.reason() == "never asked");')
                self.assertEqual(status, 1, output)
                self.assertIn("analyzer/rates.cpp: ", output)

    def test_a_title_a_comment_and_common_words_are_no_quotes(self):
        source = 'return Measured<double>::absent("the loader was never seen at work");'
        for test in ('TEST_CASE("never seen at work") {', '  // "never seen at work"', 'CHECK(name == "loader");'):
            with self.subTest(test):
                self.assertEqual(check(source, test)[0], 1)

    def test_a_tree_without_reasons_was_not_checked(self):
        self.assertEqual(check("int rate = 1;", "CHECK(true);")[0], 2)


if __name__ == "__main__":
    unittest.main()
