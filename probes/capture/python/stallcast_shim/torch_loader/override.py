"""Loader settings that the tool wants for a run (`stallcast verify`), given to the training loader when it is made.

The tool leaves loader.json in the run folder:

    {"num_workers": 4, "prefetch_factor": null, "where": {"dataset_type": "ImageFolder", "batch_size": 64, ...}}

Which loader will train cannot be known when it is constructed; what the training loader looked like when it was profiled
is: a loader is taken for it if it says the same of itself as `where` does. Evaluation loaders differ in length or order
and stay as they are. Whether that hit the loader that trains is seen afterwards, from its own record.

The attributes are set once torch's own __init__ is done: however the arguments came, they were read and checked by then,
and torch reads these attributes anew for every iterator.
"""

import functools
import inspect
import json
import os

from .. import capture, describe
from ..capture import calls
from ..frames import unseen

_told = set()


def patch(module):
    """Wraps DataLoader.__init__ where this run has an override; called with torch.utils.data.dataloader just imported."""
    asked = _read()
    if asked is None:
        return
    real = module.DataLoader.__init__
    fallback = inspect.signature(real).parameters["prefetch_factor"].default  # of a loader without workers

    @functools.wraps(real)
    @unseen
    def __init__(self, *args, **kwargs):
        real(self, *args, **kwargs)
        if not calls.enabled:
            return
        try:
            if _is_meant(self, asked["where"]):
                _set(self, asked, fallback)
        except Exception as error:
            capture.fail("setting a loader", error)

    module.DataLoader.__init__ = __init__


def _read():
    try:
        with open(os.path.join(os.environ["STALLCAST_RUN_DIR"], "loader.json"), encoding="utf-8") as file:
            return json.load(file)
    except (KeyError, FileNotFoundError):
        return None


def _is_meant(loader, where):
    facts = describe.loader(0, loader, loader)
    return all(facts.get(name) == value for name, value in where.items())


def _set(loader, asked, fallback):
    before = _words(loader)
    workers = loader.num_workers if asked["num_workers"] is None else asked["num_workers"]
    prefetch = asked["prefetch_factor"] or loader.prefetch_factor or 2  # 2: torch's own default
    loader.num_workers = workers
    loader.prefetch_factor = prefetch if workers else fallback
    if not workers:  # what torch refuses without workers
        loader.__dict__["persistent_workers"] = False  # its __setattr__ is closed once the loader is made
        loader.multiprocessing_context = None
        loader.timeout = 0
    _tell(type(loader.dataset).__name__ + ": " + before + " became " + _words(loader))


def _words(loader):
    return "num_workers=%s, prefetch_factor=%s" % (loader.num_workers, loader.prefetch_factor)


def _tell(change):
    if change not in _told:
        _told.add(change)
        capture.issue("loader-settings-replaced", "info", "the loader of " + change[:300], "")
