"""What runs of one command left, compared: only where two plain runs agree, and what is left out has a name.

Each function takes the two plain versions and a third one, and returns (differences, left_out), lists of words.
"""
import collections
import hashlib
import json
import os
import pathlib
import re

# What tells the time is never compared: two plain runs may agree by chance.
TIMES = re.compile(
    r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?)?"
    r"|\b\d+:\d\d(?::\d\d)?(?:[.,]\d+)?\b"
    r"|\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\s?(?:it/s|s/it|img/s|ms|us|s|sec|secs|seconds|hours|mins?)\b"
    r"|\b[\d.]+±[\d.]+\s?(?:ms|us|s|[kMG]?B/s)(?!\w)"
    r"|\b0x[0-9a-f]+\b"
    r'|"\w+_(?:s|ms|seconds|per_s|per_second|runtime)": [\d.e+-]+')
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")
PADDING = re.compile(r"(?<=[(\[ ]) +(?=#)")  # of numbers in columns: as wide as they are short
TEXTS = (".json", ".jsonl", ".csv", ".txt", ".log", ".md", ".yaml", ".yml")
TENSORS = (".pt", ".pth", ".tar", ".ckpt", ".bin")


# A frame of the shim in a traceback: the price of standing between a script and its loader.
OUR_FRAME = re.compile(r'  File "[^"]*/stallcast_shim/[^"]*", line \d+, in .*\n(?:    .*\n)*')


def shortened(words, most=90):
    return words if len(words) <= most else words[:most - 3] + "..."


class Lines:
    """The lines of a text by their shape, which is what is left of them without numbers."""

    def __init__(self, text):
        self.order, self.numbers = [], collections.defaultdict(list)
        for line in re.split(r"[\r\n]+", text):
            line = TIMES.sub("@", line).rstrip()
            if line:
                shape = PADDING.sub("", NUMBER.sub("#", line))
                self.order.append(shape)
                self.numbers[shape].append(NUMBER.findall(line))

    def stable_order(self, dropped):
        return [shape for shape in self.order if shape not in dropped]


def texts(first, second, other, dropped_lines=()):
    """Two plain texts and another one. `dropped_lines`: expressions of lines (progress bars) that time alone makes."""
    dropped, left_out, differences = set(), [], []
    if OUR_FRAME.search(other):
        left_out.append("frames of the shim in a traceback")
    first, second, other = Lines(first), Lines(second), Lines(OUR_FRAME.sub("", other))
    for lines in (first, second, other):
        dropped.update(shape for shape in lines.numbers if any(re.search(wanted, shape) for wanted in dropped_lines))
    for shape in set(first.numbers) | set(second.numbers):
        if shape not in dropped and len(first.numbers[shape]) != len(second.numbers[shape]):
            dropped.add(shape)
            left_out.append(f"lines like '{shortened(shape, 50)}'")
    for shape, plain in first.numbers.items():
        if shape in dropped:
            continue
        again, seen = second.numbers[shape], other.numbers.get(shape, [])
        if plain != again and sorted(plain) == sorted(again):  # several processes print
            left_out.append(f"the order of lines like '{shortened(shape, 50)}'")
            plain, again, seen = sorted(plain), sorted(again), sorted(seen)
        moving = {place for one, two in zip(plain, again) for place, pair in enumerate(zip(one, two)) if pair[0] != pair[1]}
        if moving:
            left_out.append(f"{len(moving)} numbers in lines like '{shortened(shape, 50)}'")
        if len(seen) != len(plain):
            differences.append(f"{len(seen)} lines instead of {len(plain)} like '{shortened(shape, 70)}'")
            continue
        for one, three in zip(plain, seen):
            wrong = [f"{three[place]} instead of {one[place]}" for place in range(len(one))
                     if place not in moving and one[place] != three[place]]
            if wrong:
                differences.append(f"{wrong[0]} in a line like '{shortened(shape, 70)}'")
                break
    for shape in other.order:
        if shape not in first.numbers and shape not in dropped:
            differences.append(f"a line too many: '{shortened(shape, 160)}'")
            break
    orders = [lines.stable_order(dropped) for lines in (first, second, other)]
    if not differences and orders[0] == orders[1] and orders[2] != orders[0]:
        differences.append("the same lines in another order")
    return differences, left_out


