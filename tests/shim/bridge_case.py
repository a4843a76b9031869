"""What tests of the capture library's built-in objects begin with."""

from harness import ShimTest

# Binds the calls as the shim does at the first import of torch; argv[1] is what takes the place of a failed bridge.
PRELUDE = """
import gc, pickle, sys, weakref
from stallcast_shim import capture
if sys.argv[1:] == ["fallback"]:
    def no_bridge(ctypes, library):
        raise ValueError("no bridge")
    capture._built_in_functions = no_bridge
assert capture.start()
calls = capture.calls

class Data:
    kind = "real"
    def __init__(self):
        self.items = list(range(100, 110))
    def __getitem__(self, index):
        return self.items[index]
    def __len__(self):
        return len(self.items)
    def __repr__(self):
        return "<Data>"

real = Data()
proxy = calls.dataset_proxy(real)
calls.batch_begin(0, 7, 3)
"""


class BridgeCase(ShimTest):
    def check(self, body):
        """Runs `body` with the built-in objects and with the fallback; the two recordings."""
        path = self.write("body.py", "")
        with open(path, "w") as file:
            file.write(PRELUDE + body)
        recordings = []
        for arguments, issues in (([], []), (["fallback"], ["python-bridge-missing"])):
            result = self.python(path, *arguments)
            self.assertEqual((result.status, result.err), (0, ""))
            self.assertEqual([issue["id"] for issue in result.run.issues], issues)
            recordings += result.run.recordings
        self.assertEqual(len(recordings), 2)
        return recordings
