"""What a program tells of itself, for runs to be compared: a line of JSON for each batch, into the file PROMISE_LOG (with
the rank behind its name, where there are ranks). Without PROMISE_LOG nothing is written.
"""
import hashlib
import json
import os
import pickle
import random

import numpy as np
import torch


def short(data):
    return hashlib.sha256(data).hexdigest()[:12]


def described(value):
    """Classes, shapes and bytes of a batch, as one text."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, torch.Tensor):
        data = value.detach().cpu().contiguous().reshape(-1)
        data = data.view(torch.uint8).numpy().tobytes() if value.numel() else b""
        return f"{kind} {value.dtype} {tuple(value.shape)} {value.device} {short(data)}"
    if isinstance(value, np.ndarray):
        return f"{kind} {value.dtype} {value.shape} {short(np.ascontiguousarray(value).tobytes())}"
    if isinstance(value, (list, tuple)):
        return f"{kind} [{', '.join(described(item) for item in value)}]"
    if hasattr(value, "items"):
        return f"{kind} {{{', '.join(f'{key}: {described(item)}' for key, item in value.items())}}}"
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return f"{kind} {value!r}"
    if hasattr(value, "__dict__"):
        return f"{kind} {described(vars(value))}"
    return f"{kind} {short(pickle.dumps(value))}"


def digest(value):
    return short(described(value).encode())


def shapes(value):
    """Shapes of the tensors in a batch, in order."""
    if hasattr(value, "shape"):
        return [list(value.shape)]
    if isinstance(value, (list, tuple)):
        return [shape for item in value for shape in shapes(item)]
    if hasattr(value, "items"):
        return [shape for _, item in value.items() for shape in shapes(item)]
    return []


def generators():
    """The states of this process' three global generators."""
    state = np.random.get_state()
    return {"torch": short(torch.get_rng_state().numpy().tobytes()),
            "numpy": short(state[1].tobytes() + repr(state[2:]).encode()),
            "random": short(repr(random.getstate()).encode())}


def own(**named):
    """The states of generators that the program holds (torch.Generator, or None)."""
    return {name: short(generator.get_state().numpy().tobytes()) for name, generator in named.items() if generator is not None}


def note(**facts):
    path = os.environ.get("PROMISE_LOG")
    if not path:
        return
    if os.environ.get("RANK"):
        path += "." + os.environ["RANK"]
    with open(path, "a") as log:
        log.write(json.dumps(facts) + "\n")


def batch(value, **facts):
    """The script has a batch: what it is, and in what state the generators are."""
    if os.environ.get("PROMISE_LOG"):
        note(batch=digest(value), shapes=shapes(value), **generators(), **facts)


def epoch(number, **facts):
    note(epoch=number, **generators(), **facts)


def weights(model):
    """The model as it is in the end."""
    state = model.state_dict() if hasattr(model, "state_dict") else model
    note(weights=digest({key: value for key, value in state.items()}))


def seed(number=0):
    """Everything seeded, one thread, deterministic kernels where torch has them."""
    random.seed(number)
    np.random.seed(number)
    torch.manual_seed(number)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
