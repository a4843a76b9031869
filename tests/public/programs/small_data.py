"""Data that is made for the programs of this folder, in the working folder, and what they share."""
import io
import json
import os
import pickle
import tarfile

import numpy as np

SCALE = int(os.environ.get("PROMISE_SCALE", "1"))  # so many times the epochs


CLIP = {
    "model_cfg": {
        "embed_dim": 32,
        "vision_cfg": {"image_size": 32, "layers": 1, "width": 64, "head_width": 32, "patch_size": 8},
        "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1},
    },
    "preprocess_cfg": {"mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25]},
}


def pictures(folder="data", classes=4, each=24, width=96, height=72):
    """Photos of noise in a folder for each class."""
    from PIL import Image

    generator = np.random.default_rng(0)
    for label in range(classes):
        os.makedirs(f"{folder}/class{label}", exist_ok=True)
        for number in range(each):
            small = generator.integers(0, 255, (height // 8, width // 8, 3), dtype=np.uint8)
            Image.fromarray(small).resize((width, height)).save(f"{folder}/class{label}/{number:03d}.jpg", quality=90)


def flat():
    """Pictures beside each other in one folder."""
    pictures("classes", each=32)
    os.makedirs("data")
    for number, path in enumerate(listed("classes")[0]):
        os.rename(path, f"data/{number:04d}.jpg")


def rasters():
    """GeoTIFF files that lie beside each other."""
    import rasterio
    from rasterio.transform import from_origin

    os.makedirs("data")
    generator = np.random.default_rng(0)
    for number in range(6):
        place = from_origin(500000 + number * 2560, 5000000, 10, 10)
        with rasterio.open(f"data/{number}.tif", "w", driver="GTiff", height=256, width=256, count=3, dtype="uint8", crs="EPSG:32633",
                           transform=place) as file:
            file.write(generator.integers(0, 255, (3, 256, 256), dtype=np.uint8))


def listed(folder):
    """Paths and labels of pictures()."""
    found = []
    for label, name in enumerate(sorted(os.listdir(folder))):
        found += [(f"{folder}/{name}/{file}", label) for file in sorted(os.listdir(f"{folder}/{name}"))]
    return [path for path, _ in found], [label for _, label in found]


def earlier_run():
    """Pictures, and the checkpoints of an earlier run of transformers' Trainer."""
    pictures()
    for step in (500, 564):
        os.makedirs(f"out/checkpoint-{step}")
        with open(f"out/checkpoint-{step}/model.safetensors", "w") as file:
            file.write(f"what an earlier run had learnt after {step} steps")


def detection():
    """A tiny detection set for ultralytics' own command."""
    from PIL import Image

    generator = np.random.default_rng(0)
    for part, count in (("train", 48), ("val", 8)):
        os.makedirs(f"data/images/{part}")
        os.makedirs(f"data/labels/{part}")
        for number in range(count):
            picture = generator.integers(0, 80, (96, 128, 3), dtype=np.uint8)
            x, y, side = generator.integers(0, 80), generator.integers(0, 60), generator.integers(16, 36)
            picture[y:y + side, x:x + side] = 220
            Image.fromarray(picture).save(f"data/images/{part}/{number:03d}.jpg", quality=90)
            box = [(x + side / 2) / 128, (y + side / 2) / 96, side / 128, side / 96]
            with open(f"data/labels/{part}/{number:03d}.txt", "w") as file:
                file.write("0 " + " ".join(f"{value:.5f}" for value in box) + "\n")
    with open("data.yaml", "w") as file:
        file.write("path: data\ntrain: images/train\nval: images/val\nnames:\n  0: square\n")


def captions():
    """Pictures with captions and a model of nearly nothing for open_clip's own command."""
    pictures()
    os.makedirs("model")
    with open("model/open_clip_config.json", "w") as file:
        json.dump(CLIP, file)
    with open("train.csv", "w") as file:
        file.write("filepath\ttitle\n")
        for path, label in zip(*listed("data")):
            file.write(f"{path}\ta picture of kind {label}\n")


def tokens(folder="."):
    """Two files of tokens, as nanoGPT has them."""
    generator = np.random.default_rng(0)
    os.makedirs(folder, exist_ok=True)
    for name, count in (("train", 2_000_000), ("val", 100_000)):
        generator.integers(0, 256, count, dtype=np.uint16).tofile(f"{folder}/{name}.bin")
    with open(f"{folder}/meta.pkl", "wb") as file:
        pickle.dump({"vocab_size": 256}, file)


def words():
    """Lines of words, as PyTorch's word_language_model reads them."""
    generator = np.random.default_rng(0)
    for name, lines in (("train", 6000), ("valid", 300), ("test", 300)):
        with open(f"{name}.txt", "w", encoding="utf-8") as file:
            file.writelines(" ".join(f"w{word}" for word in generator.integers(0, 500, 20)) + "\n" for _ in range(lines))


def chunks():
    """Pictures as litdata keeps them, several in a file."""
    from litdata.streaming.writer import BinaryWriter

    pictures("classes")
    writer = BinaryWriter("chunks", chunk_size=16)
    for number, (path, label) in enumerate(zip(*listed("classes"))):
        with open(path, "rb") as file:
            writer.add_item(number, {"picture": file.read(), "label": label})
    writer.done()
    writer.merge(1)


def shards():
    """Pictures in tar files, as webdataset reads them."""
    pictures(each=48)
    paths, labels = listed("data")
    order = np.random.default_rng(0).permutation(len(paths)).tolist()
    for shard in range(6):
        with tarfile.open(f"shard-{shard:03d}.tar", "w") as tar:
            for index in order[shard::6]:
                with open(paths[index], "rb") as file:
                    picture = file.read()
                for ending, data in (("jpg", picture), ("cls", str(labels[index]).encode())):
                    info = tarfile.TarInfo(f"{index:05d}.{ending}")
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))


def split():
    """Pictures in train/ and val/ (also called validation/), as most trainers want them."""
    pictures("data/train", each=40)
    pictures("data/val", each=4)
    os.symlink("val", "data/validation")


def decoded(path, size=32):
    """A picture as numbers, (3, size, size), after a random crop by numpy and a random flip by torch."""
    import torch
    from PIL import Image

    picture = np.asarray(Image.open(path).convert("RGB").resize((size + 8, size + 8)), dtype=np.float32) / 255
    top, left = np.random.randint(0, 8, 2)
    picture = picture[top:top + size, left:left + size]
    if torch.rand(1) < 0.5:
        picture = picture[:, ::-1]
    return torch.from_numpy(np.ascontiguousarray(picture.transpose(2, 0, 1)))


def network(size=32, classes=4):
    """A model that takes a few ms a step."""
    import torch

    return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, stride=2), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(),
                               torch.nn.Linear(8 * ((size - 1) // 2) ** 2, classes))
