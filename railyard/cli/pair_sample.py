"""Judges a sample of the pairs of nodes from its outputs: its options, what to measure next, and the verdict.

Judges pairs of nodes by logs of nccl-tests: what to measure next, who is slow, which groups of a run are slow.
"""

import glob
import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from railyard.base.errors import InputError
from railyard.base.files import read_bounded
from railyard.benchmarks.node_pairs import hosts_of
from railyard.parsers.output import ParseError, Table
from railyard.site.topology import Leaves, Places, places_in_job

if TYPE_CHECKING:
    from railyard.parsers.output import ParsedOutput
    from railyard.verdict.blame.gpu_pairs import RecordedTests
    from railyard.verdict.blame.screening.model import Network, ScreeningVerdict
    from railyard.verdict.blame.search.model import Step

#: The budget if none is given, and how long a round of it lasts, in seconds.
_BUDGET_S, _ROUND_S = 900.0, 0.3


@dataclass(frozen=True, slots=True)
class Sample:
    """The options of a sample; ``budget_s`` and ``round_s`` are seconds."""

    sample: bool
    budget_s: float | None
    round_s: float | None
    rails: str | None
    up_links: int | None
    nightly: int | None
    used: Path | None
    switch_groups: bool = False
    live: Path | None = None

    @property
    def is_planned_here(self) -> bool:
        """Whether the screening itself plans the sample; a plan of another kind is taken as it was measured."""
        return not (self.nightly or self.switch_groups)


