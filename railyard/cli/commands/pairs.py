"""`railyard pairs`: what to measure after all pairs of nodes, and what all of it says, from outputs alone."""

import glob
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from railyard.base.bounded_file import read_bounded
from railyard.base.errors import InputError
from railyard.parsers.pairs import parse
from railyard.parsers.parsed import ParseError, Table
from railyard.site.topology import Leaves
from railyard.site.topology import parse as parse_leaves
from railyard.verdict.blame.node_pairs import RAIL_REPEATS, layout_of, next_step, rail_rounds, rounds_text
from railyard.verdict.blame.search.model import PairsError, Settings, Step, Verdict

if TYPE_CHECKING:
    from railyard.verdict.blame.gpu_pairs import Recorded

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


_OF_PAIRS, _NCCL = "railyard-pairs", "nccl"
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
    help="With --tool nccl: logs of pairs that were measured at once with others; of a pair that was measured alone as "
    "well, the better value counts.",
)
#: Options that one of the tools alone has.
_ONLY = {"repeats": _OF_PAIRS, "expected": _OF_PAIRS}
_ONLY |= dict.fromkeys(("at_once", "name_pattern", "fewest", "as_json", "plot"), _NCCL)


@click.group(name="pairs")
def command() -> None:
    """All pairs of nodes: outputs of railyard-pairs, first that of all rounds, then that of each step after it."""


@command.command(name="next")
@_outputs
@_tool
@_repeats
@_expected
@_switches
@_at_once
@click.pass_context
def next_command(
    context: click.Context,
    /,
    outputs: tuple[Path, ...],
    tool: str,
    repeats: int,
    expected: float | None,
    switches: Path | None,
    at_once: tuple[Path, ...],
) -> int:
    """Print what to measure next; nothing where the verdict is reached.

    Of railyard-pairs these are rounds, as it reads them; of nccl one pair a line: both nodes, and the GPU or "all".
    """
    _refuse_others(context, tool)
    says: dict[str, Callable[[], None]] = {
        _OF_PAIRS: lambda: _next_of_pairs(outputs, repeats, expected, _leaves(switches)),
        _NCCL: lambda: _next_of_nccl(outputs, at_once, _leaves(switches)),
    }
    says[tool]()
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
    """Print the groups of a run of nccl-tests (NCCL_TESTS_SPLIT) whose rails to measure; nothing where it is fast."""
    from railyard.parsers.nccl import parse as parse_nccl
    from railyard.verdict.gpu.rails import groups_to_measure

    try:
        tables = parse_nccl(_text(output)).tables
    except ParseError as error:
        raise InputError(str(output), str(error), "an output of nccl-tests") from None
    for group in groups_to_measure(tables, expected):
        click.echo(group)
    return 0


@command.command(name="judge")
@_outputs
@_tool
@_repeats
@_expected
@_switches
@_at_once
@click.option(
    "--name-pattern",
    metavar="REGEX",
    help="With --tool nccl: which nodes a log is of, where it does not say so: groups a and b, found in its name.",
)
@click.option("--fewest", is_flag=True, help="With --tool nccl: how few of the logs would have given the same answer.")
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
    **of_nccl: Any,
) -> int:
    """Say who is slow: nodes, pairs, or GPUs; exit 1 where one is named, or something could not be judged."""
    _refuse_others(context, tool)
    judges: dict[str, Callable[[], int]] = {
        _OF_PAIRS: lambda: _judge_pairs(outputs, _leaves(switches), repeats, expected),
        _NCCL: lambda: _judge_nccl(outputs, _leaves(switches), **of_nccl),
    }
    return judges[tool]()


def _refuse_others(context: click.Context, tool: str) -> None:
    """Raise InputError for an option that another tool alone has."""
    for name, only in _ONLY.items():
        if only != tool and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = "--json" if name == "as_json" else f"--{name.replace('_', '-')}"
            raise InputError(option, f"--tool {tool}", f"--tool {only}, of which alone it is an option")


def _next_of_pairs(outputs: tuple[Path, ...], repeats: int, expected: float | None, leaf_of: Leaves) -> None:
    found = _asked(_tables(outputs), outputs, repeats, expected, leaf_of)
    if isinstance(found, Step):
        click.echo(rounds_text(found.rounds, found.repeats), nl=False)


