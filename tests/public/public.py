#!/usr/bin/env python3
"""Public training programs, each run twice plainly and once (--runs) under stallcast, and compared as in tests/promise.

Their data is made on the spot, nothing is downloaded. `run --list` names them; `run` makes the virtual environment first.
"""
import importlib.util
import os
import shutil
import socket
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROMISE = os.path.join(os.path.dirname(HERE), "promise")
sys.path[:0] = [PROMISE, f"{HERE}/programs"]

import promise  # noqa: E402
import runs  # noqa: E402
import small_data  # noqa: E402

PYTHON = sys.executable
OFFLINE = {
    "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1",
    "WANDB_MODE": "disabled", "YOLO_OFFLINE": "true", "ACCELERATE_USE_CPU": "true", "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TQDM_DISABLE": "1", "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
}
# Bars are drawn as time goes by.
# Progress bars, lines that hold times beside what is also in the checkpoints (the ImageNet example), and what transformers
# says where two files were written within a tick of the file system's clock.
BARS = (r"\d*#?%\|", r"it/s", r"━", r"─ #/#", r"█", r"^Epoch: .*Time .*Data ", r"mtime may not be reliable")


def torchrun(*words, ranks=2):
    return [PYTHON, "-m", "torch.distributed.run", f"--nproc_per_node={ranks}", f"--master_port={free_port()}", *words]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def program(name, *words, start=None):
    """A script of programs/."""
    script = f"{HERE}/programs/{name}.py"
    return (start or (lambda *command: [PYTHON, *command]))(script, *words)


def yolo():
    """Its runs lie where its settings say: here in the folder of the run, so that they are compared."""
    yolo = os.path.join(os.path.dirname(PYTHON), "yolo")
    options = ("train model=yolov8n.yaml data=data.yaml epochs=2 imgsz=64 batch=4 workers=2 device=cpu plots=False seed=0 "
               "deterministic=True amp=False project=runs name=x val=True pretrained=False")
    settings = f"export YOLO_CONFIG_DIR=$PWD/config; mkdir config; '{yolo}' settings runs_dir=. > /dev/null"
    return ["bash", "-c", f"{settings} && exec '{yolo}' {options}"]


def clip():
    return [PYTHON, "-m", "open_clip_train.main", "--model", "local-dir:model", "--train-data", "train.csv", "--csv-img-key", "filepath",
            "--csv-caption-key", "title", "--batch-size", "8", "--epochs", "4", "--workers", "2", "--device", "cpu", "--precision", "fp32",
            "--name", "x", "--logs", "logs", "--seed", "1", "--save-frequency", "1", "--delete-previous-checkpoint", "--warmup", "5"]


# Name: (what makes the data, module that must be there, command)
PROGRAMS = {
    "trainer": (small_data.earlier_run, "transformers", lambda: program("trainer")),
    "trainer-persistent": (small_data.earlier_run, "transformers", lambda: program("trainer", "persistent")),
    "accelerate-shard": (small_data.pictures, "accelerate", lambda: program("accelerate_loop", "shard")),
    "accelerate-dispatch": (small_data.pictures, "accelerate", lambda: program("accelerate_loop", "dispatch", start=torchrun)),
    "lightning": (small_data.pictures, "lightning", lambda: program("lightning_fit")),
    "lightning-combined": (small_data.pictures, "lightning", lambda: program("lightning_fit", "combined")),
    "lightning-iterable": (small_data.pictures, "lightning", lambda: program("lightning_fit", "iterable")),
    "ultralytics": (small_data.detection, "ultralytics", yolo),
    "timm-multi-epochs": (small_data.pictures, "timm", lambda: program("timm_loaders", "multi_epochs")),
    "timm-prefetch": (small_data.pictures, "timm", lambda: program("timm_loaders", "prefetch")),
    "imagefolder-ddp": (small_data.pictures, "torchvision", lambda: program("imagefolder_ddp", start=torchrun)),
    "fastai": (small_data.pictures, "fastai", lambda: program("fastai_fit")),
    "keras": (small_data.pictures, "keras", lambda: program("keras_fit")),
    "open_clip": (small_data.captions, "open_clip_train", clip),
    "memmap": (small_data.tokens, "torch", lambda: program("memmap")),
    "stateful": (small_data.pictures, "torchdata", lambda: program("stateful")),
    "monai-cache": (small_data.pictures, "monai", lambda: program("monai_loop", "cache")),
    "monai-persistent": (small_data.pictures, "monai", lambda: program("monai_loop", "persistent")),
    "monai-smart": (small_data.pictures, "monai", lambda: program("monai_loop", "smart")),
    "monai-threads": (small_data.pictures, "monai", lambda: program("monai_loop", "threads")),
    "torchio": (small_data.pictures, "torchio", lambda: program("torchio_queue")),
    "skorch": (small_data.pictures, "skorch", lambda: program("skorch_fit")),
    "sentence-transformers": (lambda: None, "sentence_transformers", lambda: program("sentence_pairs")),
    "mmengine": (small_data.pictures, "mmengine", lambda: program("mmengine_runner")),
    "mmengine-endless": (small_data.pictures, "mmengine", lambda: program("mmengine_runner", "endless")),
    "speechbrain": (lambda: None, "speechbrain", lambda: program("speechbrain_fit")),
    "diffusion": (small_data.flat, "denoising_diffusion_pytorch", lambda: program("diffusion_trainer")),
    "metric-learning": (small_data.pictures, "pytorch_metric_learning", lambda: program("metric_learning")),
    "tabnet": (lambda: None, "pytorch_tabnet", lambda: program("tabnet_fit")),
    "lightly": (small_data.pictures, "lightly", lambda: program("lightly_views")),
    "forecasting": (lambda: None, "pytorch_forecasting", lambda: program("forecasting_fit")),
    "torchgeo": (small_data.rasters, "torchgeo", lambda: program("geo_patches")),
    "trl": (lambda: None, "trl", lambda: program("sft_adapter")),
    "litdata": (small_data.chunks, "litdata", lambda: program("litdata_chunks")),
    "ignite": (small_data.pictures, "ignite", lambda: program("ignite_fit")),
    "notebook-papermill": (small_data.pictures, "papermill", lambda: program("notebook", "papermill")),
    "notebook-nbconvert": (small_data.pictures, "nbconvert", lambda: program("notebook", "nbconvert")),
    "replay-buffer": (lambda: None, "torch", lambda: program("replay_buffer")),
    "webdataset": (small_data.shards, "webdataset", lambda: program("webdataset_loop")),
}


