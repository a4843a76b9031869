"""The archives that packaging/ makes of a wheel: twice the same bytes whatever the surroundings, and what Debian's own
tools read in them; and what packaging/check_wheel.py refuses. Run as `archives_test.py SOURCES`."""

import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

PACKAGING = pathlib.Path(sys.argv[1]).resolve() / "packaging"
del sys.argv[1]
PROGRAM = pathlib.Path("/bin/true")
LICENCE = "share/doc/stallcast/third-party/some.txt"
TAG = "manylinux_2_28_x86_64"
# In no order, with a program, a library, and what Debian wants under other names.
FILES = {
    "share/stallcast/python/sitecustomize.py": (b"import sys\n", 0o600),
    "bin/stallcast": (b"#!/bin/sh\necho stallcast 9.8.7\n", 0o700),
    "lib/libstallcast_capture.so": (b"no library", 0o755),
    "share/man/man1/stallcast.1": (b".TH stallcast 1\n", 0o640),
    "share/doc/stallcast/LICENSE": (b"Apache-2.0\n", 0o644),
    "share/doc/stallcast/CHANGELOG.md": (b"# Changelog\n", 0o644),
}


def make_wheel(folder, tag=TAG, files=None, order=sorted):
    """A wheel of ours with these files, in this order, and the folder's name where the tool is not."""
    path = pathlib.Path(folder, f"stallcast-9.8.7-py3-none-{tag}.whl")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("stallcast/__init__.py", str(folder))
        for name, (data, mode) in order((files or FILES).items()):
            entry = zipfile.ZipInfo("stallcast/_tool/" + name)
            entry.external_attr = (stat.S_IFREG | mode) << 16
            archive.writestr(entry, data)
    return path


def run(*command, **options):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, stdin=subprocess.DEVNULL, **options)


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def make(self, script, name, order=sorted, umask=0o022, **environment):
        """What the script makes in a folder of its own: the one archive's path."""
        folder = self.folder / name
        folder.mkdir()
        wheel = make_wheel(folder, order=order)
        done = run(sys.executable, "-B", PACKAGING / script, wheel, folder, preexec_fn=lambda: os.umask(umask),
                   env=dict(os.environ, **environment))
        self.assertEqual(done.returncode, 0, done.stdout)
        wheel.unlink()
        (archive,) = folder.iterdir()
        return archive


