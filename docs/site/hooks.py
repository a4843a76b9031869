"""What mkdocs calls while it builds the site (mkdocs.yml, `hooks`)."""
import os
import re
import sys

from mkdocs.structure.files import File

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import links  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHANGELOG = "CHANGELOG.md"


def on_files(files, config):
    """The site's own programs are no part of it; the changelog lies in the repository's root and is one."""
    for file in list(files):
        if file.src_path.replace(os.sep, "/").startswith("site/"):
            files.remove(file)
    files.append(File(CHANGELOG, ROOT, config["site_dir"], config["use_directory_urls"]))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links out of docs/ lead to files of the repository: to where it is, if that is known, else they are names."""
    source = os.path.join("docs", page.file.src_path) if page.file.src_path != CHANGELOG else CHANGELOG
    base = os.environ.get("STALLCAST_REPOSITORY", "").rstrip("/")

    def replaced(match):
        words, target = match.group(1), match.group(2)
        path = links.outside(source, target)
        if path is None or path == CHANGELOG:
            return match.group(0) if path is None else "[%s](%s)" % (words, links.relative(source, "docs/" + CHANGELOG))
        return "[%s](%s/%s)" % (words, base, path) if base else words

    return re.sub(links.LINK, replaced, markdown)
