"""The pytest plugin: a marked test is measured in a process of its own, and judged."""

import importlib.util
import pathlib
import re
import sys
import types
import unittest

from harness import CLI, JOB, PackageTest, needs

needs("pytest")

from stallcast import pytest_plugin  # noqa: E402

HEAD = "import os, pytest\n" + JOB


class PluginTest(PackageTest):
    def pytest(self, content, *options, environment=()):
        self.write("test_it.py", HEAD + content)
        return self.run_python("-m", "pytest", "-p", "stallcast.pytest_plugin", "-p", "no:cacheprovider", "-rA",
                               *options, environment=environment)

    def counts(self, done):
        """The last line, "1 failed, 2 passed", as a dict."""
        last = done.stdout.strip().splitlines()[-1]
        return {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|skipped|xfailed|error)", last)}

    def assert_counts(self, done, **expected):
        self.assertEqual(self.counts(done), expected, done.stdout + done.stderr)

    def report_in(self, done):
        """The report that a message names."""
        return pathlib.Path(re.search(r"^report: (.*)$", done.stdout, re.MULTILINE).group(1))

    # --- the share is judged ---

    def test_below_and_above(self):
        done = self.pytest("""
@pytest.mark.data_wait(max="90%")
def test_below(tmp_path):
    train(0.01, 0.01)
    print("trained in", tmp_path)

@pytest.mark.data_wait(max="10 %")
def test_above():
    train(0.01, 0.01)
""")
        self.assertEqual(done.returncode, 1)
        self.assert_counts(done, passed=1, failed=1)
        share = r"\d\S* % of a step waits for data \(\d\S* % to \d\S* % with 95 % confidence\); "
        self.assertRegex(done.stdout, "(?m)^data_wait: " + share + "10 % is allowed$")
        self.assertRegex(done.stdout, "(?m)^" + share + "90 % is allowed$")
        self.assertIn("trained in", done.stdout)
        page = self.report_in(done)
        self.assertTrue(page.is_file())
        self.assertEqual(self.left_behind(), [page.parts[-3]])
        self.assertEqual(list(page.parents[1].iterdir()), [page.parent])

    def test_within_noise_passes(self):
        for low, outcome in ((0.04, "passed"), (0.05, "passed"), (0.06, "failed")):
            report = types.SimpleNamespace(outcome="passed", longrepr=None, sections=[])
            estimate = {"mean": 0.09, "ci95_low": low, "ci95_high": 0.12, "n": 9}
            job = types.SimpleNamespace(share=lambda found=estimate: (found, None), place=lambda: "")
            judged = pytest_plugin._with_share(None, types.SimpleNamespace(frac=0.05), job, report)
            self.assertEqual(judged.outcome, outcome)
            self.assertIn("9 % of a step waits for data", judged.sections[0][1])

    def test_reports_that_are_kept(self):
        done = self.pytest("""
@pytest.mark.data_wait(max="90%")
@pytest.mark.parametrize("wait", [0.01, 0.02], ids=["a::b/c", "[x]"])
def test_names(wait):
    train(wait, 0.01)
""", "--data-wait-reports", "kept")
        self.assert_counts(done, passed=2)
        kept = sorted(path.name for path in (self.folder / "kept").iterdir())
        self.assertEqual(len(kept), 2)
        for name in kept:
            self.assertRegex(name, r"^test_it.py-test_names-\S*$")
            self.assertTrue((self.folder / "kept" / name / "profile.json").is_file())
        self.assertEqual(self.left_behind(), [])

    def test_what_cannot_be_measured(self):
        done = self.pytest("""
@pytest.mark.data_wait(max="5%")
def test_none():
    pass

@pytest.mark.data_wait(max="5%", unmeasured="skip")
def test_none_skipped():
    pass
""")
        self.assert_counts(done, failed=1, skipped=1)
        self.assertIn("data_wait: not measured: no data loader was seen", done.stdout)

    def test_no_command(self):
        for unmeasured, expected in (("fail", {"error": 1}), ("skip", {"skipped": 1})):
            mark = '\n@pytest.mark.data_wait(max="5%%", unmeasured="%s")' % unmeasured
            done = self.pytest(mark + "\ndef test_it(): pass\n", environment={"PATH": "/does/not/exist"})
            self.assert_counts(done, **expected)
            self.assertIn("there is no stallcast command here", done.stdout)

    def test_wrong_marks(self):
        marks = ("max=5", "max='5'", "max='-1%'", "max='101%'", "max=''", "", "'5%'", "max='5%', unmeasured='pass'",
                 "max='5%', other=1")
        done = self.pytest("".join("\n@pytest.mark.data_wait(%s)\ndef test_%d(): pass\n" % (mark, number)
                                   for number, mark in enumerate(marks)))
        self.assert_counts(done, error=len(marks))
        self.assertIn('data_wait(max=5): max is a share of the step with its unit, such as "5%"', done.stdout)
        self.assertIn('data_wait(unmeasured=\'pass\'): it is "fail" or "skip"', done.stdout)

    # --- the test stays what it is ---

    def test_its_own_outcome(self):
        done = self.pytest("""
@pytest.fixture
def broken():
    raise OSError("no fixture")

@pytest.mark.data_wait(max="5%")
def test_fails():
    assert 1 == 2

@pytest.mark.data_wait(max="5%")
def test_broken(broken):
    pass

@pytest.mark.data_wait(max="5%")
@pytest.mark.skip(reason="not today")
def test_skipped():
    pass

@pytest.mark.data_wait(max="5%")
@pytest.mark.xfail
def test_expected():
    train(0.01, 0.01)

@pytest.mark.data_wait(max="5%")
def test_dies():
    print("last words", flush=True)
    os._exit(7)
""", "-s")
        self.assert_counts(done, failed=2, error=1, skipped=1, xfailed=1)
        for words in ("assert 1 == 2", "OSError: no fixture", "not today", "last words",
                      "the test's process ended too early: status 7"):
            self.assertIn(words, done.stdout)
        self.assertEqual(self.left_behind(), [])

    def test_fixtures_of_neighbours(self):
        self.write("test_other.py", "def test_next(other): pass\n")
        self.write("conftest.py", """
            import pytest
            @pytest.fixture(scope="module")
            def other():
                print("other")
        """)
        done = self.pytest("""
@pytest.fixture(scope="module")
def shared():
    yield 1
    print("torn down")

def test_before(shared):
    pass

@pytest.mark.data_wait(max="90%")
def test_measured(shared):
    train(0.01, 0.01)
""", "-s", "test_it.py", "test_other.py")
        self.assert_counts(done, passed=3)
        self.assertEqual(done.stdout.count("torn down"), 2)  # in both processes
        self.assertLess(done.stdout.rindex("torn down"), done.stdout.index("other\n"))

    def test_options_reach_it_and_selections_do_not(self):
        self.write("conftest.py", """
            import pytest
            def pytest_addoption(parser):
                parser.addoption("--waits")
            @pytest.fixture
            def waits(request):
                return float(request.config.getoption("--waits"))
        """)
        self.write("pytest.ini", "[pytest]\naddopts = --strict-markers -q --junitxml=result.xml\n")
        done = self.pytest("""
@pytest.mark.data_wait(max="90%")
class TestIt:
    def test_a(self, waits):
        train(waits, 0.01)
    def test_b(self):
        assert False
""", "--waits", "0.01", "-k", "test_a", "-x")
        self.assert_counts(done, passed=1)
        self.assertEqual((self.folder / "result.xml").read_text().count("<testcase"), 1)

    def test_under_stallcast(self):
        content = '\n@pytest.mark.data_wait(max="90%")\ndef test_it():\n    train(0.01, 0.01)\n'
        self.write("test_it.py", HEAD + content)
        done = self.run_command(CLI, "profile", "--phases", "as_is", "--quiet", "-o", self.folder / "outer", "--",
                                sys.executable, "-m", "pytest", "-p", "stallcast.pytest_plugin", "-rA")
        self.assert_counts(done, passed=1)
        self.assertIn("90 % is allowed", done.stdout)

    def test_distributed(self):
        if importlib.util.find_spec("xdist") is None:
            self.skipTest("this Python has no pytest-xdist")
        done = self.pytest("""
@pytest.mark.data_wait(max="90%")
@pytest.mark.parametrize("number", range(2))
def test_it(number):
    train(0.01, 0.01)
""", "-n", "2")
        self.assert_counts(done, passed=2)
        self.assertEqual(done.stdout.count("90 % is allowed"), 2)

    def test_marks_are_known(self):
        done = self.run_python("-m", "pytest", "-p", "stallcast.pytest_plugin", "--markers")
        self.assertIn("@pytest.mark.data_wait(max, ", done.stdout)


if __name__ == "__main__":
    unittest.main()
