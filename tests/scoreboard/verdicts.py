"""What Railyard says of each stored output of links.tsv, judged by the link that it ran on.

The outputs are beside the clone and no part of it: ``SHARED`` is that folder. ``entries`` has one entry for each
benchmark of each output, or one for an output without any.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from railyard.base.errors import RailyardError
from railyard.base.files import read_output
from railyard.benchmarks.metrics import key_of
from railyard.benchmarks.table import micro
from railyard.cli.commands.judge import read
from railyard.parsers.output import ParsedOutput
from railyard.verdict.stored_outputs.each_file import first_sentence
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.target import Nodes, unnamed_link
from tests.scoreboard.links import Row, rows, rows_of, target_of

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"
FOLDERS = ("corpus", "recordings", "gpu")
#: Beside the outputs: what they are, and what they hold.
NO_OUTPUTS = {
    *("corpus/EXPECTED.tsv", "corpus/FORMATS.md", "corpus/INDEX.tsv", "corpus/PARSED.md"),
    *("gpu/EXPECTED.tsv", "gpu/INDEX.tsv"),
}
#: More files of one row are counted and not read: the network of none of them is known.
MOST_FILES_OF_A_ROW = 100

State = Literal["pass", "report-only", "fail", "not-judged", "unknown-link", "no-benchmark"]
#: Tools whose benchmarks between two ranks, or between pairs of ranks, are point-to-point outputs.
_POINT_TO_POINT = {"osu", "imb", "perftest", "netpipe", "qperf", "iperf3", "fabtests", "mpi4py", "ucx", "sockperf"}
_NOT_BETWEEN_TWO = {"osu/osu_init", "osu/osu_hello"}
_LOOPBACK = "perftest/ib_write_bw/loopback"

#: A quotation of the output, which is not ours to print: what stands before it says enough.
_QUOTED = re.compile(r', line (\d+): ".*')


@dataclass(frozen=True, slots=True)
class Entry:
    """The verdict of one benchmark of one output; ``files``: how many files of the row are counted together."""

    row: Row
    file: str
    benchmark: str | None
    state: State
    why: str
    files: int = 1

    @property
    def point_to_point(self) -> bool:
        """Whether it measures between two ranks, or between pairs of them."""
        key = self.benchmark
        if key is None or key in _NOT_BETWEEN_TWO or key.partition("/")[0] not in _POINT_TO_POINT:
            return False
        return not any(metric.shape == "collective" for metric in micro.find(key).metrics)


@cache
def entries() -> tuple[Entry, ...]:
    """Return all entries, in the order of the files' names. Raises LookupError for a file that no row is about."""
    found = list[Entry]()
    crowds = {row.file for row in rows() if "*" in row.file and _count(row.file) > MOST_FILES_OF_A_ROW}
    for file in files():
        of = rows_of(file)
        if not of:
            raise LookupError(f"{file}: no row of tests/scoreboard/links.tsv is about it")
        if of[0].file not in crowds:
            found += _entries(file, of)
    for row in rows():
        if row.file in crowds:
            found.append(Entry(row, row.file, None, "unknown-link", "not read", _count(row.file)))
    return tuple(found)


def files() -> Sequence[str]:
    """Return the outputs' names relative to the folder of shared material, sorted."""
    found = (path for folder in FOLDERS for path in (SHARED / folder).rglob("*") if path.is_file())
    return sorted({path.relative_to(SHARED).as_posix() for path in found} - NO_OUTPUTS)


def by_output(of: Iterable[Entry]) -> Mapping[tuple[str, str], Sequence[Entry]]:
    """Return the entries of each output: of a file, or of those of its tables that one row is about."""
    made: dict[tuple[str, str], list[Entry]] = {}
    for entry in of:
        made.setdefault((entry.file, entry.row.tables), []).append(entry)
    return made


def _count(pattern: str) -> int:
    return len(list(SHARED.glob(pattern)))


def _entries(file: str, of: Sequence[Row]) -> Iterator[Entry]:
    path = str(SHARED / file)
    try:
        text, parsed = read_output(path, sys.stdin.buffer), read(path)
    except RailyardError:
        yield Entry(of[0], file, None, "no-benchmark", "no tool that Railyard reads printed it")
        return
    for row in of:
        tables = tuple(table for number, table in enumerate(parsed.tables, 1) if row.holds(number))
        yield from _entries_of_row(file, row, replace(parsed, tables=tables), text)


def _entries_of_row(file: str, row: Row, parsed: ParsedOutput, text: str) -> Iterator[Entry]:
    if not parsed.tables and not parsed.failures:
        yield Entry(row, file, None, "no-benchmark", "it has no table of a benchmark")
        return
    try:
        judged = _row_judgements(row, parsed, text)
    except RailyardError as error:
        yield Entry(row, file, None, "not-judged", ours(str(error)))
        return
    unknown = target_of(row) is None and row.link != "within-node"
    for one in judged:
        state: State = "unknown-link" if unknown and one.state == "not-judged" else one.state
        why = "no link is known that it ran on; by itself its curve shows no fault"
        yield Entry(row, file, one.benchmark, state, why if state == "unknown-link" else ours(one.reason))


def _row_judgements(row: Row, parsed: ParsedOutput, text: str) -> Sequence[Judgement]:
    """Return the verdicts of a row's tables; without a link that carried them, of their curves alone."""
    loopback = row.link.startswith("loopback ") and any(
        key_of(table) == "perftest/ib_write_bw" for table in parsed.tables
    )
    return judge(
        parsed,
        target_of(row) or unnamed_link(),
        benchmark=_LOOPBACK if loopback else None,
        nodes=Nodes(row.node_pairs, 1 if row.link == "within-node" else row.nodes, row.ranks_per_node),
        text=text,
    )


def ours(sentence: str) -> str:
    """Return the first sentence of a reason without what it quotes of the output."""
    return _QUOTED.sub(r", the first in line \1", first_sentence(sentence, most=400)).replace('"', "'")
