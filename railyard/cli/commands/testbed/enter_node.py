"""The end of ``exec`` for both kinds of testbeds: this process becomes a command in a node."""

import os
from pathlib import Path
from typing import NoReturn

import click


def become(enter: Path, node: str, words: tuple[str, ...]) -> NoReturn:
    """Become this command in a node, so that signals and the terminal are its own.

    ``enter`` is the testbed's script, ``words`` the command, which may begin with ``--``. Raises click.UsageError if no
    command is left.
    """
    command = words[1:] if words[:1] == ("--",) else words
    if not command:
        raise click.UsageError(f"no command was given: {click.get_current_context().command_path} NODE -- COMMAND...")
    os.execv(enter, [str(enter), node, "--", *command])
