#!/usr/bin/env python3
"""Every command line of the documents is one that the tool takes.

Lines of code blocks that begin with "stallcast". Those that only read a profile are run, with a profile of the repository in
place of DIR; those that run a command or look at the machine are run where that has no side effects, else their options are
held against the help.
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

from documents import ROOT, documents, name_of, tool_or_skip

import pages

TOOL = tool_or_skip()
BLOCK = re.compile(r"(?ms)^ *```(\w*)\n(.*?)^ *```")
READING = ("report", "whatif", "recommend", "plan", "diff")
USAGE = 2
REFUSED = 5  # this profile does not tell that: the command line was understood


def command_lines():
    """(document, words) of every line, without what follows in the shell."""
    for path in documents():
        for kind, block in BLOCK.findall(path.read_text(encoding="utf-8")):
            if kind not in ("", "sh", "bash"):
                continue
            for line in re.sub(r"\\\n *", "", block).splitlines():
                words = shlex.split(line, comments=True)
                while words and (words[0] in ("srun", "mpirun", "$") or re.match(r"\w+=", words[0])):
                    words = words[1:]
                if words and words[0] == "stallcast":
                    ends = [place for place, word in enumerate(words) if word in (">", ">>", "|", "&&", ";")]
                    yield name_of(path), words[1:ends[0]] if ends else words[1:]


def options_of(name):
    return set(re.findall(r"(?<![\w-])(--?[a-z][a-z-]*)", pages.help_of(TOOL, name))) | {"-h", "--help"}


class Commands(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)
        profiles = ROOT / "samples/profiles"
        os.symlink(ROOT / "samples", self.folder / "samples")
        for name, source in (("DIR", "fetch-bound"), ("stallcast-profile", "fetch-bound"), ("PROFILE", "fetch-bound"),
                             ("BEFORE", "compute-bound"), ("AFTER", "prep-bound"), ("before-profile", "compute-bound"),
                             ("after-profile", "prep-bound")):
            (self.folder / name).mkdir()
            shutil.copy(profiles / (source + ".json"), self.folder / name / "profile.json")
        profile = json.loads((profiles / "fetch-bound.json").read_text(encoding="utf-8"))
        for one in profile.get("operators", [])[:1]:
            one["name"], one["kind"] = "Resize", "operator"  # as in documents
        (self.folder / "DIR/profile.json").write_text(json.dumps(profile), encoding="utf-8")

    def run_tool(self, words):
        return subprocess.run([TOOL, *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, universal_newlines=True, check=False)

    def test_there_are_command_lines(self):
        lines = list(command_lines())
        self.assertGreater(len(lines), 40)
        self.assertLessEqual({"profile", "whatif", "report", "verify", "diff", "plan", "merge"},
                             {words[0] for _, words in lines if words})

    def test_options_are_in_the_help(self):
        known = {name: options_of(name) for name in pages.command_names(TOOL)}
        for document, words in command_lines():
            if not words or words[0].startswith("-"):
                continue
            with self.subTest(document + ": stallcast " + shlex.join(words)):
                self.assertIn(words[0], known)
                own = words[1:words.index("--")] if "--" in words else words[1:]
                given = {word.split("=")[0] for word in own if re.match(r"--?[a-z]", word)}
                self.assertLessEqual(given, known[words[0]])

    def test_what_reads_profiles_is_understood(self):
        seen = set()
        for document, words in command_lines():
            if not words or words[0] not in READING or "--verify" in words or tuple(words) in seen:
                continue
            seen.add(tuple(words))
            with self.subTest(document + ": stallcast " + shlex.join(words)):
                done = self.run_tool(words)
                # 1: a condition of diff holds, as a build server would be told
                self.assertIn(done.returncode, (0, 1, REFUSED) if words[0] == "diff" else (0, REFUSED), done.stderr)
        self.assertGreater(len(seen), 15)

    def test_what_measures_is_understood(self):
        """`profile` and `verify` with `true` as their command: options are read before it is run."""
        seen = set()
        for document, words in command_lines():
            if not words or words[0] not in ("profile", "verify") or "--" not in words:
                continue
            own = list(words[:words.index("--")])
            if tuple(own) in seen or "kernel" in own:  # which takes root
                continue
            seen.add(tuple(own))
            with self.subTest(document + ": stallcast " + shlex.join(words)):
                if "-o" in own:  # DIR is a profile here, which is not to be replaced
                    del own[own.index("-o"):own.index("-o") + 2]
                done = self.run_tool([*own, "-o", str(self.folder / "out-{}".format(len(seen))), "--", "true"])
                self.assertNotIn(done.returncode, (USAGE, 125), done.stderr)
        self.assertGreater(len(seen), 5)


if __name__ == "__main__":
    unittest.main(verbosity=2)
