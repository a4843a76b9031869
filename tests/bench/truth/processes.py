"""A command that can be stopped with all the processes it has started, and go on later."""

import os
import signal
import subprocess
import time


def _parents():
    """{process: its parent} of all that run."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    found[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError):
                continue  # it has ended
    return found


class Stoppable:
    """A running command. Its processes are those that descend from it."""

    def __init__(self, command, environment, errors):
        self._process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                         stderr=errors, start_new_session=True)

    def is_running(self):
        return self._process.poll() is None

    def _tree(self):
        """Its processes, parents before their children."""
        parents = _parents()
        found = [self._process.pid]
        for parent in found:
            found.extend(child for child, its in parents.items() if its == parent)
        return found

    def _signal(self, processes, number):
        for process in processes:
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass

    def stop(self):
        """Once this returns none of its processes runs. A parent is stopped first: it starts no more of them."""
        stopped = []
        while True:
            tree = [process for process in self._tree() if process not in stopped]
            if not tree:
                return
            self._signal(tree, signal.SIGSTOP)
            stopped += tree
            time.sleep(0.002)  # a fork that was under way

    def go_on(self):
        self._signal(self._tree()[::-1], signal.SIGCONT)

    def kill(self):
        self.stop()
        self._signal(self._tree()[::-1], signal.SIGKILL)
        self._process.wait()
