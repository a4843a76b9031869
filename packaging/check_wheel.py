"""Fails where a program or library in a wheel needs newer symbols than its tag promises, or libraries that not every
Linux has, or is for another processor, and where the licences of what is linked in are missing: `check_wheel.py WHEEL
TAG`. Reads readelf's output, as auditwheel reads the same tables; readelf knows every processor."""

import os
import re
import subprocess
import sys
import tempfile
import zipfile

# Of PEP 600's list, what we need: glibc's own.
ALLOWED = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"}
# By the tag's processor: its loader, and what readelf calls it.
PROCESSORS = {
    "x86_64": ("ld-linux-x86-64.so.2", "Advanced Micro Devices X86-64"),
    "aarch64": ("ld-linux-aarch64.so.1", "AArch64"),
}
MOST_BYTES = 8_000_000


def readelf(path, *options):
    environment = dict(os.environ, LC_ALL="C")
    return subprocess.run(["readelf", "--wide", *options, path], check=True, stdout=subprocess.PIPE, text=True,
                          env=environment).stdout


def problems_of(path, newest, processor):
    """What keeps this ELF file from running on a Linux of the promised age and processor."""
    loader, machine = PROCESSORS[processor]
    found = re.search(r"Machine:\s+(.+)", readelf(path, "--file-header")).group(1).strip()
    if found != machine:
        yield f"is for {found}"
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", readelf(path, "--dynamic"))
    yield from (f"needs {name}" for name in needed if name not in ALLOWED | {loader})
    symbols = readelf(path, "--version-info", "--dyn-syms")
    versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([0-9.]+)", symbols)}
    yield from (f"needs GLIBC_{'.'.join(map(str, version))}" for version in sorted(versions) if version > newest)
    if re.search(r"GLIBCXX_|CXXABI_", symbols):
        yield "needs symbols of libstdc++"
    if re.search(r"GNU_STACK.*\bRWE\b", readelf(path, "--program-headers")):
        yield "asks for an executable stack"


def main():
    wheel, tag = sys.argv[1:]
    *newest, processor = re.fullmatch(r"manylinux_(\d+)_(\d+)_(\w+)", tag).groups()
    newest = tuple(map(int, newest))
    failed = []
    if not wheel.endswith(f"-py3-none-{tag}.whl"):
        failed.append(f"{os.path.basename(wheel)} is not tagged py3-none-{tag}")
    size = os.path.getsize(wheel)
    if size > MOST_BYTES:
        failed.append(f"{size} bytes: more than {MOST_BYTES}")
    checked = 0
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        if not any("/doc/stallcast/third-party/" in name for name in archive.namelist()):
            failed.append("the licences of what is linked in are missing")
        archive.extractall(folder)
        for root, _, names in os.walk(folder):
            for name in sorted(names):
                path = os.path.join(root, name)
                with open(path, "rb") as file:
                    if file.read(4) != b"\x7fELF":
                        continue
                checked += 1
                failed += [f"{name} {problem}" for problem in problems_of(path, newest, processor)]
    if checked < 2:
        failed.append(f"{checked} programs and libraries found in it: at least 2 expected")
    for failure in failed:
        print(f"check_wheel: {failure}")
    print(f"check_wheel: {os.path.basename(wheel)}: {size} bytes, {checked} ELF files, {len(failed)} problems")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
