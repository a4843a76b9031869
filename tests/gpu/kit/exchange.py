"""(e) DistributedDataParallel with one rank, by NCCL: its own timers are read."""

from collections.abc import Iterator

from . import commands
from .checks import Check, at_most, holds, note
from .machine import Machine

TIMES = ("forward_s", "backward_s", "time_s", "exposed_s")


def run(machine: Machine) -> Iterator[Check]:
    sizes = machine.sizes
    folder = machine.folder("exchange")
    # PyTorch times one iteration in a hundred on a GPU, and three are needed.
    words = ["--ddp", "--epochs", max(2, sizes.passive_epochs), "--batch", max(8, sizes.batch // 4)]
    command = commands.job(machine, machine.data, *words)
    profile, (cell,) = commands.profile(machine, folder / "measured", command, "--phases", "as_is",
                                        STALLCAST_KIT_STORE=str(folder / "store"))
    found = profile.get("exchange")
    yield holds("the profile has an exchange of gradients", found is not None, f"{cell['steps']} steps")
    if found is None:
        return
    yield note("by", found["backend"])
    yield holds("iterations were timed", found["iterations"] >= 3, f"{found['iterations']}")
    error = None if not found["bytes"] else 100 * (found["bytes"] / cell["gradient_bytes"] - 1)
    yield at_most("bytes of gradients beside those of the parameters", error, 1.0, "%", timed=False)
    for name in TIMES:
        value, why = commands.mean_of(profile, f"exchange.{name}")
        yield note(name, value if value is not None else f"absent: {why}", "s")
    backward, why = commands.mean_of(profile, "exchange.backward_s")
    yield holds("the time of the backward pass is there", backward is not None and backward > 0, why)
