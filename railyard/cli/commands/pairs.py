"""`railyard pairs`: says what to measure after all pairs of nodes, and who is slow, from outputs alone."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from railyard.base.errors import InputError
from railyard.base.files import read_bounded
from railyard.benchmarks.node_pairs import is_sample
from railyard.cli import pair_sample
from railyard.cli.pair_runs import COMMANDS
from railyard.cli.pair_sample import Sample, judged_sample, next_of_sample, sample_options
from railyard.parsers.output import ParseError, Table
from railyard.parsers.pairs import parse
from railyard.site.topology import Places
from railyard.site.topology import parse as parse_places
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
    help="The least that a pair should give; without it pairs are compared with each other.",
)
_switches = click.option(
    "--switches",
    type=click.Path(path_type=Path),
    help="A file of lines NODE SWITCH, with the leaf switch of each node, and after a tab its group, if there are "
    "groups: then it also finds slow leaf switches and groups.",
)
_OF_PAIRS, _NCCL = "railyard-pairs", "nccl"
_OF_SAMPLE = ("sample", "budget_s", "round_s", "rails", "up_links", "nightly", "used", "switch_groups", "live")
_tool = click.option(
    "--tool",
    type=click.Choice([_OF_PAIRS, _NCCL]),
    default=_OF_PAIRS,
    show_default=True,
    help="nccl: logs of nccl-tests or rccl-tests between two nodes each, as files, folders or patterns.",
)
_at_once = click.option(
    "--at-once",
    multiple=True,
    metavar="LOG",
    type=click.Path(path_type=Path),
    help="With --tool nccl: logs of pairs that ran at the same time as others; if a pair was measured alone as "
    "well, the better value counts.",
)
#: Options that only one of the tools has.
_ONLY = dict.fromkeys(("repeats", "expected", "first", *_OF_SAMPLE), _OF_PAIRS)
_ONLY |= dict.fromkeys(("at_once", "name_pattern", "fewest", "as_json", "plot", "nodes_have"), _NCCL)
_OPTION = {"as_json": "--json", "budget_s": "--budget", "round_s": "--round"}


@click.group(name="pairs")
def command() -> None:
    """Find slow nodes in measurements of all pairs of nodes."""


for _each in COMMANDS:
    command.add_command(_each)


@command.command(name="next")
@click.argument("outputs", metavar="[OUTPUT]...", nargs=-1, type=click.Path(path_type=Path))
@_tool
@_repeats
@_expected
@_switches
@_at_once
@sample_options
@click.option(
    "--first", type=click.Path(path_type=Path), metavar="FILE",
    help="For a sample: plan it for the nodes in FILE, one node per line, in the order of the ranks.",
)  # fmt: skip
@click.pass_context
def next_command(
    context: click.Context,
    /,
    outputs: tuple[Path, ...],
    tool: str,
    repeats: int,
    expected: float | None,
    switches: Path | None,
    **others: Any,
) -> int:
    """Print the rounds to measure next.

    \b
    Examples:
      railyard pairs next all.out step2.out
      railyard pairs next --sample --first nodes.txt --budget 15min
      railyard pairs next --tool nccl logs/

    OUTPUT is what railyard-pairs printed: first for all rounds, or for the sample, then for each step after it. The
    command prints input for railyard-pairs. With --tool nccl, OUTPUT is logs of nccl-tests, and each printed line is
    one pair: both nodes, and the GPU or "all". It prints nothing once the verdict is reached.
    """
    _refuse_others(context, tool)
    at_once, first = others.pop("at_once"), others.pop("first")
    sample = Sample(**others)
    words: dict[str, Callable[[], str]] = {
        _OF_PAIRS: lambda: _next_of_pairs(outputs, _places(switches), repeats, expected, sample, first),
        _NCCL: lambda: pair_sample.next_text(outputs, at_once, _places(switches).leaf_of),
    }
    click.echo(words[tool](), nl=False)
    return 0


def _next_of_pairs(
    outputs: tuple[Path, ...],
    places: Places,
    repeats: int,
    expected: float | None,
    asked: Sample,
    first: Path | None,
) -> str:
    if not (asked.sample or outputs) or (first is not None and (outputs or not asked.sample)):
        raise click.UsageError("name outputs, or with --sample the nodes of a job: --first FILE")
    if asked.sample:
        return next_of_sample(_tables(outputs), first, asked, expected, places)
    found = _next_step(_tables(outputs), outputs, repeats, expected, places)
    return rounds_text(found.rounds, found.repeats) if isinstance(found, Step) else ""


@command.command(name="rails")
@_outputs
@_repeats
@_expected
@_switches
def rails_command(outputs: tuple[Path, ...], repeats: int, expected: float | None, switches: Path | None) -> int:
    """Print the rounds that show which rail of a slow node is slow.

    \b
    Examples:
      railyard pairs rails all.out step2.out
      railyard pairs rails all.out step2.out --switches leaves.txt

    OUTPUT is as for `railyard pairs next`. It prints nothing if no node, pair or leaf switch is named
    as slow.
    """
    tables, places = _tables(outputs), _places(switches)
    found = _next_step(tables, outputs, repeats, expected, places)
    if isinstance(found, Verdict):
        click.echo(rounds_text(rail_rounds(found, layout_of(tables[0], expected, places)), RAIL_REPEATS), nl=False)
    return 0


@command.command(name="groups")
@click.argument("output", metavar="OUTPUT", type=click.Path(path_type=Path))
@click.option(
    "--expected",
    type=click.FloatRange(min=0, min_open=True),
    metavar="MB/s",
    required=True,
    help="The least busbw that the slowest group should give at the largest size.",
)
def groups_command(output: Path, expected: float) -> int:
    """Print the groups of a run of nccl-tests whose rails to measure.

    \b
    Examples:
      railyard pairs groups nccl.log --expected 32000
      railyard pairs groups nccl.log --expected 48000

    OUTPUT is what nccl-tests printed with NCCL_TESTS_SPLIT. It prints nothing if the slowest group is fast enough.
    """
    for group in pair_sample.slow_groups(output, expected):
        click.echo(group)
    return 0


@command.command(name="judge")
@_outputs
@_tool
@_repeats
@_expected
@_switches
@_at_once
@sample_options
@click.option(
    "--name-pattern",
    metavar="REGEX",
    help="With --tool nccl: find a log's nodes in its file name (groups a and b), if the log does not name them.",
)
@click.option(
    "--nodes-have",
    metavar="WORDS",
    help="With --tool nccl: what each node has, such as gpus=8,nvlink=4,nics=8,link=ib-ndr. Then it also finds what "
    "all pairs share: impossible rates, another network, fewer NICs.",
)
@click.option("--fewest", is_flag=True, help="With --tool nccl: say how few of the logs would have been enough.")
@click.option("--json", "as_json", is_flag=True, help="With --tool nccl: print one JSON object.")
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --tool nccl: draw all pairs of nodes into FILE (.png, .svg or .pdf).",
)
@click.pass_context
def judge_command(
    context: click.Context,
    /,
    outputs: tuple[Path, ...],
    tool: str,
    repeats: int,
    expected: float | None,
    switches: Path | None,
    **others: Any,
) -> int:
    """Say which nodes, pairs or GPUs are slow.

    \b
    Examples:
      railyard pairs judge all.out step2.out
      railyard pairs judge --tool nccl logs/ --json

    OUTPUT is as for `railyard pairs next`; with --tool nccl, logs of nccl-tests.

    Exit code: 0 all are good, 1 something is named or could not be judged, 2 wrong input.
    """
    _refuse_others(context, tool)
    sample = Sample(**{name: others.pop(name) for name in _OF_SAMPLE})
    judges: dict[str, Callable[[], int]] = {
        _OF_PAIRS: lambda: _judge_pairs(outputs, _places(switches), repeats, expected, sample),
        _NCCL: lambda: pair_sample.judge(outputs, _places(switches).leaf_of, pair_sample.JudgeOptions(**others)),
    }
    return judges[tool]()


def _refuse_others(context: click.Context, tool: str) -> None:
    """Raise InputError for an option that only another tool has."""
    for name, only in _ONLY.items():
        if only != tool and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = _OPTION.get(name, f"--{name.replace('_', '-')}")
            raise InputError(option, f"--tool {tool}", f"--tool {only}, since only that has this option")


def _judge_pairs(
    outputs: tuple[Path, ...], places: Places, repeats: int, expected: float | None, sample: Sample
) -> int:
    tables = _tables(outputs)
    if sample.sample or is_sample(tables[0]):
        text, is_good = judged_sample(tables, sample, expected, places)
        click.echo(text)
        return 0 if is_good else 1
    found = _next_step(tables, outputs, repeats, expected, places)
    if isinstance(found, Step):
        click.echo(f"not judged: {found.why}; measure what `railyard pairs next` prints")
        return 1
    click.echo(found.sentence)
    return 1 if found.named or found.unclear else 0


def _places(file: Path | None) -> Places:
    if file is None:
        return Places()
    try:
        return parse_places(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        found = f"no readable file ({error.strerror})" if isinstance(error, OSError) else str(error)
        raise InputError(str(file), found, "a node and its leaf switch a line: node001 leaf1") from None


def _next_step(
    tables: Sequence[Table], outputs: tuple[Path, ...], repeats: int, expected: float | None, places: Places
) -> Step | Verdict:
    try:
        return next_step(tables, Settings(repeats=repeats), expected, places)
    except (ValueError, PairsError) as error:
        wanted = "the output of all pairs, then the output of each step after it"
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
