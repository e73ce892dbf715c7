"""What each benchmark's numbers mean: which curves a table gives, and the key figures that stand for them.

The table of benchmarks is in ``table.micro``, the bytes that a run moves in ``moved_bytes``.
Nothing here reads a file, the clock or the host.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from railyard.benchmarks.curve import Curve, Figure, n_half, peak
from railyard.benchmarks.model import BANDWIDTH, LATENCY, MESSAGE_RATE, Metric
from railyard.benchmarks.table.micro import BENCHMARKS, find, metric
from railyard.benchmarks.table.micro import tool as tool_of
from railyard.parsers.output import REPORTS, Cell, Table

#: An output may print a benchmark's name with other capitals than its key has.
_KEYS: Mapping[str, str] = MappingProxyType({key.lower(): key for key in reversed([*BENCHMARKS])})


def is_part(table: Table) -> bool:
    """Return whether a table is of a part of a run, and not a result: WRF's time for writing files, MILC's solver."""
    return tool_of(table.tool).is_part(table)


def key_of(table: Table) -> str | None:
    """Return the key of the benchmark that a table names; None if it names none, or an unknown one.

    A bidirectional test of perftest is a separate benchmark. NetPIPE's rows without its sentence are a ping-pong. Each
    class of NPB is another problem. Times of WRF for files or a nest, and of MILC for a part, are not benchmarks.
    """
    if is_part(table):
        return None
    tool = tool_of(table.tool)
    said = tool.said(table) or tool.unsaid
    if said is None:
        return None
    return _KEYS.get(f"{table.tool}/{said}".lower())


def tables_of_groups(table: Table) -> tuple[Table, ...]:
    """Return a table for each group of ranks, if all groups have their rows in one (IMB's -multi 1), or for each report
    of a run of perftest without end; else only it.
    """
    if REPORTS in table.context:
        is_whole = bool(table.context[REPORTS])  # each report is, if none was cut
        return tuple(replace(table, rows=(row,), complete=is_whole) for row in table.rows)
    if "group" not in table.columns:
        return (table,)
    place = table.columns.index("group")
    rows: dict[Cell, list[tuple[Cell, ...]]] = {}
    for row in table.rows:
        rows.setdefault(row[place], []).append(row)
    return tuple(replace(table, rows=tuple(of_group)) for of_group in rows.values())


def curves(table: Table, key: str) -> tuple[Curve, ...]:
    """Return one curve per metric, in the order of the benchmark's table, with the declared units.

    Size 0 counts only for a latency. A table without sizes (a barrier, an application) gives a curve with the single
    size 0; its rows are reduced as the benchmark says. If this release does not print an optional metric, it is left
    out.

    Raises ValueError if the table is another benchmark's (IMB 2021.11 runs all benchmarks if a name is misspelt), or if
    it lacks a declared column, has another unit, no row above size 0 for it, a cell without a number, or sizes that do
    not rise (several groups or a mixed table: not one curve).
    """
    if find(key).rows == "pairs":
        from railyard.benchmarks import node_pairs  # no other table needs it

        return node_pairs.curves(table, key)
    other = _other_benchmark(table, key)
    if other:
        raise ValueError(f"{key}: the table is of {other}")
    made = []
    for each in find(key).metrics:
        column = next((name for name in each.columns if name in table.columns), None)
        if column is None:
            if each.optional:
                continue
            raise ValueError(f"{key}: no column {' or '.join(each.columns)}, only {', '.join(table.columns)}")
        unit = table.units[table.columns.index(column)]
        if unit != each.unit and not (unit is None and each.unit == "times"):  # a ratio is printed without a unit
            raise ValueError(f"{key}: {column} is in {unit or 'no known unit'}, expected {each.unit}")
        made.append(_curve(table, key, each, column))
    return tuple(made)


def of_one_pair(curve: Curve, key: str, node_pairs: int) -> Curve:
    """Return the share of one pair of nodes, if a curve is a sum over several disjoint ones; any other curve as it is.

    Limits, floors and references are for one pair of nodes.
    """
    if node_pairs < 2 or not find(key).sums_pairs or curve.metric not in (BANDWIDTH, MESSAGE_RATE):
        return curve
    return replace(curve, values=tuple(value / node_pairs for value in curve.values))


def key_figures(made: Iterable[Curve], key: str, peak_from: int = 0) -> tuple[Figure, ...]:
    """Return the few numbers that stand for a run's curves.

    ``small_message_latency``: at the smallest size above 0 (at 0 if there is no other). ``peak``: the largest value at
    sizes from ``peak_from`` bytes, where the link's limit holds: on a token-bucket shaper the sizes below are too high.
    ``n_half``: message size in bytes at half of that peak, on the way up to it. ``message_rate``: the largest. A
    collective also has ``large_message_latency``. A single figure stands for itself.
    """
    found: list[Figure] = []
    for curve in made:
        each = metric(key, curve.metric)
        if find(key).rows == "pairs":
            from railyard.benchmarks.node_pairs import FIGURES

            found.append(Figure(FIGURES[key, each.name], curve.values[0], curve.unit, curve.sizes[0]))
        elif each.shape == "figure":
            found.append(Figure(each.name, curve.values[0], curve.unit, None))
        elif each.name == LATENCY:
            found += _latency_figures(curve, each)
        elif each.name == BANDWIDTH:
            size, value = peak(curve.from_size(peak_from) or curve)
            found.append(Figure("peak", value, curve.unit, size))
            half = n_half(curve.up_to_size(size), value)
            if half != float("inf") and len(curve.sizes) > 1:  # with one size we cannot know where half is reached
                found.append(Figure("n_half", half, "B", None))
        else:
            size, value = peak(curve)
            found.append(Figure(each.name, value, curve.unit, size))
    return tuple(found)


def _other_benchmark(table: Table, key: str) -> str | None:
    """Return the benchmark that the table names, if it is not this key; None if it agrees or says nothing.

    The default for a table that names none agrees with all keys: NetPIPE prints its rows on stderr and the sentence
    that names the mode on stdout. The mode counts only if that sentence was read.
    """
    benchmark, (of, _, name) = find(key), key.partition("/")
    if table.tool != of:
        return f"{table.tool}/{table.benchmark}"
    tool = tool_of(of)
    said = tool.said(table) or name
    agrees = said == tool.unsaid or f"{of}/{said}".lower() == benchmark.printed_key.lower()
    return None if agrees else f"{of}/{said}"


def _curve(table: Table, key: str, each: Metric, column: str) -> Curve:
    if find(key).rows != "sizes":
        return Curve(each.name, each.unit, (0,), (_reduce_rows(table, key, each, column),))
    sizes = table.column("size") if "size" in table.columns else (0,) * len(table.rows)
    smallest = 0 if each.name == LATENCY else 1
    doubled = find(key).doubled_in
    halves = 2 if doubled is not None and table.context.get("file") == doubled else 1
    points: list[tuple[int, float]] = []
    for size, value in zip(sizes, tool_of(table.tool).values(table, column), strict=True):
        # type() first, for a long output has a million of them
        if type(size) is not int or (type(value) is not float and type(value) is not int):
            raise ValueError(f"{key}: {column} at {size} B is {value}, not a number")
        if size >= smallest:
            points.append((size // halves, float(value)))
    if not points:
        raise ValueError(f"{key}: no row of {smallest} B or more, so no {each.name}")
    return Curve(each.name, each.unit, tuple(size for size, _ in points), tuple(value for _, value in points))


def _reduce_rows(table: Table, key: str, each: Metric, column: str) -> float:
    """Return the one figure of a table whose rows are repetitions. Raises ValueError if a row has no number."""
    rows = find(key).rows
    values: list[float] = []
    for number, value in enumerate(table.column(column), start=1):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{key}: {column} in row {number} is {value}, not a number")
        values.append(float(value))
    if rows == "mean-after-first":
        values = values[1:]
    if not values:
        raise ValueError(f"{key}: {len(table.rows)} rows, too few for a {each.name}")
    if rows == "last":
        return values[-1]
    if rows == "best":
        return max(values) if each.better == "higher" else min(values)
    if rows == "worst":
        return min(values) if each.better == "higher" else max(values)
    return math.fsum(values) / len(values)


def _latency_figures(curve: Curve, each: Metric) -> list[Figure]:
    above = curve.from_size(1) or curve
    found = [Figure("small_message_latency", above.values[0], curve.unit, above.sizes[0])]
    if each.shape == "collective" and len(above.sizes) > 1:
        found.append(Figure("large_message_latency", above.values[-1], curve.unit, above.sizes[-1]))
    return found
