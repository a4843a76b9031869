"""lightly: SimCLR on a folder of pictures, two views of each, a plain loop."""
import small_data
import torch
import witness


def main():
    from lightly.data import LightlyDataset
    from lightly.loss import NTXentLoss
    from lightly.models.modules import SimCLRProjectionHead
    from lightly.transforms import SimCLRTransform

    witness.seed(3)
    data = LightlyDataset("data", transform=SimCLRTransform(input_size=32))
    loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True, drop_last=True, num_workers=2)
    trunk = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, stride=2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
    head = SimCLRProjectionHead(8, 16, 16)
    criterion = NTXentLoss()
    optimizer = torch.optim.SGD([*trunk.parameters(), *head.parameters()], lr=0.05)
    for _ in range(3 * small_data.SCALE):
        for batch in loader:
            witness.batch(batch)
            first, second = batch[0]
            loss = criterion(head(trunk(first)), head(trunk(second)))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    witness.weights(trunk)


if __name__ == "__main__":
    main()
