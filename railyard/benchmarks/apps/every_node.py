"""What every node gave alone: one output of many, a part a node, as a table of a row a node; and which are slow.

``each.sh`` writes the parts, the job prints them one after another. A part begins with "# railyard: node NAME TAG" and
ends with "# railyard: end CODE".
"""

import re
import statistics
from collections.abc import Callable, Sequence
from types import MappingProxyType

from railyard.base.paths import packaged_text
from railyard.parsers import hpl
from railyard.parsers.lines import first_line, number
from railyard.parsers.parsed import Cell, Parsed, ParseError, Remark, Table

SCRIPT = "each.sh"
EVERY_NODE = "every-node"
#: What they print, a file a node; a folder a job.
PARTS = "parts"
#: A node below this share of the median of all of them is named.
SLOW = 0.9

_NODE = re.compile(r"^# railyard: node (?P<node>\S{1,255}) (?P<tag>\S{0,80})$")
_END = re.compile(r"^# railyard: end (?P<code>[0-9]{1,3})$")
# Triad:          12345.6     0.012345     0.012345     0.012345
_TRIAD = re.compile(r"^Triad:\s+(?P<rate>[0-9.]{1,20})(?:\s+[0-9.]{1,20}){3}\s*$")
_VALID = re.compile(r"^Solution Validates:")

#: Value and own check of a part; None where it has none.
_Read = Callable[[str], tuple[float | None, bool | None]]


def each_script() -> str:
    """Return the text of each.sh, to be written beside a job's script."""
    return packaged_text(f"benchmarks/apps/{SCRIPT}")


def hpl_of_nodes(text: str) -> Parsed:
    """Return one table, a row a node: HPL's Gflop/s and whether its residual passed. Raises ParseError for no part."""
    return _of_nodes(text, "hpl", "performance", "Gflop/s", _hpl)


def stream_of_nodes(text: str) -> Parsed:
    """Return one table, a row a node: STREAM's Triad in MB/s (10^6 B/s) and whether its solution validates.

    Raises ParseError where the text has no part of a node.

    Source: J. D. McCalpin, stream.c 5.10: rates are 1.0E-06 * bytes / best time.
    """
    return _of_nodes(text, "stream", "bandwidth", "MB/s", _stream)


def nodes_of(table: Table) -> tuple[str, ...]:
    """Return the node of each row."""
    return tuple(str(table.context.get("nodes", "")).split())


def slow(table: Table) -> tuple[tuple[str, float, float], ...]:
    """Return (node, its value, the median) of each node below ``SLOW`` of the median, the slowest first.

    Of fewer than three nodes none can be called the odd one.
    """
    values = [value for value in table.column(table.columns[0]) if isinstance(value, float)]
    if len(values) < 3 or len(values) != len(nodes_of(table)):
        return ()
    middle = statistics.median(values)
    named = zip(nodes_of(table), values, strict=True)
    found = [(node, value, middle) for node, value in named if value < SLOW * middle]
    return tuple(sorted(found, key=lambda each: each[1]))


def _of_nodes(text: str, tool: str, metric: str, unit: str, read: _Read) -> Parsed:
    rows: list[tuple[Cell, ...]] = []
    names: list[str] = []
    failures: list[Remark] = []
    complete = True
    parts = _parts(text)
    if not parts:
        first = first_line(text)
        raise ParseError(first.number, first.text, 'the outputs of single nodes: "# railyard: node NAME TAG"')
    for line, node, body, code in parts:
        value, passed = read(body)
        if code != 0:
            complete = complete and code is not None
            said = "did not end" if code is None else f"exited {code}"
            failures.append(Remark(line, f"{tool} on {node} {said}{_last_words(body)}"))
        elif value is None:
            failures.append(Remark(line, f"{tool} on {node} gave no result{_last_words(body)}"))
        names.append(node)
        rows.append((value, passed))
    table = Table(
        tool=tool,
        version=None,
        benchmark=EVERY_NODE,
        columns=(metric, "passed"),
        units=(unit, None),
        rows=tuple(rows),
        line=parts[0][0],
        complete=complete,
        context=MappingProxyType({"nodes": " ".join(names)}),
    )
    return Parsed((table,), tuple(failures))


def _parts(text: str) -> list[tuple[int, str, str, int | None]]:
    """Return (line, node, its text, exit code) of each part; the code is None where the part has no end."""
    found: list[tuple[int, str, list[str], int | None]] = []
    for at, line in enumerate(text.splitlines(), 1):
        node, end = _NODE.match(line), _END.match(line)
        if node:
            found.append((at, node["node"], [], None))
        elif end and found:
            found[-1] = (*found[-1][:3], int(end["code"]))
        elif found:
            found[-1][2].append(line)
    return [(at, node, "\n".join([*lines, ""]), code) for at, node, lines, code in found]


def _hpl(body: str) -> tuple[float | None, bool | None]:
    try:
        tables = hpl.parse(body).tables
    except ParseError:
        return None, None
    rates = [value for table in tables for value in table.column("performance") if isinstance(value, float)]
    passed = [value for table in tables for value in table.column("passed")]
    return max(rates, default=None), all(value is True for value in passed) if passed else None


def _stream(body: str) -> tuple[float | None, bool | None]:
    lines = body.splitlines()
    triads = [found["rate"] for line in lines if (found := _TRIAD.match(line))]
    value = number(triads[-1]) if triads else None
    return (None if value is None else float(value)), any(_VALID.match(line) for line in lines) if triads else None


def _last_words(body: str) -> str:
    lines: Sequence[str] = [line.strip() for line in body.splitlines() if line.strip()]
    return f': "{lines[-1][:160]}"' if lines else ""
