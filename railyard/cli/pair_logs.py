"""Judges pairs of nodes by logs of nccl-tests: what to measure next, who is slow, which groups of a run are slow."""

import glob
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from railyard.base.errors import InputError
from railyard.base.files import read_bounded
from railyard.parsers.output import ParseError
from railyard.site.topology import Leaves

if TYPE_CHECKING:
    from railyard.parsers.output import ParsedOutput
    from railyard.verdict.blame.gpu_pairs import RecordedTests


def next_text(given: Sequence[Path], at_once: Sequence[Path], leaf_of: Leaves) -> str:
    """Return which pairs to measure alone next, one per line: both nodes, and the GPU or "all".

    Raises InputError if the logs hold no pair, and UsageError if no log is named.
    """
    from railyard.verdict.blame.gpu_pairs_next import judged_again, next_pairs

    if not given and not at_once:
        raise click.UsageError("name logs of nccl-tests between two nodes each")
    recorded, early = _read_logs(given, at_once, None)
    return "".join(f"{ask.word}\n" for ask in next_pairs(judged_again(recorded, early, leaf_of)))


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
    from railyard.verdict.blame.gpu_pairs_next import judged_again
    from railyard.verdict.gpu.pair_logs import check_logs
    from railyard.verdict.gpu.target import of_words

    target = None if asked.nodes_have is None else of_words(asked.nodes_have)
    parsed: dict[str, ParsedOutput] = {}
    recorded, early = _read_logs(given, asked.at_once, asked.name_pattern, parsed)
    recorded = check_logs(recorded, parsed, target)
    found = judged_again(recorded, early, leaf_of).judged
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
    from railyard.base.output_file import read_output
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