def _next_of_nccl(given: Sequence[Path], at_once: Sequence[Path], leaf_of: Leaves) -> None:
    from railyard.verdict.blame.gpu_pairs_next import judged_again, next_pairs

    recorded, early = _recorded(given, at_once, None)
    for ask in next_pairs(judged_again(recorded, early, leaf_of)):
        click.echo(ask.word)


def _judge_pairs(outputs: tuple[Path, ...], leaf_of: Leaves, repeats: int, expected: float | None) -> int:
    found = _asked(_tables(outputs), outputs, repeats, expected, leaf_of)
    if isinstance(found, Step):
        click.echo(f"not judged: {found.why}; measure what `railyard pairs next` prints")
        return 1
    click.echo(found.sentence)
    return 1 if found.named or found.unclear else 0


def _judge_nccl(
    given: Sequence[Path],
    leaf_of: Leaves,
    at_once: Sequence[Path],
    name_pattern: str | None,
    fewest: bool,
    as_json: bool,
    plot: Path | None,
) -> int:
    from railyard.verdict.blame import gpu_pairs, gpu_pairs_text
    from railyard.verdict.blame.gpu_pairs_next import judged_again

    recorded, early = _recorded(given, at_once, name_pattern)
    found = judged_again(recorded, early, leaf_of).judged
    few = gpu_pairs.sufficient(found, leaf_of) if fewest else None
    if plot is not None:
        from railyard.results.report.pair_plot import write_pair_plot
        from railyard.verdict.blame.gpu_pairs_plot import marked, ordered, panels, title

        write_pair_plot(panels(found), ordered(found), marked(found), title(found), plot)
        click.echo(f"wrote {plot}", err=True)
    if as_json:
        click.echo(json.dumps(gpu_pairs_text.as_json(found, few), ensure_ascii=False, allow_nan=False, indent=1))
    else:
        click.echo(gpu_pairs_text.text(found, few), nl=False)
    return 0 if found.is_good else 1


def _recorded(
    given: Sequence[Path], at_once: Sequence[Path], name_pattern: str | None
) -> tuple["Recorded", frozenset[str]]:
    """Return what logs hold, and the names of those that were measured at once with others.

    Raises InputError where no log has a test of two nodes.
    """
    from railyard.verdict.blame import gpu_pairs

    early = _files(at_once)
    files = list(dict.fromkeys((*early, *_files(given))))
    names = [file.name for file in files]
    shown = dict(zip(files, names if len(set(names)) == len(names) else map(str, files), strict=True))
    recorded = gpu_pairs.recorded(((shown[file], _text(file)) for file in files), _pattern(name_pattern))
    if not recorded.tests:
        why = recorded.not_used[0].why if recorded.not_used else "no file"
        raise InputError(", ".join(map(str, given[:3])), why, "logs of nccl-tests or rccl-tests between two nodes each")
    return recorded, frozenset(shown[file] for file in early)


def _files(given: Sequence[Path]) -> list[Path]:
    """Return the files that are meant by files, folders and patterns. Raises InputError for one that means none."""
    found: dict[Path, None] = {}
    for path in given:
        if path.is_dir():
            own = sorted(file for file in path.iterdir() if file.is_file())
        elif path.exists() or not glob.has_magic(str(path)):
            own = [path]
        else:
            own = [file for file in map(Path, sorted(glob.glob(str(path)))) if file.is_file()]
        if not own:
            raise InputError(str(path), "no file", "logs of nccl-tests between two nodes each")
        found |= dict.fromkeys(own)
    return list(found)


def _text(file: Path) -> str:
    try:
        return read_bounded(file).text
    except OSError as error:
        raise InputError(str(file), f"no readable file ({error.strerror})", "a log of nccl-tests") from None


def _pattern(words: str | None) -> re.Pattern[str] | None:
    if words is None:
        return None
    example = r"the groups a and b, such as '_(?P<a>node\d+)_(?P<b>node\d+)'"
    try:
        pattern = re.compile(words)
    except re.error as error:
        raise InputError("--name-pattern", f"{words!r}, which is no regular expression ({error})", example) from None
    if not {"a", "b"} <= set(pattern.groupindex):
        raise InputError("--name-pattern", f"{words!r}", example)
    return pattern


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
