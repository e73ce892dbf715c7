"""The help of every command, below the words of docs/reference/commands.md.

``python docs/command_page.py`` writes that page again; ``make docs`` does so.
"""

from collections.abc import Iterator
from pathlib import Path

import click
from click.testing import CliRunner

from railyard.cli.main import PROGRAM, railyard_group

PAGE = Path(__file__).parent / "reference" / "commands.md"
#: All below this line is made from the commands.
MARK = "<!-- below: written by make docs -->\n"
#: Of a terminal with 80 columns click uses two less.
COLUMNS = 78


def with_commands(page: str) -> str:
    """Return ``page`` with the commands' help below its mark. Raises ValueError where it has no mark."""
    words, mark, _ = page.partition(MARK)
    if not mark:
        raise ValueError(f"{PAGE.name}: found no line {MARK.strip()!r}, expected one above the commands")
    return words + mark + "".join(sections())


def sections() -> Iterator[str]:
    """Yield a section for each command: a heading, and its `--help` as a terminal shows it."""
    runner = CliRunner()
    for path, command in commands():
        # click keeps the help option of a command's first call, and without its group that one has no -h.
        command._help_option = None
        level = "##" if len(path) < 3 else "###"
        words = [*path[1:], "--help"]
        shown = runner.invoke(railyard_group, words, catch_exceptions=False, prog_name=PROGRAM, terminal_width=COLUMNS)
        yield f"\n{level} {' '.join(path)}\n\n```text\n{shown.stdout.rstrip()}\n```\n"


def commands() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield each command with the words that call it: a group, then the commands in it, in the order of its help."""
    yield from _below((PROGRAM,), railyard_group)


def _below(path: tuple[str, ...], command: click.Command) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        with click.Context(command, info_name=path[-1]) as context:
            for name in command.list_commands(context):
                found = command.get_command(context, name)
                if found is not None and not found.hidden:
                    yield from _below((*path, name), found)


if __name__ == "__main__":
    PAGE.write_text(with_commands(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
