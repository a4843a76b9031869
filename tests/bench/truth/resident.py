"""Files held in memory for the whole of a run, by a process of its own: "cached" does not stay cached by itself.

  with resident(paths): ...

Run as a program it reads paths from its input up to an empty line, maps and locks them, says how many bytes it holds,
and goes when its input ends.
"""

import contextlib
import pathlib
import subprocess
import sys

MAP_LOCKED = 0x2000
MAP_POPULATE = 0x8000


MOST_MAPS = 50_000  # of one process: vm.max_map_count is 65530 by default


@contextlib.contextmanager
def resident(paths):
    """Holds the files in memory; raises if they could not be locked (RLIMIT_MEMLOCK). The bytes of all of them."""
    with contextlib.ExitStack() as held:
        yield sum(held.enter_context(_holder(paths[at : at + MOST_MAPS])) for at in range(0, len(paths), MOST_MAPS))


@contextlib.contextmanager
def _holder(paths):
    here = pathlib.Path(__file__)
    holder = subprocess.Popen([sys.executable, "-m", f"{here.parent.name}.{here.stem}"], cwd=here.parent.parent,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        holder.stdin.write("\n".join(paths) + "\n\n")
        holder.stdin.flush()
        answer = holder.stdout.readline()
        if not answer.startswith("holding "):
            raise RuntimeError(f"the files could not be locked in memory: {answer or 'the holder died'}")
        yield int(answer.split()[1])
    finally:
        holder.stdin.close()
        holder.stdout.close()
        holder.wait()


def hold():
    from .files import map_file

    held = 0
    try:
        for line in sys.stdin:
            if not line.strip():
                break
            held += map_file(line.rstrip("\n"), MAP_LOCKED | MAP_POPULATE)[1]
    except OSError as error:
        print(f"failed {error}", flush=True)
        return
    print(f"holding {held}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    hold()
