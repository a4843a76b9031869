#!/usr/bin/env python3
"""Makes a data set of generated files whose sizes and decoding cost are those of real ones.

  make_dataset.py DIR --samples 2000                    photos: JPEG, about 500x375, sizes as in ImageNet
  make_dataset.py DIR --samples 20000 --kind jpeg256    photos: JPEG, 256x256, about 20 KB
  make_dataset.py DIR --samples 20000 --kind arrays20k  .npy files of 20 KB
  make_dataset.py DIR --samples 500 --kind audio        16-bit PCM .wav files of 0.6 MB
  make_dataset.py DIR --samples 8000 --kind mapped      records of 64 KiB in one .bin file a class, to be mapped
  make_dataset.py DIR --samples 20000 --kind packed     JPEGs of 256 x 256 in one .pack file a class, with an index

The files lie in one folder per class (DIR/class_000/000017.jpg), as torchvision's ImageFolder expects. The same
arguments always make the same files. DIR/dataset.json is written last; where it says that the same data set is
there already, nothing is made again.

How the photos come about: an image whose spectrum falls with frequency as natural images' does (amplitude 1/f), with
some hard edges and sensor noise, costs a JPEG coder and decoder what a photo does. A few of them are made; every
sample is a different crop of one, at a size and a quality that bring it to the length drawn for it.
"""

import argparse
import io
import json
import multiprocessing
import os
import pathlib
import sys
import wave

import numpy
from PIL import Image

FORMAT_VERSION = 1
BASE_SIDE = 640
# ImageNet-1k's files have about 110 KB in the mean; two thirds of ours come out between 50 and 150 KB.
JPEG_MEAN_BYTES = 110e3
JPEG_SIGMA = 0.5
SMALL_SIDE, SMALL_QUALITY = 256, 80
QUALITIES = (30, 50, 70, 80, 88, 93, 96, 98)
AUDIO_RATE = 16000
AUDIO_SECONDS = 19
RECORD_BYTES = 65536

bases = []  # filled before the pool forks, so that its processes share it


def natural_texture(random, side):
    """One channel of noise with a 1/f amplitude spectrum, mean 0 and deviation 1."""
    frequency = numpy.hypot(numpy.fft.fftfreq(side)[:, None], numpy.fft.rfftfreq(side)[None, :])
    frequency[0, 0] = 1.0
    amplitude = 1.0 / frequency
    amplitude[0, 0] = 0.0
    phase = random.uniform(0.0, 2.0 * numpy.pi, frequency.shape)
    texture = numpy.fft.irfft2(amplitude * numpy.exp(1j * phase), s=(side, side))
    return texture / texture.std()


def make_base(seed):
    """One photo-like RGB image: a textured scene with a few objects that have hard edges."""
    random = numpy.random.default_rng(seed)
    light = natural_texture(random, BASE_SIDE)
    tint = [natural_texture(random, BASE_SIDE) for _ in range(2)]
    y, x = numpy.mgrid[0:BASE_SIDE, 0:BASE_SIDE]
    for _ in range(12):
        centre, radii = random.uniform(0, BASE_SIDE, 2), random.uniform(20, 160, 2)
        inside = ((x - centre[0]) / radii[0]) ** 2 + ((y - centre[1]) / radii[1]) ** 2 < 1.0
        light[inside] = 0.6 * light[inside] + random.normal(0.0, 1.0)
    red, blue = light + 0.35 * tint[0], light + 0.35 * tint[1]
    image = 118.0 + 46.0 * numpy.stack([red, light, blue], axis=-1)
    image += random.normal(0.0, 3.0, image.shape)
    return numpy.clip(image, 0, 255).astype(numpy.uint8)


def encode(image, quality):
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()


