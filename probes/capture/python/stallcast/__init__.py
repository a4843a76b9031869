"""Marks for training loops whose loader stallcast does not know by itself.

    import stallcast

    for batch in stallcast.wrap(loader):  # a wait for each batch; what the loop does with it is the step
        train(batch)

Under `stallcast profile` the import works by itself. Elsewhere every call here does nothing: wrap() gives the loader
back as it came. A script that also runs where stallcast is not installed carries a copy of this one file beside it as
stallcast.py, or writes

    try:
        import stallcast
    except ImportError:
        stallcast = None
    for batch in stallcast.wrap(loader) if stallcast else loader:

PyTorch's DataLoader, tf.data and DALI need none of this. Loops in other languages: include/stallcast/capture.h.

The package has more, which a copy of this one file does without: summary() for wandb and the like, callbacks for two
trainers (stallcast.trainer, stallcast.lightning), `%load_ext stallcast` for notebooks, and a plugin for pytest.
"""

import os as _os
import sys as _sys

__all__ = ["active", "batch", "sample", "step", "summary", "wrap"]


class _Nothing:
    """`with` it, and nothing happens."""

    __slots__ = ()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None


_NOTHING = _Nothing()


def active():
    """Whether this process is recorded."""
    return False


def wrap(loader, workers=None, samples=None, name=None):
    """`loader` (anything that can be iterated, or an iterator), with its batches marked.

    workers  0: each batch is made by the loop's own thread, inside next(); then its waiting is divided into reading and
             preparing. N: by so many threads of this process that mark what they make with batch(). None: not known,
             and how much is waited is all that is measured.
    samples  of a batch: a number, or a function of the batch; None: the length of the first array in it.
    name     tells loaders of the same class apart, for example those of training and of evaluation.
    """
    return loader


def step():
    """An optimizer step was made. Those of torch.optim and of Keras are seen without it."""


def sample(index=-1):
    """`with stallcast.sample(index):` around the making of one sample, in the thread that makes it."""
    return _NOTHING


def batch(number, worker=0, samples=0):
    """`with stallcast.batch(number, worker):` around the making of a whole batch in a thread of the loader's; the
    batches of a pass count from 0."""
    return _NOTHING


def summary(folder=None):
    """What was measured as a flat dict of floats: {"stallcast/as_is_wait_frac": 0.31, ...}, with the bounds of each
    interval (..._ci95_low, ..._ci95_high). Names are those of profile.json. What was not measured is no key.

        wandb.log(stallcast.summary())

    folder  of a profile: what `profile -o` was given. None: the run that this process belongs to, as recorded so far;
            that takes a second or so. {} outside a run, and while a measured run makes its states.
    """
    try:
        from . import _live, _summary

        return _live.now() if folder is None else _summary.flat(_summary.read(folder))
    except Exception:
        return {}


def load_ipython_extension(shell):
    """`%load_ext stallcast`: cells that begin with %%stallcast are measured."""
    from . import _notebook

    _notebook.load(shell)


if "STALLCAST_RUN_DIR" in _os.environ and "stallcast_shim" in _sys.modules:
    try:
        from stallcast_shim.api import active, batch, sample, step, wrap  # noqa: F811,F401
    except Exception:
        pass  # another version's: the script goes on unmarked
