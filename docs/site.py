"""The pages as a site with a folder for each version: `make docs`, and the job `pages` of ci/release.gitlab-ci.yml.

    docs/site.py OUT [--name NAME] [TAG…]

This tree is built into OUT/NAME (if left out, its version), and each tag, such as v1.4.0, into OUT/1.4.0, from git.
OUT/index.html leads to the newest version, and OUT/versions.html lists all. A warning of Sphinx is an error.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from html import escape
from pathlib import Path

from railyard import __version__

CLONE = Path(__file__).resolve().parent.parent
RELEASE = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")


def build(tree: Path, folder: Path, name: str) -> None:
    """Build the pages of a clone into a folder. Raises CalledProcessError for a warning of Sphinx, too."""
    words = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--quiet", "-D", f"html_title=Railyard {name}"]
    with tempfile.TemporaryDirectory() as doctrees:
        places = ["-d", doctrees, str(tree / "docs"), str(folder)]
        # The pages of another version import the railyard of that version.
        subprocess.run([*words, *places], env=os.environ | {"PYTHONPATH": str(tree)}, check=True)


def build_tag(tag: str, out: Path) -> str:
    """Build the pages of a tag, with the Sphinx that is here; return its name."""
    name = tag.removeprefix("v")
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "tree"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(tree), tag], cwd=CLONE, check=True)
        try:
            build(tree, out / name, name)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=CLONE, check=True)
    return name


def newest_first(names: Sequence[str]) -> list[str]:
    """Return the names with releases first, the newest at the top, then others such as a branch."""

    def key(name: str) -> tuple[int, ...]:
        numbers = RELEASE.fullmatch(name)
        return tuple(map(int, numbers.groups())) if numbers else (-1,)

    return sorted(dict.fromkeys(names), key=key, reverse=True)


def versions_page(names: Sequence[str]) -> str:
    """Return the page that lists the versions, the newest first."""
    items = "".join(f'<li><a href="{escape(name)}/index.html">{escape(name)}</a></li>' for name in names)
    return f"{_head('Versions of Railyard')}<h1>Versions of Railyard</h1><ul>{items}</ul>\n"


def first_page(name: str) -> str:
    """Return the page that leads to a version."""
    target = f"{escape(name)}/index.html"
    forward = f'<meta http-equiv="refresh" content="0; url={target}">'
    return f'{_head("Railyard")}{forward}<a href="{target}">Railyard {escape(name)}</a>\n'


def _head(title: str) -> str:
    return f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'


def main(words: Sequence[str] | None = None) -> int:
    """Build what was asked for; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--name", default=__version__, help="folder of this tree's pages, such as main")
    parser.add_argument("tags", nargs="*")
    asked = parser.parse_intermixed_args(words)  # an option may come between the folder and the tags
    out = asked.out.resolve()
    try:
        build(CLONE, out / asked.name, asked.name)
        names = newest_first([asked.name, *(build_tag(tag, out) for tag in asked.tags)])
    except subprocess.CalledProcessError as error:
        print(f"site: {' '.join(map(str, error.cmd))} failed; its message is above", file=sys.stderr)
        return 1
    (out / "versions.html").write_text(versions_page(names), encoding="utf-8")
    (out / "index.html").write_text(first_page(names[0]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
