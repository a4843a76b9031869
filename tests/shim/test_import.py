"""sitecustomize: polite to the one it shadows, unseen by the program, without effect where Python is told to ignore it.
"""

from harness import SHIM, ShimTest, main

SHOW = """
import sys
print("stallcast_shim" in sys.modules, any("stallcast" in type(finder).__module__ for finder in sys.meta_path))
"""


class ImportTest(ShimTest):
    def test_arms_only_a_hook(self):
        path = self.write(
            "loaded.py",
            """
            import sys
            print(sorted(name for name in sys.modules if "stallcast" in name or name in ("ctypes", "json")))
            """,
        )
        result = self.python(path)
        self.assert_fine(result)
        self.assertEqual(result.out, "['stallcast_shim', 'stallcast_shim.hooks']\n")
        self.assertEqual(result.run.recordings, [])

    def test_the_path_is_as_without(self):
        path = self.write("path.py", "import os, sys; print(sys.path, 'sitecustomize' in os.environ)")
        other = self.write("other/module.py", "")[: -len("/module.py")]
        with_shim = self.python(path, python_path=[other])
        self.assert_fine(with_shim)
        self.assertEqual(with_shim.out, self.python(path, shim=False, python_path=[other]).out)

    def test_it_knows_where_it_lies(self):
        """Processes that are started anew find us where the environment still names our folder; frames of ours are none
        of the script's."""
        path = self.write(
            "place.py",
            """
            import os
            from stallcast_shim.states import phases
            from stallcast_shim import scripts
            print(phases._environment_is_ours())
            print(any(os.path.abspath(phases.__file__).startswith(folder) for folder in scripts._LIBRARIES))
            os.environ["PYTHONPATH"] = "/elsewhere"
            print(phases._environment_is_ours())
            """,
        )
        self.assertEqual(self.python(path, python_path=[SHIM]).out, "True\nTrue\nFalse\n")

    def test_isolated_python_is_left_alone(self):
        path = self.write("show.py", SHOW)
        for flag in ("-I", "-S", "-E"):
            result = self.python(flag, path)
            self.assert_fine(result)
            self.assertEqual(result.out, "False False\n", flag)
        self.assertEqual(self.python(path).out, "True True\n")
        self.assertEqual(self.python("-s", path).out, "True True\n")

    def test_without_a_run_nothing_is_armed(self):
        path = self.write("show.py", SHOW)
        result = self.python(path, shim=False, python_path=[SHIM])
        self.assertEqual((result.status, result.out, result.err), (0, "False False\n", ""))

    def test_shadowed_sitecustomize_runs_once(self):
        users = self.write("users/sitecustomize.py", "print('user', __file__)")[: -len("/sitecustomize.py")]
        result = self.python("-c", "import sitecustomize; print(sitecustomize.__file__)", python_path=[users])
        self.assert_fine(result)
        expected = self.python("-c", "import sitecustomize; print(sitecustomize.__file__)", python_path=[users], shim=False)
        self.assertEqual(result.out, expected.out)
        self.assertEqual(result.out.count("user "), 1)

    def test_two_of_ours_do_not_recurse(self):
        path = self.write("show.py", SHOW)
        users = self.write("more/sitecustomize.py", "print('user')")[: -len("/sitecustomize.py")]
        result = self.python(path, python_path=[SHIM, SHIM + "/", users])
        self.assert_fine(result)
        self.assertEqual(result.out, "user\nTrue True\n")

    def test_a_failing_sitecustomize_fails_as_without(self):
        for content in ("raise ValueError('mine')", "import not_there_at_all"):
            users = self.write("broken/sitecustomize.py", content)[: -len("/sitecustomize.py")]
            result = self.python("-c", "print(5)", python_path=[users])
            expected = self.python("-c", "print(5)", python_path=[users], shim=False)
            self.assertEqual((result.status, result.out, result.err), (expected.status, expected.out, expected.err))
            self.assertIn("sitecustomize", result.err)

    def test_children_are_reached(self):
        path = self.write(
            "parent.py",
            """
            import subprocess, sys
            sys.stdout.flush()
            subprocess.check_call([sys.executable, "show.py"])
            subprocess.check_call([sys.executable, "-c", "import site; print(site.__name__)"])
            """,
        )
        self.write("show.py", SHOW)
        result = self.python(path)
        self.assert_fine(result)
        self.assertEqual(result.out, "True True\nsite\n")


