"""`%%stallcast`: measures how long a cell's training loop waits for data, and shows the report below it.

    %load_ext stallcast

    %%stallcast                     # or, recorded as it is: %%stallcast --phases as_is
    for batch in loader:
        train(batch)

The cell runs in a process of its own, which first runs the cells that this session ran before it. So its variables do
not come back. It is ended when the rates are known; with --phases as_is it runs to its end.

    --cells 1-4,7   run these cells before it instead (numbers as in In [4])
    --alone         run none before it
    --go-on         do not end it when the rates are known

All other options go to `stallcast profile`.
"""

import argparse
import html
import itertools
import os
import re
import shlex
import tempfile

from IPython.core.error import UsageError
from IPython.core.inputtransformer2 import TransformerManager
from IPython.display import display

from . import _notebook_run, _program

_OURS = "%%stallcast"
_NOT_OF_PYTHON = re.compile(r"\b(get_ipython|display)\b")
_LOADS = re.compile(r"\s*%?(re)?load_ext\s+stallcast\s*")
_HEIGHT_PX = 900


class _Options(argparse.ArgumentParser):
    def __init__(self):
        super().__init__(prog=_OURS, add_help=False, allow_abbrev=False, usage="see %%stallcast?")
        self.add_argument("--cells")
        self.add_argument("--alone", action="store_true")
        self.add_argument("--go-on", action="store_true")
        self.add_argument("--stop", action="store_true")
        self.add_argument("--phases")
        self.add_argument("-o", "--output")

    def error(self, message):
        raise UsageError("%s: %s" % (_OURS, message))


class _Failed(Exception):
    """Of the cell, which has shown its own traceback."""

    def _render_traceback_(self):
        return [str(self)]


class Magic:
    """Of one session."""

    def __init__(self, shell):
        self._shell = shell
        self._known = set()  # cells of which it is known how they ended
        self._failed = set(getattr(shell.history_manager, "exceptions", ()))  # before this; newer IPython notes them
        shell.events.register("post_run_cell", self._note)

    def _note(self, result):
        number = getattr(result, "execution_count", None)
        if number is None:
            return
        self._known.add(number)
        if not result.success:
            self._failed.add(number)

    def __call__(self, line, cell):
        options, others = _Options().parse_known_args(shlex.split(line))
        program = _program.find()
        if program is None:
            raise UsageError(_program.missing())
        before = self._before(options)
        output = os.path.abspath(options.output or _free_folder())
        words = ["-o", output, "--quiet"] + (["--phases", options.phases] if options.phases else [])
        if options.stop or not (options.go_on or options.phases == "as_is"):
            words.append("--stop")
        with tempfile.TemporaryDirectory(prefix="stallcast.cells-") as folder:
            cells = before + [(None, cell, True)]
            variables = _notebook_run.write(folder, cells, any(_needs_ipython(source) for _, source, _ in cells))
            print("stallcast: this cell runs in a process of its own, %s; its variables do not come back"
                  % _words([number for number, _, _ in before]), flush=True)
            status = _notebook_run.run(program, words + others, variables)
        _show(program, output)
        if status == 130:
            raise KeyboardInterrupt
        if status != 0:
            raise _Failed("stallcast: the cell ended with status %d" % status)

    def _before(self, options):
        """(number, source, whether it is known to have run well) of what runs before the cell."""
        sources = dict(enumerate(self._shell.history_manager.input_hist_raw))
        ours = self._shell.execution_count
        if options.alone:
            return []
        wanted = range(1, ours) if options.cells is None else _numbers(options.cells, ours)
        cells = []
        for number in wanted:
            source = sources.get(number, "")
            if not source.strip() or source.lstrip().startswith(_OURS) or _LOADS.fullmatch(source):
                continue
            if options.cells is None and number in self._failed:
                continue
            cells.append((number, source, number in self._known))
        return cells


def _numbers(text, end):
    """"1-3,7" as [1, 2, 3, 7]."""
    numbers = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        if match is None:
            raise UsageError("%s: --cells takes numbers such as 1-4,7, not %s" % (_OURS, text))
        first, last = int(match.group(1)), int(match.group(2) or match.group(1))
        if not 1 <= first <= last < end:
            raise UsageError("%s: --cells %s: cells of this session are 1 to %d" % (_OURS, text, end - 1))
        numbers.extend(range(first, last + 1))
    return numbers


def _needs_ipython(source):
    if _NOT_OF_PYTHON.search(source) or TransformerManager().transform_cell(source).strip() != source.strip():
        return True
    try:
        compile(source, "cell", "exec", dont_inherit=True)
    except SyntaxError:
        return True  # an await outside of functions, say
    return False


def _free_folder():
    names = itertools.chain(["stallcast-profile"], ("stallcast-profile-%d" % number for number in itertools.count(2)))
    return next(name for name in names if not os.path.exists(name))


def _words(numbers):
    if not numbers:
        return "with no other cell before it"
    return "after cell%s %s" % ("s" if len(numbers) > 1 else "", ", ".join(map(str, numbers)))


def _show(program, output):
    """The page, in a frame that keeps its styles inside; where there is no HTML, the text."""
    page = os.path.join(output, "report.html")
    if not os.path.isfile(page):
        return
    with open(page, encoding="utf-8") as file:
        frame = '<iframe srcdoc="%s" sandbox="allow-scripts" style="width:100%%;height:%dpx;border:0"></iframe>' % (
            html.escape(file.read(), quote=True), _HEIGHT_PX)
    display({"text/html": frame, "text/plain": _notebook_run.text(program, output)}, raw=True)


def load(shell):
    """Makes the magic known to a session; once."""
    if _OURS[2:] not in shell.magics_manager.magics["cell"]:
        magic = Magic(shell)

        def stallcast(line, cell):
            return magic(line, cell)

        stallcast.__doc__ = __doc__
        shell.register_magic_function(stallcast, "cell")
