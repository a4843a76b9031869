"""MMEngine's Runner, by epochs with its DefaultSampler or (`endless`) by iterations with its InfiniteSampler."""
import sys

import small_data
import torch
import witness
from accelerate_loop import Pictures


def main():
    from mmengine.model import BaseModel
    from mmengine.runner import Runner

    endless = "endless" in sys.argv

    class Network(BaseModel):
        def __init__(self):
            super().__init__()
            self.layers = small_data.network()

        def forward(self, images, labels, mode):
            witness.batch((images, labels))
            return {"loss": torch.nn.functional.cross_entropy(self.layers(images), labels)}

    witness.seed(13)
    loader = {"batch_size": 4, "num_workers": 2, "dataset": Pictures(), "persistent_workers": True, "collate_fn": {"type": "default_collate"},
              "sampler": {"type": "InfiniteSampler" if endless else "DefaultSampler", "shuffle": True}}
    loop = {"by_epoch": False, "max_iters": 200 * small_data.SCALE} if endless else {"by_epoch": True, "max_epochs": 8 * small_data.SCALE}
    runner = Runner(Network(), "work", train_dataloader=loader, train_cfg=loop, randomness={"seed": 13},
                    optim_wrapper={"optimizer": {"type": "SGD", "lr": 1e-2}},
                    default_hooks={"checkpoint": {"type": "CheckpointHook", "interval": 100 if endless else 2, "by_epoch": not endless,
                                                  "max_keep_ckpts": 2}},
                    log_level="ERROR", experiment_name="x")
    runner.train()
    witness.weights(runner.model)


if __name__ == "__main__":
    main()
