"""One test in a process of its own under `stallcast profile`: what is handed to it, and what comes back.

Options and plugins are those of this session (as pytest-xdist hands them to its workers), except what chooses tests,
what repeats or distributes them, and what writes files. Reports come back as pytest writes them for other processes.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

from . import _program, _summary

_INSIDE = "STALLCAST_PYTEST"
_RUNNER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_pytest_run.py")
_OTHERWISE = {
    "keyword": "", "markexpr": "", "deselect": None, "lf": False, "failedfirst": False, "newfirst": False,
    "stepwise": False, "stepwise_skip": False, "cacheclear": False, "maxfail": 0, "collectonly": False,
    "usepdb": False, "trace": False, "xmlpath": None, "htmlpath": None, "report_log": None, "pastebin": None,
    "numprocesses": None, "maxprocesses": None, "dist": "no", "distload": False, "tx": [], "looponfail": False,
    "reruns": 0, "no_cov": True, "data_wait_reports": None,
}
_WORDS_BYTES = 4000


def is_inside():
    """Whether this process is that of one measured test."""
    return _INSIDE in os.environ


class Job:
    """Of the test `item`. `output`: for the profile; None: it lasts only where a message names it."""

    def __init__(self, item, output):
        self._item = item
        self._config = item.config
        self._folder = tempfile.mkdtemp(prefix="stallcast.pytest-")
        self._reports = os.path.join(self._folder, "reports.jsonl")
        self._printed = os.path.join(self._folder, "printed")
        self._output = output or os.path.join(self._folder, "profile")
        self._outlasts = output is not None
        self._is_named = False
        self._status = None

    def run(self, program):
        """To its end."""
        path = os.path.join(self._folder, "job.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self._described(), file)
        environment = _program.environment()
        environment[_INSIDE] = path
        command = [program, "profile", "--phases", "as_is", "--quiet", "--force", "-o", self._output, "--",
                   sys.executable, _RUNNER, self._item.nodeid]
        with open(self._printed, "wb") as printed:
            out = None if self._config.option.capture == "no" else printed
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out or printed,
                                       env=environment, cwd=str(self._config.invocation_params.dir))
            self._status = _wait(process)

    def reports(self):
        """Those of the test's phases, as far as it came."""
        hook = self._config.hook
        found = []
        for line in self._lines():
            if "trouble" in line:
                continue
            report = hook.pytest_report_from_serializable(config=self._config, data=line)
            report.nodeid, report.location = self._item.nodeid, self._item.location
            report.sections = [tuple(section) for section in report.sections]  # JSON has lists only
            if isinstance(report.longrepr, list):
                report.longrepr = tuple(report.longrepr)
            found.append(report)
        return found

    def share(self):
        """(the estimate of the share of a step that waits for data, None), or (None, why there is none)."""
        try:
            profile = _summary.read(self._output)
        except (OSError, ValueError):
            return None, self.last_words()
        estimate = profile["stalls"].get("as_is_wait_frac")
        if estimate is not None:
            return estimate, None
        if profile["outcome"]["status"] in ("no_loader", "not_enough_data"):
            return None, profile["outcome"]["words"]
        return None, profile["absent"].get("stalls.as_is_wait_frac", profile["outcome"]["words"])

    def place(self):
        """For the end of a message: where the report lies."""
        page = os.path.join(self._output, "report.html")
        if not os.path.isfile(page):
            return ""
        self._is_named = True
        return "\nreport: " + page

    def end(self):
        """Leaves what place() named, and nothing else."""
        for entry in os.listdir(self._folder):
            path = os.path.join(self._folder, entry)
            if path == self._output and self._is_named:
                continue
            if os.path.isdir(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.remove(path)
        if self._outlasts or not self._is_named:
            os.rmdir(self._folder)

    def last_words(self):
        """What the process said where it did not come to its end."""
        trouble = "".join(line["trouble"] + "\n" for line in self._lines() if "trouble" in line)
        with open(self._printed, "rb") as file:
            printed = file.read()[-_WORDS_BYTES:].decode("utf-8", "replace")
        return "status %s\n%s%s" % (self._status, trouble, printed)

    def _described(self):
        config = self._config
        options = {name: value for name, value in vars(config.option).items() if _is_plain(value)}
        plugins = options.pop("plugins", None) or []
        options.pop("file_or_dir", None)
        options.update((name, value) for name, value in _OTHERWISE.items() if name in options)
        options.update(rootdir=str(config.rootpath), basetemp=os.path.join(self._folder, "basetemp"))
        if config.inipath is not None:
            options["inifilename"] = str(config.inipath)
        arguments = [word for plugin in [*plugins, "no:terminal"] for word in ("-p", plugin)]
        chosen = self._item.nodeid.partition("::")[2]
        arguments.append(str(self._item.path) + ("::" + chosen if chosen else ""))
        return {"path": sys.path, "options": options, "arguments": arguments, "reports": self._reports}

    def _lines(self):
        try:
            with open(self._reports, encoding="utf-8") as file:
                return [json.loads(line) for line in file if line.endswith("\n")]
        except FileNotFoundError:
            return []


def _wait(process):
    """An interrupt on the terminal reaches the process too: it may report what it has before it ends."""
    try:
        return process.wait()
    except KeyboardInterrupt:
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            pass
        raise
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


def _is_plain(value):
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(inner) for key, inner in value.items())
    return value is None or isinstance(value, (str, int, float, bool))
