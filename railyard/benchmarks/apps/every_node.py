"""What each node gave alone: one output with a part per node, read as a table with a row per node; and slow nodes.

``each.sh`` writes the parts, and the job prints them one after another. A part begins with "# railyard: node NAME TAG"
and ends with "# railyard: used PROCESSORS PASSED THREADS" (missing in older outputs) and "# railyard: end CODE".

What two ranks on one processor cost each other: how many times longer the work of one takes.
"""

import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from railyard.base.bounds import BUSY_SHARE
from railyard.base.paths import packaged_text
from railyard.benchmarks.model import Figure, Physics
from railyard.parsers import hpl, nvbandwidth
from railyard.parsers.lines import first_line, number
from railyard.parsers.output import Cell, ParsedOutput, ParseError, Remark, Table

SCRIPT = "each.sh"
EVERY_NODE = "every-node"
#: Their outputs, one file per node; one folder per job.
PARTS = "parts"
#: A node below this share of the median of all nodes is named.
SLOW = 0.9

_NODE = re.compile(r"^# railyard: node (?P<node>\S{1,255}) (?P<tag>\S{0,80})$")
# # railyard: used 123456 2345 56; hundredths of a second, "-" if they are unknown
_USED = re.compile(r"^# railyard: used (?P<used>[0-9]{1,15}|-) (?P<passed>[0-9]{1,15}|-) (?P<threads>[0-9]{1,6})$")
_END = re.compile(r"^# railyard: end (?P<code>[0-9]{1,3})$")
# Triad:          12345.6     0.012345     0.012345     0.012345
_TRIAD = re.compile(r"^Triad:\s+(?P<rate>[0-9.]{1,20})(?:\s+[0-9.]{1,20}){3}\s*$")
_VALID = re.compile(r"^Solution Validates:")


@dataclass(slots=True)
class _Part:
    """What one node printed: the line at which it begins, its text, its exit code (None if it has no end).

    ``used_s`` is the time of all its processors together, ``passed_s`` the elapsed time; None if they are unknown.
    ``threads`` is the number of threads that it was given.
    """

    line: int
    node: str
    lines: list[str] = field(default_factory=list)
    code: int | None = None
    used_s: float | None = None
    passed_s: float | None = None
    threads: int | None = None

    @property
    def body(self) -> str:
        return "\n".join([*self.lines, ""])


#: The cells of a part's row: its value, its own check, and the other cells of the tool's table; None for missing ones.
_Read = Callable[[_Part], tuple[Cell, ...]]


def each_script() -> str:
    """Return the text of each.sh, which is written beside a job's script."""
    return packaged_text(f"benchmarks/apps/{SCRIPT}")


def hpl_of_nodes(text: str) -> ParsedOutput:
    """Return one table, one row per node: HPL's Gflop/s, whether its residual passed, threads given, and threads busy.

    ``busy`` is how many threads computed, on average over the time that HPL measured. Raises ParseError if there is no
    part.
    """
    columns = {"performance": "Gflop/s", "passed": None, "threads": None, "busy": None}
    return _of_nodes(text, "hpl", columns, _hpl)


def stream_of_nodes(text: str) -> ParsedOutput:
    """Return one table, one row per node: STREAM's Triad in MB/s (10^6 B/s) and whether its solution validates.

    Raises ParseError if the text has no part of a node.

    Source: J. D. McCalpin, stream.c 5.10: rates are 1.0E-06 * bytes / best time.
    """
    return _of_nodes(text, "stream", {"bandwidth": "MB/s", "passed": None}, _stream)


