"""What the tests of the documents share."""
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "docs/site"
sys.path.insert(0, str(SITE))
SKIPPED = 77


def documents():
    """Markdown files of the site, and those of the repository's root."""
    return sorted((ROOT / "docs").rglob("*.md")) + sorted(ROOT.glob("*.md"))


def name_of(path):
    return str(path.relative_to(ROOT))


def tool_or_skip():
    tool = os.environ.get("STALLCAST_CLI", "")
    if not os.access(tool, os.X_OK):
        print("STALLCAST_CLI names no program: nothing to hold the documents against")
        sys.exit(SKIPPED)
    return tool
