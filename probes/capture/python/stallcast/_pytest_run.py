"""A program: runs one test of a pytest session and writes its reports down. Started by _pytest_job.py, under
`stallcast profile`, with the test's name as an argument for those who read the report.
"""

import json
import os
import sys


class _Recorder:
    """Writes a line for each report, at once: the process may die in the test."""

    def __init__(self, config, path):
        self._config = config
        self._path = path

    def pytest_runtest_logreport(self, report):
        self._write(self._config.hook.pytest_report_to_serializable(config=self._config, report=report))

    def pytest_collectreport(self, report):
        if report.failed:
            self._write({"trouble": str(report.longrepr)})

    def pytest_internalerror(self, excrepr):
        self._write({"trouble": str(excrepr)})

    def _write(self, content):
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(content, default=str) + "\n")


def main():
    with open(os.environ["STALLCAST_PYTEST"], encoding="utf-8") as file:
        job = json.load(file)
    sys.path[:] = job["path"]  # without the folder of this file, whose modules are not for import by their names
    from _pytest.config import Config

    config = Config.fromdictargs(job["options"], job["arguments"])
    try:
        config.pluginmanager.register(_Recorder(config, job["reports"]))
        return int(config.hook.pytest_cmdline_main(config=config))
    finally:
        config._ensure_unconfigure()


if __name__ == "__main__":
    sys.exit(main())
