"""timm's loaders and its CheckpointSaver. argv[1]: multi_epochs (MultiEpochsDataLoader) or prefetch (create_loader)."""
import sys

import small_data
import timm
import torch
import witness
from timm.data import create_dataset, create_loader
from timm.utils import CheckpointSaver, random_seed


def main():
    witness.seed(6)
    random_seed(6)
    multi = sys.argv[1] == "multi_epochs"
    data = create_dataset("", root="data")
    loader = create_loader(data, input_size=(3, 32, 32), batch_size=4, is_training=True, num_workers=2, use_prefetcher=not multi,
                           use_multi_epochs_loader=multi, re_prob=0.3, auto_augment="rand-m9-mstd0.5", device=torch.device("cpu"),
                           persistent_workers=multi)
    model = timm.create_model("test_vit", num_classes=4, img_size=32)
    optimizer = torch.optim.SGD(model.parameters(), 1e-2)
    saver = CheckpointSaver(model, optimizer, checkpoint_dir=".", recovery_dir=".", max_history=2)
    for epoch in range(6 * small_data.SCALE):
        for number, (images, labels) in enumerate(loader):
            witness.batch((images, labels))
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if number % 10 == 9:
                saver.save_recovery(epoch, batch_idx=number)
        saver.save_checkpoint(epoch, metric=-loss.item())
        print("epoch", epoch, "loss", loss.item(), flush=True)
    witness.weights(model)


if __name__ == "__main__":
    main()