def duration(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Return the seconds of ``15min``, ``15m``, ``1h30m``, ``900s`` or ``12.5s``."""
    from railyard.base.values import seconds

    if value is None:
        return None
    try:
        found = float(value.removesuffix("s"))
    except ValueError:
        try:
            found = seconds(value.replace("min", "m"))
        except ValueError:
            found = 0.0
    if not 0 < found < float("inf"):
        raise InputError(parameter.opts[0], f'"{value}"', "a time such as 15min, 1h30m or 900s")
    return found


_OPTIONS = (
    click.option("--sample", is_flag=True, help="The first output is a sample of the pairs, or will be one."),
    click.option("--budget", "budget_s", metavar="TIME", callback=duration, help="For a sample: its budget (15min)."),
    click.option("--round", "round_s", type=click.FloatRange(0, min_open=True), metavar="S",
                 help="For a sample: how long a round lasts, in seconds."),
    click.option("--rails", metavar="NAME,NAME", help="For a sample: the rails over which each value was measured."),
    click.option("--up-links", type=click.IntRange(1), help="For a sample: how many up-links a leaf switch has."),
    click.option("--nightly", type=click.IntRange(1), metavar="K",
                 help="For a sample: K partners of other leaves for each node, first those that it met least lately."),
    click.option("--used", type=click.Path(path_type=Path), metavar="FILE",
                 help="For a nightly sample: the pairs of earlier nights."),
    click.option("--switch-groups", is_flag=True,
                 help="For a sample: plan it within each leaf switch, between two, and across all at once."),
    click.option("--live", type=click.Path(path_type=Path), metavar="FILE",
                 help="For switch groups: what `scontrol show topology` printed in the job."),
)  # fmt: skip


def sample_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a sample."""
    return reduce(lambda made, option: option(made), reversed(_OPTIONS), command)


def next_of_sample(
    tables: Sequence[Table], first: Path | None, asked: Sample, expected: float | None, places: Places
) -> str:
    """Return what to measure next, as railyard-pairs reads it; empty if the verdict is reached.

    Raises InputError if the outputs are not those of a sample, and RailyardError if the budget is too small.
    """
    from railyard.verdict.blame import node_pair_sample
    from railyard.verdict.blame.search.model import PairsError, Step

    try:
        if first is not None:
            network = _network(_names(first), asked, expected, places)
            found = _first(network, asked)
        else:
            network = _network(node_pair_sample.hosts_of_sample(tables), asked, expected, places)
            found = node_pair_sample.next_step(tables, network, _budget(asked), planned_here=asked.is_planned_here)
    except (ValueError, PairsError) as error:
        raise InputError(str(first or "the outputs"), str(error), "a sample, then the steps after it") from None
    return node_pair_sample.step_text(found) if isinstance(found, Step) else ""


def judged_sample(tables: Sequence[Table], asked: Sample, expected: float | None, places: Places) -> tuple[str, bool]:
    """Return what a sample and its later steps say, and whether all nodes are known to be good. Raises InputError."""
    from railyard.verdict.blame.search.model import PairsError
    from railyard.verdict.node_pairs import SampleOrigin, screen_tables

    rails = tuple(asked.rails.split(",")) if asked.rails else ()
    kind = "nightly" if asked.nightly else "switch groups" if asked.switch_groups else "budget"
    try:
        came = screen_tables(
            tables, SampleOrigin(kind, _budget(asked), asked.is_planned_here),
            _in_job(hosts_of(tables[0]), asked, places), expected, rails, asked.up_links,
        )  # fmt: skip
    except (ValueError, PairsError) as error:
        raise InputError("the outputs", str(error), "a sample, then the steps after it") from None
    said = came.screened.sentence
    if came.open_step is not None:
        return f"{came.not_measured} (`railyard pairs next --sample` prints it); {said}", False
    return said, not (came.screened.named or came.screened.unclear)


def _first(network: "Network", asked: Sample) -> "Step | ScreeningVerdict":
    from railyard.verdict import switch_groups
    from railyard.verdict.blame import node_pair_sample

    if asked.switch_groups:
        return switch_groups.plan(network)
    return _nightly(network, asked) if asked.nightly else node_pair_sample.first_step(network, _budget(asked))


def _nightly(network: "Network", asked: Sample) -> "Step":
    from railyard.verdict.blame.screening.plan import partners
    from railyard.verdict.node_pairs import parse_used_pairs

    used = parse_used_pairs(_read(asked.used), network.layout.nodes) if asked.used is not None else ()
    return partners(network, asked.nightly or 1, used, seed=datetime.now(timezone.utc).toordinal())


def _network(hosts: Sequence[str], asked: Sample, expected: float | None, places: Places) -> "Network":
    from railyard.verdict.blame.node_pair_sample import network_of

    rails = asked.rails.split(",") if asked.rails else ()
    return network_of(hosts, _in_job(hosts, asked, places), expected, rails, asked.up_links)


def _in_job(hosts: Sequence[str], asked: Sample, places: Places) -> Places:
    """Return where the nodes of a job are: as its scheduler states it there, if that was saved and has all of them."""
    if asked.live is None or not asked.live.is_file():
        return places
    return places_in_job(places, _read(asked.live), asked.live.name, hosts).places


def _budget(asked: Sample) -> Any:
    from railyard.verdict.blame.screening.model import Budget

    return Budget(asked.budget_s or _BUDGET_S, asked.round_s or _ROUND_S)


def _names(file: Path) -> list[str]:
    return [line.strip() for line in _read(file).splitlines() if line.strip()]


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(
            str(file), f"no readable file ({error.strerror})", "what a job of SampledPairs wrote"
        ) from None


def next_text(given: Sequence[Path], at_once: Sequence[Path], leaf_of: Leaves) -> str:
    """Return which pairs to measure alone next, one per line: both nodes, and the GPU or "all".

    Raises InputError if the logs hold no pair, and UsageError if no log is named.
    """
    from railyard.verdict.blame.gpu_pairs import judge_repeats, next_pairs

    if not given and not at_once:
        raise click.UsageError("name logs of nccl-tests between two nodes each")
    recorded, early = _read_logs(given, at_once, None)
    return "".join(f"{ask.word}\n" for ask in next_pairs(judge_repeats(recorded, early, leaf_of)))


def slow_groups(output: Path, expected_mb_s: float) -> list[str]:
    """Return the groups of a run of nccl-tests whose rails should be measured. Raises InputError."""
    from railyard.parsers.nccl import parse
    from railyard.verdict.gpu.collectives import groups_to_measure

    try:
        tables = parse(_text(output)).tables
    except ParseError as error:
        raise InputError(str(output), str(error), "an output of nccl-tests") from None
    return [str(group) for group in groups_to_measure(tables, expected_mb_s)]


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """The options of ``railyard pairs judge --tool nccl``, as click gives them."""

    at_once: Sequence[Path]
    name_pattern: str | None
    nodes_have: str | None
    fewest: bool
    as_json: bool
    plot: Path | None


def judge(given: Sequence[Path], leaf_of: Leaves, asked: JudgeOptions) -> int:
    """Print what logs of two nodes each say; return the exit code. Raises InputError."""
    from railyard.verdict.blame import gpu_pairs, gpu_pairs_text
    from railyard.verdict.blame.gpu_pairs import judge_repeats
    from railyard.verdict.gpu.pairs import check_logs
    from railyard.verdict.gpu.run import of_words

    target = None if asked.nodes_have is None else of_words(asked.nodes_have)
    parsed: dict[str, ParsedOutput] = {}
    recorded, early = _read_logs(given, asked.at_once, asked.name_pattern, parsed)
    recorded = check_logs(recorded, parsed, target)
    found = judge_repeats(recorded, early, leaf_of).judged
    few = gpu_pairs.sufficient(found, leaf_of) if asked.fewest else None
    if asked.plot is not None:
        from railyard.results.report.plots import write_pair_plot

        shown = (gpu_pairs_text.picture_panels(found), gpu_pairs_text.picture_nodes(found))
        named, title = gpu_pairs_text.named_nodes(found), gpu_pairs_text.picture_title(found)
        write_pair_plot(*shown, named, title, asked.plot)
        click.echo(f"wrote {asked.plot}", err=True)
    if asked.as_json:
        click.echo(json.dumps(gpu_pairs_text.as_json(found, few), ensure_ascii=False, allow_nan=False, indent=1))
    else:
        click.echo(gpu_pairs_text.text(found, few), nl=False)
    return 0 if found.is_good else 1


def _read_logs(
    given: Sequence[Path],
    at_once: Sequence[Path],
    name_pattern: str | None,
    kept: "dict[str, ParsedOutput] | None" = None,
) -> tuple["RecordedTests", frozenset[str]]:
    """Return what logs hold, and the names of those that ran at the same time as others.

    ``kept`` gets each log's parts by its name. Raises InputError if no log has a test of two nodes.
    """
    from railyard.base.files import read_output
    from railyard.parsers.nccl import parse
    from railyard.parsers.wrong_lines import with_wrong_lines
    from railyard.verdict.blame import gpu_pairs

    early = _files(at_once)
    files = list(dict.fromkeys((*early, *_files(given))))
    names = [file.name for file in files]
    shown = dict(zip(files, names if len(set(names)) == len(names) else map(str, files), strict=True))

    def read(file: str) -> "ParsedOutput":
        text = read_output(file, io.BytesIO())
        found = parse(text)
        if kept is not None:
            kept[shown[Path(file)]] = with_wrong_lines(found, text)
        return found

    recorded = gpu_pairs.read_tests(((shown[file], str(file)) for file in files), _pattern(name_pattern), read)
    if not recorded.tests:
        why = recorded.not_used[0].why if recorded.not_used else "no file"
        raise InputError(
            ", ".join(map(str, [*given, *at_once][:3])), why, "logs of nccl-tests or rccl-tests between two nodes each"
        )
    return recorded, frozenset(shown[file] for file in early)


def _files(given: Sequence[Path]) -> list[Path]:
    """Return the files that files, folders and patterns stand for. Raises InputError if one stands for no file."""
    found: dict[Path, None] = {}
    for path in given:
        if path.is_dir():
            own = sorted(file for file in path.iterdir() if not file.is_dir())
        elif path.exists() or not glob.has_magic(str(path)):
            own = [path]
        else:
            own = [file for file in map(Path, sorted(glob.glob(str(path)))) if file.is_file()]
        if not own or (own == [path] and not path.exists()):
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
        raise InputError("--name-pattern", f"{words!r}, which is not a regular expression ({error})", example) from None
    if not {"a", "b"} <= set(pattern.groupindex):
        raise InputError("--name-pattern", f"{words!r}", example)
    return pattern
