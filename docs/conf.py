"""How Sphinx makes a site of these pages: `make docs` (it needs no network)."""

import re
from collections.abc import Iterator
from typing import Any

from railyard import __version__

project = "Railyard"
copyright = "2026, The Railyard developers"
version = release = __version__

extensions = ["myst_parser"]
# `[rules](verdicts.md#rule-4-path)` leads to a heading, in the repository's own view too.
myst_heading_anchors = 3
# Links from these pages to files beside docs/ lead into the repository, which Sphinx does not copy.
suppress_warnings = ["myst.xref_missing"]
exclude_patterns = ["_build", "templates"]
smartquotes = False  # two dashes before an option stay two

html_theme = "furo"
templates_path = ["templates"]
html_sidebars = {
    "**": [
        *(f"sidebar/{name}.html" for name in ("brand", "search", "scroll-start", "navigation")),
        "versions.html",
        "sidebar/scroll-end.html",
    ]
}
html_title = f"Railyard {__version__}"

PAGE = re.compile(r"\]\((?P<page>[a-z][\w/-]*)\.md\)")


def contents(index: str) -> Iterator[str]:
    """Yield the site's table of contents: the pages that each section of ``index`` links to, under its heading.

    A code host would show the directive as raw text, so the index itself has links alone.
    """
    for section in index.split("\n## ")[1:]:
        pages = [match["page"] for match in PAGE.finditer(section)]
        yield "\n".join(["", "```{toctree}", ":hidden:", f":caption: {section.splitlines()[0]}", "", *pages, "```", ""])


def setup(app: Any) -> None:
    """Add the table of contents to the index as Sphinx reads it."""

    def add(app: Any, name: str, source: list[str]) -> None:
        if name == "index":
            source[0] += "\n".join(contents(source[0]))

    app.connect("source-read", add)
