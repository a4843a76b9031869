"""webdataset: shards read as streams, shuffled in a buffer, by a WebLoader."""
import io

import small_data
import torch
import witness


def picture(data):
    return small_data.decoded(io.BytesIO(data))


def main():
    import webdataset as wds

    witness.seed(12)
    data = (wds.WebDataset("shard-{000..005}.tar", shardshuffle=6, seed=12).shuffle(32, seed=12)
            .to_tuple("jpg", "cls").map_tuple(picture, int).batched(8))
    loader = wds.WebLoader(data, batch_size=None, num_workers=2)
    model = small_data.network()
    optimizer = torch.optim.SGD(model.parameters(), 1e-2)
    for epoch in range(8 * small_data.SCALE):
        witness.epoch(epoch)
        for images, labels in loader:
            witness.batch((images, labels))
            torch.nn.functional.cross_entropy(model(images), torch.as_tensor(labels)).backward()
            optimizer.step()
            optimizer.zero_grad()
        torch.save(model.state_dict(), "model.pt")
    witness.weights(model)


if __name__ == "__main__":
    main()
