"""States of a measured run: on which passes they are made.

The loader that trains is armed once it has shown that it does; its further passes are armed from their first batch on.
One pass is at a time: turns are counted along it.
"""

import os

from .. import capture
from ..capture import calls
from . import measured, prediction
from .measured import PASS, Measured  # noqa: F401 (the rest of the shim knows phases alone)
from .segment_run import Task, is_phased, run  # noqa: F401

ARM_AFTER = 8  # batches of a loader before it is armed: imports, lazy initialisation and the first steps are over
ARM_WITHOUT_STEPS = 20  # the same where the script never calls an optimizer

# Iterators that send index lists to their workers as torch's does, and the module that these run (worker.py)
_LOOPS = {
    "_SingleProcessDataLoaderIter": "torch.utils.data._utils.worker",
    "_MultiProcessingDataLoaderIter": "torch.utils.data._utils.worker",
    "_StatefulSingleProcessDataLoaderIter": "torchdata.stateful_dataloader.worker",
    "_StatefulMultiProcessingDataLoaderIter": "torchdata.stateful_dataloader.worker",
}

# What of torch's iterator holding a put relies on
_GATED = ("_task_info", "_tasks_outstanding", "_send_idx", "_rcvd_idx", "_index_queues", "_get_data", "_data_queue")


_told = set()


def _enter_child():
    """What is forked from a training may train, too, but beside it: nobody waits for it in a hold."""
    if run.steps_seen:
        run.forked_from_rank = os.environ.get("RANK", "")


os.register_at_fork(after_in_child=_enter_child)


def before(iterator, current_pass):
    """The script asks this pass for a batch: it may be held. The Measured of the pass, or None where it has none."""
    run.last_pass = current_pass
    if not is_phased():
        return None
    made = current_pass.phased
    if made is None:
        if not _is_due(current_pass):
            return None
        made = _arm(iterator, current_pass)
        if made is None:
            return None
    if made is not run.measured:  # another pass is armed instead
        return None
    made.before(iterator)
    return made if is_phased() else None


def refuse_known(current_pass):
    """Before a wait of a loader that is not torch's, whose pass was not refused: what it has ready, and when it makes
    more, nobody can choose."""
    if is_phased() and _is_due(current_pass):
        known = current_pass.known
        how = "are made by the loop itself" if known.makes_here else "come from threads or processes that cannot be held back"
        whose = {"function": "a function", "queue": "a queue"}.get(known.text["kind"], known.text["kind"])
        _refuse(current_pass, "batches of %s %s" % (whose, how))


def first_draw(iterator, current_pass):
    """Before the first index list of a pass is drawn: what the pass will draw can be told from here on. Of the loader that
    is armed, it is armed from here on."""
    if not is_phased() or current_pass.phased is not None or _evaluates(current_pass):
        return
    is_first = run.armed_loader is None
    if not is_first and (not _is_armed_loader(current_pass.loader) or not run.measured.is_over()):
        return
    if getattr(iterator, "_dataset_kind", 0) == 0:
        current_pass.prediction = prediction.of(iterator._index_sampler)
    if not is_first:
        _arm(iterator, current_pass)


def give_up():
    """Something of ours failed: nothing of this process is held any more."""
    run.enabled = False
    try:
        if run.measured is not None:
            run.measured.open()
        calls.library.stallcast_phase_at_end(1)
    except Exception:
        pass


def _is_due(current_pass):
    """Whether this pass is to be armed."""
    if current_pass.is_refused or run.forked_from_rank == os.environ.get("RANK", "") or _evaluates(current_pass):
        return False
    loader = current_pass.loader
    if run.measured is not None:
        return run.measured.is_over() and _is_armed_loader(loader)
    if loader.delivered < ARM_AFTER:
        return False
    if loader.steps > 0:
        return True
    # Where no steps are seen, the first loader trains; one that comes after it may be that of an evaluation.
    return loader.delivered >= ARM_WITHOUT_STEPS and not run.steps_seen


def _evaluates(current_pass):
    """Whether the pass was begun without gradients, though the training keeps them: an evaluation over its loader."""
    return run.trains_with_gradients and current_pass.keeps_gradients is False


def _is_armed_loader(loader):
    """A script may make its loader anew for every epoch: the same in all that describes it."""
    armed = run.armed_loader
    if loader is armed:
        return True
    if loader.text is None or armed is None or armed.text is None:
        return False
    return dict(loader.text, loader_id=0) == dict(armed.text, loader_id=0)


def _arm(iterator, current_pass):
    """The pass, armed; None where no state can be made of it, which is said once."""
    refusal = _refusal(iterator)
    if refusal is not None:
        _refuse(current_pass, refusal)
        return None
    reason = _unchosen(iterator)
    if reason is not None and reason not in _told:
        _told.add(reason)
        capture.issue("files-not-chosen", "info", "no cold and cached blocks: " + reason, "")
    current_pass.phased = Measured(iterator, current_pass, reason, _tells_workers(iterator))
    run.armed_loader = current_pass.loader
    return current_pass.phased


def _refusal(iterator):
    """Why nothing can be held back in this loader; None where it can. Without workers nothing needs to be."""
    if not iterator._num_workers:
        return None
    if not all(hasattr(iterator, name) for name in _GATED):
        return "the loader (%s) sends tasks to its workers in a way of its own" % type(iterator).__module__
    return None


def _unchosen(iterator):
    """Why nobody can choose where the files of a sample are; None where that can be done."""
    if not _tells_workers(iterator):
        return "the loader (%s) takes batches from its workers in a way of its own" % type(iterator).__module__
    if not getattr(iterator, "_in_order", True):
        return "batches are delivered out of order (in_order=False)"
    if calls.library.stallcast_data_received():
        return "the data come over the network: what of them lies in caches there cannot be chosen"
    return None


def _tells_workers(iterator):
    """Whether what makes the batches of this iterator understands a Task."""
    loop = next((_LOOPS[base.__name__] for base in type(iterator).__mro__ if base.__name__ in _LOOPS), None)
    if loop is None or not iterator._num_workers:
        return loop is not None
    return loop in run.worker_loops and (_is_forked(iterator) or _environment_is_ours())


def _is_forked(iterator):
    """Whether the workers began as copies of this process, with all that we have patched in it."""
    return all(type(process).__name__ == "ForkProcess" for process in iterator._workers)


def _environment_is_ours():
    """Whether processes that are started anew find us: a script may have changed its environment."""
    ours = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return "STALLCAST_RUN_DIR" in os.environ and ours in map(os.path.abspath, filter(None, path))


def _refuse(current_pass, reason):
    current_pass.is_refused = True
    capture.issue("phases-unsupported", "warning", "no states were made: " + reason, "the run was recorded passively")
    calls.library.stallcast_phase_slot(0, 0, measured.UNKNOWN_END, 0, 0, 0, 0, measured.NO_PHASES)


def end_batch():
    """The batch that this process made itself is made: its evidence is written."""
    calls.library.stallcast_phase_end()


def count_step():
    """An optimizer step was made: the pass that this thread took a batch of last is one that trains."""
    run.steps_seen = True
    if run.last_pass is not None:
        run.last_pass.loader.steps += 1
        if run.last_pass.keeps_gradients:
            run.trains_with_gradients = True
