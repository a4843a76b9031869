"""The tree of a wheel as a tarball to unpack and run: `tarball.py WHEEL FOLDER`. The same wheel gives the same bytes."""

import gzip
import io
import os
import sys
import tarfile
import zipfile

INSIDE = "stallcast/_tool/"


def main():
    wheel, folder = sys.argv[1:]
    version = os.path.basename(wheel).split("-")[1]
    name = f"stallcast-{version}-linux-x86_64"
    content = io.BytesIO()
    with zipfile.ZipFile(wheel) as archive, tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for entry in sorted(archive.infolist(), key=lambda info: info.filename):
            if not entry.filename.startswith(INSIDE) or entry.is_dir():
                continue
            data = archive.read(entry)
            member = tarfile.TarInfo(f"{name}/{entry.filename[len(INSIDE):]}")
            member.size = len(data)
            member.mode = 0o755 if entry.external_attr >> 16 & 0o100 else 0o644
            member.mtime = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
            tar.addfile(member, io.BytesIO(data))
    with open(os.path.join(folder, name + ".tar.gz"), "wb") as file, gzip.GzipFile(
        filename="", mode="wb", fileobj=file, compresslevel=9, mtime=0
    ) as zipped:
        zipped.write(content.getvalue())
    print(os.path.join(folder, name + ".tar.gz"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
