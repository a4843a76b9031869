"""What `cmake --install` leaves is a whole tool: it measures a job from any folder, and other C code builds against it.

Run as `install_test.py BUILD_DIR CMAKE C_COMPILER`. The job is a few lines of C with the marks of the C API, so that no
torch is needed.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD, CMAKE, COMPILER = sys.argv[1:4]
del sys.argv[1:4]

JOB = """
#include <stallcast/capture.h>
#include <time.h>

static void sleep_ms(long ms) {
  struct timespec time = {0, ms * 1000000L};
  nanosleep(&time, 0);
}

int main(void) {
  for (uint64_t batch = 0; batch < 60; ++batch) {
    stallcast_wait_begin();
    stallcast_batch_begin(0, batch, UINT32_MAX);
    sleep_ms(2);
    stallcast_batch_end(8);
    stallcast_wait_end(0, batch, 8, UINT32_MAX, batch == 0 ? STALLCAST_WAIT_FIRST : 0);
    sleep_ms(3);
    stallcast_step();
  }
  return 0;
}
"""


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          stdin=subprocess.DEVNULL, **options)


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.prefix = pathlib.Path(cls.folder.name, "prefix")
        done = run(CMAKE, "--install", BUILD, "--prefix", str(cls.prefix))
        if done.returncode != 0:
            raise RuntimeError(done.stdout)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_parts(self):
        for part in ("bin/stallcast", "include/stallcast/capture.h", "share/stallcast/python/sitecustomize.py",
                     "share/stallcast/python/stallcast_shim/hooks.py", "share/stallcast/schema/profile.schema.json",
                     "share/stallcast/catalog/example.json",
                     "share/doc/stallcast/LICENSE", "share/man/man1/stallcast.1",
                     "share/bash-completion/completions/stallcast", "share/zsh/site-functions/_stallcast"):
            self.assertTrue((self.prefix / part).is_file(), part)
        self.assertEqual(len(list(self.prefix.rglob("libstallcast_capture.so"))), 1)
        self.assertEqual(list(self.prefix.rglob("__pycache__")), [])

    def test_a_moved_tree_measures_a_job_that_was_built_against_it(self):
        moved = pathlib.Path(self.folder.name, "moved")
        os.symlink(self.prefix, moved)  # another way to the same tree
        library = next(self.prefix.rglob("libstallcast_capture.so")).parent
        source, job = pathlib.Path(self.folder.name, "job.c"), pathlib.Path(self.folder.name, "job")
        source.write_text(JOB)
        built = run(COMPILER, "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Werror", f"-I{self.prefix}/include", str(source),
                    f"-L{library}", "-lstallcast_capture", f"-Wl,-rpath,{library}", "-o", str(job))
        self.assertEqual(built.returncode, 0, built.stdout)
        output = pathlib.Path(self.folder.name, "profile")
        done = run(str(moved / "bin" / "stallcast"), "profile", "-o", str(output), "--phases", "as_is", "--", str(job),
                   cwd=self.folder.name)
        self.assertEqual(done.returncode, 0, done.stdout)
        profile = json.loads((output / "profile.json").read_text())
        self.assertEqual(profile["job"]["framework"], "c_api")
        self.assertEqual(sum(rank["batches"] for rank in profile["ranks"]), 60)
        self.assertTrue((output / "report.html").is_file())


if __name__ == "__main__":
    unittest.main()
