#!/usr/bin/env python3
"""Checks that includes go downwards only: apps -> libattn, folder by folder -> the header of the backends.

    scripts/check-includes.py [ROOT]      ROOT: a source tree, by default the one this file is in

Prints a line for each include that does not, and ends with status 1 if there is one.
"""

import pathlib
import re
import sys

# What a folder of libattn builds upon; what those build upon it may include as well.
BUILDS_UPON = {
    "core": [],
    "runtime": ["core"],
    "ops": ["runtime"],
    "autograd": ["ops"],
    "nn": ["autograd"],
    "models": ["nn"],
    "text": ["core"],
    "evaluation": ["text"],
    "io": ["core"],
    "cli": ["core"],
    "decoding": ["models", "text"],
    "training": ["models", "text", "io"],
    "figures": ["core"],
    "conformance": ["autograd"],
    "inspection": ["decoding", "training"],
    "experiment": ["training", "decoding", "evaluation", "figures"],
}
# The boundary between libattn and the backends: C, for everyone, and knows of nothing else.
BOUNDARY = {"attn/backend_abi.h", "attn/op_kinds.h", "attn/philox.h", "attn/processor_tiles.h"}
SOURCES = {".h", ".cpp", ".c", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def reachable(folder, above=()):
    """The folders that `folder` may include, itself among them; a circle in BUILDS_UPON ends the program."""
    if folder in above:
        sys.exit(f"BUILDS_UPON has a circle: {' -> '.join([*above, folder])}")
    found = {folder}
    for lower in BUILDS_UPON[folder]:
        found |= reachable(lower, (*above, folder))
    return found


def includes(path):
    """(line number, name, whether it is in quotes) of every include of a file."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match[2], match[1] == '"'


def sources(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix in SOURCES) if folder.is_dir() else []


def folder_of(name):
    """The folder of libattn that a public header "attn/<folder>/<header>" belongs to."""
    return name.split("/")[1] if name.count("/") > 1 else None


def wrong_in_libattn(root, path):
    parts = path.relative_to(root / "libattn").parts  # include/attn/<folder>/... or src/<folder>/...
    public = parts[0] == "include"
    inner = parts[2:] if public else parts[1:]
    if len(inner) == 1:  # a header of the boundary
        for number, name, _ in includes(path):
            if name.startswith("attn/") and name not in BOUNDARY:
                yield number, f"the boundary to the backends must not include {name}"
        return
    folder = inner[0]
    if folder not in BUILDS_UPON:
        yield 1, f"folder '{folder}' is new: say in scripts/check-includes.py what it builds upon"
        return
    for number, name, quoted in includes(path):
        if name in BOUNDARY:
            continue
        if name.startswith("attn/"):
            if folder_of(name) not in reachable(folder):
                yield number, f"{folder} must not include {name}: {folder} does not build upon it"
        elif quoted and public:
            yield number, f"a public header must not include {name}, which is not public"
        elif quoted and not (name.startswith(folder + "/") or (path.parent / name).is_file()):
            yield number, f"{folder} must not include {name}, which is private to another folder"


def wrong_in_backend(root, path):
    own = root / "backends" / path.relative_to(root / "backends").parts[0]
    for number, name, quoted in includes(path):
        if name.startswith("attn/") and name not in BOUNDARY:
            yield number, f"a backend must not include {name}: it sees only {', '.join(sorted(BOUNDARY))}"
        elif quoted and not name.startswith("attn/"):
            places = [path.parent / name, *(own / folder / name for folder in ("", "src", "include"))]
            shared = root / "backends" / name
            found = next((place for place in [*places, shared] if place.is_file()), None)
            if found is None:
                yield number, f"{name} is neither this backend's nor in backends/common"
            elif not any(found.resolve().is_relative_to(home) for home in (own, root / "backends" / "common")):
                yield number, f"a backend must not include {name}, which is another backend's"


def wrong_in_app(root, path):
    own = root / "apps" / path.relative_to(root / "apps").parts[0]
    for number, name, quoted in includes(path):
        if quoted and not name.startswith("attn/") and not (own / name).is_file():
            yield number, f"a tool must not include {name}: it sees its own headers and the public ones of libattn"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    for folder in BUILDS_UPON:
        reachable(folder)
    wrong = 0
    for top, rule in (("libattn", wrong_in_libattn), ("backends", wrong_in_backend), ("apps", wrong_in_app)):
        for path in sources(root / top):
            for number, sentence in rule(root, path):
                print(f"{path.relative_to(root)}:{number}: {sentence}", file=sys.stderr)
                wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
