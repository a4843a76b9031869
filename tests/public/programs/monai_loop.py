"""MONAI's data sets that keep samples, and its loaders: `cache` in memory, `persistent` in files, `smart` replaces a part of
them after each epoch in a thread, `threads` loads through ThreadDataLoader."""
import sys

import small_data
import torch
import witness


def transform():
    from monai.transforms import Compose, EnsureChannelFirstd, LoadImaged, RandFlipd, RandGaussianNoised, Resized

    return Compose([LoadImaged("image", reader="PILReader"), EnsureChannelFirstd("image", channel_dim=-1), Resized("image", (32, 32)),
                    RandFlipd("image", prob=0.5), RandGaussianNoised("image", prob=0.5)])


def main():
    from monai import data
    from monai.utils import set_determinism

    set_determinism(5)
    witness.seed(5)
    kind = sys.argv[1]
    rows = [{"image": path, "label": label} for path, label in zip(*small_data.listed("data"))]
    dataset = {
        "cache": lambda: data.CacheDataset(rows, transform(), num_workers=2, progress=False),
        "persistent": lambda: data.PersistentDataset(rows, transform(), cache_dir="cache"),
        "smart": lambda: data.SmartCacheDataset(rows, transform(), replace_rate=0.25, cache_num=40, progress=False, shuffle=False),
        "threads": lambda: data.CacheDataset(rows, transform(), num_workers=2, progress=False),
    }[kind]()
    if kind == "threads":
        loader = data.ThreadDataLoader(dataset, batch_size=4, shuffle=True, num_workers=0)
    else:
        loader = data.DataLoader(dataset, batch_size=4, shuffle=True, num_workers=2)
    model = small_data.network()
    optimizer = torch.optim.SGD(model.parameters(), 1e-2)
    if kind == "smart":
        dataset.start()
    for epoch in range(8 * small_data.SCALE):
        for batch in loader:
            images, labels = batch["image"].as_tensor(), batch["label"]
            witness.batch((images, labels))
            loss = torch.nn.functional.cross_entropy(model(images / 255), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if kind == "smart":
            dataset.update_cache()
        torch.save(model.state_dict(), f"model-{epoch % 2}.pt")
    if kind == "smart":
        dataset.shutdown()
    witness.weights(model)


if __name__ == "__main__":
    main()