def logs(first, second, other):
    """Lines of JSON that programs log through witness.py: keys in which the plain runs differ are left out."""
    read = lambda line: line if isinstance(line, dict) else {"line": line}
    parsed = [[read(json.loads(line)) for line in text.splitlines()] for text in (first, second, other)]
    left_out = set()
    if len(parsed[0]) != len(parsed[1]):
        return [], [f"all of the log: {len(parsed[0])} and {len(parsed[1])} lines"]
    for one, two in zip(parsed[0], parsed[1]):
        left_out.update(key for key in one.keys() | two.keys() if one.get(key) != two.get(key))
    differences = []
    for number, (one, three) in enumerate(zip(parsed[0], parsed[2]), 1):
        wrong = sorted(key for key in one.keys() | three.keys() if key not in left_out and one.get(key) != three.get(key))
        if wrong:
            key = wrong[0]
            differences.append(f"line {number}: {', '.join(wrong)} ({shortened(json.dumps(three.get(key)))} instead of "
                               f"{shortened(json.dumps(one.get(key)))})")
            break
    if len(parsed[2]) != len(parsed[0]):
        differences.append(f"{len(parsed[2])} lines instead of {len(parsed[0])}")
    return differences, sorted(f"'{key}' of the log" for key in left_out)


def leaves(path):
    """Tensors and values of a file of torch.save, by where they stand in it."""
    import torch

    try:
        tree = torch.load(path, map_location="cpu", weights_only=False)
    except TypeError:  # before torch 1.13 had weights_only
        tree = torch.load(path, map_location="cpu")
    found = {}

    def walk(value, name):
        if isinstance(value, torch.nn.Module):
            value = value.state_dict()
        if isinstance(value, dict):
            for key in value:
                walk(value[key], f"{name}.{key}")
        elif isinstance(value, (list, tuple)):
            for place, item in enumerate(value):
                walk(item, f"{name}.{place}")
        elif isinstance(value, torch.Tensor):
            data = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
            found[name] = f"{value.dtype} {tuple(value.shape)} {hashlib.sha256(data).hexdigest()[:12]}"
        elif hasattr(value, "__dict__") and not callable(value):
            walk(vars(value), name)
        else:
            found[name] = repr(value)

    walk(tree, "")
    return found


def contents(name, paths):
    """A file whose bytes differ between the plain runs: what it says, if that can be read."""
    if name.endswith(TEXTS):
        return texts(*(pathlib.Path(path).read_text(errors="replace") for path in paths))
    if name.endswith(TENSORS):
        try:
            one, two, three = (leaves(path) for path in paths)
        except Exception as error:  # of whatever classes it holds
            return [], [f"all of it ({type(error).__name__})"]
        moving = {key for key in one.keys() | two.keys() if one.get(key) != two.get(key)}
        wrong = [key for key in one.keys() | three.keys() if key not in moving and one.get(key) != three.get(key)]
        differences = [f"{wrong[0]}: {three.get(wrong[0])} instead of {one.get(wrong[0])}"] if wrong else []
        return differences, [", ".join(sorted(moving)[:3]) + (f" and {len(moving) - 3} more" if len(moving) > 3 else "")]
    return [], ["all of it"]


def listed(folder):
    """Every file below a folder by its name: what its bytes are, or where it points."""
    found = {}
    for where, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(where, name)
            key = os.path.relpath(path, folder)
            if os.path.islink(path):
                found[key] = "-> " + os.readlink(path)
            elif os.path.isdir(path):
                found[key] = "folder"
            else:
                with open(path, "rb") as file:
                    found[key] = hashlib.sha256(file.read()).hexdigest()
    return found


def trees(first, second, other):
    """Three folders: names and bytes."""
    folders = (first, second, other)
    one, two, three = (listed(folder) for folder in folders)
    differences, left_out = [], []
    unlike = lambda names, plain: collections.Counter(re.sub(r"\d+", "#", name) for name in names if name not in plain)
    # Names with a time or a process in them: as many of each kind, whatever they hold.
    plain = one.keys() & two.keys()
    kinds = unlike(one, plain)
    if kinds == unlike(two, plain):
        left_out += [f"what {kind} holds" for kind in kinds]
        extra = unlike(three, plain)
        differences += [f"file {kind}: {extra[kind]} instead of {kinds[kind]}" for kind in sorted(extra.keys() | kinds.keys())
                        if extra[kind] != kinds[kind]]
    else:
        left_out += [f"files {kind}" for kind in set(kinds) | set(unlike(two, plain))]
    for name in sorted(plain):
        if name not in three:
            differences.append(f"no file {name}")
        elif one[name] != two[name]:
            wrong, without = contents(name, [os.path.join(folder, name) for folder in folders])
            differences += [f"{name}: {words}" for words in wrong]
            left_out += [f"{name}: {words}" for words in without]
        elif three[name] != one[name]:
            differences.append(f"other bytes in {name}")
    return differences, left_out
