"""What `--help` says: every command in a group, no description cut, examples that are commands, 80 columns."""

import inspect
import re
import shlex
from collections.abc import Iterator

import click
import pytest

from railyard.cli.main import GROUPS, railyard_group

WIDTH = 80


def groups(group: click.Group = railyard_group, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of each group of commands, those of `railyard` itself first."""
    yield words
    for name, command in _members(group):
        if isinstance(command, click.Group):
            yield from groups(command, (*words, name))


def leaves(group: click.Group = railyard_group, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of each command that does something: ("results", "list")."""
    for name, command in _members(group):
        if isinstance(command, click.Group):
            yield from leaves(command, (*words, name))
        else:
            yield (*words, name)


def _members(group: click.Group) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield name, command


def find_command(words: tuple[str, ...]) -> tuple[click.Command, click.Context]:
    """Return a command, and a context in which it prints its help for 80 columns."""
    command: click.Command = railyard_group
    context = click.Context(
        command, info_name="railyard", terminal_width=WIDTH - 2, max_content_width=WIDTH, **command.context_settings
    )
    for word in words:
        assert isinstance(command, click.Group)
        inner = command.get_command(context, word)
        assert inner is not None
        command, context = inner, click.Context(inner, info_name=word, parent=context)
    return command, context


def help_of(words: tuple[str, ...]) -> str:
    command, context = find_command(words)
    return command.get_help(context)


def examples(words: tuple[str, ...]) -> list[str]:
    """Return the command lines below "Examples:", without the words that say what they do."""
    lines = help_of(words).partition("\n  Examples:\n")[2].partition("\n\n")[0].splitlines()
    return [re.split(r"\s{3,}", line.strip())[0] for line in lines]


LEAVES = [*leaves()]
GROUPS_OF_COMMANDS = [*groups()]
EXAMPLES = [(words, line) for words in LEAVES for line in examples(words)] + [((), line) for line in examples(())]


def test_every_command_is_in_one_group_of_the_list() -> None:
    listed = [name for names in GROUPS.values() for name in names]
    assert sorted(listed) == railyard_group.list_commands(click.Context(railyard_group))


def test_the_list_has_the_groups_in_their_order() -> None:
    headings = re.findall(r"^(\S.*):$", help_of(()), re.MULTILINE)
    assert headings == ["Options", *GROUPS]


@pytest.mark.parametrize("words", GROUPS_OF_COMMANDS, ids=" ".join)
def test_no_description_is_cut_or_folded(words: tuple[str, ...]) -> None:
    group, _ = find_command(words)
    assert isinstance(group, click.Group)
    text = help_of(words)
    for name, command in _members(group):
        first = inspect.cleandoc(command.help or "").split("\n\n")[0]
        assert re.fullmatch(r"\S[^\n]*\.", first), f"{name}: one sentence on one line"
        # click leaves the last full stop of a list out
        assert re.search(rf"^  {name} +{re.escape(first.removesuffix('.'))}\.?$", text, re.MULTILINE), first


@pytest.mark.parametrize("words", [*GROUPS_OF_COMMANDS, *LEAVES], ids=" ".join)
def test_help_fits_80_columns(words: tuple[str, ...]) -> None:
    assert [line for line in help_of(words).splitlines() if len(line) > WIDTH] == []


@pytest.mark.parametrize("words", [(), *LEAVES], ids=" ".join)
def test_every_command_shows_two_examples_first(words: tuple[str, ...]) -> None:
    command, _ = find_command(words)
    assert len(examples(words)) >= 2
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    assert paragraphs[1].startswith("\b\nExamples:\n")
    assert any(f"railyard {' '.join(words)}".strip() in line for line in examples(words))


@pytest.mark.parametrize(("words", "line"), EXAMPLES, ids=[line for _, line in EXAMPLES])
def test_an_example_is_a_command_line(words: tuple[str, ...], line: str) -> None:
    calls = [part.strip() for part in re.split(r"\||&&", line)]
    ours = [shlex.split(call)[1:] for call in calls if call.startswith("railyard ")]
    assert ours
    for given in ours:
        command, context = find_command(())
        while isinstance(command, click.Group):
            inner = command.get_command(context, given[0])
            assert inner is not None, given[0]
            command, given = inner, given[1:]
        command.make_context("railyard", list(given))  # raises click.UsageError for what it does not take
