"""`railyard pairs`: what to measure after all pairs of nodes, and what all of it says, from outputs alone."""

from collections.abc import Sequence
from pathlib import Path

import click

from railyard.base.bounded_file import read_bounded
from railyard.base.errors import InputError
from railyard.parsers.pairs import parse
from railyard.parsers.parsed import ParseError, Table
from railyard.site.topology import Leaves
from railyard.site.topology import parse as parse_leaves
from railyard.verdict.blame.node_pairs import RAIL_REPEATS, layout_of, next_step, rail_rounds, rounds_text
from railyard.verdict.blame.search.model import PairsError, Settings, Step, Verdict

_outputs = click.argument("outputs", metavar="OUTPUT...", nargs=-1, required=True, type=click.Path(path_type=Path))
_repeats = click.option(
    "--repeats",
    type=click.IntRange(1, 99),
    default=Settings().repeats,
    show_default=True,
    help="How often a suspect is measured alone; the median counts.",
)
_expected = click.option(
    "--expected",
    type=click.FloatRange(min=0, min_open=True),
    metavar="MB/s",
    help="The least that a pair should give; without it pairs are judged by one another.",
)
_switches = click.option(
    "--switches",
    type=click.Path(path_type=Path),
    help="A file with the leaf switch of each node, NODE SWITCH a line: then a slow side of the switch is told too.",
)


@click.group(name="pairs")
def command() -> None:
    """All pairs of nodes: outputs of railyard-pairs, first that of all rounds, then that of each step after it."""


@command.command(name="next")
@_outputs
@_repeats
@_expected
@_switches
def next_command(outputs: tuple[Path, ...], repeats: int, expected: float | None, switches: Path | None) -> int:
    """Print the rounds to measure next, as railyard-pairs reads them; nothing where the verdict is reached."""
    found = _asked(_tables(outputs), outputs, repeats, expected, _leaves(switches))
    if isinstance(found, Step):
        click.echo(rounds_text(found.rounds, found.repeats), nl=False)
    return 0


@command.command(name="rails")
@_outputs
@_repeats
@_expected
@_switches
def rails_command(outputs: tuple[Path, ...], repeats: int, expected: float | None, switches: Path | None) -> int:
    """Print the rounds that tell which rail of a named node is slow; nothing where nobody is named."""
    tables, leaf_of = _tables(outputs), _leaves(switches)
    found = _asked(tables, outputs, repeats, expected, leaf_of)
    if isinstance(found, Verdict):
        click.echo(rounds_text(rail_rounds(found, layout_of(tables[0], expected, leaf_of)), RAIL_REPEATS), nl=False)
    return 0


@command.command(name="judge")
@_outputs
@_repeats
@_expected
@_switches
def judge_command(outputs: tuple[Path, ...], repeats: int, expected: float | None, switches: Path | None) -> int:
    """Say which nodes or pairs are slow; exit 1 where one is named, or where a step is still to be measured."""
    found = _asked(_tables(outputs), outputs, repeats, expected, _leaves(switches))
    if isinstance(found, Step):
        click.echo(f"not judged: {found.why}; measure what `railyard pairs next` prints")
        return 1
    click.echo(found.sentence)
    return 1 if found.named or found.unclear else 0


def _leaves(file: Path | None) -> Leaves:
    if file is None:
        return {}
    try:
        return parse_leaves(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        found = f"no readable file ({error.strerror})" if isinstance(error, OSError) else str(error)
        raise InputError(str(file), found, "a node and its leaf switch a line: node001 leaf1") from None


def _asked(
    tables: Sequence[Table], outputs: tuple[Path, ...], repeats: int, expected: float | None, leaf_of: Leaves
) -> Step | Verdict:
    try:
        return next_step(tables, Settings(repeats=repeats), expected, leaf_of)
    except (ValueError, PairsError) as error:
        wanted = "the output of all pairs, then that of each step after it"
        raise InputError(", ".join(map(str, outputs)), str(error), wanted) from None


def _tables(outputs: tuple[Path, ...]) -> list[Table]:
    """Return the whole table of each output. Raises InputError for a file without one."""
    return [_table(path) for path in outputs]


def _table(path: Path) -> Table:
    expected = "a whole output of railyard-pairs"
    try:
        tables = parse(read_bounded(path).text).tables
    except OSError as error:
        raise InputError(str(path), f"no readable file ({error.strerror})", expected) from None
    except ParseError as error:
        raise InputError(str(path), str(error), expected) from None
    if len(tables) != 1 or not tables[0].complete:
        found = "a table that is cut" if len(tables) == 1 else f"{len(tables)} tables"
        raise InputError(str(path), found, expected)
    return tables[0]
