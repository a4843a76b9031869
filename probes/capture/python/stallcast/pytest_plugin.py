"""A pytest plugin: a test that trains fails where it waits for data too long.

    @pytest.mark.data_wait(max="5%")
    def test_epoch():
        train(loader)

The test runs in a process of its own under `stallcast profile --phases as_is`, with its fixtures. Beside what it
asserts itself, it fails if the share of a step that waits for data is above `max` beyond noise: if the lower end of its
95 % interval is. A share that could not be measured fails too, with the reason; data_wait(max=..., unmeasured="skip") skips
the test instead. With -rA the share of each passed test is shown. --data-wait-reports DIR keeps all reports.
"""

import os
import re
import zlib

import pytest
from _pytest.reports import TestReport
from _pytest.runner import CallInfo, pytest_runtest_teardown

from . import _program, _pytest_job

_NAME = "data_wait"


def pytest_addoption(parser):
    parser.getgroup("stallcast").addoption(
        "--data-wait-reports", metavar="DIR", default=None,
        help="Keep the profile and the report of each test with the mark data_wait below DIR.")


def pytest_configure(config):
    config.addinivalue_line(
        "markers", 'data_wait(max, unmeasured="fail"): measure the test with stallcast; it fails if more than max '
                   '(such as "5%") of a step waits for data, or, unless unmeasured="skip", if that cannot be measured.')


class Limit:
    """What a mark allows. Raises ValueError with words for the user."""

    def __init__(self, mark):
        known = dict(mark.kwargs)
        text, self.unmeasured = known.pop("max", None), known.pop("unmeasured", "fail")
        if mark.args or known or text is None:
            raise ValueError('data_wait takes max="5%" and unmeasured="fail" or "skip", by name')
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", text) if isinstance(text, str) else None
        if match is None or float(match.group(1)) > 100:
            raise ValueError('data_wait(max=%r): max is a share of the step with its unit, such as "5%%"' % (text,))
        if self.unmeasured not in ("fail", "skip"):
            raise ValueError('data_wait(unmeasured=%r): it is "fail" or "skip"' % (self.unmeasured,))
        self.frac = float(match.group(1)) / 100


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """In place of pytest's own for tests with the mark, where this is not the process of the measured test itself."""
    mark = item.get_closest_marker("data_wait")
    if mark is None or _pytest_job.is_inside():
        return None
    if getattr(item.config.option, "setuponly", False) or getattr(item.config.option, "setupplan", False):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in _measured(item, mark):
        item.ihook.pytest_runtest_logreport(report=report)
    # Fixtures of earlier tests that this test's neighbours shared, and that the next one does not.
    done = CallInfo.from_call(lambda: pytest_runtest_teardown(item, nextitem), when="teardown")
    if done.excinfo is not None:
        item.ihook.pytest_runtest_logreport(report=item.ihook.pytest_runtest_makereport(item=item, call=done))
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _measured(item, mark):
    """The reports of the test, run and judged."""
    try:
        limit = Limit(mark)
    except ValueError as error:
        return [_report(item, "setup", "failed", str(error))]
    program = _program.find()
    if program is None:
        return [_unmeasured(item, limit, _program.missing(), "setup")]
    job = _pytest_job.Job(item, _kept_folder(item))
    try:
        # A plugin's time limit may raise in here.
        call = CallInfo.from_call(lambda: job.run(program), "call", (KeyboardInterrupt, pytest.exit.Exception))
        if call.excinfo is not None:
            return [item.ihook.pytest_runtest_makereport(item=item, call=call)]
        return _judged(item, limit, job)
    finally:
        job.end()


def _judged(item, limit, job):
    reports = job.reports()
    if not any(report.when == "teardown" for report in reports):
        return [*reports, _report(item, "call", "failed", "the test's process ended too early: " + job.last_words())]
    for place, report in enumerate(reports):
        if report.when == "call" and report.passed:
            reports[place] = _with_share(item, limit, job, report)
    return reports


def _with_share(item, limit, job, report):
    """`report` of a test that passed, failed where it waits too long."""
    share, reason = job.share()
    if share is None:
        refused = _unmeasured(item, limit, reason + (job.place() if limit.unmeasured == "fail" else ""), "call")
        refused.sections = report.sections
        return refused
    text = "%s of a step waits for data (%s to %s with 95 %% confidence); %s is allowed" % tuple(
        _percent(value) for value in (share["mean"], share["ci95_low"], share["ci95_high"], limit.frac))
    report.sections.append(("stallcast " + _NAME, text))
    if share["ci95_low"] > limit.frac:
        is_expected = hasattr(report, "wasxfail")
        report.outcome = "skipped" if is_expected else "failed"
        report.longrepr = "%s: %s%s" % (_NAME, text, "" if is_expected else job.place())
    return report


def _unmeasured(item, limit, reason, when):
    text = _NAME + ": not measured: " + reason
    if limit.unmeasured == "skip":
        return _report(item, when, "skipped", (str(item.location[0]), item.location[1] or 0, text))
    return _report(item, when, "failed", text)


def _report(item, when, outcome, longrepr):
    return TestReport(item.nodeid, item.location, dict.fromkeys(item.keywords, 1), outcome, longrepr, when)


def _kept_folder(item):
    """Where the user wants the profile of this test; None: nowhere in particular."""
    wanted = item.config.getoption("--data-wait-reports", None)
    if not wanted:
        return None
    plain = item.nodeid.replace("::", "-")
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", plain)[-120:].strip("-.")
    if name != plain:  # so that no two tests share a folder
        name += "-%08x" % zlib.crc32(plain.encode())
    return os.path.join(str(item.config.invocation_params.dir), wanted, name)


def _percent(frac):
    return "%.3g %%" % (100 * frac)
