"""Options that several commands have, and what the name of a file to write says of its form."""

import re
from collections.abc import Mapping
from pathlib import Path

import click

from railyard.base.errors import RailyardError
from railyard.base.wording import either

#: The beginning of a UTC time as records have it.
_TIME = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2}(?:T\d{2}(?::\d{2}(?::\d{2}Z?)?)?)?)?)?")


def time_given(_context: click.Context, _option: click.Parameter, text: str | None) -> str | None:
    """Return a time as it is given. Raises click.BadParameter for what is none: it would select all runs, or none."""
    if text is not None and not _TIME.fullmatch(text):
        raise click.BadParameter(f'found "{text}", expected a time such as 2026, 2026-11 or 2026-11-21T06:00')
    return text


SINCE_AND_UNTIL = (
    click.option(
        "--since", callback=time_given, help="Written then or later: 2026, 2026-11, 2026-11-21, 2026-11-21T06:00 (UTC)."
    ),
    click.option("--until", callback=time_given, help="Written before then."),
)


def form_of(output: Path | None, forms: Mapping[str, str], default: str) -> str:
    """Return the form that a file's ending asks for, ``default`` where nothing is written to a file.

    ``forms`` has the form of each ending. Raises RailyardError for another one: a file would hold what its name denies.
    """
    if output is None:
        return default
    form = forms.get(output.suffix.lower())
    if form is None:
        endings = either([*forms])
        raise RailyardError(f'-o: found "{output}", expected a name that ends in {endings}; or name it by --format')
    return form
