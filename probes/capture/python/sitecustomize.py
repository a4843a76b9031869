"""Brings stallcast into the Python processes of a profiled command, then steps aside.

The tool puts this folder first on PYTHONPATH. This file runs at interpreter start, arms a hook for the import of torch
(stallcast_shim/hooks.py), takes the folder off sys.path again, and runs the sitecustomize that it shadows, if any. The
environment keeps the folder, so that child processes are reached too. Outside a run it only steps aside. What stays
importable of the folder is the package `stallcast`, for scripts that mark their loops themselves.
"""


class _Stallcast:
    """Last on sys.meta_path: finds `stallcast` where nobody else does."""

    def __init__(self, folder):
        self._folder = folder

    def find_spec(self, name, path=None, target=None):
        if name != "stallcast":
            return None
        import importlib.util

        return importlib.util.spec_from_file_location(
            name, self._folder + "/__init__.py", submodule_search_locations=[self._folder])


def _offer():
    import os
    import sys

    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stallcast")
    if not any(type(finder).__name__ == "_Stallcast" for finder in sys.meta_path):
        sys.meta_path.append(_Stallcast(folder))


def _arm():
    import os
    import sys

    if "STALLCAST_RUN_DIR" not in os.environ or "stallcast_shim" in sys.modules:
        return
    try:
        from stallcast_shim import hooks

        hooks.install()
    except Exception:
        pass  # a guest never speaks up: without the hook this process is simply not seen


def _step_aside():
    import os
    import sys

    here = os.path.dirname(os.path.abspath(__file__))
    rest = [entry for entry in sys.path if os.path.abspath(entry) != here]
    if len(rest) == len(sys.path):
        return  # not found through the path: importing again would find this file again
    sys.path[:] = rest
    ours = sys.modules.pop(__name__)
    try:
        import sitecustomize  # noqa: F401 (the shadowed one; what it raises, Python reports as it would without us)
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        sys.modules[__name__] = ours


_offer()
_arm()
_step_aside()
