#!/usr/bin/env python3
"""Fails on an include that breaks the order of the layers, or of the rooms in a layer.

Data flows down the lists below; includes point only up them. Run as `check_layers.py ROOT`; prints one line
"file:line: folder may not include ..." for each breach and exits with 1 if there was one, 2 if nothing was checked.
"""

import pathlib
import re
import sys

# What each layer may include besides itself: folders (ending in /) or single headers.
PROFILE = ["analyzer/profile/profile.hpp", "analyzer/profile/gpu.hpp", "analyzer/statistics/distribution.hpp",
           "analyzer/profile/dataset_bytes.hpp", "analyzer/profile/loader_terms.hpp"]
MODEL_RESULTS = ["model/scenario/prediction.hpp", "model/plan/catalog.hpp", "model/plan/plan.hpp"]
LAYERS = {
    "include/": [],
    "core/": [],
    "probes/record/": ["core/"],
    # The guest takes no library of ours along; the clock is one inline call, and what the kernel reads ahead arithmetic.
    "probes/capture/": ["include/", "probes/record/", "core/clock.hpp", "core/read_ahead.hpp"],
    "probes/collect/": ["core/", "probes/record/"],
    "simulation/": ["core/"],
    "analyzer/": ["core/", "probes/record/", "simulation/"],
    "model/": ["core/", "simulation/", *PROFILE],
    "reports/": ["core/", *MODEL_RESULTS, "analyzer/profile/json.hpp", "analyzer/compare/comparison.hpp", *PROFILE],
    "cli/": ["core/", "probes/record/", "probes/collect/", "simulation/", "analyzer/", "model/", "reports/"],
    "samples/": ["include/"],
}
# Headers that others may include one by one: what *they* include must be open to everybody who includes them.
SHARED_HEADERS = {*PROFILE, *MODEL_RESULTS, "analyzer/profile/json.hpp", "analyzer/compare/comparison.hpp"}
SHARED_MAY_INCLUDE = {"model/": ["core/", *PROFILE, *MODEL_RESULTS], "analyzer/": ["core/", *PROFILE]}

# Rooms of a layer: a room may include those before it, and what lies in the layer itself may include all. A layer
# without rooms is not here.
ROOMS = {
    "analyzer/": ["statistics", "profile", "compare", "load", "steps", "reads", "blocks", "stalls", "resources", "ranks",
                  "storage", "warnings"],
    "model/": ["scenario", "analytic", "job", "setting", "predict", "recommend", "plan", "validate"],
    "probes/collect/": ["system", "pages", "storage", "launch", "perf", "emulation", "schedule", "run", "doctor"],
    "reports/": ["words", "findings", "text", "html", "export", "diff", "plan"],
}

# The same for the modules inside a training process: each may import those at the top of the package, and the rooms
# before its own. What brings the rooms together may import all.
SHIM = "probes/capture/python/stallcast_shim/"
SHIM_ROOMS = ["", "states", "torch_loader", "loaders", "steps"]
SHIM_BRINGS_TOGETHER = {"api.py", "hooks.py"}
FROM = re.compile(r"^\s*from (\.+)(\w*)[\w.]* import ")

SOURCES = {".c", ".cc", ".cpp", ".h", ".hpp", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# Results go to stdout through one place; a layer that prints or exits on its own cannot be used by another tool.
PRINTS = re.compile(r"\bstd::c(?:out|err)\b|(?<![\w:])(?:std::)?printf\s*\(|(?<![\w:.>])(?:std::)?exit\s*\(")
MAY_PRINT = ("cli/", "samples/", "core/check.cpp")


def layer_of(path):
    """The layer that the file `path` (relative to the root) belongs to, or None."""
    return next((layer for layer in LAYERS if path.startswith(layer)), None)


def place_of(path):
    """What a breach calls the place of `path`: its layer, or its room."""
    layer = layer_of(path)
    folder, _, rest = path.removeprefix(layer).partition("/")
    return layer + folder if layer in ROOMS and rest else layer


def resolve(root, source, bracket, name):
    """The included file relative to the root, or None where it is not ours."""
    bases = [root, root / "include"]
    if bracket == '"':
        bases.insert(0, (root / source).parent)
    for base in bases:
        candidate = (base / name).resolve()
        if candidate.is_file() and candidate.is_relative_to(root):
            return candidate.relative_to(root).as_posix()
    return name if layer_of(name) else None  # ours by its name, though the file is gone


def room_of(path, layer):
    """The place in the layer's list of the room that `path` lies in; None for what lies in the layer itself."""
    folder, _, rest = path.removeprefix(layer).partition("/")
    if not rest:
        return None
    return ROOMS[layer].index(folder) if folder in ROOMS[layer] else -1


def in_order(source, target, layer):
    """True unless the room of `source` stands before that of `target`, or one of them is not in the list."""
    if layer not in ROOMS or not target.startswith(layer):
        return True
    of_source, of_target = room_of(source, layer), room_of(target, layer)
    if of_source is None:
        return of_target is None or of_target >= 0
    return of_target is not None and 0 <= of_target <= of_source


def allowed(source, target):
    """True if `source` may include `target` (both relative to the root)."""
    layer = layer_of(source)
    if not in_order(source, target, layer):
        return False
    if source in SHARED_HEADERS:
        return any(target == entry or target.startswith(entry) for entry in SHARED_MAY_INCLUDE[layer])
    return any(target == entry or target.startswith(entry) for entry in [layer, *LAYERS[layer]])


def breaches_of(root, source):
    """Yields the breaches of one file as text."""
    text = (root / source).read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), start=1):
        include = INCLUDE.match(line)
        if include:
            target = resolve(root, source, *include.groups())
            if target and not allowed(source, target):
                yield f"{source}:{number}: {place_of(source)} may not include {target}"
        elif not source.startswith(MAY_PRINT) and PRINTS.search(line.split("//")[0]):
            yield f"{source}:{number}: only cli/ prints or exits"


def shim_breaches_of(root, path):
    """Yields the breaches of one Python module of the shim as text."""
    room = path.parent.name if path.parent != root / SHIM else ""
    if path.name in SHIM_BRINGS_TOGETHER:
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        found = FROM.match(line)
        if not found:
            continue
        dots, name = found.groups()
        within = len(dots) == 1 and room != ""  # of its own room
        target = name if not within and name in SHIM_ROOMS else ("" if not within else room)
        if SHIM_ROOMS.index(target) > SHIM_ROOMS.index(room):
            yield f"{path.relative_to(root)}:{number}: {room or 'the top'} may not import from {target}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    sources = [
        path.relative_to(root).as_posix()
        for layer in LAYERS
        for path in sorted((root / layer).rglob("*"))
        if path.suffix in SOURCES and path.is_file()
    ]
    breaches = [breach for source in sources for breach in breaches_of(root, source)]
    modules = sorted((root / SHIM).rglob("*.py"))
    breaches += [breach for module in modules for breach in shim_breaches_of(root, module)]
    sources += modules
    print("\n".join([*breaches, f"{len(sources)} files, {len(breaches)} breaches"]))
    if not sources:
        return 2
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
