"""The result as Markdown: what the job summary shows, and what the comment says.

The first line is a marker that Markdown hides. By it the comment is found again.
"""

import os
import re

from . import verdict

NAME = re.compile(r"[A-Za-z0-9._-]{1,60}\Z")
MARKER = re.compile(r"<!-- stallcast-check: [A-Za-z0-9._-]{1,60} -->\n")
FILE = "check.md"
# GitHub takes 65536 characters of a comment, GitLab more.
LARGEST = 60000
# Of one text that others chose.
LONGEST = 4000


def marker(name):
    return f"<!-- stallcast-check: {name} -->"


def forget(output):
    try:
        os.remove(os.path.join(output, FILE))
    except FileNotFoundError:
        pass


def shortened(text):
    return text if len(text) <= LONGEST else text[:LONGEST] + " ..."


def read(output):
    """The page that write() left, or None. The training may have changed it: it is text, and of a known size."""
    try:
        with open(os.path.join(output, FILE), encoding="utf-8", errors="replace") as file:
            text = file.read(LARGEST + 5000)
    except OSError:
        return None
    return text if MARKER.match(text) and len(text) < LARGEST + 5000 else None


def fenced(text):
    """Text that others chose, shown as it is: no run of backticks within it ends the block."""
    text = shortened(text)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def coded(text):
    """The same within a line."""
    text = shortened(" ".join(text.split()))
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}" if longest else f"`{text}`"


def below(table):
    """A page of diff's as a section of ours: its headings a level deeper. Text in it never begins a line with '#'."""
    return re.sub(r"^#", "##", table.strip(), flags=re.MULTILINE)


def sides(measured):
    known = [f"{side} {coded(measured.commits[side])}" for side in ("base", "head") if measured.commits.get(side)]
    return ", ".join(known)


def head_lines(options, measured, decision):
    lines = [marker(options.name), f"## Waiting for data: {options.name}", "", f"**{decision.sentence}**", ""]
    if decision.word == verdict.UNJUDGED and options.on_unjudged == "warn":
        lines += ["This is no pass. The check is set to warn of it and not to fail (`on-unjudged: warn`).", ""]
    if decision.reason:
        lines += [fenced(decision.reason), ""]
    facts = [sides(measured), coded(" ".join(options.command)),
             "fails on " + ", ".join(coded(one) for one in options.fail_on)]
    lines += ["; ".join(fact for fact in facts if fact) + ". A is the base, B is the head.", ""]
    return lines


def rounds_of(decision):
    """One text a round. The first is open, the others are folded."""
    words = {0: "no condition holds", 1: "a condition holds"}
    texts = []
    for number, one in enumerate(decision.rounds, 1):
        said = words.get(one.status, "not judged")
        if not one.table:
            texts.append(f"Round {number}: {said}.\n")
        elif number == 1:
            texts.append(below(one.table) + "\n")
        else:
            texts.append(f"<details><summary>Round {number}: {said}</summary>\n\n{below(one.table)}\n\n</details>\n")
    return texts


def render(options, measured, decision):
    text = "\n".join(head_lines(options, measured, decision))
    for number, part in enumerate(rounds_of(decision), 1):
        if len(text) + len(part) > LARGEST:
            part = f"Round {number} is too long for a comment. Its profiles lie in the folder of the check.\n"
        text += "\n" + part
    return text


def write(output, options, measured, decision):
    """Writes the page beside the profiles, and returns it."""
    text = render(options, measured, decision)
    with open(os.path.join(output, FILE), "w", encoding="utf-8") as file:
        file.write(text)
    return text
