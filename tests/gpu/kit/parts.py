"""All parts, in the order in which they run, with the seconds planned for each on a GPU (data and all: 10 minutes)."""

from . import (cold, cost, decoding, device, exchange, injection, predictions, sharing, situations, training, windows)
from .checks import Part

LIMIT_S = 100.0  # of a part, which is then ended
DATA_S = 12.0    # looking at torch, making the JPEGs

# Parts without a figure that depends on speed run at the same time, before all others.
UNTIMED = (
    Part("injection", "a", "doctor; the injection loads, torch works, torch.profiler gets CUPTI later", 50, injection.run),
    Part("weights", "c", "weights of a measured run, bit for bit those of plain runs", 60, training.weights),
    Part("exchange", "e", "DistributedDataParallel with one rank: its timers", 60, exchange.run),
    Part("situations", "s", "no driver, MIG, CUPTI held, an injection of the job's own: measured, and why not the GPU", 70,
         situations.run, needs_gpu=False),
    Part("refusals", "s", "some of these with a GPU's own driver", 70, situations.on_gpu),
)
TIMED = (
    Part("device", "b", "busy, copying, idle, idle while waiting: the probe beside torch.profiler", 49, device.run),
    Part("cost", "b", "what a passive recording costs a step", 75, cost.run),
    Part("windows", "b", "windows as often as can be, of steps that launching limits: jobs end as ever", 45, windows.run),
    Part("states", "c", "ResNet-18, 8 workers: states and stalls", 78, training.states),
    Part("loader", "d", "its rates and predictions beside plain runs", 80, predictions.loader),
    Part("larger", "c", "ResNet-50, 14 workers, nothing pinned: states and stalls", 50, training.larger),
    Part("transfer", "d", "pinned memory, a faster device: predictions beside plain runs", 60, predictions.transfer),
    Part("cold", "c", "storage under the kernel's limit", 52, cold.run),
    Part("decoding", "f", "decoding on the device as the truth of operator=all:gpu", 28, decoding.run),
    Part("sharing", "g", "two processes on one GPU", 38, sharing.run),
)
ALL = UNTIMED + TIMED


def planned_s(chosen: list[Part]) -> float:
    """Of all that are chosen: those at the same time take as long as the longest of them."""
    together = [part.seconds for part in chosen if part in UNTIMED]
    return DATA_S + max(together, default=0.0) + sum(part.seconds for part in chosen if part in TIMED)
