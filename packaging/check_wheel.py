"""Fails where a program or library in a wheel needs newer symbols than its tag promises, or libraries that not every
Linux has: `check_wheel.py WHEEL TAG`. Reads objdump's output, as auditwheel reads the same tables."""

import os
import re
import subprocess
import sys
import tempfile
import zipfile

# Of PEP 600's list, what we need: glibc's own.
ALLOWED = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2"}
MOST_BYTES = 8_000_000


def objdump(path, option):
    return subprocess.run(["objdump", option, path], check=True, stdout=subprocess.PIPE, text=True).stdout


def problems_of(path, newest):
    """What keeps this ELF file from running on a Linux of the promised age."""
    headers = objdump(path, "-p")
    needed = re.findall(r"NEEDED\s+(\S+)", headers)
    yield from (f"needs {name}" for name in needed if name not in ALLOWED)
    versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([0-9.]+)", objdump(path, "-T"))}
    yield from (f"needs GLIBC_{'.'.join(map(str, version))}" for version in sorted(versions) if version > newest)
    if re.search(r"GLIBCXX_|CXXABI_", headers):
        yield "needs symbols of libstdc++"


def main():
    wheel, tag = sys.argv[1:]
    newest = tuple(map(int, re.search(r"manylinux_(\d+)_(\d+)", tag).groups()))
    failed = []
    if not wheel.endswith(f"-py3-none-{tag}.whl"):
        failed.append(f"{os.path.basename(wheel)} is not tagged py3-none-{tag}")
    size = os.path.getsize(wheel)
    if size > MOST_BYTES:
        failed.append(f"{size} bytes: more than {MOST_BYTES}")
    checked = 0
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
        for root, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(root, name)
                with open(path, "rb") as file:
                    if file.read(4) != b"\x7fELF":
                        continue
                checked += 1
                failed += [f"{name} {problem}" for problem in problems_of(path, newest)]
    if checked < 2:
        failed.append(f"{checked} programs and libraries found in it: at least 2 expected")
    for failure in failed:
        print(f"check_wheel: {failure}")
    print(f"check_wheel: {os.path.basename(wheel)}: {size} bytes, {checked} ELF files, {len(failed)} problems")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
