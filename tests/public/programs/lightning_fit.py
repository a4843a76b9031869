"""Lightning's Trainer with checkpoints, validation and a log. `combined`: two loaders in a CombinedLoader. `iterable`: batches of no
loader, beside a loader of the validation."""
import sys

import lightning
import small_data
import torch
import witness
from accelerate_loop import Pictures
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.utilities import CombinedLoader
from torch.utils.data import DataLoader


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.network = small_data.network()

    def training_step(self, batch, number):
        witness.batch(batch)
        parts = batch.values() if isinstance(batch, dict) else [batch]
        loss = sum(torch.nn.functional.cross_entropy(self.network(images), labels) for images, labels in parts)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, number):
        self.log("held", torch.nn.functional.cross_entropy(self.network(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 1e-2)


def loader(**more):
    return DataLoader(Pictures(), **{"batch_size": 4, "num_workers": 2, **more})


class Batches:
    """Of random pictures, made between the steps."""

    def __iter__(self):
        pictures = Pictures()
        for _ in range(24):
            indices = torch.randint(len(pictures), (4,)).tolist()
            yield [torch.stack(part) if torch.is_tensor(part[0]) else torch.tensor(part)
                   for part in zip(*(pictures[index] for index in indices))]


def main():
    lightning.seed_everything(5, workers=True)
    witness.seed(5)
    train = loader(shuffle=True, persistent_workers=True)
    if "combined" in sys.argv:
        train = CombinedLoader({"one": loader(shuffle=True), "two": loader(shuffle=True, batch_size=8, num_workers=1)}, "max_size_cycle")
    elif "iterable" in sys.argv:
        train = Batches()
    trainer = lightning.Trainer(
        accelerator="cpu", max_epochs=6 * small_data.SCALE, enable_progress_bar=False, enable_model_summary=False,
        logger=CSVLogger("logs", name="", version="x"), log_every_n_steps=5, accumulate_grad_batches=2, deterministic=True,
        callbacks=[ModelCheckpoint(dirpath="checkpoints", save_top_k=2, monitor="held", save_last=True)])
    module = Module()
    trainer.fit(module, train, loader())
    witness.weights(module)


if __name__ == "__main__":
    main()