def nvbandwidth_of_nodes(text: str) -> ParsedOutput:
    """Return one table, one row per node, of one test of nvbandwidth: its slowest and fastest copy, MB/s (10^6 B/s).

    ``copies`` is how many it made: one per GPU, or one for each pair of them. ``gpu`` is the GPU of the slowest copy
    between a GPU and the processors, None between two GPUs. A node that ran another test than the first node has no
    value. Raises ParseError if the text has no part of a node.
    """
    columns = {"bandwidth": "MB/s", "fastest": "MB/s", "copies": None, "gpu": None}
    parsed = _of_nodes(text, "nvbandwidth", columns, _nvbandwidth)
    tests = [table.benchmark for part in _parts(text) for table in _tables(nvbandwidth.parse, part)]
    if len(set(tests)) > 1:
        tests_run = ", ".join(sorted(map(str, set(tests))))
        unlike = Remark(parsed.tables[0].line, f"the nodes ran different tests: {tests_run}")
        parsed = replace(parsed, failures=(*parsed.failures, unlike))
    return replace(parsed, tables=tuple(replace(table, benchmark=next(iter(tests), None)) for table in parsed.tables))


def nodes_of(table: Table) -> tuple[str, ...]:
    """Return the node of each row."""
    return tuple(str(table.context.get("nodes", "")).split())


def idle(table: Table) -> tuple[tuple[str, float | None, int | None], ...]:
    """Return (node, its busy threads, its threads) for each node with a share of busy threads below ``BUSY_SHARE``.

    The first of them has the fewest. None means unknown, which counts as bad. Only HPL has these columns.
    """
    if "busy" not in table.columns:
        return ()
    found: list[tuple[str, float | None, int | None]] = []
    for node, busy, threads in zip(nodes_of(table), table.column("busy"), table.column("threads"), strict=True):
        known = busy if isinstance(busy, float) else None
        told = threads if isinstance(threads, int) else None
        if told != 1 and (told is None or known is None or known < BUSY_SHARE.value * told):
            found.append((node, known, told))
    return tuple(sorted(found, key=lambda each: -1.0 if each[1] is None else each[1]))


def slow(table: Table) -> tuple[tuple[str, float, float], ...]:
    """Return (node, its value, the median) for each node below ``SLOW`` of the median, the slowest first.

    With fewer than three nodes nobody can say which one is the exception.
    """
    values = [value for value in table.column(table.columns[0]) if isinstance(value, float)]
    if len(values) < 3 or len(values) != len(nodes_of(table)):
        return ()
    middle = statistics.median(values)
    named = zip(nodes_of(table), values, strict=True)
    found = [(node, value, middle) for node, value in named if value < SLOW * middle]
    return tuple(sorted(found, key=lambda each: each[1]))


def _of_nodes(text: str, tool: str, columns: Mapping[str, str | None], read: _Read) -> ParsedOutput:
    """Return the table with these columns, each with its unit. The first column has the value."""
    rows: list[tuple[Cell, ...]] = []
    failures: list[Remark] = []
    complete = True
    parts = _parts(text)
    if not parts:
        first = first_line(text)
        raise ParseError(first.number, first.text, 'the outputs of single nodes: "# railyard: node NAME TAG"')
    for part in parts:
        row = read(part)
        if part.code != 0:
            complete = complete and part.code is not None
            said = "did not end" if part.code is None else f"exited {part.code}"
            failures.append(Remark(part.line, f"{tool} on {part.node} {said}{_last_words(part.body)}"))
        elif row[0] is None:
            failures.append(Remark(part.line, f"{tool} on {part.node} gave no result{_last_words(part.body)}"))
        rows.append(row)
    table = Table(
        tool=tool,
        version=None,
        benchmark=EVERY_NODE,
        columns=tuple(columns),
        units=tuple(columns.values()),
        rows=tuple(rows),
        line=parts[0].line,
        complete=complete,
        context=MappingProxyType({"nodes": " ".join(part.node for part in parts)}),
    )
    return ParsedOutput((table,), tuple(failures))


def _parts(text: str) -> list[_Part]:
    found: list[_Part] = []
    for at, line in enumerate(text.splitlines(), 1):
        node, used, end = _NODE.match(line), _USED.match(line), _END.match(line)
        if node:
            found.append(_Part(at, node["node"]))
        elif used and found:
            found[-1].threads = int(used["threads"])
            if "-" not in (used["used"], used["passed"]):
                found[-1].used_s, found[-1].passed_s = int(used["used"]) / 100, int(used["passed"]) / 100
        elif end and found:
            found[-1].code = int(end["code"])
        elif found:
            found[-1].lines.append(line)
    return found


