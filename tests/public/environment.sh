# shellcheck shell=bash
# Source it. public_environment FOLDER: makes the virtual environment of the public programs there, and adds what it
# lacks; prints nothing on stdout. Small groups, one after the other: one resolution of them all takes pip for ever.

PUBLIC_GROUPS=(
  "torch==2.14.1 torchvision==0.29.1"
  "transformers accelerate datasets"
  "lightning"
  "timm"
  "ultralytics"
  "fastai"
  "keras"
  "open_clip_torch webdataset"
  "torchdata"
  "pandas tiktoken"
  "monai"
  "torchio"
  "skorch"
  "sentence-transformers"
  "mmengine"
  "speechbrain"
  "denoising-diffusion-pytorch"
  "pytorch-metric-learning"
  "pytorch-tabnet"
  "lightly"
  "pytorch-forecasting"
  "torchgeo"
  "trl peft"
  "litdata"
  "pytorch-ignite"
  "papermill nbconvert ipykernel"
)

public_environment() {
  local folder=$1 group mark
  [ -x "$folder/bin/python" ] || python3 -m venv "$folder" || return
  for group in "${PUBLIC_GROUPS[@]}"; do
    mark="$folder/have-${group//[^a-z0-9_]/-}"
    [ ! -e "$mark" ] || continue
    printf '== pip install %s\n' "$group" >&2
    # A group that cannot be had leaves its programs out, which say so; the others run.
    # shellcheck disable=SC2086
    if "$folder/bin/python" -m pip install -q --disable-pip-version-check $group >&2; then
      touch "$mark"
    else
      printf 'cannot be had here: %s\n' "$group" >&2
    fi
  done
}
