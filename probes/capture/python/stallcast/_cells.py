"""A program: runs cells of a notebook one after the other, as the module __main__. Written and started by
_notebook_run.py, under `stallcast profile`.
"""

import codeop
import json
import os
import sys
import traceback
import types

_INTERRUPTED = 130


class _Plain:
    """Runs cells as Python does a script."""

    def __init__(self, module):
        self._names = module.__dict__
        self._compile = codeop.Compile()  # remembers `from __future__ import ...`

    def run(self, path):
        """The exception that ended it, or None."""
        with open(path, encoding="utf-8") as file:
            source = file.read()
        try:
            exec(self._compile(source, path, "exec"), self._names)
        except (KeyboardInterrupt, SystemExit) as error:
            return error
        except BaseException as error:
            frames = None if isinstance(error, SyntaxError) else error.__traceback__.tb_next  # without ours
            traceback.print_exception(type(error), error, frames)
            return error
        return None


class _ByIPython:
    """Runs cells that have magics, or await outside of functions."""

    def __init__(self, module):
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        config = Config()
        config.HistoryManager.enabled = False
        self._shell = InteractiveShell.instance(config=config, user_module=module, user_ns=module.__dict__)
        self._shell.set_custom_exc((KeyboardInterrupt, SystemExit), lambda *_exception, **_how: None)
        sys.modules["__main__"] = module

    def run(self, path):
        with open(path, encoding="utf-8") as file:
            result = self._shell.run_cell(file.read())
        return result.error_before_exec or result.error_in_exec


def _ends(error, cell):
    """Whether the run is over after this cell, which `error` ended; if so, raises or returns the status."""
    if isinstance(error, KeyboardInterrupt):
        sys.exit(_INTERRUPTED)
    if isinstance(error, SystemExit):
        raise error
    if cell["is_known"]:
        sys.exit(1)
    print("stallcast: cell %s failed here; the run goes on without it (--cells chooses cells)" % cell["number"],
          file=sys.stderr)


def main():
    with open(os.environ.pop("STALLCAST_CELLS"), encoding="utf-8") as file:
        job = json.load(file)
    sys.path[0] = ""  # as in a notebook; and what lies beside this file is not for import by these names
    sys.argv[:] = [""]
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    runner = (_ByIPython if job["by_ipython"] else _Plain)(module)
    for cell in job["cells"]:
        error = runner.run(cell["file"])
        if error is not None:
            _ends(error, cell)


if __name__ == "__main__":
    main()
