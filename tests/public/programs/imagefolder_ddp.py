"""torchvision's ImageFolder with DistributedDataParallel under torchrun; rank 0 saves to a temporary file and renames it."""
import os

import small_data
import torch
import witness


def main():
    import torch.distributed as dist
    from torch.utils.data import DataLoader
    from torch.utils.data.distributed import DistributedSampler
    from torchvision import datasets, transforms

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    witness.seed(7)
    data = datasets.ImageFolder("data", transforms.Compose([
        transforms.RandomResizedCrop(32), transforms.RandomHorizontalFlip(), transforms.ColorJitter(0.3), transforms.ToTensor()]))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=4, sampler=sampler, num_workers=2, persistent_workers=True)
    model = torch.nn.parallel.DistributedDataParallel(small_data.network())
    optimizer = torch.optim.SGD(model.parameters(), 1e-2)
    for epoch in range(10 * small_data.SCALE):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            witness.batch((images, labels))
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if rank == 0:
            torch.save({"epoch": epoch, "model": model.state_dict()}, "checkpoint.tmp")
            os.replace("checkpoint.tmp", "checkpoint.pt")
            print("epoch", epoch, "loss", loss.item(), flush=True)
        dist.barrier()
    witness.weights(model)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
