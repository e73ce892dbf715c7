"""Each call of railyard that a page shows is valid: its command and options exist, and their values are allowed."""

import re
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import click
import pytest

from railyard.base.errors import RailyardError
from railyard.cli.main import PROGRAM, railyard_group
from railyard.rfm.run.options import read
from tests.made.pages import Call, PageCommand, calls

CALLS = sorted(set(calls()), key=lambda call: (call.page, call.words))


@cache
def of_reframe() -> set[str]:
    """Return every option that reframe has, and -lC, which means two options."""
    program = Path(sys.executable).with_name("reframe")
    help_text = subprocess.run([str(program), "--help"], capture_output=True, text=True, check=True).stdout
    return {*re.findall(r"(?<![\w-])(--?[A-Za-z][\w-]*)", help_text), "-lC"}


def refusal(words: Sequence[str], *, inline: bool = False) -> str | None:
    """Return why the command line is wrong, or None; nothing is run, and files do not have to exist.

    Prose (``inline``) may name an option without its value.
    """
    command: click.Command = railyard_group
    context = click.Context(command, info_name=PROGRAM, **command.context_settings)
    left = list(words)
    try:
        while isinstance(command, click.Group) and left and not left[0].startswith("-"):
            found = command.get_command(context, left[0])
            if found is None:
                return f"no command {left[0]}"
            command, context = found, click.Context(found, context, info_name=left.pop(0), **found.context_settings)
        given, arguments, _ = command.make_parser(context).parse_args(left)
        for parameter in command.params:
            if isinstance(parameter.type, click.Choice) and given.get(parameter.name or "") is not None:
                parameter.type_cast_value(context, given[parameter.name or ""])
        if isinstance(options := given.get("reframe_options"), list | tuple):
            read(list(options))
            unknown = [word for word in options if word.startswith("-") and word.partition("=")[0] not in of_reframe()]
            if unknown:
                return f"no option of reframe: {' '.join(unknown)}"
    except click.BadOptionUsage as error:
        return None if inline and "requires an argument" in str(error) else str(error)
    except (click.ClickException, RailyardError) as error:
        return str(error)
    return f"too many words: {arguments}" if arguments else None


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.page}: {' '.join(call.words)}"[:120])
def test_a_call_that_is_shown_is_one(call: Call) -> None:
    assert refusal(call.words, inline=call.inline) is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("judg osu_bw.out", "no command judg"),
        ("judge osu_bw.out --lnik ib-edr", "No such option"),
        ("judge osu_bw.out another.out", "too many words"),
        ("judge osu_bw.out --link", "requires an argument"),
        ("report last --format pfd", "pfd"),
        ("run --system virtual --dyr-run", "no option of reframe: --dyr-run"),
    ],
)
def test_a_call_that_is_none_is_found(words: str, said: str) -> None:
    assert said in (refusal(words.split()) or "")


def test_pages_of_each_kind_have_calls() -> None:
    folders = {call.page.split("/")[1] for call in CALLS if call.page.startswith("docs/")}
    assert folders >= {"start", "howto", "reference", "explanation"}
    assert len(CALLS) > 150


@pytest.mark.parametrize(
    ("output", "unsaid"),
    [
        (("one", "…", "three is fast"), []),
        (("one", "th… fast"), []),
        (("three is fast", "one"), ["one"]),
        (("one", "two is slow"), ["two is slow"]),
        (("ne",), ["ne"]),
    ],
)
def test_what_a_page_shows_and_a_command_does_not_say_is_found(output: tuple[str, ...], unsaid: list[str]) -> None:
    assert PageCommand("a page", "railyard x", output).missing_lines("one\ntwo is fast\nthree is fast\n") == unsaid