def make_jpeg(random):
    """A crop of a base image whose encoded length is near one drawn from a log-normal distribution."""
    base = bases[random.integers(len(bases))]
    target = numpy.clip(random.lognormal(numpy.log(JPEG_MEAN_BYTES) - JPEG_SIGMA**2 / 2, JPEG_SIGMA), 8e3, 900e3)
    # Longer files are partly larger pictures, partly less compressed ones.
    long_side = int(numpy.clip(500 * (target / JPEG_MEAN_BYTES) ** 0.3, 160, BASE_SIDE))
    short_side = int(long_side * random.choice([0.667, 0.75, 0.75, 0.75, 1.0]))
    width, height = (long_side, short_side) if random.random() < 0.75 else (short_side, long_side)
    left, top = random.integers(BASE_SIDE - width + 1), random.integers(BASE_SIDE - height + 1)
    crop = base[top : top + height, left : left + width]
    if random.random() < 0.5:
        crop = crop[:, ::-1]
    gain = random.uniform(0.75, 1.25)
    image = Image.fromarray(numpy.clip(crop * gain, 0, 255).astype(numpy.uint8))
    # The length of a small middle piece at each quality tells the quality that comes nearest.
    piece = image.crop((width // 2 - 64, height // 2 - 64, width // 2 + 64, height // 2 + 64))
    share = 128.0 * 128.0 / (width * height)
    lengths = [len(encode(piece, quality)) for quality in QUALITIES]
    quality = round(float(numpy.interp(target * share, lengths, QUALITIES)))
    return encode(image, quality)


def make_small_jpeg(random):
    """A crop of one size of a base image, which costs little to make: for many small files."""
    base = bases[random.integers(len(bases))]
    left, top = random.integers(BASE_SIDE - SMALL_SIDE + 1, size=2)
    return encode(Image.fromarray(base[top : top + SMALL_SIDE, left : left + SMALL_SIDE]), SMALL_QUALITY)


def make_array(random):
    buffer = io.BytesIO()
    numpy.save(buffer, random.standard_normal((10, 31, 32)).astype(numpy.float16))
    return buffer.getvalue()


def make_audio(random):
    """A few gliding tones in noise, 16-bit mono."""
    time = numpy.arange(AUDIO_RATE * AUDIO_SECONDS) / AUDIO_RATE
    signal = random.normal(0.0, 0.05, time.shape)
    for _ in range(3):
        signal += 0.2 * numpy.sin(2.0 * numpy.pi * (random.uniform(80, 3000) + random.uniform(-20, 20) * time) * time)
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(AUDIO_RATE)
        out.writeframes((numpy.clip(signal, -1, 1) * 32767).astype("<i2").tobytes())
    return buffer.getvalue()


def make_record(random):
    return random.bytes(RECORD_BYTES)


KINDS = {"jpeg": (make_jpeg, ".jpg"), "jpeg256": (make_small_jpeg, ".jpg"), "arrays20k": (make_array, ".npy"),
         "audio": (make_audio, ".wav"), "mapped": (make_record, ".bin"), "packed": (make_small_jpeg, ".pack")}


def write_sample(task):
    """Makes sample number `number` from its own seed, so that neither order nor process count matters."""
    root, kind, seed, classes, number = task
    make, suffix = KINDS[kind]
    content = make(numpy.random.default_rng([seed, number]))
    folder = pathlib.Path(root, f"class_{number % classes:03d}")
    if kind == "mapped":
        write_record(folder / f"records{suffix}", number // classes, content)
    else:
        (folder / f"{number:06d}{suffix}").write_bytes(content)
    return len(content)


def write_record(path, place, content):
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    os.pwrite(file, content, place * RECORD_BYTES)
    os.close(file)


def sample_content(task):
    _, kind, seed, _, number = task
    return KINDS[kind][0](numpy.random.default_rng([seed, number]))


def write_packs(args, contents):
    """One file a class, its samples one after the other; returns their sizes. index.json has the place of each."""
    places = [[] for _ in range(args.classes)]
    folders = [pathlib.Path(args.root, f"class_{number:03d}") for number in range(args.classes)]
    packs = [(folder / "records.pack").open("wb") for folder in folders]
    for number, content in enumerate(contents):
        pack = packs[number % args.classes]
        places[number % args.classes].append((pack.tell(), len(content)))
        pack.write(content)
    for folder, pack, of_class in zip(folders, packs, places):
        pack.close()
        (folder / "index.json").write_text(json.dumps(of_class))
    return [size for of_class in places for _, size in of_class]


def make(args, plan):
    root = pathlib.Path(args.root)
    for number in range(args.classes):
        (root / f"class_{number:03d}").mkdir(parents=True, exist_ok=True)
    with multiprocessing.get_context("fork").Pool(args.jobs) as pool:
        if args.kind in ("jpeg", "jpeg256", "packed"):
            count = min(96, max(8, args.samples // 16))
            bases.extend(pool.map(make_base, [(args.seed, 1_000_000 + number) for number in range(count)]))
    tasks = [(args.root, args.kind, args.seed, args.classes, number) for number in range(args.samples)]
    # A second pool, because only processes forked from now on see the base images.
    with multiprocessing.get_context("fork").Pool(args.jobs) as pool:
        if args.kind == "packed":
            sizes = write_packs(args, pool.imap(sample_content, tasks, chunksize=16))
        else:
            sizes = pool.map(write_sample, tasks, chunksize=16)
    plan["bytes"] = int(sum(sizes))
    (root / "dataset.json").write_text(json.dumps(plan) + "\n")
    return plan["bytes"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", help="folder to make it in; other files in it are left alone")
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--kind", choices=sorted(KINDS), default="jpeg")
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes to make it with")
    args = parser.parse_args()
    if args.samples < 1 or args.classes < 1 or args.jobs < 1:
        parser.error("--samples, --classes and --jobs must be 1 or more")

    plan = {"version": FORMAT_VERSION, "kind": args.kind, "samples": args.samples, "classes": args.classes,
            "seed": args.seed}
    manifest = pathlib.Path(args.root, "dataset.json")
    if manifest.exists():
        there = json.loads(manifest.read_text())
        if {key: there.get(key) for key in plan} == plan:
            print(f"{args.root}: there already")
            return 0
        print(f"{args.root} holds another data set ({there}); choose another folder", file=sys.stderr)
        return 1
    size = make(args, plan)
    print(f"{args.root}: {args.samples} samples, {size / 1e6:.1f} MB, {size / args.samples / 1e3:.1f} KB each")
    return 0


if __name__ == "__main__":
    sys.exit(main())
