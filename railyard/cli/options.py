"""Options that several commands share, and the form of an output file by its name's ending."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import click

from railyard.base.errors import RailyardError
from railyard.base.terminal import error_width, line_width, wrap_lines
from railyard.base.wording import either

Command = TypeVar("Command", bound=Callable[..., object])
#: The beginning of a UTC time as in records.
_TIME = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2}(?:T\d{2}(?::\d{2}(?::\d{2}Z?)?)?)?)?)?")


def time_given(_context: click.Context, _option: click.Parameter, text: str | None) -> str | None:
    """Return a time as given. Raises click.BadParameter if it is not a time: it would select all runs, or none."""
    if text is not None and not _TIME.fullmatch(text):
        raise click.BadParameter(f'found "{text}", expected a time such as 2026, 2026-11 or 2026-11-21T06:00')
    return text


SINCE_AND_UNTIL = (
    click.option(
        "--since", callback=time_given, help="Written then or later: 2026, 2026-11, 2026-11-21, 2026-11-21T06:00 (UTC)."
    ),
    click.option("--until", callback=time_given, help="Written before then."),
)


def checks_option(help_text: str) -> Callable[[Command], Command]:
    """Return the option for files and folders of checks, as ReFrame names it: the parameter ``places``."""
    kind = click.Path(path_type=Path)
    return click.option("-c", "--checkpath", "places", metavar="PLACE", type=kind, multiple=True, help=help_text)


def form_of(output: Path | None, forms: Mapping[str, str], default: str) -> str:
    """Return the form that a file's ending asks for, or ``default`` if there is no file.

    ``forms``: ending -> form. Raises RailyardError for another ending: the file's name and content would not fit.
    """
    if output is None:
        return default
    form = forms.get(output.suffix.lower())
    if form is None:
        endings = either([*forms])
        raise RailyardError(f'-o: found "{output}", expected a name that ends in {endings}; or name it by --format')
    return form


def say(text: str, *, err: bool = False) -> None:
    """Print lines, on standard error if ``err``. On a terminal, break them between words so that none is too wide."""
    click.echo(wrap_lines(text, error_width() if err else line_width()), err=err)
