"""Passes and waits of loaders that are not torch's: tf.data, DALI, and what a script has wrapped itself.

    pass begins -> its loader is described -> wait_begin -> the loader's own next -> wait_end
"""

import functools

from .. import capture, sizes
from ..capture import calls
from ..frames import leave_out, unseen
from ..states import jax_steps, phases
from ..states.segment_run import run
from ..thread import current, process, took_batch
from ..torch_loader import loader


class Known:
    """What is told of a loader of another library. `text` is its loader text without the id."""

    def __init__(self, framework, text, count=sizes.of_batch, end=StopIteration, makes_here=False, are_steps_seen=False):
        self.framework = framework
        self.text = text
        self.count = count  # samples of a batch
        self.end = end  # the exception that means the end of the pass, or a tuple of such
        self.makes_here = makes_here  # a batch is made inside the wait for it, by the same thread
        self.are_steps_seen = are_steps_seen  # of JAX: none is made of a batch that is given

    def pass_over(self, source):
        """A new pass over `source`, the object that stands for the loader over all its passes."""
        new = loader.Pass(loader.loader_of(source))
        if new.loader.text is None:
            new.loader.text = dict(self.text, loader_id=new.loader.loader_id)
        new.known = self
        return new


def loader_text(kind, **facts):
    """A loader text; what is not said is not known. `composition` overlapped: batches are fetched and prepared at the
    same time, in threads of the process that trains."""
    text = dict.fromkeys(
        ("dataset_type", "batch_size", "num_workers", "prefetch_factor", "pin_memory", "persistent_workers",
         "drop_last", "shuffled", "dataset_samples", "multiprocessing_context", "batches")
    )
    text.update(kind=kind, in_order=True)
    text.update(facts)
    return text


@unseen
def wait(current_pass, pull):
    """pull() is the loader's own next: one wait, recorded. Whoever calls has looked at current.busy. Raises what pull()
    does."""
    known = current_pass.known
    if not begin(current_pass):
        return pull()
    current.busy = True
    try:
        batch = pull()
    except known.end:
        end(current_pass)
        raise
    except BaseException:
        if known.makes_here and calls.enabled:
            calls.batch_end(0)
        raise
    else:
        deliver(current_pass, batch)
        return batch
    finally:
        current.busy = False


def begin(current_pass):
    """A batch is asked for; deliver() or end() follows. False where that could not be recorded."""
    known = current_pass.known
    try:
        if jax_steps.state.active and not known.are_steps_seen:
            jax_steps.before_wait()
        if current_pass.generation != process.generation:
            loader.announce(None, current_pass, known.framework)
        run.last_pass = current_pass
        if run.enabled is not False and not current_pass.is_refused:
            phases.refuse_known(current_pass)
    except Exception as error:
        capture.fail("beginning a wait", error)
        return False
    if calls.enabled:
        calls.wait_begin()
        if known.makes_here:
            calls.batch_begin(current_pass.iterator_id, current_pass.delivered, capture.UNKNOWN)
    return True


def deliver(current_pass, batch):
    """The batch that was asked for is there."""
    if calls.enabled:
        _delivered(current_pass, current_pass.known, batch)
    if jax_steps.state.active and not current_pass.known.are_steps_seen:
        jax_steps.delivered(current_pass.loader)


def _delivered(current_pass, known, batch):
    """Records the wait."""
    try:
        number = current_pass.delivered
        samples = known.count(batch)
        if known.makes_here:
            calls.batch_end(samples)
        calls.wait_end(current_pass.iterator_id, number, samples, capture.UNKNOWN, 0 if number else capture.FIRST)
        took_batch(samples)
        current_pass.delivered = number + 1
        current_pass.loader.delivered += 1
    except Exception as error:
        capture.fail("ending a wait", error)


def end(current_pass):
    """There was no further batch."""
    current_pass.is_over = True
    current_pass.loader.whole = current_pass.delivered
    if not calls.enabled:
        return
    try:
        if current_pass.known.makes_here:
            calls.batch_end(0)
        flags = capture.END_OF_EPOCH | (0 if current_pass.delivered else capture.FIRST)
        calls.wait_end(current_pass.iterator_id, current_pass.delivered, 0, capture.UNKNOWN, flags)
    except Exception as error:
        capture.fail("ending an epoch", error)


def end_unasked(current_pass):
    """The batch given was the last, as its loader knows: nobody will ask for a further one."""
    if calls.enabled:
        calls.wait_begin()
        if current_pass.known.makes_here:
            calls.batch_begin(current_pass.iterator_id, current_pass.delivered, capture.UNKNOWN)
    end(current_pass)


def _never():
    return False


@unseen
def through(generator, wait, is_left=_never):
    """A generator's own items, each as wait(pull) gives it; what is sent, thrown and closed reaches it. Once is_left() nobody
    stands between."""
    following = pull = generator.__next__
    while True:
        if pull is following and is_left():
            return (yield from generator)
        try:
            item = wait(pull)
        except StopIteration as end:
            return end.value
        except BaseException as error:
            leave_out(error)
            raise
        try:
            sent = yield item
        except GeneratorExit:
            generator.close()
            raise
        except BaseException as error:
            pull = functools.partial(generator.throw, error)
        else:
            pull = following if sent is None else functools.partial(generator.send, sent)
