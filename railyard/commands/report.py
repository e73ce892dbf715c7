"""railyard report: the verdicts of a finished run as a table, a page, JUnit XML or JSON, from its records alone."""

import os
import shutil
import sys
from pathlib import Path

import click

from railyard.report.files import FORMATS, read_results, write_report, written

_SUFFIXES = {".html": "html", ".htm": "html", ".xml": "junit", ".json": "json"}
_DEFAULT_WIDTH = 100


@click.command("report")
@click.argument("results", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
@click.option("--format", "form", type=click.Choice(FORMATS), help="Default: by the ending of -o, else terminal.")
def command(results: Path, output: Path | None, form: str | None) -> int:
    """Show the verdicts of RESULTS, a run's folder or its records.jsonl.

    Exit code: 0 where all is well, 1 where a test failed, left no record, or nothing was judged at all.
    """
    read = read_results(results)
    form = form or (_SUFFIXES.get(output.suffix.lower(), "terminal") if output else "terminal")
    if output:
        write_report(output, written(read, form))
        click.echo(f"wrote {output}", err=True)
    else:
        click.echo(written(read, form, width=_width(), colour=_colour()), nl=False)
    return 0 if read.passed else 1


def _width() -> int:
    """Return the width of the terminal (COLUMNS stands above it), 100 where there is none."""
    return max(40, shutil.get_terminal_size((_DEFAULT_WIDTH, 24)).columns)


def _colour() -> bool:
    """Return whether to colour: on a terminal that can, unless NO_COLOR is set (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
