"""pytorch-metric-learning's trainer: its own sampler, loaders that the trainer makes."""
import small_data
import torch
import witness
from accelerate_loop import Pictures


def main():
    from pytorch_metric_learning import losses, miners, samplers, trainers

    witness.seed(3)
    trunk = small_data.network()
    optimizer = torch.optim.Adam(trunk.parameters(), lr=1e-3)
    data = Pictures()
    sampler = samplers.MPerClassSampler(data.labels, m=2, length_before_new_iter=len(data))

    class Trainer(trainers.MetricLossOnly):
        def calculate_loss(self, batch):
            witness.batch(batch)
            return super().calculate_loss(batch)

    trainer = Trainer({"trunk": trunk}, {"trunk_optimizer": optimizer}, 8, {"metric_loss": losses.TripletMarginLoss()}, data,
                      mining_funcs={"tuple_miner": miners.MultiSimilarityMiner()}, sampler=sampler, dataloader_num_workers=2)
    trainer.train(num_epochs=8 * small_data.SCALE)
    witness.weights(trunk)


if __name__ == "__main__":
    main()
