"""What the kit's jobs are made of: models, data and a training step. Runs on torch 1.13 and later, on a GPU or a CPU."""

import os
import pathlib
import time

import torch
from torch import nn
from torch.utils.data import Dataset

CLASSES = 10
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Decode:
    """JPEG to a picture; a class, so that its time stands in the report as an operator of its own."""

    def __call__(self, content: bytes):
        import io

        from PIL import Image

        return Image.open(io.BytesIO(content)).convert("RGB")


class Jpegs(Dataset):
    """JPEGs below root/class_*/, `repeats` times over: an epoch long enough for a rate between its two ends.

    A sample is (uint8 tensor of 3 x side x side, class), or (bytes of the file, class) where the device decodes.
    """

    def __init__(self, root: str, side: int, repeats: int, raw: bool, most_files: int | None):
        self.files = sorted(str(path) for path in pathlib.Path(root).glob("class_*/*.jpg"))[:most_files] * repeats
        if not self.files:
            raise FileNotFoundError(f"no JPEG below {root}")
        self.transform = None if raw else pictures(side)

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int):
        path = self.files[index]
        content = pathlib.Path(path).read_bytes()
        label = int(os.path.basename(os.path.dirname(path)).split("_")[1])
        if self.transform is None:
            return torch.frombuffer(bytearray(content), dtype=torch.uint8), label
        return self.transform(content), label


def pictures(side: int):
    """bytes -> uint8 tensor, as torchvision's reference trains: a random crop and a random flip."""
    from torchvision import transforms

    return transforms.Compose([Decode(), transforms.RandomResizedCrop(side), transforms.RandomHorizontalFlip(),
                               transforms.PILToTensor()])


class Paced(Dataset):
    """Batches from memory, each ready `pace_s` seconds after it was asked for; the same ones in each process."""

    def __init__(self, batches: int, batch: int, side: int, pace_s: float):
        generator = torch.Generator().manual_seed(7)
        self.images = torch.randint(0, 256, (batch, 3, side, side), dtype=torch.uint8, generator=generator)
        self.batches, self.pace_s = batches, pace_s

    def __len__(self) -> int:
        return self.batches

    def __getitem__(self, index: int):
        if self.pace_s > 0:
            time.sleep(self.pace_s)
        labels = (torch.arange(len(self.images)) + index) % CLASSES
        return self.images.roll(index, 0), labels


def joined(samples: list):
    """A batch of files as they are: ((their bytes in a row, the length of each), classes). Two tensors, as each that a
    worker hands over costs a descriptor."""
    contents = [content for content, _ in samples]
    lengths = torch.tensor([len(content) for content in contents])
    return (torch.cat(contents), lengths), torch.tensor([label for _, label in samples])


def make_model(name: str, deterministic: bool) -> nn.Module:
    """resnet18, resnet50, or a network for rehearsals. How pooling is undone on a GPU varies by run: left out on demand."""
    if name != "tiny":
        import torchvision

        network = getattr(torchvision.models, name)(num_classes=CLASSES)
        if deterministic:
            network.maxpool = nn.Identity()
        return network
    return nn.Sequential(nn.Conv2d(3, 32, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(32, CLASSES))


def decode_on(device: torch.device, files: tuple, side: int) -> torch.Tensor:
    """Decodes a batch there, and crops and flips it there: nvJPEG on a GPU. All pictures have one size."""
    from torchvision.io import ImageReadMode, decode_jpeg

    content, lengths = files
    contents = list(content.split(lengths.tolist()))
    if device.type == "cuda":
        device = torch.device("cuda", torch.cuda.current_device())
        images = torch.stack(decode_jpeg(contents, mode=ImageReadMode.RGB, device=device))
    else:
        images = torch.stack([decode_jpeg(content, mode=ImageReadMode.RGB) for content in contents])
    count = len(images)
    scale = (torch.rand(count, device=device) * 0.92 + 0.08).sqrt()
    shift = (torch.rand(count, 2, device=device) * 2 - 1) * (1 - scale)[:, None]
    mirror = (torch.rand(count, device=device) < 0.5).float() * 2 - 1
    theta = torch.zeros(count, 2, 3, device=device)
    theta[:, 0, 0], theta[:, 1, 1], theta[:, :, 2] = scale * mirror, scale, shift
    grid = nn.functional.affine_grid(theta, [count, 3, side, side], align_corners=False)
    return nn.functional.grid_sample(images.float(), grid, align_corners=False)


class Trainer:
    """A model with its optimizer: `step` trains on a batch, in AMP and channels_last on a GPU."""

    def __init__(self, model: str, device: torch.device, side: int, ddp: bool = False, deterministic: bool = False):
        self.device, self.side, self.amp = device, side, device.type == "cuda"
        self.model = make_model(model, deterministic).to(device, memory_format=torch.channels_last)
        if ddp:
            self.model = nn.parallel.DistributedDataParallel(self.model)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)
        self.mean = 255 * torch.tensor(MEAN, device=device).view(1, 3, 1, 1)
        self.std = 255 * torch.tensor(STD, device=device).view(1, 3, 1, 1)

    def prepared(self, images, non_blocking: bool) -> torch.Tensor:
        """Images on the device, normalised."""
        if isinstance(images, tuple):
            images = decode_on(self.device, images, self.side)
        images = images.to(self.device, non_blocking=non_blocking)
        return ((images.float() - self.mean) / self.std).contiguous(memory_format=torch.channels_last)

    def step(self, images, labels: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
        """The loss, on the device: nothing waits for it here."""
        images = self.prepared(images, non_blocking)
        labels = labels.to(self.device, non_blocking=non_blocking)
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.amp):
            loss = nn.functional.cross_entropy(self.model(images), labels)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    def wait(self) -> None:
        """Until the device has done all that it was given."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()


def make_deterministic(seed: int) -> None:
    """The same weights in each run; CUBLAS_WORKSPACE_CONFIG must be set before CUDA starts."""
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False
