#!/usr/bin/env python3
"""The documents say what the tool says: commands, keys, profile.json, examples with their output, and issues."""
import json
import re
import subprocess
import unittest

from documents import ROOT, SITE, documents, name_of, tool_or_skip

import pages
import write

TOOL = tool_or_skip()
# Ids that the code forms at run time or only compares with: each stands in the code as a string, and is no issue.
SOURCES = ("analyzer", "probes", "cli")
ISSUE = re.compile(r'"([a-z]+(?:-[a-z0-9]+)+|drift|oversubscribed|swapping)", *\n? *(?:Severity::|"(?:info|warning|error)")')


def issue_ids():
    """Ids of all issues in the code: what stands before a severity."""
    found = set()
    for folder in SOURCES:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".cpp", ".hpp", ".py") and path.is_file():
                found |= set(ISSUE.findall(path.read_text(encoding="utf-8", errors="replace")))
    return found


class Tool(unittest.TestCase):
    maxDiff = None

    def test_pages_and_examples_are_what_the_tool_prints(self):
        done = subprocess.run([SITE / "write.py", "--check"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              universal_newlines=True)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_every_command_has_a_section(self):
        text = (ROOT / "docs/reference/commands.md").read_text(encoding="utf-8")
        names = pages.command_names(TOOL)
        self.assertIn("profile", names)
        self.assertGreater(len(names), 10)
        for name in names:
            self.assertIn("\n## %s\n" % name, text)

    def test_every_scenario_key_is_described(self):
        text = (ROOT / "docs/reference/scenario-keys.md").read_text(encoding="utf-8")
        help_text = pages.help_of(TOOL, "whatif")
        keys = set(re.findall(r"[a-z_]+", help_text.split("Keys:", 1)[1].split("Units")[0].replace(
            "Keys beyond this machine:", "")))
        described = set(re.findall(r"(?m)^\| `([a-z_]+)` \|", text))
        self.assertEqual(described, keys)

    def test_every_issue_is_described(self):
        text = (ROOT / "docs/reference/issues.md").read_text(encoding="utf-8")
        described = {one for row in re.findall(r"(?m)^\| (`.*?`) \|", text) for one in re.findall(r"`([a-z0-9-]+)`", row)}
        known = issue_ids()
        self.assertGreater(len(known), 60)
        self.assertEqual(known - described, set(), "issues of the code without a description")
        code = "\n".join(path.read_text(encoding="utf-8", errors="replace") for folder in SOURCES
                         for path in (ROOT / folder).rglob("*") if path.suffix in (".cpp", ".hpp", ".py") and path.is_file())
        self.assertEqual({one for one in described if '"%s"' % one not in code}, set(), "described, and not in the code")

    def test_ids_that_documents_name_are_issues(self):
        text = (ROOT / "docs/reference/issues.md").read_text(encoding="utf-8")
        described = set(re.findall(r"`([a-z]+(?:-[a-z0-9]+)+)`", text))
        for path in documents():
            if path.parent.name not in ("docs", "guides", "use", "how") or path.parent == ROOT:
                continue
            for row in re.findall(r"(?m)^\|.*\|$", path.read_text(encoding="utf-8")):
                for one in re.findall(r"`([a-z]+-[a-z-]+)`", row):
                    if one not in ("page-cache", "commands-md"):
                        self.assertIn(one, described, name_of(path) + ": " + row)

    def test_keys_of_profiles_that_documents_name_exist(self):
        schema = json.loads((ROOT / "analyzer/schema/profile.schema.json").read_text(encoding="utf-8"))
        keys = set()

        def walk(node):
            if isinstance(node, dict):
                keys.update(node.get("properties", {}))
                for one in node.values():
                    walk(one)
            elif isinstance(node, list):
                for one in node:
                    walk(one)

        walk(schema)
        for path in documents():
            if "docs" not in path.parts:
                continue
            for one in re.findall(r"`([a-z_]+_frac|[a-z_]+_samples_per_s)`", path.read_text(encoding="utf-8")):
                self.assertIn(one, keys, name_of(path))


if __name__ == "__main__":
    unittest.main(verbosity=2)
