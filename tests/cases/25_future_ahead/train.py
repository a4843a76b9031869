"""A thread of an executor takes the next batch from the loader while the training works on this one."""
# pip: torch numpy pillow
from concurrent.futures import ThreadPoolExecutor
import torch
from torch.utils.data import DataLoader, Dataset
from casekit import ONLY_MAKE, SCALE, Meter, Trainee, decoded, photos

class Photos(Dataset):
    def __init__(self, paths):
        self.paths = paths
    def __len__(self):
        return len(self.paths)
    def __getitem__(self, index):
        return torch.from_numpy(decoded(self.paths[index])), index % 5

class Ahead:
    def __init__(self, loader, executor):
        self.batches, self.executor = iter(loader), executor
        self.ahead = executor.submit(next, self.batches, None)
    def __iter__(self):
        return self
    def __next__(self):
        batch = self.ahead.result()
        if batch is None:
            raise StopIteration
        self.ahead = self.executor.submit(next, self.batches, None)
        return batch

def main():
    paths = photos("25", 480)
    if ONLY_MAKE:
        return
    loader = DataLoader(Photos(paths), 16, True, num_workers=1, generator=torch.Generator().manual_seed(5))
    trainee, meter = Trainee(64 * 64 * 3, 0.03), Meter()
    with ThreadPoolExecutor(1) as executor:
        for epoch in range(5 * SCALE):
            meter.epoch()
            for images, labels in Ahead(loader, executor):
                meter.got(images, labels)
                trainee.step(images, labels)
                meter.stepped()
    meter.finish()

if __name__ == "__main__":
    main()
