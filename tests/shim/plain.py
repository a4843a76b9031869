"""Plain runs of short scripts that import torch: forked from a process that has imported it, which is most of what they take."""

import atexit
import os
import sys
import tempfile
import threading
import types
import warnings

from harness import IGNORED_WARNINGS

try:
    import torch  # noqa: F401  (in this process, for all that are forked)
except ImportError:
    pass  # the tests are skipped
_FILTERS = list(warnings.filters)  # before unittest has its own


class Plain:
    """How a script ended without us, and what it printed."""

    def __init__(self, path):
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            process = os.fork()
            if process == 0:
                _run(path, out.fileno(), err.fileno())
            self.status = os.waitpid(process, 0)[1]
            out.seek(0)
            err.seek(0)
            self.out, self.err = out.read(), err.read()


def _run(path, out, err):
    """As the interpreter runs a script, in this process, which ends here."""
    status = 1
    try:
        nothing = os.open(os.devnull, os.O_RDONLY)
        for place, file in enumerate((nothing, out, err)):
            os.dup2(file, place)
        for name in [name for name in os.environ if name.startswith(("PYTHON", "STALLCAST"))]:
            del os.environ[name]
        warnings.filters[:] = _FILTERS
        for message in IGNORED_WARNINGS:
            warnings.filterwarnings("ignore", message)
        os.chdir(os.path.dirname(path))
        sys.argv, sys.path[0] = [path], os.path.dirname(path)
        module = sys.modules["__main__"] = types.ModuleType("__main__")
        module.__file__ = path
        with open(path) as file:
            exec(compile(file.read(), path, "exec"), module.__dict__)
        threading._shutdown()
        atexit._run_exitfuncs()
        status = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
