"""The help of every command, below the words of docs/reference/commands.md, and as a manual page, `man railyard`.

``python docs/command_page.py`` writes both again; ``make docs`` does so.
"""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click
from click.testing import CliRunner

from railyard import __version__
from railyard.cli.main import PROGRAM, railyard_group

PAGE = Path(__file__).parent / "reference" / "commands.md"
MANUAL = Path(__file__).parent / "reference" / "railyard.1"
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
    yield from _commands_below((PROGRAM,), railyard_group)


def _commands_below(path: tuple[str, ...], command: click.Command) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        with click.Context(command, info_name=path[-1]) as context:
            for name in command.list_commands(context):
                found = command.get_command(context, name)
                if found is not None and not found.hidden:
                    yield from _commands_below((*path, name), found)


# --- the manual page --------------------------------------------------------------------------------------------------

#: What the commands' help does not say.
ENVIRONMENT = {
    "RAILYARD_HOME": "the folder of your site or clone; else it is the working folder",
    "NO_COLOR": "if it is set, a terminal gets no colours either",
    "COLUMNS": "how wide tables and sentences are",
}


def manual_page() -> str:
    """Return railyard(1): what `--help` says of each command, in the macros of man(7)."""
    (_, group), *others = commands()
    purpose = _paragraphs(group)[0].partition(":")[0]
    lines = [
        "'\\\" -*- coding: UTF-8 -*-",
        '.\\" written by make docs from the commands themselves: change those',
        f'.TH RAILYARD 1 "" "{PROGRAM} {__version__}" "User Commands"',
        ".SH NAME",
        f"{PROGRAM} \\- {_roff(purpose[:1].lower() + purpose[1:])}",
        ".SH SYNOPSIS",
        f".B {_roff(_usage((PROGRAM,), group))}",
        ".SH DESCRIPTION",
        *_text(_paragraphs(group)),
        ".SH OPTIONS",
        *_options((PROGRAM,), group, helped=True),
        ".SH COMMANDS",
    ]
    for path, command in others:
        lines += [f".SS {_roff(_usage(path, command))}", *_text(_paragraphs(command)), *_options(path, command)]
    lines.append(".SH ENVIRONMENT")
    for name, says in ENVIRONMENT.items():
        lines += [".TP", f".B {name}", _roff(says)]
    return "\n".join([*lines, ".SH SEE ALSO", ".BR reframe (1),", ".BR spack (1)", ""])


def _paragraphs(command: click.Command) -> list[str]:
    return inspect.cleandoc(command.help or "").partition("\f")[0].strip().split("\n\n")


def _usage(path: tuple[str, ...], command: click.Command) -> str:
    with click.Context(command, info_name=path[-1]) as context:
        return " ".join((*path, *command.collect_usage_pieces(context)))


def _text(paragraphs: list[str]) -> Iterator[str]:
    """Yield the lines of paragraphs; click's mark ``\\b`` begins one whose lines stay as they are."""
    for number, paragraph in enumerate(paragraphs):
        lines = paragraph.splitlines()
        if number > 0:
            yield ".PP"
        if lines[0].strip() == "\b":
            yield from (".nf", *map(_roff, lines[1:]), ".fi")
        else:
            yield _roff(" ".join(paragraph.split()))


def _options(path: tuple[str, ...], command: click.Command, helped: bool = False) -> Iterator[str]:
    """Yield what each option is for; `--help`, which each command has, only if ``helped``."""
    command._help_option = None  # as in sections()
    with click.Context(command, info_name=path[-1], **command.context_settings) as context:
        for parameter in command.get_params(context):
            record = parameter.get_help_record(context)
            if record is not None and (helped or parameter.name != "help"):
                yield from (".TP", f".B {_roff(record[0])}", _roff(" ".join(record[1].split())))


def _roff(text: str) -> str:
    """Return text with its backslashes and dashes as they are, and no dot or quote at the start that is a macro."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", escaped)


if __name__ == "__main__":
    MANUAL.write_text(manual_page(), encoding="utf-8")
    PAGE.write_text(with_commands(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
