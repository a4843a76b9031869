#!/usr/bin/env python3
"""Writes what the documents take from the tool: the pages of every command and of profile.json, and the output of examples.

    docs/site/write.py             after a change of --help, of the schema, or of what reports say
    docs/site/write.py --check     says what would change, and ends with 1 if anything would

The tool is $STALLCAST_CLI, or the one in build/release or build/dev, or the one on PATH.
"""
import argparse
import difflib
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compare  # noqa: E402
import examples  # noqa: E402
import pages  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


def find_tool():
    named = os.environ.get("STALLCAST_CLI")
    if named:
        return named
    built = [ROOT / "build" / preset / "cli/stallcast" for preset in ("release", "dev")]
    return next((str(one) for one in built if one.is_file()), None) or shutil.which("stallcast")


def documents():
    """Every Markdown file whose examples are checked."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def wanted(tool):
    """{path: text as it should be}"""
    schema = (ROOT / "analyzer/schema/profile.schema.json").read_text(encoding="utf-8")
    texts = {ROOT / "docs/reference/commands.md": pages.commands_page(tool),
             ROOT / "docs/reference/profile-json.md": pages.profile_page(schema)}
    for path in documents():
        if path not in texts:
            texts[path] = examples.written_anew(path.read_text(encoding="utf-8"), tool, ROOT)
    return texts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    tool = find_tool()
    if tool is None:
        print("no stallcast found: build it, or name it in STALLCAST_CLI", file=sys.stderr)
        return 3
    stale = 0
    try:
        texts = wanted(tool)
    except (examples.Failed, subprocess.CalledProcessError) as failure:
        print("an example cannot be written: %s" % failure, file=sys.stderr)
        return 3
    for path, text in texts.items():
        before = path.read_text(encoding="utf-8") if path.is_file() else ""
        if before == text or (check and compare.same(before, text)):
            continue
        stale += 1
        name = str(path.relative_to(ROOT))
        if check:
            sys.stdout.writelines(difflib.unified_diff(before.splitlines(True), text.splitlines(True), name, name + " (now)"))
        else:
            path.write_text(text, encoding="utf-8")
            print("wrote " + name)
    if check and stale:
        print("%d documents do not say what the tool says: run docs/site/write.py" % stale, file=sys.stderr)
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
