"""Lightning: the numbers of the run in the trainer's loggers.

    from stallcast.lightning import StallcastCallback

    trainer = Trainer(callbacks=[StallcastCallback()], logger=...)

Under `stallcast profile` they are logged after each epoch, as soon as they are known, and when the training ends; the
keys are those of stallcast.summary(). Elsewhere this does nothing. Where both are installed, import `lightning` or
`pytorch_lightning` first.
"""

import sys

from . import _live

if "pytorch_lightning" in sys.modules and "lightning" not in sys.modules:
    from pytorch_lightning import Callback
else:
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback


class StallcastCallback(Callback):
    """Logs on the first rank alone."""

    def __init__(self):
        super().__init__()
        self._numbers = _live.Numbers()

    def on_train_epoch_end(self, trainer, pl_module):
        if trainer.is_global_zero:
            self._numbers.ask()

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self._log(trainer, self._numbers.take())

    def on_train_end(self, trainer, pl_module):
        if trainer.is_global_zero:
            self._log(trainer, self._numbers.last())

    def _log(self, trainer, numbers):
        for logger in trainer.loggers if numbers else ():
            logger.log_metrics(numbers, step=trainer.global_step)
