#!/usr/bin/env python3
"""Fails where a reason for an absence is quoted by no test: nobody would see that it is given in another situation.

A reason is a literal that goes into absent(), a reason's variable or a constant of the analyzer, the model, the command
line or the collector. It is quoted where a literal of a test, its title aside, is part of it, of two words at least, or
holds all of it. Run as `check_reasons.py ROOT`; prints one line for each breach and exits with 1 if there was one, 2 if
nothing was checked.
"""

import pathlib
import re
import sys

FOLDERS = ("analyzer", "model", "cli", "probes/collect")
LITERAL = r'(?:std::string\()?(?:fmt::format\(\s*)?"((?:[^"\\]|\\.)+)"'
PATTERNS = [re.compile(r"absent\(\s*" + LITERAL),
            re.compile(r"\b(?:reason|why|words|rejected)\w*\s*=\s*" + LITERAL),
            re.compile(r"constexpr (?:const char\*|std::string_view) k_\w+\s*=\s*" + LITERAL)]
FEWEST_WORDS = 3  # of a reason: less is a name, a label or a file
QUOTE = re.compile(r'"((?:[^"\\\n]|\\.)*)"|\'((?:[^\'\\\n]|\\.)*)\'')
TITLE = re.compile(r"TEST_CASE\(|^\s*//")
FEWEST_QUOTED_WORDS, FEWEST_QUOTED_LETTERS = 2, 8
# No reasons: where published figures and catalogs come from, and what a table has for columns.
NO_REASONS = ("model/validate/", "model/plan/catalog.cpp", "cli/answers.cpp", "cli/main.cpp")


def joined(text):
    """Parts of a literal that stand beside each other are one."""
    return re.sub(r'"\s*\n\s*"', "", text)


def reasons(text):
    """Literals of a source that are reasons."""
    found = {match.group(1).strip() for pattern in PATTERNS for match in pattern.finditer(joined(text))}
    return {reason for reason in found if len(reason.split()) >= FEWEST_WORDS}


def quotes(text):
    """Literals of a test that may quote one."""
    lines = (line for line in joined(text).split("\n") if not TITLE.search(line))
    found = (first or second for line in lines for first, second in QUOTE.findall(line))
    return {quote.strip() for quote in found
            if len(quote.split()) >= FEWEST_QUOTED_WORDS and len(quote.strip()) >= FEWEST_QUOTED_LETTERS}


def is_quoted(reason, quoted):
    """Whether one of the literals is of this reason; what it fills in is left out."""
    fixed = [part.strip() for part in re.split(r"\{[^}]*\}|%[0-9.]*[a-z]", reason)]
    return any(quote in part for quote in quoted for part in fixed) or any(
        part in quote for part in fixed if len(part.split()) > FEWEST_WORDS for quote in quoted)


def check(root):
    """(lines of what is wrong, reasons looked at)."""
    sources = [path for path in (root / "tests").rglob("*")
               if path.suffix in (".cpp", ".hpp", ".py") and not path.name.startswith("check_reasons")]
    quoted = {quote for path in sources for quote in quotes(path.read_text(encoding="utf-8"))}
    wrong, seen = [], 0
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.?pp")):
            name = path.relative_to(root).as_posix()
            if name.startswith(NO_REASONS):
                continue
            for reason in sorted(reasons(path.read_text(encoding="utf-8"))):
                seen += 1
                if not is_quoted(reason, quoted):
                    wrong.append(f"{name}: is quoted by no test: {reason}")
    return wrong, seen


def main():
    wrong, seen = check(pathlib.Path(sys.argv[1]))
    for line in wrong:
        print(line)
    print(f"{seen} reasons, {len(wrong)} breaches")
    return 2 if seen == 0 else 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
