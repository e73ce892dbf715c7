"""`railyard pairs`: what to measure after all pairs of nodes, and what all of it says, from outputs alone."""

import glob
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from railyard.base.bounded_file import read_bounded
from railyard.base.errors import InputError
from railyard.benchmarks.node_pairs import is_sample
from railyard.cli.pair_runs import COMMANDS
from railyard.cli.pair_sample import Sample, judged_sample, next_of_sample, sample_options
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
    """Find slow nodes in measurements of all pairs of nodes."""


for _each in COMMANDS:
    command.add_command(_each)


@command.command(name="next")
@click.argument("outputs", metavar="[OUTPUT]...", nargs=-1, type=click.Path(path_type=Path))
@_repeats
@_expected
@_switches
@sample_options
@click.option(
    "--first", type=click.Path(path_type=Path), metavar="FILE",
    help="Of a sample: plan it, for the nodes in FILE, a node a line, in the order of the ranks.",
)  # fmt: skip
def next_command(
    outputs: tuple[Path, ...],
    repeats: int,
    expected: float | None,
    switches: Path | None,
    first: Path | None,
    **sample: Any,
) -> int:
    """Print the rounds to measure next.

    \b
    Examples:
      railyard pairs next all.out step2.out
      railyard pairs next --sample --first nodes.txt --budget 15min

    OUTPUT is what railyard-pairs printed: first that of all rounds, or of the sample, then that of each step after it.
    What is printed is input of railyard-pairs. Nothing is printed once the verdict is reached.
    """
    asked = Sample(**sample)
    if not (asked.sample or outputs) or (first is not None and (outputs or not asked.sample)):
        raise click.UsageError("name outputs, or with --sample the nodes of a job: --first FILE")
    if asked.sample:
        click.echo(next_of_sample(_tables(outputs), first, asked, expected, _leaves(switches)), nl=False)
        return 0
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
    """Print the rounds that show which rail of a slow node is slow.

    \b
    Examples:
      railyard pairs rails all.out step2.out
      railyard pairs rails all.out step2.out --switches leaves.txt

    OUTPUT is as for `railyard pairs next`. Nothing is printed where no node is named.
    """
    tables, leaf_of = _tables(outputs), _leaves(switches)
    found = _asked(tables, outputs, repeats, expected, leaf_of)
    if isinstance(found, Verdict):
        click.echo(rounds_text(rail_rounds(found, layout_of(tables[0], expected, leaf_of)), RAIL_REPEATS), nl=False)
    return 0


_OF_PAIRS, _NCCL = "railyard-pairs", "nccl"
_OF_SAMPLE = ("sample", "budget_s", "round_s", "rails", "up_links", "nightly", "used")
#: Options that one of the tools alone has.
_ONLY = {"repeats": _OF_PAIRS, "expected": _OF_PAIRS}
_ONLY |= dict.fromkeys(("name_pattern", "fewest", "as_json", "plot"), _NCCL)


@command.command(name="judge")
@_outputs
@click.option(
    "--tool",
    type=click.Choice([_OF_PAIRS, _NCCL]),
    default=_OF_PAIRS,
    show_default=True,
    help="nccl: logs of nccl-tests or rccl-tests between two nodes each, as files, folders or patterns.",
)
@_repeats
@_expected
@_switches
@sample_options
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
    **others: Any,
) -> int:
    """Say which nodes, pairs or GPUs are slow.

    \b
    Examples:
      railyard pairs judge all.out step2.out
      railyard pairs judge --tool nccl logs/ --json

    OUTPUT is as for `railyard pairs next`, or with --tool nccl logs of nccl-tests.

    Exit code: 0 all are good, 1 something is named or could not be judged, 2 wrong input.
    """
    for name, only in _ONLY.items():
        if only != tool and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = "--json" if name == "as_json" else f"--{name.replace('_', '-')}"
            raise InputError(option, f"--tool {tool}", f"--tool {only}, of which alone it is an option")
    sample = Sample(**{name: others.pop(name) for name in _OF_SAMPLE})
    judges: dict[str, Callable[[], int]] = {
        _OF_PAIRS: lambda: _judge_pairs(outputs, _leaves(switches), repeats, expected, sample),
        _NCCL: lambda: _judge_nccl(outputs, _leaves(switches), **others),
    }
    return judges[tool]()


def _judge_pairs(
    outputs: tuple[Path, ...], leaf_of: Leaves, repeats: int, expected: float | None, sample: Sample
) -> int:
    tables = _tables(outputs)
    if sample.sample or is_sample(tables[0]):
        text, is_good = judged_sample(tables, sample, expected, leaf_of)
        click.echo(text)
        return 0 if is_good else 1
    found = _asked(tables, outputs, repeats, expected, leaf_of)
    if isinstance(found, Step):
        click.echo(f"not judged: {found.why}; measure what `railyard pairs next` prints")
        return 1
    click.echo(found.sentence)
    return 1 if found.named or found.unclear else 0


def _judge_nccl(
    given: Sequence[Path], leaf_of: Leaves, name_pattern: str | None, fewest: bool, as_json: bool, plot: Path | None
) -> int:
    from railyard.verdict.blame import gpu_pairs, gpu_pairs_text

    files = _files(given)
    names = [file.name for file in files]
    shown = names if len(set(names)) == len(names) else [str(file) for file in files]
    texts = ((name, _text(file)) for name, file in zip(shown, files, strict=True))
    recorded = gpu_pairs.recorded(texts, _pattern(name_pattern))
    if not recorded.tests:
        why = recorded.not_used[0].why if recorded.not_used else "no file"
        raise InputError(", ".join(map(str, given[:3])), why, "logs of nccl-tests or rccl-tests between two nodes each")
    found = gpu_pairs.judge(recorded, leaf_of)
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
