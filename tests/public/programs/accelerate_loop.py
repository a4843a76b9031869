"""Accelerate's loop. argv[1]: shard (DataLoaderShard, seedable sampler, accumulation, state saved) or dispatch
(DataLoaderDispatcher over a stream; for two ranks)."""
import sys

import small_data
import torch
import witness
from torch.utils.data import DataLoader, Dataset, IterableDataset


class Pictures(Dataset):
    def __init__(self):
        self.paths, self.labels = small_data.listed("data")

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return small_data.decoded(self.paths[index]), self.labels[index]


class Stream(IterableDataset):
    def __iter__(self):
        pictures = Pictures()
        for index in torch.randperm(len(pictures)).tolist():
            yield pictures[index]


def main():
    from accelerate import Accelerator, DataLoaderConfiguration
    from accelerate.utils import set_seed

    dispatch = sys.argv[1] == "dispatch"
    witness.seed(4)
    set_seed(4)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2, dataloader_config=DataLoaderConfiguration(
        dispatch_batches=dispatch, use_seedable_sampler=not dispatch, split_batches=dispatch))
    if dispatch:
        loader = DataLoader(Stream(), batch_size=8, num_workers=1)
    else:
        loader = DataLoader(Pictures(), batch_size=4, shuffle=True, num_workers=2)
    model = small_data.network()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(8 * small_data.SCALE):
        for images, labels in loader:
            witness.batch((images, labels))
            with accelerator.accumulate(model):
                loss = torch.nn.functional.cross_entropy(model(images), labels)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
        if epoch % 3 == 2 and not dispatch:
            accelerator.save_state(f"states/{epoch}")
    accelerator.print("loss", loss.item())
    accelerator.wait_for_everyone()
    accelerator.save(accelerator.unwrap_model(model).state_dict(), "model.pt")
    witness.weights(accelerator.unwrap_model(model))
    accelerator.end_training()


if __name__ == "__main__":
    main()
