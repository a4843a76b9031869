"""Examples whose output is the tool's: blocks of Markdown that begin with ```console.

A line "$ stallcast ..." is run by bash in the repository's root, with the tool as `stallcast`; what follows up to the next
such line or the block's end is what it printed. A block is shortened by what the reader sees: `| head -n 12`. Only commands
that read profiles of the repository stand in such blocks.
"""
import os
import re
import subprocess
import tempfile

_UNDERSTOOD = (0, 1, 5, 141)  # statuses of the tool; 141: who reads it has read enough
BLOCK = re.compile(r"(?ms)^```console\n(.*?)^```$")


def commands_of(block):
    """[(command, what the document says it prints)]"""
    parts = re.split(r"(?m)^\$ ", block)
    if parts[0].strip():
        raise ValueError("a console block begins with a command: " + parts[0][:60])
    return [tuple(part.split("\n", 1)) for part in parts[1:]]


class Failed(Exception):
    """A command of an example that printed nothing to show."""


def printed(command, tool, root):
    """Its output, without blanks at the ends of lines. Raises Failed where the tool refused or crashed."""
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.abspath(tool), os.path.join(folder, "stallcast"))
        environment = dict(os.environ, PATH=folder + os.pathsep + os.environ["PATH"], LC_ALL="C.UTF-8", NO_COLOR="1")
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, universal_newlines=True, check=False, env=environment)
    text = "\n".join(line.rstrip() for line in done.stdout.split("\n")).strip("\n")
    if done.returncode not in _UNDERSTOOD or not text:
        raise Failed("status %d of: %s\n%s" % (done.returncode, command, text))
    return text + "\n"


def written_anew(text, tool, root):
    """`text` with the outputs of its console blocks as the tool prints them now."""

    def block(match):
        parts = ["$ %s\n%s" % (command, printed(command, tool, root)) for command, _ in commands_of(match.group(1))]
        return "```console\n" + "\n".join(parts) + "```"

    return BLOCK.sub(block, text)
