"""torchgeo: random patches of GeoTIFF rasters (read by GDAL), its own sampler and collate."""
import small_data
import torch
import witness


def main():
    from torch.utils.data import DataLoader
    from torchgeo.datasets import RasterDataset, stack_samples
    from torchgeo.samplers import RandomGeoSampler

    witness.seed(3)

    class Rasters(RasterDataset):
        filename_glob = "*.tif"

    data = Rasters("data")
    loader = DataLoader(data, batch_size=4, sampler=RandomGeoSampler(data, size=32, length=200), collate_fn=stack_samples, num_workers=2)
    model = torch.nn.Conv2d(3, 1, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    for _ in range(3 * small_data.SCALE):
        for batch in loader:
            images = batch["image"].float()
            witness.batch(images)
            optimizer.zero_grad()
            model(images).square().mean().backward()
            optimizer.step()
    witness.weights(model)


if __name__ == "__main__":
    main()
