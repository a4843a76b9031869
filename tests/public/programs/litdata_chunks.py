"""litdata: chunks that its workers map, in an order that it shuffles anew for each epoch."""
import io

import small_data
import torch
import witness


def main():
    import litdata

    class Pictures(litdata.StreamingDataset):
        def __getitem__(self, index):
            item = super().__getitem__(index)
            return small_data.decoded(io.BytesIO(item["picture"])), item["label"]

    witness.seed(14)
    loader = litdata.StreamingDataLoader(Pictures("chunks", shuffle=True, seed=14), batch_size=8, num_workers=2)
    model = small_data.network()
    optimizer = torch.optim.SGD(model.parameters(), 1e-2)
    for epoch in range(8 * small_data.SCALE):
        witness.epoch(epoch)
        for images, labels in loader:
            witness.batch((images, labels))
            torch.nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
            optimizer.zero_grad()
        torch.save(model.state_dict(), "model.pt")
    witness.weights(model)


if __name__ == "__main__":
    main()
