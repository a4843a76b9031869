"""The capture library as a file: what it needs, what it shows, and how old a libc it can live with."""

import argparse
import re
import subprocess
import sys

OLDEST_GLIBC = (2, 34)
ALLOWED_LIBRARIES = re.compile(r"^(libc\.so|ld-linux|libdl\.so|libpthread\.so)")
C_API = re.compile(r"^stallcast_[a-z_]+$")
INTERPOSED = """
open open64 openat openat64 __open_2 __open64_2 __openat_2 __openat64_2 creat creat64 close close_range closefrom
closedir dup dup2 dup3 fcntl fcntl64 vfork read pread pread64 readv preadv preadv64 preadv2 preadv64v2 __read_chk
__pread_chk __pread64_chk recv recvfrom recvmsg __recv_chk __recvfrom_chk poll __poll_chk
fopen fopen64 freopen freopen64 fclose pclose fread fread_unlocked fseek fseeko fseeko64 __fread_chk
__fread_unlocked_chk fgets fgets_unlocked __fgets_chk __fgets_unlocked_chk getline getdelim __getdelim mmap mmap64 munmap stat
stat64 lstat lstat64 fstat fstat64 fstatat fstatat64 __xstat __xstat64 __lxstat __lxstat64 __fxstat __fxstat64
__fxstatat __fxstatat64 statx
""".split()
# What would allocate, lock or print if it were ever called.
FORBIDDEN = re.compile(r"^(malloc|calloc|realloc|free|printf|fprintf|puts|write|pthread_mutex_\w+|_Zn\w+|__cxa_throw)$")


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed_libraries(library):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-d", library))


def dynamic_symbols(library):
    """Names of the defined and of the undefined dynamic symbols, versions cut off."""
    defined, undefined = set(), set()
    for line in output_of("readelf", "--dyn-syms", "-W", library).splitlines():
        fields = line.split()
        if len(fields) < 8 or not fields[0].rstrip(":").isdigit():
            continue
        (undefined if fields[6] == "UND" else defined).add(fields[7].split("@")[0])
    return defined, undefined


def check(library, header):
    problems = []
    for needed in needed_libraries(library):
        if not ALLOWED_LIBRARIES.match(needed):
            problems.append(f"needs {needed}")
    versions = {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_(\d+\.\d+)", output_of("objdump", "-T", library))}
    if max(versions) > OLDEST_GLIBC:
        problems.append(f"needs glibc {max(versions)}, at most {OLDEST_GLIBC} is allowed")
    defined, undefined = dynamic_symbols(library)
    for name in sorted(defined - set(INTERPOSED)):
        if not C_API.match(name):
            problems.append(f"shows {name}")
    with open(header, encoding="utf-8") as file:
        declared = set(re.findall(r"\b(stallcast_[a-z_]+)\(", file.read()))
    for name in sorted(set(INTERPOSED) | declared):
        if name not in defined:
            problems.append(f"does not define {name}")
    for name in sorted(undefined):
        if FORBIDDEN.match(name):
            problems.append(f"calls {name}")
    # One entry is the compiler's own; more would be ours, and daemon workers die without running them.
    finalizers = re.search(r"\(FINI_ARRAYSZ\)\s+(\d+)", output_of("readelf", "-d", library))
    if finalizers and int(finalizers.group(1)) > 8:
        problems.append("has a finalizer of its own")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("header")
    arguments = parser.parse_args()
    problems = check(arguments.library, arguments.header)
    for problem in problems:
        print(f"{arguments.library}: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
