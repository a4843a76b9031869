"""The layer check itself: it must find each kind of breach, and nothing in a tree that keeps the order."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).with_name("check_layers.py")


def check(files):
    """Runs the check on a tree of {path: text}; returns (exit status, output)."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            target = pathlib.Path(root, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        done = subprocess.run([sys.executable, str(CHECK), root], stdout=subprocess.PIPE, text=True, check=False)
        return done.returncode, done.stdout


GOOD = {
    "core/units.hpp": "#include <string>\n",
    "analyzer/profile/profile.hpp": '#include "core/units.hpp"\n',
    "analyzer/analyze.hpp": '#include "analyzer/profile/profile.hpp"\n',
    "model/predict/predict.cpp": '#include "analyzer/profile/profile.hpp"\n#include <vector>\n',
    "cli/main.cpp": '#include "analyzer/analyze.hpp"\nint main() { std::cout << 1; }\n',
}


class LayerCheck(unittest.TestCase):
    def assert_breach(self, files, expected):
        status, output = check({**GOOD, **files})
        self.assertEqual(status, 1, output)
        self.assertIn(expected, output)

    def test_a_tree_in_order_passes(self):
        status, output = check(GOOD)
        self.assertEqual(status, 0, output)

    def test_an_empty_tree_is_not_a_pass(self):
        self.assertEqual(check({"README.md": ""})[0], 2)

    def test_an_include_against_the_flow(self):
        self.assert_breach({"core/bad.cpp": '#include "analyzer/profile/profile.hpp"\n'},
                           "core/bad.cpp:1: core/ may not include analyzer/profile/profile.hpp")

    def test_model_sees_the_profile_but_not_the_analysis(self):
        self.assert_breach({"model/bad.cpp": '\n#include "analyzer/analyze.hpp"\n'},
                           "model/bad.cpp:2: model/ may not include analyzer/analyze.hpp")

    def test_a_relative_path_does_not_hide_it(self):
        self.assert_breach({"model/bad.cpp": '#  include "../analyzer/analyze.hpp"\n'}, "analyzer/analyze.hpp")

    def test_a_shared_header_must_not_carry_others_along(self):
        self.assert_breach({"analyzer/profile/profile.hpp": '#include "analyzer/analyze.hpp"\n'},
                           "analyzer/profile/profile.hpp:1:")

    def test_a_header_that_does_not_exist_is_still_a_breach(self):
        self.assert_breach({"probes/record/bad.hpp": '#include "cli/gone.hpp"\n'}, "probes/record/ may not include")

    def test_a_room_may_not_include_one_that_stands_after_it(self):
        self.assert_breach({"analyzer/load/bad.cpp": '#include "analyzer/blocks/blocks.hpp"\n'},
                           "analyzer/load/bad.cpp:1: analyzer/load may not include analyzer/blocks/blocks.hpp")

    def test_a_room_may_not_include_what_brings_the_rooms_together(self):
        self.assert_breach({"analyzer/load/bad.cpp": '#include "analyzer/analyze.hpp"\n'}, "analyzer/analyze.hpp")

    def test_a_folder_that_is_no_room_of_its_layer(self):
        self.assert_breach({"model/attic/bad.cpp": '#include "model/predict/predict.hpp"\n',
                            "model/predict/predict.hpp": ""}, "model/attic may not include")

    def test_modules_of_the_shim_keep_their_order(self):
        shim = "probes/capture/python/stallcast_shim/"
        self.assert_breach({shim + "states/bad.py": "from .. import capture\nfrom ..steps import optimizer\n"},
                           "states/bad.py:2: states may not import from steps")
        self.assert_breach({shim + "bad.py": "from .loaders import passes\n"}, "bad.py:1: the top may not import from loaders")
        self.assertEqual(check({**GOOD, shim + "hooks.py": "from .loaders import passes\n",
                                shim + "steps/fine.py": "from . import exchange\nfrom ..loaders.passes import wait\n"})[0], 0)

    def test_only_the_command_line_prints(self):
        self.assert_breach({"reports/bad.cpp": 'void f() { printf("x"); }\n'}, "only cli/ prints")
        self.assert_breach({"analyzer/bad.cpp": "void f() { std::exit(1); }\n"}, "only cli/ prints")

    def test_look_alikes_are_no_printing(self):
        status, output = check({**GOOD, "reports/fine.cpp": "// printf(\nsnprintf(a, 1, b); x.exit(); _exit(1);\n"})
        self.assertEqual(status, 0, output)


if __name__ == "__main__":
    unittest.main()
