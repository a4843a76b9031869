"""The data sets of train.py: what an ordinary script reads and decodes, with PIL, numpy and torch alone."""

import io
import json
import mmap
import os
import random
import wave

import numpy
import torch
from PIL import Image
from torch.utils.data import Dataset

MEAN = numpy.array([0.485, 0.456, 0.406], dtype=numpy.float32)
STD = numpy.array([0.229, 0.224, 0.225], dtype=numpy.float32)
FRAME, HOP, FFT, MELS, AUDIO_RATE = 400, 160, 512, 64, 16000


def random_resized_crop(image, side):
    """A crop of 8 to 100 % of the area and an aspect of 3:4 to 4:3, scaled to side x side (as torchvision does)."""
    width, height = image.size
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1.0)
        aspect = random.uniform(3 / 4, 4 / 3)
        crop_width, crop_height = round((area * aspect) ** 0.5), round((area / aspect) ** 0.5)
        if 0 < crop_width <= width and 0 < crop_height <= height:
            break
    else:
        crop_width = crop_height = min(width, height)
    left, top = random.randint(0, width - crop_width), random.randint(0, height - crop_height)
    box = (left, top, left + crop_width, top + crop_height)
    return image.resize((side, side), Image.BILINEAR, box=box)


def augment(side):
    """Decoded PIL image -> normalised float tensor of shape (3, side, side)."""

    def transform(image):
        image = random_resized_crop(image, side)
        if random.random() < 0.5:
            image = image.transpose(Image.FLIP_LEFT_RIGHT)
        pixels = numpy.asarray(image, dtype=numpy.float32) / 255.0
        return torch.from_numpy(((pixels - MEAN) / STD).transpose(2, 0, 1).copy())

    return transform


def torchvision_augment(side):
    """The same with torchvision's transforms."""
    from torchvision import transforms

    return transforms.Compose([
        transforms.RandomResizedCrop(side),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize(MEAN.tolist(), STD.tolist()),
    ])


def mel_filters():
    """Triangular filters of shape (MELS, FFT/2 + 1) between 0 and 8 kHz."""
    top = 2595.0 * numpy.log10(1.0 + AUDIO_RATE / 2 / 700.0)
    edges = 700.0 * (10.0 ** (numpy.linspace(0.0, top, MELS + 2) / 2595.0) - 1.0)
    frequency = numpy.linspace(0.0, AUDIO_RATE / 2, FFT // 2 + 1)
    rising = (frequency - edges[:-2, None]) / (edges[1:-1, None] - edges[:-2, None])
    falling = (edges[2:, None] - frequency) / (edges[2:, None] - edges[1:-1, None])
    return numpy.clip(numpy.minimum(rising, falling), 0.0, None).astype(numpy.float32)


class FolderDataset(Dataset):
    """Files of one suffix below root/class_*/; a sample is (tensor, number of its class)."""

    suffix = ""

    def __init__(self, root):
        self.classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
        self.samples = [
            (os.path.join(root, name, file), label)
            for label, name in enumerate(self.classes)
            for file in sorted(os.listdir(os.path.join(root, name)))
            if file.endswith(self.suffix)
        ]
        if not self.samples:
            raise FileNotFoundError(f"no *{self.suffix} below {root}: make them with make_dataset.py")

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        return self.load(path), label


class ImageFolder(FolderDataset):
    suffix = ".jpg"

    def __init__(self, root, side, use_torchvision=False):
        super().__init__(root)
        self.side = side
        self.use_torchvision = use_torchvision
        self.transform = None

    def load(self, path):
        if self.transform is None:  # made where it is used: a closure does not travel to spawned workers
            self.transform = (torchvision_augment if self.use_torchvision else augment)(self.side)
        with open(path, "rb") as file:
            return self.transform(Image.open(file).convert("RGB"))

    def __getstate__(self):
        return {**self.__dict__, "transform": None}


class ArrayFolder(FolderDataset):
    suffix = ".npy"

    def load(self, path):
        values = numpy.load(path).astype(numpy.float32)
        return torch.from_numpy((values - values.mean()) / (values.std() + 1e-6))


class AudioFolder(FolderDataset):
    suffix = ".wav"

    def __init__(self, root):
        super().__init__(root)
        self.filters = mel_filters()
        self.window = numpy.hanning(FRAME).astype(numpy.float32)

    def load(self, path):
        """A log-mel spectrogram of shape (1, MELS, frames)."""
        with wave.open(path, "rb") as file:
            pcm = numpy.frombuffer(file.readframes(file.getnframes()), dtype="<i2").astype(numpy.float32) / 32768.0
        frames = numpy.lib.stride_tricks.sliding_window_view(pcm, FRAME)[::HOP] * self.window
        power = numpy.abs(numpy.fft.rfft(frames, FFT)).astype(numpy.float32) ** 2
        return torch.from_numpy(numpy.log(self.filters @ power.T + 1e-6)[None].copy())


class MappedFolder(Dataset):
    """Records of 64 KiB in one file below each root/class_*/, read through a map of it, one here and one there."""

    shape = (1, 256, 256)

    def __init__(self, root):
        self.classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
        maps = [numpy.memmap(os.path.join(root, name, "records.bin"), dtype=numpy.uint8, mode="r")
                for name in self.classes]
        for mapped in maps:
            mapped._mmap.madvise(mmap.MADV_RANDOM)  # or the kernel reads up to megabytes around each record
        self.records = [mapped.reshape(-1, *self.shape) for mapped in maps]
        self.samples = [(label, place) for label, records in enumerate(self.records) for place in range(len(records))]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        label, place = self.samples[index]
        values = self.records[label][place].astype(numpy.float32)
        return torch.from_numpy((values - values.mean()) / (values.std() + 1e-6)), label


class PackedImages(Dataset):
    """JPEGs in one file below each root/class_*/, read one here and one there; index.json has their places."""

    def __init__(self, root, side, use_torchvision=False):
        self.classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
        self.paths = [os.path.join(root, name, "records.pack") for name in self.classes]
        indices = [os.path.join(root, name, "index.json") for name in self.classes]
        places = [json.load(open(index, encoding="utf-8")) for index in indices]
        self.places = [(label, *place) for label, of_class in enumerate(places) for place in of_class]
        self.side = side
        self.use_torchvision = use_torchvision
        self.transform = None
        self.files = None

    def __len__(self):
        return len(self.places)

    def __getitem__(self, index):
        if self.files is None:
            self.files = [os.open(path, os.O_RDONLY) for path in self.paths]
            for file in self.files:
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)  # or the kernel reads ahead, the more the more it read
            self.transform = (torchvision_augment if self.use_torchvision else augment)(self.side)
        label, offset, size = self.places[index]
        content = os.pread(self.files[label], size, offset)
        return self.transform(Image.open(io.BytesIO(content)).convert("RGB")), label

    def __getstate__(self):
        return {**self.__dict__, "transform": None, "files": None}


def open_folder(root, side, use_torchvision):
    """The data set at `root`, by the kind of its first file."""
    first_class = next(entry.path for entry in sorted(os.scandir(root), key=lambda e: e.name) if entry.is_dir())
    suffix = os.path.splitext(sorted(os.listdir(first_class))[0])[1]
    if suffix == ".npy":
        return ArrayFolder(root)
    if suffix == ".wav":
        return AudioFolder(root)
    if suffix == ".bin":
        return MappedFolder(root)
    if suffix == ".json":
        return PackedImages(root, side, use_torchvision)
    return ImageFolder(root, side, use_torchvision)
