#!/usr/bin/env python3
"""The site: it builds without a warning, loads nothing from elsewhere, and no link within it leads to nothing."""
import html.parser
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

from documents import ROOT, SKIPPED

# Hosts that pages may name. Whether these answer cannot be asked here.
KNOWN_HOSTS = {"keepachangelog.com", "semver.org", "arxiv.org"}


class Page(html.parser.HTMLParser):
    """What a page loads, where it leads, and its anchors."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.loads, self.links, self.anchors = [], [], set()

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if values.get("id"):
            self.anchors.add(values["id"])
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        elif tag == "a" and values.get("name"):
            self.anchors.add(values["name"])
        elif tag == "link" and values.get("rel") in ("canonical", "prev", "next"):
            return
        else:
            self.loads += [values[key] for key in ("src", "href", "data-src") if values.get(key)]

    @classmethod
    def read(cls, path):
        page = cls()
        page.feed(path.read_text(encoding="utf-8"))
        return page


def mkdocs():
    """The command line of mkdocs with the theme, or None."""
    for python in (sys.executable, "/usr/bin/python3"):
        asked = [python, "-c", "import mkdocs, material"]
        if os.access(python, os.X_OK) and subprocess.run(asked, stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return [python, "-m", "mkdocs"]
    return None


def is_elsewhere(target):
    return target.startswith("//") or re.match(r"(?!data:|mailto:)[a-zA-Z][a-zA-Z0-9+.-]*:", target) is not None


class Site(unittest.TestCase):
    folder = None

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name) / "site"
        command = [*mkdocs(), "build", "--strict", "--quiet", "--config-file", str(ROOT / "mkdocs.yml"), "--site-dir",
                   str(cls.folder)]
        environment = {name: value for name, value in os.environ.items() if name != "STALLCAST_REPOSITORY"}
        done = subprocess.run(command, cwd=cls.scratch.name, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              universal_newlines=True, env={**environment, "PYTHONDONTWRITEBYTECODE": "1"})
        if done.returncode != 0:
            raise AssertionError("mkdocs build --strict failed:\n" + done.stdout)
        cls.pages = {path: Page.read(path) for path in sorted(cls.folder.rglob("*.html"))}

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def places(self, page):
        """(target as written, path, anchor) of links that stay within the site."""
        for target in self.pages[page].links:
            if is_elsewhere(target) or target.startswith("mailto:"):
                continue
            path, anchor = (urllib.parse.unquote(part) for part in urllib.parse.urldefrag(target))
            base = self.folder if path.startswith("/") else page.parent
            place = (base / path.lstrip("/")).resolve() if path else page
            yield target, place / "index.html" if place.is_dir() else place, anchor

    def test_there_are_pages(self):
        self.assertGreater(len(self.pages), 20)

    def test_no_link_leads_to_nothing(self):
        broken = []
        for page in self.pages:
            if page.name == "404.html":  # its links begin at the root of wherever the site will be
                continue
            for target, place, anchor in self.places(page):
                exists = place.is_file()
                known = self.pages.get(place)
                if not exists or (anchor and known is not None and anchor not in known.anchors):
                    broken.append("%s: %s" % (page.relative_to(self.folder), target))
        self.assertEqual(broken, [])

    def test_nothing_is_loaded_from_elsewhere(self):
        loaded = []
        for page, content in self.pages.items():
            for target in content.loads:
                place = page.parent / urllib.parse.unquote(target.split("#")[0].split("?")[0])
                if is_elsewhere(target) or (page.name != "404.html" and target[0] != "#" and not target.startswith("data:")
                                            and not place.exists()):
                    loaded.append("%s: %s" % (page.relative_to(self.folder), target))
        for sheet in self.folder.rglob("*.css"):
            loaded += ["%s: %s" % (sheet.name, url) for url in re.findall(r"(?:url\(|@import\s+)[\"']?((?:https?:)?//[^)\"']+)",
                                                                      sheet.read_text(encoding="utf-8"))]
        self.assertEqual(loaded, [])

    def test_links_out_are_known(self):
        strange = {target for content in self.pages.values() for target in content.links
                   if is_elsewhere(target) and urllib.parse.urlsplit(target).hostname not in KNOWN_HOSTS}
        self.assertEqual(strange, set())

    def test_the_sites_own_programs_are_no_part_of_it(self):
        self.assertEqual(list(self.folder.rglob("*.py")), [])

    def test_the_search_is_on_the_site(self):
        self.assertIn("fetch stall", (self.folder / "search/search_index.json").read_text(encoding="utf-8"))


if __name__ == "__main__":
    if mkdocs() is None:
        print("no python here imports mkdocs and its theme material: apt-get install mkdocs mkdocs-material")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
