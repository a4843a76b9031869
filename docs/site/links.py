"""Links of Markdown files: where they lead within the repository."""
import os
import posixpath
import re

# [words](target), not an image, not within a line of code. Code blocks have no such links here.
LINK = re.compile(r"(?<!!)\[([^\]\[]+)\]\(([^)\s]+)\)")
ANY_LINK = re.compile(r"!?\[([^\]\[]*)\]\(([^)\s]+)\)")


def is_external(target):
    return re.match(r"[a-z]+:", target) is not None


def resolved(source, target):
    """The path from the repository's root that `target` names in `source` (itself such a path), without its anchor."""
    path = target.split("#")[0]
    if not path:
        return source
    return posixpath.normpath(posixpath.join(posixpath.dirname(source.replace(os.sep, "/")), path))


def outside(source, target):
    """The same if it lies outside docs/, else None."""
    if is_external(target):
        return None
    path = resolved(source, target)
    return None if path.startswith("docs/") else path


def relative(source, path):
    return posixpath.relpath(path, posixpath.dirname(source.replace(os.sep, "/")) or ".")


def without_code(text):
    """`text` without its fenced blocks and lines of code, in which no link is one."""
    text = re.sub(r"(?ms)^ *```.*?^ *```", "", text)
    return re.sub(r"`[^`\n]*`", "", text)
