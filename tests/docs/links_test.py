#!/usr/bin/env python3
"""Links of the documents as they lie in the repository, paths that they name, and the form of README and changelog."""
import re
import unittest

from documents import ROOT, documents, name_of

import links

# `samples/catalog/example.json`, `tests/bench/ranks`: what looks like a path of the repository is one.
TOP = ("analyzer", "cli", "cmake", "core", "docs", "include", "model", "packaging", "probes", "reports", "samples", "simulation",
       "tests")
PATH = re.compile(r"`((?:%s)/[A-Za-z0-9_./-]*[A-Za-z0-9_/])" % "|".join(TOP))
HEADING = re.compile(r"(?m)^#+ +(.+?) *$")


def anchor_of(heading):
    words = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", words).strip())


def anchors_of(path):
    text = re.sub(r"(?ms)^ *```.*?^ *```", "", path.read_text(encoding="utf-8"))
    return {anchor_of(heading) for heading in HEADING.findall(text)}


class Documents(unittest.TestCase):
    def test_links_lead_to_files_and_headings(self):
        broken = []
        for path in documents():
            for _, target in links.ANY_LINK.findall(links.without_code(path.read_text(encoding="utf-8"))):
                if links.is_external(target):
                    continue
                place = ROOT / links.resolved(name_of(path), target)
                anchor = target.partition("#")[2]
                if not place.exists() or (anchor and anchor not in anchors_of(place)):
                    broken.append("%s: %s" % (name_of(path), target))
        self.assertEqual(broken, [])

    def test_paths_are_of_this_repository(self):
        strange = []
        for path in documents():
            for named in PATH.findall(path.read_text(encoding="utf-8")):
                # "analyzer/blocks/premise" means the header and the source.
                if not any((ROOT / (named + suffix)).exists() for suffix in ("", ".hpp", ".cpp", ".py")):
                    strange.append("%s: %s" % (name_of(path), named))
        self.assertEqual(strange, [])

    def test_every_page_is_in_the_menu(self):
        menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
        for path in (ROOT / "docs").rglob("*.md"):
            self.assertIn(": %s\n" % path.relative_to(ROOT / "docs"), menu)

    def test_lines_fit(self):
        long = []
        for path in [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]:
            if path.name in ("commands.md", "profile-json.md"):
                continue
            text = re.sub(r"(?ms)^```console.*?^```", "", path.read_text(encoding="utf-8"))
            long += ["%s: %s" % (name_of(path), line) for line in text.splitlines()
                     if len(line) > 130 and not line.startswith("|")]
        self.assertEqual(long, [])

    def test_the_readme_is_two_screens(self):
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        self.assertLessEqual(len(text.splitlines()), 90)
        for command in ("samples/quickstart", "tests/run", "packaging/wheel"):
            self.assertRegex(text, r"(?m)^%s\b" % command)

    def test_the_changelog_has_this_version_and_a_known_form(self):
        text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        version = re.search(r"project\(stallcast VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
        self.assertRegex(text, r"(?m)^## \[%s\] - \d{4}-\d\d-\d\d$" % re.escape(version))
        self.assertIn("## [Unreleased]\n", text)
        known = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
        self.assertLessEqual(set(re.findall(r"(?m)^### (.*)$", text)), known)


if __name__ == "__main__":
    unittest.main(verbosity=2)