# A package that looks like torch to the hook, for interpreters without torch.
FAKE_TORCH = {
    "torch/__init__.py": "__version__ = '0.0'\ndef get_num_threads():\n    return 3\n",
    "torch/optim/__init__.py": "",
    "torch/optim/optimizer.py": """
        hooks = []
        def register_optimizer_step_post_hook(hook):
            hooks.append(hook)
        """,
    "torch/utils/__init__.py": "",
    "torch/utils/data/__init__.py": "",
    "torch/utils/data/dataloader.py": "raise ValueError('cannot be imported')",
}


class HookTest(ShimTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, content in FAKE_TORCH.items():
            cls.write("fake/" + name, content)
        cls.fake = cls.folder + "/fake"

    def run_fake(self, content, **options):
        path = self.write("main.py", content)
        return self.python(path, python_path=[self.fake], **options)

    def test_patches_after_the_import(self):
        content = """
            import inspect, sys
            import torch.optim.optimizer as module
            import stallcast_shim.steps.optimizer
            assert module.hooks == [stallcast_shim.steps.optimizer._after_step]
            assert type(module.__spec__.loader).__name__ == "SourceFileLoader"
            assert "exec_module" not in vars(module.__spec__.loader)
            assert "hooks = []" in inspect.getsource(module)
            for _ in range(3):
                module.hooks[0](None, (), {})
            """
        result = self.run_fake(content)
        self.assert_fine(result)
        (recording,) = result.run.recordings
        self.assertEqual(len(recording.steps), 3)
        process = recording.texts["process"][-1]
        self.assertEqual((process["role"], process["torch"], process["torch_threads"]), ("consumer", "0.0", 3))

    def test_a_failing_import_fails_as_without(self):
        content = """
            import traceback
            for _ in range(2):
                try:
                    import torch.utils.data.dataloader
                except ValueError as error:
                    print(error, traceback.extract_tb(error.__traceback__)[-1].filename)
            """
        result = self.run_fake(content)
        self.assert_fine(result)
        self.assertEqual(result.out, self.run_fake(content, shim=False).out)
        self.assertEqual(result.out.count("cannot be imported"), 2)

    def test_a_module_that_looks_different_is_one_issue(self):
        self.write("other/torch/__init__.py", "__version__ = '99.0'")
        for name in ("optim", "utils", "utils/data"):
            self.write("other/torch/%s/__init__.py" % name, "")
        self.write("other/torch/optim/optimizer.py", "value = 5")
        self.write("other/torch/utils/data/dataloader.py", "value = 6")
        path = self.write(
            "main.py",
            """
            import torch.optim.optimizer, torch.utils.data.dataloader
            print(torch.optim.optimizer.value, torch.utils.data.dataloader.value)
            """,
        )
        result = self.python(path, python_path=[self.folder + "/other"])
        self.assertEqual((result.status, result.out, result.err), (0, "5 6\n", ""))
        self.assertEqual([issue["id"] for issue in result.run.issues], ["shim-failed"])
        self.assertIn("torch.optim.optimizer", result.run.issues[0]["detail"])

    def test_other_finders_may_search_through_ours(self):
        content = """
            import importlib.util, sys
            class Finder:
                def __init__(self):
                    self.busy = False
                def find_spec(self, name, path=None, target=None):
                    if self.busy or not name.startswith("torch"):
                        return None
                    self.busy = True
                    try:
                        return importlib.util.find_spec(name)
                    finally:
                        self.busy = False
            sys.meta_path.insert(0, Finder())
            import torch.optim.optimizer as module
            print(len(module.hooks))
            assert importlib.util.find_spec("torch.utils.data.dataloader").name
            """
        result = self.run_fake(content)
        self.assert_fine(result)
        self.assertEqual(result.out, "1\n")

    def test_library_that_is_not_there(self):
        content = """
            import torch.optim.optimizer as module
            print(module.hooks)
            """
        for library in ("/nowhere/libnothing.so", ""):
            result = self.run_fake(content, preload=False, environment={"STALLCAST_CAPTURE_LIB": library})
            self.assert_fine(result)
            self.assertEqual(result.out, "[]\n")

    def test_not_preloaded(self):
        content = """
            import torch.optim.optimizer as module
            module.hooks[0](None, (), {})
            """
        result = self.run_fake(content, preload=False)
        self.assertEqual((result.status, result.err), (0, ""))
        self.assertEqual([issue["id"] for issue in result.run.issues], ["capture-not-preloaded"])
        self.assertEqual(len(result.run.recordings[0].steps), 1)


if __name__ == "__main__":
    main()
