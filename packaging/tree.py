"""What a wheel holds of the tool, as archives. The same wheel gives the same bytes, whoever packs it."""

import gzip
import io
import os
import re
import tarfile
import zipfile

INSIDE = "stallcast/_tool/"
# The commit's time, where packaging/wheel says it.
TIME = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))


class Wheel:
    """A wheel of ours: `version`, `architecture`, and `files`, which maps paths below the prefix to (bytes, mode)."""

    def __init__(self, path):
        found = re.fullmatch(r"stallcast-([^-]+)-py3-none-manylinux_(\d+)_(\d+)_(\w+)\.whl", os.path.basename(path))
        if not found:
            raise SystemExit(f"{path} is no wheel of stallcast for manylinux")
        self.version, self.architecture = found.group(1), found.group(4)
        self.glibc = f"{found.group(2)}.{found.group(3)}"
        with zipfile.ZipFile(path) as archive:
            self.files = {
                entry.filename[len(INSIDE):]: (archive.read(entry), mode_of(entry))
                for entry in archive.infolist()
                if entry.filename.startswith(INSIDE) and not entry.is_dir()
            }


def mode_of(entry):
    return 0o755 if entry.external_attr >> 16 & 0o100 else 0o644


def gzipped(data):
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, compresslevel=9, mtime=0) as stream:
        stream.write(data)
    return packed.getvalue()


def tar(files, top):
    """`files` below the folder `top`, in the order of their names, owned by root; each folder before what is in it."""
    content = io.BytesIO()
    told = set()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, (data, mode) in sorted(files.items()):
            parts = name.split("/")[:-1]
            for depth in range(len(parts) + 1):
                folder = "/".join([top, *parts[:depth]])
                if folder not in told:
                    told.add(folder)
                    archive.addfile(member(folder, tarfile.DIRTYPE, 0o755, b""))
            archive.addfile(member(f"{top}/{name}", tarfile.REGTYPE, mode, data), io.BytesIO(data))
    return content.getvalue()


def member(name, kind, mode, data):
    found = tarfile.TarInfo(name)
    found.type, found.mode, found.size, found.mtime = kind, mode, len(data), TIME
    found.uname = found.gname = "root"
    return found


def save(folder, name, data):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
    print(path)
