"""%%stallcast: a cell in a process of its own, after the cells before it, and what is shown."""

import contextlib
import io
import os
import pathlib
import tempfile
import unittest
from unittest import mock

from harness import CLI, JOB, PackageTest, needs

needs("IPython")

from IPython.core.error import UsageError  # noqa: E402
from IPython.core.interactiveshell import InteractiveShell  # noqa: E402
from traitlets.config import Config  # noqa: E402

from stallcast import _notebook, _notebook_run  # noqa: E402


class NotebookTest(PackageTest):
    def setUp(self):
        super().setUp()
        home = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, home)
        self.environment["PYTHONPATH"] = ""  # the package comes with the run
        for patched in (mock.patch.dict(os.environ, self.environment, clear=True),
                        mock.patch.object(tempfile, "tempdir", str(self.temporary))):
            patched.start()
            self.addCleanup(patched.stop)
        config = Config()
        config.HistoryManager.enabled = False
        self.shell = InteractiveShell(config=config)
        self.shell.run_line_magic("load_ext", "stallcast")
        self.shown = []
        patched = mock.patch.object(_notebook, "display", lambda data, raw: self.shown.append(data))
        patched.start()
        self.addCleanup(patched.stop)

    def run_cell(self, source):
        """What a cell prints, and its result."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            result = self.shell.run_cell(source, store_history=True)
        return printed.getvalue(), result

    def fine(self, source):
        printed, result = self.run_cell(source)
        self.assertTrue(result.success, printed)
        return printed

    def test_a_passive_cell_after_others(self):
        self.fine(JOB)
        self.fine("shown = 'from an earlier cell'")
        self.run_cell("raise KeyError('left out')")
        printed = self.fine("%%stallcast --phases as_is\ntrain(0.01, 0.01)\nprint(shown)\nresult = 5")
        self.assertIn("stallcast: this cell runs in a process of its own, after cells 1, 2; "
                      "its variables do not come back\n", printed)
        self.assertIn("from an earlier cell", printed)
        self.assertNotIn("left out", printed)
        self.assertNotIn("result", self.shell.user_ns)
        (data,) = self.shown
        self.assertRegex(data["text/html"], r'^<iframe srcdoc="&lt;!doctype html&gt;[^"]*" sandbox="allow-scripts" ')
        self.assertLessEqual(len(data["text/plain"].splitlines()), 12)
        self.assertIn("of each step is spent waiting for data", data["text/plain"])
        self.assertTrue((self.folder / "stallcast-profile" / "profile.json").is_file())
        self.assertEqual(self.left_behind(), [])
        # The measured cell is not run again before the next one, which gets a folder of its own.
        printed = self.fine("%%stallcast --phases as_is\ntrain(0.01, 0.01)")
        self.assertIn("after cells 1, 2;", printed)
        self.assertTrue((self.folder / "stallcast-profile-2" / "profile.json").is_file())

    def test_a_measured_cell_is_ended(self):
        self.fine(JOB)
        printed = self.fine("%%stallcast --budget 2s -o out\nfor _ in range(1000):\n    train(0.005, 0.005, 20)")
        self.assertNotIn("Traceback", printed)
        self.assertTrue((self.folder / "out" / "report.html").is_file())
        self.assertEqual(len(self.shown), 1)

    def test_cells_that_need_ipython(self):
        self.fine(JOB)
        self.fine("%cd .")
        self.fine("!echo from a shell > said")
        printed = self.fine("%%stallcast --phases as_is\ntrain(0.01, 0.01, 10)\n%cd -q /\n!cat {said}\nprint(1 +\n 1)"
                            .replace("{said}", str(self.folder / "said")))
        self.assertIn("from a shell", printed)
        printed, result = self.run_cell("%%stallcast --phases as_is --alone\n%time 1\nraise ValueError('of the cell')")
        self.assertFalse(result.success)
        self.assertIn("ValueError", printed)

    def test_choosing_cells(self):
        self.fine("print('one')")
        self.fine("print('two')")
        self.fine("print('three')")
        printed = self.fine("%%stallcast --phases as_is --cells 1,3\nprint('four')")
        self.assertEqual([word for word in printed.split() if word in ("one", "two", "three", "four")],
                         ["one", "three", "four"])
        printed = self.fine("%%stallcast --phases as_is --alone\nprint('five')")
        self.assertIn("with no other cell before it", printed)
        self.assertNotIn("three", printed)

    def test_a_cell_that_fails(self):
        self.fine(JOB)
        printed, result = self.run_cell("%%stallcast --phases as_is\ntrain(0.01, 0.01, 10)\ndef f():\n    1 / 0\nf()")
        self.assertFalse(result.success)
        self.assertIn('this-cell.py", line 3, in f', printed)
        self.assertIn("stallcast: the cell ended with status 1", printed)
        self.assertNotIn("_cells.py", printed.split("Traceback")[1])

    def test_exit_status(self):
        printed, result = self.run_cell("%%stallcast --phases as_is\nimport sys\nsys.exit(3)")
        self.assertFalse(result.success)
        self.assertIn("stallcast: the cell ended with status 3", printed)

    def test_a_cell_of_which_nobody_knows_how_it_ended(self):
        shell = self.shell
        self.fine("kept = 1")
        shell.history_manager.input_hist_raw[1] = "1 / 0"
        magic = _notebook.Magic(shell)  # as one that was loaded after that cell
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            magic("--phases as_is --cells 1", "print('goes on')")
        self.assertIn("stallcast: cell 1 failed here; the run goes on without it", printed.getvalue())
        self.assertIn("goes on\n", printed.getvalue())

    def test_wrong_usage(self):
        self.fine("1")
        magic = _notebook.Magic(self.shell)
        for line in ("--cells", "--cells x", "--cells 0", "--cells 2-1", "--cells 99", "--cells 1-"):
            with self.assertRaises(UsageError, msg=line):
                magic(line, "print(1)")
        with mock.patch.dict(os.environ, {"PATH": ""}), self.assertRaises(UsageError):
            magic("", "print(1)")

    def test_an_option_that_profile_does_not_know(self):
        printed, result = self.run_cell("%%stallcast --no-such-option\nprint(1)")
        self.assertFalse(result.success)
        self.assertIn("--no-such-option", printed)

    def test_an_interrupt_ends_the_command_alone(self):
        sent = []

        def interrupt_once(descriptor, count, read=os.read):
            piece = read(descriptor, count)
            if b"ready" in piece and not sent:
                sent.append(1)
                raise KeyboardInterrupt
            return piece

        self.write("wait.py", "import os, time\nprint('ready', flush=True)\ntime.sleep(1000)\n")
        variables = _notebook_run.write(str(self.temporary), [(None, "exec(open('wait.py').read())", True)], False)
        with mock.patch.object(_notebook_run.os, "read", interrupt_once), contextlib.redirect_stdout(io.StringIO()):
            status = _notebook_run.run(CLI, ["--phases", "as_is", "--quiet", "-o", "out"], variables)
        self.assertEqual(status, 130)

    def test_a_library_of_the_same_name_is_found(self):
        self.assertTrue(pathlib.Path(_notebook_run._RUNNER).with_name("lightning.py").is_file())
        printed = self.fine("%%stallcast --phases as_is\nimport sys\n"
                            "print(sys.path[0] == '', __name__, __import__('__main__').sys is sys)")
        self.assertIn("True __main__ True", printed)


if __name__ == "__main__":
    unittest.main()
