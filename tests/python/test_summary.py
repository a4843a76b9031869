"""stallcast.summary(): what is in it, and that it is never in the way."""

import importlib.util
import json
import pathlib
import re
import unittest

from harness import JOB, PackageTest

import stallcast
from stallcast import _live, _summary

PROFILE = {
    "schema_version": 1,
    "rates": {"as_is_samples_per_s": {"mean": 812.0, "ci95_low": 809.0, "ci95_high": 815, "n": 40},
              "cold_samples_per_s": None},
    "stalls": {"as_is_wait_frac": {"mean": 0.0, "ci95_low": 0.0, "ci95_high": 0.01, "n": 40}, "method": "attributed"},
    "resources": {"bytes_from_storage_frac": 0.5, "storage_bandwidth_bytes_per_s": None},
}


class SummaryTest(PackageTest):
    def written(self, profile):
        (self.folder / "profile.json").write_text(json.dumps(profile))
        return str(self.folder)

    def test_numbers_with_their_bounds(self):
        self.assertEqual(stallcast.summary(self.written(PROFILE)), {
            "stallcast/as_is_samples_per_s": 812.0,
            "stallcast/as_is_samples_per_s_ci95_low": 809.0,
            "stallcast/as_is_samples_per_s_ci95_high": 815.0,
            "stallcast/as_is_wait_frac": 0.0,
            "stallcast/as_is_wait_frac_ci95_low": 0.0,
            "stallcast/as_is_wait_frac_ci95_high": 0.01,
            "stallcast/bytes_from_storage_frac": 0.5,
        })
        self.assertEqual(stallcast.summary(self.folder / "profile.json"), stallcast.summary(self.folder))

    def test_every_value_is_a_float(self):
        for value in stallcast.summary(self.written(PROFILE)).values():
            self.assertIs(type(value), float)

    def test_what_is_no_number_is_no_key(self):
        for mean in (None, "0.5", True, float("nan"), float("inf")):
            estimate = {"mean": mean, "ci95_low": 0.0, "ci95_high": 1.0, "n": 3}
            profile = {"schema_version": 1, "stalls": {"fetch_frac": estimate}}
            self.assertEqual(stallcast.summary(self.written(profile)), {})

    def test_a_newer_profile_is_not_read(self):
        folder = self.written(dict(PROFILE, schema_version=2))
        with self.assertRaises(ValueError):
            _summary.read(folder)
        self.assertEqual(stallcast.summary(folder), {})

    def test_no_profile(self):
        for content in ("", "[]", "{", "3"):
            (self.folder / "profile.json").write_text(content)
            self.assertEqual(stallcast.summary(self.folder), {})
        self.assertEqual(stallcast.summary("/does/not/exist"), {})
        self.assertEqual(stallcast.summary(3.5), {})

    def test_outside_a_run(self):
        done = self.run_python("-c", "import stallcast; print(stallcast.summary())")
        self.assertEqual((done.stdout, done.stderr), ("{}\n", ""))
        done = self.run_python("-c", "import stallcast; print(stallcast.summary())",
                               environment={"STALLCAST_RUN_DIR": str(self.folder / "gone")})
        self.assertEqual((done.stdout, done.stderr), ("{}\n", ""))

    def test_a_copy_of_the_one_file(self):
        with open(stallcast.__file__, encoding="utf-8") as file:
            self.write("stallcast.py", file.read())
        self.write("script.py", "import stallcast\nprint(stallcast.__file__[-12:], stallcast.summary())\n")
        done = self.run_python("script.py")
        self.assertEqual((done.stdout, done.stderr), ("stallcast.py {}\n", ""))


class LiveTest(PackageTest):
    def test_the_control_block_is_of_the_version_that_is_read(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        said = re.search(r"k_control_abi = (\d+);", (root / "probes/record/control.hpp").read_text(encoding="utf-8"))
        self.assertEqual(_live._ABI, int(said.group(1)))

    def test_a_passive_run_so_far(self):
        printed = self.profile(JOB + """
import json
train(0.01, 0.01)
print(json.dumps(stallcast.summary()))
""")
        (line,) = printed.splitlines()
        so_far = json.loads(line)
        whole = stallcast.summary(self.folder / "out")
        self.assertEqual(set(so_far), set(whole))
        share = "stallcast/as_is_wait_frac"
        self.assertLess(so_far[share + "_ci95_low"], whole[share + "_ci95_high"])
        self.assertLess(whole[share + "_ci95_low"], so_far[share + "_ci95_high"])
        self.assertEqual(self.left_behind(), [])

    def test_a_measured_run_has_no_numbers_while_it_makes_states(self):
        if importlib.util.find_spec("torch") is None:
            self.skipTest("this Python has no torch")
        printed = self.profile("""
import time, stallcast, torch
from stallcast import _live
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 160
    def __getitem__(self, index):
        time.sleep(0.001)
        return torch.zeros(2)
loader = torch.utils.data.DataLoader(Data(), batch_size=8, num_workers=1)
found = {}
until = time.monotonic() + 240
while time.monotonic() < until and len(found) < 2:
    for batch in loader:
        time.sleep(0.005)
        stallcast.step()
    found.setdefault(_live.makes_states(_live.run_folder()), len(stallcast.summary()))
print(found[True], found[False])
""", "--budget", "3s")
        with_states, after = map(int, printed.split())
        self.assertEqual(with_states, 0)
        self.assertGreater(after, 0)
        self.assertEqual(self.left_behind(), [])

    def test_a_run_whose_loader_can_be_brought_into_no_state(self):
        printed = self.profile(JOB + """
train(0.01, 0.01)
print("stallcast/as_is_wait_frac" in stallcast.summary())
""", "--budget", "3s")
        self.assertEqual(printed, "True\n")

    def test_callbacks_ask_and_take(self):
        printed = self.profile(JOB + """
from stallcast import _live
numbers = _live.Numbers()
train(0.01, 0.01)
print(numbers.take())
numbers.ask()
numbers.ask()
taken = {}
until = time.monotonic() + 100
while not taken and time.monotonic() < until:
    train(0.01, 0.01, 5)
    taken = numbers.take()
print("stallcast/as_is_wait_frac" in taken, numbers.take())
numbers.ask()
print("stallcast/as_is_wait_frac" in numbers.last())
numbers.ask()
""")
        self.assertEqual(printed, "{}\nTrue {}\nTrue\n")
        self.assertEqual(self.left_behind(), [])  # the last one was still being looked for when the script ended

    def test_no_command(self):
        printed = self.profile(JOB + """
train(0.01, 0.01)
from stallcast import _program
_program.find = lambda: None
print(stallcast.summary())
""")
        self.assertEqual(printed, "{}\n")


if __name__ == "__main__":
    unittest.main()
