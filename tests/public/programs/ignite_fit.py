"""Ignite's engines: a trainer with an evaluation over the training's own loader after each epoch, and checkpoints that rotate."""
import small_data
import torch
import witness
from accelerate_loop import Pictures
from torch.utils.data import DataLoader


def main():
    from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
    from ignite.handlers import Checkpoint, DiskSaver
    from ignite.metrics import Accuracy

    witness.seed(3)
    model = small_data.network()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    trainer = create_supervised_trainer(model, optimizer, torch.nn.functional.cross_entropy)
    evaluator = create_supervised_evaluator(model, {"accuracy": Accuracy()})
    loader = DataLoader(Pictures(), batch_size=4, shuffle=True, num_workers=2)

    @trainer.on(Events.ITERATION_STARTED)
    def _(engine):
        witness.batch(engine.state.batch)

    @trainer.on(Events.EPOCH_COMPLETED)
    def _(engine):
        evaluator.run(loader)
        print("epoch", engine.state.epoch, "accuracy", f"{evaluator.state.metrics['accuracy']:.4f}", flush=True)

    kept = Checkpoint({"model": model, "optimizer": optimizer}, DiskSaver("checkpoints", create_dir=True), n_saved=2)
    trainer.add_event_handler(Events.EPOCH_COMPLETED, kept)
    trainer.run(loader, max_epochs=8 * small_data.SCALE)
    witness.weights(model)


if __name__ == "__main__":
    main()
