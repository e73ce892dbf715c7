"""How a command prints sentences: folded to the terminal, one a line for a file or a program."""

import click

from railyard.base.terminal import error_width, line_width, wrapped


def say(text: str, *, err: bool = False) -> None:
    """Print lines, on standard error where ``err``; on a terminal each ends between words and none is too wide."""
    click.echo(wrapped(text, error_width() if err else line_width()), err=err)
