"""The tree of a wheel as a package for Debian and Ubuntu: `deb.py WHEEL FOLDER`. It needs no more than the wheel does,
so one package serves every release with that glibc; cpack's, of a build of this machine, needs this machine's."""

import email.utils
import hashlib
import lzma
import sys

import tree

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
DOCS = "share/doc/stallcast/"
MAINTAINER = "stallcast developers <stallcast@localhost>"
CONTROL = """\
Package: stallcast
Version: {version}
Architecture: {architecture}
Maintainer: {maintainer}
Installed-Size: {kib}
Depends: libc6 (>= {glibc})
Suggests: python3-torch
Section: devel
Priority: optional
Description: measure how much of a training job's time is lost waiting for data
 Wraps a training command, tells waiting for data from computing at every step,
 divides it into waiting for storage and waiting for the preparation of samples,
 and predicts what a change of loader, cache, storage or machine would bring.
"""


COPYRIGHT = """\
Copyright: the stallcast developers
License: Apache-2.0

On Debian systems, the text of the Apache License, version 2.0, is in
/usr/share/common-licenses/Apache-2.0. Libraries that are linked in, and their
licences, are in the folder third-party beside this file.
"""
CHANGES = """\
stallcast ({version}) unstable; urgency=medium

  * See CHANGELOG.md beside this file.

 -- {maintainer}  {time}
"""


def as_debian_has_it(wheel):
    """Below usr/, with what Debian wants under names of its own."""
    found = {}
    for name, (data, mode) in wheel.files.items():
        if name.startswith("share/man/"):
            name, data = name + ".gz", tree.gzipped(data)
        if name.startswith("lib/"):
            mode = 0o644  # libraries are no programs
        if name != DOCS + "LICENSE":
            found["usr/" + name] = (data, mode)
    time = email.utils.formatdate(tree.TIME)
    changes = CHANGES.format(version=wheel.version, maintainer=MAINTAINER, time=time)
    found["usr/" + DOCS + "changelog.gz"] = (tree.gzipped(changes.encode()), 0o644)
    found["usr/" + DOCS + "copyright"] = (COPYRIGHT.encode(), 0o644)
    return found


def control(wheel, files):
    kib = sum(-(-len(data) // 1024) for data, _ in files.values())
    text = CONTROL.format(version=wheel.version, architecture=ARCHITECTURES[wheel.architecture], glibc=wheel.glibc,
                          kib=kib, maintainer=MAINTAINER)
    sums = "".join(f"{hashlib.md5(data).hexdigest()}  {name}\n" for name, (data, _) in sorted(files.items()))
    # The C library learns of the library with the C API.
    told = {"control": text, "md5sums": sums, "triggers": "activate-noawait ldconfig\n"}
    return {name: (content.encode(), 0o644) for name, content in told.items()}


def ar(members):
    """The archive format of ar(5): a header of 60 bytes for each, which begin at even places."""
    packed = b"!<arch>\n"
    for name, data in members:
        packed += f"{name:<16}{tree.TIME:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode() + data
        packed += b"\n" * (len(data) % 2)
    return packed


def main():
    path, folder = sys.argv[1:]
    wheel = tree.Wheel(path)
    files = as_debian_has_it(wheel)
    package = ar([
        ("debian-binary", b"2.0\n"),
        ("control.tar.xz", lzma.compress(tree.tar(control(wheel, files), "."))),
        ("data.tar.xz", lzma.compress(tree.tar(files, "."), preset=9)),
    ])
    tree.save(folder, f"stallcast_{wheel.version}_{ARCHITECTURES[wheel.architecture]}.deb", package)
    return 0


if __name__ == "__main__":
    sys.exit(main())
