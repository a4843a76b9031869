#!/usr/bin/env python3
"""Fails where a reason for an absence is quoted by no test: nobody would see that it is given in another situation.

A reason is a literal that goes into absent(), a reason's variable or a constant of the analyzer, the model, the command
line or the collector. It is quoted where three words of it that follow each other stand in a source of tests/. Run as
`check_reasons.py ROOT`; prints one line "file: reason" for each and exits with 1 if there was one, 2 if nothing was
checked.
"""

import pathlib
import re
import sys

FOLDERS = ("analyzer", "model", "cli", "probes/collect")
LITERAL = r'(?:std::string\()?(?:fmt::format\(\s*)?"((?:[^"\\]|\\.)+)"'
PATTERNS = [re.compile(r"absent\(\s*" + LITERAL),
            re.compile(r"\b(?:reason|why|words|rejected)\w*\s*=\s*" + LITERAL),
            re.compile(r"constexpr (?:const char\*|std::string_view) k_\w+\s*=\s*" + LITERAL)]
FEWEST_WORDS = 3  # less is a name, a label or a file
# No reasons: where published figures and catalogs come from, and what a table has for columns.
NO_REASONS = ("model/validate/", "model/plan/catalog.cpp", "cli/answers.cpp", "cli/main.cpp")
# What nothing of ours can be brought into.
NOT_TO_BE_HAD = {"no further thread can be started": "root has no limit of threads, and a test is run as root",
                 "the kernel's io_uring does not open files": "kernels of 5.1 to 5.5",
                 "no cold point was measured": "single reads without any rate: no recording was found that has them"}


def reasons(text):
    """Literals of a source that are reasons; parts that stand beside each other are joined."""
    joined = re.sub(r'"\s*\n\s*"', "", text)
    return {found.group(1) for pattern in PATTERNS for found in pattern.finditer(joined)}


def windows(reason):
    """Each three words of it that follow each other, those that it fills in left out."""
    for part in re.split(r"\{[^}]*\}|%[0-9.]*[a-z]", reason):
        words = part.split()
        for first in range(len(words) - FEWEST_WORDS + 1):
            yield " ".join(words[first:first + FEWEST_WORDS])


def unquoted(root):
    """([(file, reason)], how many were looked at)."""
    sources = [path for path in (root / "tests").rglob("*") if path.suffix in (".cpp", ".hpp", ".py")]
    quoted = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    missing, seen = [], 0
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.?pp")):
            name = path.relative_to(root).as_posix()
            if name.startswith(NO_REASONS):
                continue
            for reason in sorted(reasons(path.read_text(encoding="utf-8"))):
                parts = list(windows(reason))
                seen += bool(parts)
                if parts and reason not in NOT_TO_BE_HAD and not any(part in quoted for part in parts):
                    missing.append((name, reason))
    return missing, seen


def main():
    missing, seen = unquoted(pathlib.Path(sys.argv[1]))
    for name, reason in missing:
        print(f"{name}: {reason}")
    print(f"{seen} reasons, {len(missing)} quoted by no test")
    return 2 if seen == 0 else 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
