"""The job's own profiler: the GPU probe is told before it begins, and it works as ever."""

from harness import ShimTest, main

JOB = """
import ctypes, sys
import torch

told = []
class Library:
    def stallcast_gpu_yield(self, who):
        told.append(who.decode())
real = ctypes.CDLL
def fake(path, mode=0, **rest):
    if path == "/somewhere/libstallcast_cupti.so":
        if sys.argv[1] == "absent":
            raise OSError("not loaded")
        return Library()
    return real(path, mode=mode, **rest)
ctypes.CDLL = fake

loader = torch.utils.data.DataLoader(list(range(8)), batch_size=2)
for batch in loader:
    pass
assert not told
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
    torch.ones(4) + 1
assert any("add" in event.key for event in profiler.key_averages())
print(",".join(told))
"""


class GpuTest(ShimTest):
    NEEDS = "torch"

    def told(self, kind, **environment):
        result = self.python("-W", "ignore", self.write("job.py", JOB), kind, environment=environment)
        self.assertEqual(result.status, 0, result.err)  # newer profilers write what they do to stderr
        return result.out.strip()

    def test_the_probe_makes_room_for_the_jobs_own_profiler(self):
        self.assertEqual(self.told("loaded", STALLCAST_GPU_LIB="/somewhere/libstallcast_cupti.so"), "torch.profiler")

    def test_no_probe_no_trouble(self):
        self.assertEqual(self.told("absent", STALLCAST_GPU_LIB="/somewhere/libstallcast_cupti.so"), "")
        self.assertEqual(self.told("loaded"), "")


if __name__ == "__main__":
    main()
