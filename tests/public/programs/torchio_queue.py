"""TorchIO's Queue of patches: a data set that itself draws from a loader with workers, in the loader that trains."""
import numpy
import small_data
import torch
import witness


class Volumes:
    """Makes of each picture a volume, when it is asked for."""

    def __call__(self, path):
        picture = small_data.decoded(path)
        return picture.unsqueeze(-1).repeat(1, 1, 1, 4), numpy.eye(4)


def main():
    import torchio

    witness.seed(7)
    paths, labels = small_data.listed("data")
    subjects = [torchio.Subject(image=torchio.ScalarImage(path, reader=Volumes()), label=label) for path, label in zip(paths, labels)]
    dataset = torchio.SubjectsDataset(subjects, transform=torchio.RandomFlip(axes=(0, 1)))
    queue = torchio.Queue(dataset, max_length=64, samples_per_volume=4, sampler=torchio.UniformSampler((16, 16, 4)), num_workers=2)
    loader = torchio.SubjectsLoader(queue, batch_size=8, num_workers=0)
    model = torch.nn.Sequential(torch.nn.Conv3d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 14 * 14 * 2, 4))
    optimizer = torch.optim.SGD(model.parameters(), 1e-2)
    for _ in range(4 * small_data.SCALE):
        for batch in loader:
            images, labels = batch["image"][torchio.DATA], batch["label"]
            witness.batch((images, labels))
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    witness.weights(model)


if __name__ == "__main__":
    main()
