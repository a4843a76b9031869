#!/usr/bin/env python3
"""check_names.py ROOT FOLDER: compiles every library of ROOT as one source, and lists what fails.

Unity builds (presets release and asan) put some files of a library into one source: two helpers, constants or structs
of one name then clash, but only where both happen to fall into the same one. Here all files do. A clash between two
headers of one namespace is worse than that: it is undefined behaviour in every build. FOLDER is configured for it;
nothing is built. The cure is a name that says more, or one place for what both files need.
"""
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys


def configure(root, folder):
    options = ["-DSTALLCAST_TESTS=OFF", "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=0",
               "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    subprocess.run(["cmake", "-S", root, "-B", folder, "-G", "Ninja", *options], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", folder, "reports/html/assets.cpp"], check=True, stdout=subprocess.DEVNULL)
    commands = json.load(open(os.path.join(folder, "compile_commands.json"), encoding="utf-8"))
    return [command for command in commands if "/Unity/" in command["file"]]


def check(command):
    words = shlex.split(command["command"])
    words = words[: words.index("-o")] + ["-fsyntax-only", command["file"]]
    done = subprocess.run(words, cwd=command["directory"], stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stderr


def main(root, folder):
    commands = configure(root, folder)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(check, commands))
    for status, errors in results:
        if status != 0:
            sys.stdout.write(errors)
    print("%d libraries as one source each, %d do not compile" % (len(results), sum(s != 0 for s, _ in results)))
    return 0 if results and all(status == 0 for status, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