def imagenet():
    return [PYTHON, "main.py", "-a", "shufflenet_v2_x0_5", "-j", "4", "-b", "8", "--epochs", "2", "--seed", "1", "--no-accel", "-p", "1", "data"]


def timm_train():
    return [PYTHON, "train.py", "--data-dir", "data", "--model", "test_vit", "--num-classes", "4", "--img-size", "32", "--epochs", "4",
            "--workers", "2", "--device", "cpu", "--batch-size", "8", "--seed", "1", "--output", "out", "--experiment", "x",
            "--checkpoint-hist", "2", "--log-interval", "1", "--sched", "step", "--warmup-epochs", "0"]


def nanogpt():
    words = {"device": "cpu", "compile": "False", "dataset": "tiny", "eval_iters": 2, "log_interval": 1, "block_size": 32, "batch_size": 4,
             "n_layer": 1, "n_head": 2, "n_embd": 32, "max_iters": 300, "lr_decay_iters": 300, "eval_interval": 100,
             "gradient_accumulation_steps": 2, "always_save_checkpoint": "True"}
    return [PYTHON, "train.py", *(f"--{key}={value}" for key, value in words.items())]


def language_model():
    """Updates its parameters by hand: no optimizer, no loader."""
    return [PYTHON, "main.py", "--data", ".", "--epochs", "2", "--emsize", "16", "--nhid", "16", "--nlayers", "1", "--log-interval", "100"]


# Out of their own repositories: (folder of --repositories, files, who makes the data, command).
REPOSITORIES = {
    "imagenet-example": ("examples", ["imagenet/main.py"], small_data.split, imagenet),
    "language-model": ("examples", [f"word_language_model/{file}.py" for file in ("main", "data", "model")], small_data.words,
                       language_model),
    "timm-train": ("pytorch-image-models", ["train.py"], small_data.split, timm_train),
    "nanogpt": ("nanoGPT", ["train.py", "model.py", "configurator.py"], lambda: small_data.tokens("data/tiny"), nanogpt),
}


def environment(home):
    return {**OFFLINE, "HOME": home, "MPLCONFIGDIR": home, "YOLO_CONFIG_DIR": home, "PYTHONPATH": f"{PROMISE}:{HERE}/programs"}


def made_in(folder, make):
    here = os.getcwd()
    os.chdir(folder)
    make()
    os.chdir(here)


def template(place, name, args):
    """The working folder of a program; or None, and why not."""
    folder = f"{place}/templates/{name}"
    os.makedirs(folder)
    if name in PROGRAMS:
        make, module, _ = PROGRAMS[name]
        if importlib.util.find_spec(module) is None:
            return None, f"no {module} here"
        made_in(folder, make)
        return folder, ""
    repository, files, make, _ = REPOSITORIES[name]
    for file in files:
        source = os.path.join(args.repositories or "", repository, file)
        if not args.repositories or not os.path.exists(source):
            return None, f"no checkout of it: --repositories DIR with {repository}/{file}"
        shutil.copy(source, folder)
    made_in(folder, make)
    return folder, ""


def main():
    made = promise.parser(__doc__)
    made.add_argument("names", nargs="*", help="which, or how their names begin (default: all)")
    made.add_argument("--repositories", metavar="DIR", help="checkouts of " + ", ".join(one[0] for one in REPOSITORIES.values()))
    made.add_argument("--timeout", type=float, default=600)
    made.add_argument("--list", action="store_true", help="print the names")
    args = made.parse_args()
    names = [name for name in {**PROGRAMS, **REPOSITORIES} if not args.names or any(name.startswith(start) for start in args.names)]
    if args.list:
        print("\n".join(names))
        return 0
    place, jobs = tempfile.mkdtemp(prefix="public-"), []
    home = f"{place}/home"
    os.makedirs(home)
    for name in names:
        folder, why = template(place, name, args)
        if folder is None:
            print(f"{name:34} skipped: {why}", flush=True)
            continue
        command = (PROGRAMS.get(name) or REPOSITORIES[name])[-1]()
        jobs.append(runs.Job(name, command, folder, environment(home), dropped_lines=BARS, timeout=args.timeout))
    status = promise.check_all(jobs, args)
    shutil.rmtree(place, ignore_errors=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
