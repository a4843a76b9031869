#!/usr/bin/env python3
"""What documents say of the package for Python is in the package: names, options of the check, of the cell and of the mark."""
import ast
import os
import re
import subprocess
import sys
import textwrap
import unittest

from documents import ROOT, documents, name_of

PACKAGE = ROOT / "probes/capture/python/stallcast"
BLOCK = re.compile(r"(?ms)^```python\n(.*?)^```")


def public_names():
    """What `import stallcast` gives: functions of the module, and modules of the package."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    modules = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    return functions, modules


class Package(unittest.TestCase):
    def blocks(self):
        for path in documents():
            for block in BLOCK.findall(path.read_text(encoding="utf-8")):
                yield name_of(path), textwrap.dedent(block)

    def test_blocks_are_python(self):
        seen = 0
        for document, block in self.blocks():
            with self.subTest(document):
                code = "\n".join(line for line in block.splitlines() if not line.startswith("%"))  # magics
                ast.parse(code.replace("...", "None"))
                seen += 1
        self.assertGreater(seen, 5)

    def test_names_exist(self):
        functions, modules = public_names()
        for path in documents():
            text = path.read_text(encoding="utf-8")
            for name in re.findall(r"\bstallcast\.([a-z_]+)\(", text):
                self.assertIn(name, functions, name_of(path))
            for name in re.findall(r"from stallcast\.([a-z_]+) import (?:StallcastCallback)", text):
                self.assertIn("class StallcastCallback", (PACKAGE / (name + ".py")).read_text(encoding="utf-8"))
            for name in re.findall(r"-[mp] stallcast\.([a-z_]+)", text):
                self.assertIn(name, modules, name_of(path))

    def test_arguments_of_marks(self):
        functions, _ = public_names()
        for path in documents():
            for name, given in re.findall(r"`stallcast\.([a-z]+)\(([^)]*)\)`", path.read_text(encoding="utf-8")):
                named = {one.split("=")[0].strip() for one in given.split(",") if one.strip() and '"' not in one}
                known = {argument.arg for argument in functions[name].args.args}
                self.assertLessEqual(named, known, "%s: stallcast.%s" % (name_of(path), name))

    def test_options_of_the_check(self):
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "200"}
        done = subprocess.run([sys.executable, "-m", "stallcast.check", "run", "--help"], env=environment, check=True,
                              stdout=subprocess.PIPE, universal_newlines=True)
        text = (ROOT / "docs/use/ci.md").read_text(encoding="utf-8")
        table = text.split("| Option of `run` |")[1].split("\n\n")[0]
        options = re.findall(r"(?m)^\| `(--[a-z-]+)", table)
        self.assertGreater(len(options), 4)
        known = set(re.findall(r"--[a-z-]+", done.stdout))
        self.assertLessEqual(set(options), known)

    def test_options_of_the_cell_and_of_the_mark(self):
        cell = (PACKAGE / "_notebook.py").read_text(encoding="utf-8")
        for option in re.findall(r"(?m)^\| `(--[a-z-]+)", (ROOT / "docs/use/notebooks.md").read_text(encoding="utf-8")):
            self.assertIn('"%s"' % option, cell)
        plugin = (PACKAGE / "pytest_plugin.py").read_text(encoding="utf-8")
        for option in ("--data-wait-reports", "unmeasured", "data_wait"):
            self.assertIn(option, plugin)


if __name__ == "__main__":
    unittest.main(verbosity=2)
