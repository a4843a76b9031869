"""Nodes of a small cluster on one machine: a network namespace each, a bridge, limited links and cores (root).

  with Nodes(4, link_bytes_per_s=20e6, cpus=0.45) as nodes:
      subprocess.Popen(nodes.wrap(2, ["python3", "rank.py"]))

A node's files and control groups are those of the machine. Raises Unavailable where the kernel lets us make none.
"""

import contextlib
import subprocess

from .limits import Limits, Unavailable

BRIDGE, INTERFACE = "scb-bridge", "eth0"
BURST_BYTES = 64 * 1024
PAYLOAD = 1448 / 1514  # of a TCP stream in frames of 1,500 bytes: links are given as a stream gets them


def ip(*words):
    done = subprocess.run(["ip", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable(f"ip {' '.join(words)}: {done.stdout.strip()}")


def limit_link(interface, bytes_per_s, inside=None):
    """What leaves through the interface is held to this rate."""
    prefix = ["ip", "netns", "exec", inside] if inside else []
    done = subprocess.run([*prefix, "tc", "qdisc", "add", "dev", interface, "root", "tbf", "rate",
                           f"{int(8 * bytes_per_s)}bit", "burst", str(BURST_BYTES), "latency", "400ms"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable(f"tc on {interface}: {done.stdout.strip()}")


class Nodes:
    def __init__(self, count, link_bytes_per_s, cpus, shared=None):
        """`shared`: limits of all nodes together (their disk), entered and left by the caller."""
        self.count, self.link_bytes_per_s, self.shared = count, link_bytes_per_s, shared
        # A fine period: a node with half a core runs at half the speed, and not at full speed half of the time, when
        # what several do at once would need more cores than there are.
        self.limits = [Limits(cpus=cpus, name=f"-{number}", period_us=20_000) for number in range(count)]
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            clear()
            stack.callback(clear)
            ip("link", "add", BRIDGE, "type", "bridge")
            ip("link", "set", BRIDGE, "up")
            for number, limits in enumerate(self.limits):
                stack.enter_context(limits)
                self.add_node(number)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def add_node(self, number):
        name, outside = f"scb-{number}", f"scb-veth{number}"
        ip("netns", "add", name)
        ip("link", "add", outside, "type", "veth", "peer", "name", INTERFACE, "netns", name)
        ip("link", "set", outside, "master", BRIDGE)
        ip("link", "set", outside, "up")
        ip("-n", name, "addr", "add", f"{self.address(number)}/24", "dev", INTERFACE)
        ip("-n", name, "link", "set", INTERFACE, "up")
        ip("-n", name, "link", "set", "lo", "up")
        limit_link(outside, self.link_bytes_per_s / PAYLOAD)
        limit_link(INTERFACE, self.link_bytes_per_s / PAYLOAD, inside=name)

    @staticmethod
    def address(number):
        return f"10.77.0.{number + 1}"

    def wrap(self, number, command):
        """The command on that node. nsenter, because `ip netns exec` hides the control groups from what it starts."""
        inside = ["nsenter", f"--net=/run/netns/scb-{number}", "env", f"GLOO_SOCKET_IFNAME={INTERFACE}", *command]
        inside = self.limits[number].wrap(inside)
        return self.shared.wrap(inside) if self.shared else inside


def clear():
    """Takes away what this or an earlier, killed benchmark has made."""
    known = subprocess.run(["ip", "netns", "list"], stdout=subprocess.PIPE, text=True, check=False).stdout
    for line in known.splitlines():
        if line.startswith("scb-"):
            subprocess.run(["ip", "netns", "delete", line.split()[0]], check=False)
    subprocess.run(["ip", "link", "delete", BRIDGE], stderr=subprocess.DEVNULL, check=False)
