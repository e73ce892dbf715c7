"""How a command prints sentences: folded to fit the terminal; for a file or a program, one per line."""

import click

from railyard.base.terminal import error_width, line_width, wrap_lines


def say(text: str, *, err: bool = False) -> None:
    """Print lines, on standard error if ``err``. On a terminal, break them between words so that none is too wide."""
    click.echo(wrap_lines(text, error_width() if err else line_width()), err=err)