def _tables(parse: Callable[[str], ParsedOutput], part: _Part) -> tuple[Table, ...]:
    """Return what a tool's parser finds in a part; nothing if the part is not an output of the tool."""
    try:
        return parse(part.body).tables
    except ParseError:
        return ()


def _nvbandwidth(part: _Part) -> tuple[Cell, ...]:
    tables = _tables(nvbandwidth.parse, part)
    if len(tables) != 1 or not tables[0].complete or "bandwidth" not in tables[0].columns:
        return None, None, None, None
    rates = [value for value in tables[0].column("bandwidth") if isinstance(value, float)]
    # The matrix of such a test has one row, for all processors, and a column for each GPU.
    of_gpus = tables[0].context.get("rows") == 1
    slowest = tables[0].column("column")[rates.index(min(rates))] if of_gpus else None
    return min(rates), max(rates), len(rates), slowest


def _hpl(part: _Part) -> tuple[Cell, ...]:
    tables = _tables(hpl.parse, part)
    if not tables:
        return None, None, part.threads, None
    rates = [value for table in tables for value in table.column("performance") if isinstance(value, float)]
    passed = [value for table in tables for value in table.column("passed")]
    times = [value for table in tables for value in table.column("time") if isinstance(value, float)]
    own = all(value is True for value in passed) if passed else None
    return max(rates, default=None), own, part.threads, _busy(part, sum(times))


def _busy(part: _Part, measured_s: float) -> float | None:
    """Return how many threads computed on average in the time that HPL measured; None if that is unknown.

    Before and after that time HPL makes and checks its matrix with one thread.
    """
    if part.used_s is None or part.passed_s is None or measured_s <= 0:
        return None
    alone_s = max(0.0, part.passed_s - measured_s)
    return max(0.0, part.used_s - alone_s) / measured_s


def _stream(part: _Part) -> tuple[Cell, ...]:
    triads = [found["rate"] for line in part.lines if (found := _TRIAD.match(line))]
    value = number(triads[-1]) if triads else None
    own = any(_VALID.match(line) for line in part.lines) if triads else None
    return (None if value is None else float(value)), own


def _last_words(body: str) -> str:
    lines: Sequence[str] = [line.strip() for line in body.splitlines() if line.strip()]
    return f': "{lines[-1][:160]}"' if lines else ""


_OTHERS = {"polling": "polls", "yielding": "yields", "receiving": "waits as this library does (MPI_Recv)"}


def figures(tables: Sequence[Table]) -> tuple[Figure, ...]:
    """Return how many times longer the work takes than beside a sleeping rank, for each way of waiting of the other."""
    return tuple(Figure(f"slowdown_{way}", value, "times", None) for way, value in _slowdowns(tables).items())


def remark(tables: Sequence[Table]) -> tuple[str, ...]:
    """Return the same in a sentence; () if it was not measured."""
    found = _slowdowns(tables)
    if not found:
        return ()
    said = ", ".join(f"{value:.2f} if it {_OTHERS[way]}" for way, value in found.items())
    return (f"time of work beside a rank on the same processor, in times of that beside a sleeping rank: {said}",)


def _slowdowns(tables: Sequence[Table]) -> Mapping[str, float]:
    if not tables or len(tables[0].rows) != 1:
        return {}
    took = {
        name: value
        for name, value in zip(tables[0].columns, tables[0].rows[0], strict=True)
        if isinstance(value, float)
    }
    alone = took.get("asleep", 0.0)
    return {way: took[way] / alone for way in _OTHERS if way in took} if alone > 0 else {}


SHARING = Physics(remarks=lambda key, tables: remark(tables), figures=figures)
