"""How Sphinx makes a site of these pages: `make docs` (it needs no network)."""

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # Sphinx runs this file by itself; fieldpages stands beside it

from fieldpages import write_pages  # noqa: E402

from railyard import __version__  # noqa: E402

project = "Railyard"
copyright = "2026, The Railyard developers"
version = release = __version__

extensions = ["myst_parser", "sphinx_click"]
# `[rules](verdicts.md#rule-4-path)` leads to a heading, in the repository's own view too.
myst_heading_anchors = 3
# Links from these pages to files beside docs/ lead into the repository, which Sphinx does not copy.
suppress_warnings = ["myst.xref_missing"]
exclude_patterns = ["_build"]
smartquotes = False  # two dashes before an option stay two

html_theme = "furo"
html_title = f"Railyard {__version__}"


def setup(app: Any) -> None:
    """Write the pages of fields before Sphinx looks for pages."""
    app.connect("config-inited", lambda app, config: write_pages(HERE / "_generated"))
