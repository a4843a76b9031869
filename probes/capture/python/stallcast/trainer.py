"""Hugging Face Trainer: the numbers of the run among the trainer's own, so that wandb, MLflow and TensorBoard get them.

    from stallcast.trainer import StallcastCallback

    trainer = Trainer(...)
    trainer.add_callback(StallcastCallback(trainer))

Under `stallcast profile` they are logged after each epoch, as soon as they are known, and when the training ends; the
keys are those of stallcast.summary(). Elsewhere this does nothing.
"""

from transformers import TrainerCallback

from . import _live


class StallcastCallback(TrainerCallback):
    """`trainer`: whose log() is used."""

    def __init__(self, trainer):
        self._trainer = trainer
        self._numbers = _live.Numbers()

    def on_epoch_end(self, args, state, control, **_others):
        if not state.is_world_process_zero or _live.run_folder() is None:
            return
        if control.should_training_stop or state.global_step >= state.max_steps:
            self._log(self._numbers.last())  # before on_train_end, where others close what they log to
        else:
            self._numbers.ask()

    def on_step_end(self, args, state, control, **_others):
        self._log(self._numbers.take())

    def _log(self, numbers):
        if numbers:
            self._trainer.log(numbers)