class Archives(Folder):
    def test_the_same_bytes_wherever_and_whenever_they_are_made(self):
        for script in ("tarball.py", "deb.py"):
            one = self.make(script, script + "1", SOURCE_DATE_EPOCH="1700000000", TZ="UTC", LC_ALL="C")
            two = self.make(script, script + "2", order=lambda items: reversed(list(items)), umask=0o077,
                            SOURCE_DATE_EPOCH="1700000000", TZ="Pacific/Chatham", LC_ALL="C.UTF-8")
            self.assertEqual(one.name, two.name)
            self.assertEqual(one.read_bytes(), two.read_bytes(), script)
            later = self.make(script, script + "3", SOURCE_DATE_EPOCH="1700000001")
            self.assertNotEqual(one.read_bytes(), later.read_bytes(), script)

    def test_the_tarball_is_one_folder_that_runs(self):
        path = self.make("tarball.py", "made", SOURCE_DATE_EPOCH="1700000000")
        self.assertEqual(path.name, "stallcast-9.8.7-linux-x86_64.tar.gz")
        with tarfile.open(path) as archive:
            members = archive.getmembers()
        self.assertEqual({member.name.split("/")[0] for member in members}, {"stallcast-9.8.7-linux-x86_64"})
        self.assertEqual({(member.uid, member.gid, member.mtime) for member in members}, {(0, 0, 1700000000)})
        self.assertLessEqual({oct(member.mode) for member in members}, {"0o755", "0o644"})
        self.assertEqual(run("tar", "-xzf", path, "-C", self.folder).returncode, 0)
        done = run(self.folder / "stallcast-9.8.7-linux-x86_64/bin/stallcast")
        self.assertEqual(done.stdout, "stallcast 9.8.7\n")

    @unittest.skipUnless(shutil.which("dpkg-deb"), "no dpkg-deb here")
    def test_debian_reads_the_package(self):
        path = self.make("deb.py", "made", SOURCE_DATE_EPOCH="1700000000")
        self.assertEqual(path.name, "stallcast_9.8.7_amd64.deb")
        for field, value in (("Package", "stallcast"), ("Version", "9.8.7"), ("Architecture", "amd64"),
                             ("Depends", "libc6 (>= 2.28)")):
            self.assertEqual(run("dpkg-deb", "-f", path, field).stdout.strip(), value)
        listed = run("dpkg-deb", "-c", path)
        self.assertEqual(listed.returncode, 0, listed.stdout)
        lines = [line.split() for line in listed.stdout.splitlines()]
        self.assertEqual({line[1] for line in lines}, {"root/root"})
        modes = {line[5]: line[0] for line in lines}
        self.assertEqual(modes["./usr/bin/stallcast"], "-rwxr-xr-x")
        self.assertEqual(modes["./usr/lib/libstallcast_capture.so"], "-rw-r--r--")
        self.assertIn("./usr/share/man/man1/stallcast.1.gz", modes)
        self.assertIn("./usr/share/doc/stallcast/copyright", modes)
        root, control = self.folder / "root", self.folder / "control"
        self.assertEqual(run("dpkg-deb", "-x", path, root).returncode, 0)
        self.assertEqual(run("dpkg-deb", "-e", path, control).returncode, 0)
        checked = run("md5sum", "--check", "--strict", control / "md5sums", cwd=root)
        self.assertEqual(checked.returncode, 0, checked.stdout)
        self.assertEqual(run(root / "usr/bin/stallcast").stdout, "stallcast 9.8.7\n")


@unittest.skipUnless(shutil.which("readelf") and os.uname().machine == "x86_64", "needs readelf and programs of x86-64")
class Check(Folder):
    def check(self, files, tag, told=None):
        return run(sys.executable, "-B", PACKAGING / "check_wheel.py", make_wheel(self.folder, tag, files), told or tag)

    def programs(self):
        program = PROGRAM.read_bytes()
        found = {name: (program, 0o755) for name in ("bin/stallcast", "lib/libstallcast_capture.so")}
        return dict(found, **{LICENCE: (b"MIT", 0o644)})

    def test_programs_that_the_promised_system_runs(self):
        done = self.check(self.programs(), "manylinux_2_99_x86_64")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("2 ELF files, 0 problems", done.stdout)

    def test_newer_symbols_than_promised(self):
        done = self.check(self.programs(), "manylinux_2_2_x86_64")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stdout, r"stallcast needs GLIBC_2\.\d+")

    def test_another_processor_or_tag(self):
        done = self.check(self.programs(), "manylinux_2_99_aarch64")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("is for Advanced Micro Devices X86-64", done.stdout)
        self.assertIn("needs ld-linux-x86-64.so.2", self.check(self.loaders(), "manylinux_2_99_aarch64").stdout)
        done = self.check(self.programs(), "manylinux_2_99_x86_64", "manylinux_2_28_x86_64")
        self.assertIn("is not tagged py3-none-manylinux_2_28_x86_64", done.stdout)

    def loaders(self):
        """Not every program names the loader among what it needs: the C library does."""
        found = [path for path in ("/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6") if os.path.exists(path)]
        if not found:
            self.skipTest("no C library found")
        library = pathlib.Path(found[0]).read_bytes()
        return {name: (library, 0o755) for name in ("bin/stallcast", "lib/libstallcast_capture.so")}

    def test_no_licences(self):
        files = self.programs()
        del files[LICENCE]
        done = self.check(files, "manylinux_2_99_x86_64")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("licences of what is linked in are missing", done.stdout)

    def test_too_little_in_it(self):
        done = self.check({}, "manylinux_2_99_x86_64")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("0 programs and libraries found in it", done.stdout)


if __name__ == "__main__":
    unittest.main()
