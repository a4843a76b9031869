"""Phases: which passes over which loader they are run on, and what carries them out.

    a pass of a loader that trains -> steered.py         its index lists are steered, its batches replayed
                                      joined.py          ... and it goes on with the script's next pass
                                      stream_phases.py   it is replayed between blocks as found
                                      known_phases.py    ... of a loader that is not torch's
"""

from . import capture, joined
from .capture import calls
from .known_phases import KEPT_APART, KnownStream
from .phase_run import Task, finish, is_armed, is_phased, run  # noqa: F401 (the rest of the shim knows phases alone)
from .steered import Phased, length_of
from .stream_phases import Stream
from .taker import NO_PHASES, PASS, UNKNOWN_END

ARM_AFTER = 8  # batches of a loader before it is armed: imports, lazy initialisation and the first steps are over
ARM_WITHOUT_STEPS = 20  # the same where the script never calls an optimizer

# Iterators that send index lists to their workers as torch's does, and the module that these run (worker.py)
_LOOPS = {
    "_SingleProcessDataLoaderIter": "torch.utils.data._utils.worker",
    "_MultiProcessingDataLoaderIter": "torch.utils.data._utils.worker",
    "_StatefulSingleProcessDataLoaderIter": "torchdata.stateful_dataloader.worker",
    "_StatefulMultiProcessingDataLoaderIter": "torchdata.stateful_dataloader.worker",
}


def arm(iterator, current_pass):
    """Before a wait: the Phased of this pass, or None while (or because) it is not armed."""
    run.last_pass = current_pass
    if current_pass.sent == 0 and not iterator._num_workers:
        arm_new_pass(iterator, current_pass)
    phased = current_pass.phased
    if phased is not None or not is_phased():
        return phased
    if not _is_due(current_pass):
        return None
    current_pass.phased = _arm(iterator, current_pass)
    if current_pass.phased is not None:
        run.armed_loader = current_pass.loader
    return current_pass.phased


def arm_known(iterator, current_pass):
    """As arm(), of a loader that is not torch's."""
    run.last_pass = current_pass
    phased = current_pass.phased
    if phased is not None or not is_phased() or not _is_due(current_pass):
        return phased
    if current_pass.known.framework not in KEPT_APART:
        _refuse(current_pass, "what a job of neither PyTorch nor TensorFlow saves cannot be kept apart from its own")
        return None
    current_pass.phased = KnownStream(iterator, current_pass)
    run.armed_loader = current_pass.loader
    return current_pass.phased


def arm_new_pass(iterator, current_pass):
    """A further pass over the loader that is armed: phases go on from its first batch. Called before any index is taken."""
    if current_pass.phased is not None or run.armed_loader is None or not is_phased():
        return
    if current_pass.loader is run.armed_loader and run.phased.is_over():
        current_pass.phased = _arm(iterator, current_pass, is_new=True)


def _is_due(current_pass):
    """Whether this pass is to be armed. One pass is at a time: turns are counted along it."""
    if current_pass.is_refused:
        return False
    loader = current_pass.loader
    if run.phased is not None:
        if not run.phased.is_over():
            return False
        if loader is run.armed_loader or _is_successor(loader, run.armed_loader):
            return True
    if loader.delivered < ARM_AFTER:
        return False
    if loader.steps > 0:
        return True
    # Where no steps are seen, the first loader trains; one that is armed after it may be that of an evaluation.
    return run.phased is None and loader.delivered >= ARM_WITHOUT_STEPS and not run.steps_seen


def _is_successor(loader, armed):
    """A script may make its loader anew for every epoch: the same in all that describes it."""
    if loader.text is None or armed.text is None:
        return False
    return dict(loader.text, loader_id=0) == dict(armed.text, loader_id=0)


def _arm(iterator, current_pass, is_new=False):
    """The pass with as many phases as can be run on it; None where that is none, which is said once. `is_new`: no index
    was taken of it yet."""
    obstacle = _obstacle(iterator, current_pass)
    if obstacle is None:
        is_joined = is_new and joined.is_wanted(iterator, current_pass)
        return (joined.Joined if is_joined else Phased)(iterator, current_pass)
    if not getattr(iterator, "_in_order", True):
        _refuse(current_pass, "batches are delivered out of order (in_order=False)")
        return None
    return Stream(iterator, current_pass, obstacle, _tells_workers(iterator))


def _obstacle(iterator, current_pass):
    """Why the indices of this loader cannot be steered; None where they can."""
    if getattr(iterator, "_dataset_kind", 1) != 0:
        return "an iterable data set has no indices, so no sample can be asked for twice"
    if _worker_loop(iterator) is None or not _tells_workers(iterator):
        return "the loader (%s) takes batches from its workers in a way of its own" % type(iterator).__module__
    if not getattr(iterator, "_in_order", True):
        return "batches are delivered out of order (in_order=False)"
    if length_of(iterator) is None and current_pass.loader.period is None:
        return "the loader's length is not known"
    if calls.library.stallcast_data_received():
        return "the data come over the network: what of them lies in caches there cannot be chosen"
    return None


def _worker_loop(iterator):
    """The module that the iterator's workers run; None where it is not known how it takes batches from them."""
    return next((_LOOPS[base.__name__] for base in type(iterator).__mro__ if base.__name__ in _LOOPS), None)


def _tells_workers(iterator):
    """Whether what makes the batches of this iterator understands a Task."""
    return not iterator._num_workers or _worker_loop(iterator) in run.worker_loops


def _refuse(current_pass, reason):
    current_pass.is_refused = True
    capture.issue("phases-unsupported", "warning", "no phases: " + reason, "profile with --phases as_is")
    calls.library.stallcast_phase_slot(0, 0, 0, UNKNOWN_END, 0, 0, 0, NO_PHASES)


def end_batch():
    """The batch that this process made itself is made: its evidence is written."""
    calls.library.stallcast_phase_end()


def count_step():
    """An optimizer step was made: the pass that this thread took a batch of last is one that trains."""
    run.steps_seen = True
    if run.last_pass is not None:
        run.last_pass.loader.steps += 1
