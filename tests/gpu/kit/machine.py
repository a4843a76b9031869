"""What is measured on, and how much of it: a machine with a GPU, or this one's CPU in a rehearsal."""

import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys

from .checks import Absent

ROOT = pathlib.Path(__file__).resolve().parents[3]
KIT = ROOT / "build" / "gpu-kit"
JOBS = ROOT / "tests" / "gpu" / "jobs"


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much of everything. Times in seconds; a budget is the tool's."""

    samples: int
    side: int
    batch: int
    model: str
    larger: str
    workers: tuple[int, ...]  # of predictions
    profiled: int  # workers of the profile that predicts, and
    most: int      # of the larger model's
    cell_s: float
    states_budget_s: float
    burst_budget_s: float
    passive_epochs: int
    profiler_repeats: int  # of the files, in the epoch of the job in which torch.profiler begins: several windows before
    profiler_from: int  # step
    shared_epochs: int
    promise_epochs: int
    promise_budget_s: float
    blocks: int
    block_steps: int
    device_steps: int
    switched_steps: int
    switched_pace_s: float  # in which a worker makes a batch for these
    turn_workers: int
    pace_s: float  # between batches, for a device that waits
    limit_bytes_per_s: float


ON_GPU = Sizes(samples=20_000, side=224, batch=256, model="resnet18", larger="resnet50", workers=(2, 4, 8, 14), profiled=8,
               most=14, cell_s=2.5, states_budget_s=66.0, burst_budget_s=20.0, passive_epochs=1, profiler_repeats=2,
               profiler_from=130, shared_epochs=1, promise_epochs=2, promise_budget_s=20.0, blocks=5, block_steps=30,
               device_steps=25, switched_steps=1500, switched_pace_s=0.0, turn_workers=4, pace_s=0.05, limit_bytes_per_s=40e6)
REHEARSAL = Sizes(samples=640, side=32, batch=8, model="tiny", larger="tiny", workers=(1, 2), profiled=2, most=2, cell_s=1.5,
                  states_budget_s=30.0, burst_budget_s=5.0, passive_epochs=8, profiler_repeats=16,
                  profiler_from=1200, shared_epochs=4, promise_epochs=8, promise_budget_s=12.0, blocks=3, block_steps=20,
                  device_steps=20, switched_steps=700, switched_pace_s=0.01,
                  turn_workers=1, pace_s=0.03, limit_bytes_per_s=4e6)


@dataclasses.dataclass(frozen=True)
class Machine:
    """Where the parts run. `scratch`: a folder on a disk, kept between parts and lost with the machine."""

    tool: pathlib.Path
    python: str
    scripted_cupti: pathlib.Path
    scratch: pathlib.Path
    rehearsal: bool

    @property
    def sizes(self) -> Sizes:
        return REHEARSAL if self.rehearsal else ON_GPU

    @property
    def device(self) -> str:
        return "cpu" if self.rehearsal else "cuda"

    @property
    def data(self) -> pathlib.Path:
        return self.scratch / "jpegs"

    def folder(self, name: str) -> pathlib.Path:
        """A new folder in the scratch folder."""
        path = self.scratch / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path


def find_tool() -> pathlib.Path:
    """STALLCAST_CLI, the packed kit's tool, or the development build's."""
    given = os.environ.get("STALLCAST_CLI")
    places = [pathlib.Path(given)] if given else [KIT / "stallcast" / "bin" / "stallcast", ROOT / "build/dev/cli/stallcast"]
    for place in places:
        if os.access(place, os.X_OK):
            return place.resolve()
    raise Absent(f"no stallcast at {' or '.join(map(str, places))}: tests/gpu/pack makes the kit")


def find_scripted_cupti(tool: pathlib.Path) -> pathlib.Path:
    """The libcupti that plays a script: packed, or the development build's beside the tool."""
    given = os.environ.get("STALLCAST_FAKE_CUPTI_LIB")
    beside = tool.parent.parent / "tests/capture/gpu/libfake_cupti.so"
    places = [pathlib.Path(given)] if given else [KIT / "libfake_cupti.so", beside]
    for place in places:
        if place.exists():
            return place.resolve()
    raise Absent(f"no scripted CUPTI at {' or '.join(map(str, places))}")


LOOK = """
import json, numpy, PIL, torch, torchvision
gpus = torch.cuda.device_count()
print(json.dumps({"torch": torch.__version__, "torchvision": torchvision.__version__, "gpus": gpus,
                  "gpu": torch.cuda.get_device_name() if gpus else None}))
"""


def find_python() -> tuple[str, dict]:
    """(python, what its torch is and sees): STALLCAST_PYTHON, or the first of this one, python3 and the system's that
    imports what the jobs need."""
    given = os.environ.get("STALLCAST_PYTHON")
    candidates = [given] if given else [sys.executable, shutil.which("python3"), "/usr/bin/python3"]
    for candidate in filter(None, candidates):
        looked = subprocess.run([candidate, "-c", LOOK], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                stdin=subprocess.DEVNULL, check=False)
        if looked.returncode == 0:
            return candidate, json.loads(looked.stdout)
    raise Absent(f"no python imports torch, torchvision, numpy and PIL; tried {', '.join(filter(None, candidates))}")
