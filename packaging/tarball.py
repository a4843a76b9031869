"""The tree of a wheel as a tarball to unpack and run: `tarball.py WHEEL FOLDER`."""

import sys

import tree


def main():
    path, folder = sys.argv[1:]
    wheel = tree.Wheel(path)
    name = f"stallcast-{wheel.version}-linux-{wheel.architecture}"
    tree.save(folder, name + ".tar.gz", tree.gzipped(tree.tar(wheel.files, name)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
