"""What each benchmark's numbers mean: which curves a table gives, and the key figures that stand for them.

The table of benchmarks is in ``table.micro``, the bytes that a run moves in ``moved_bytes``. Nothing here reads a file,
the clock or the host.

The columns of a row must agree: size, time, bandwidth and message rate come from one measurement, a minimum is not
above a mean, and neither is above the maximum. If a row contradicts itself, its tool did not print it like that: a
digit, a unit or a size belongs to something else.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType

from railyard.base.bounds import AGREEMENT_SHARE
from railyard.base.wording import message_size, number
from railyard.benchmarks import model
from railyard.benchmarks.model import BANDWIDTH, LATENCY, MESSAGE_RATE, Curve, Figure, Metric, n_half, peak
from railyard.benchmarks.table import micro
from railyard.benchmarks.table.micro import BENCHMARKS, find, metric
from railyard.benchmarks.table.micro import tool as tool_of
from railyard.parsers.output import OTHER_WORK, REPORTS, Cell, Table

#: An output may print a benchmark's name with other capitals than its key has.
_KEYS: Mapping[str, str] = MappingProxyType({key.lower(): key for key in reversed([*BENCHMARKS])})
#: Columns with the time from which a row's bandwidth was computed, and half of the step to which it is rounded.
_TIMES = ("time", "time_max", "latency")
_HALF_A_DIGIT = 0.005
#: The step of a bandwidth in MB/s if perftest printed Gb/s: two decimals; newer releases print six below 0.1 Gb/s.
#: Source: REPORT_FMT and REPORT_FMT_EXT of src/perftest_parameters.h (linux-rdma/perftest).
_GBIT_STEP, _FINE_GBIT_STEP = 1.25, 1.25e-4
#: Columns in rising order: none is less than those before it.
_RISING = (
    ("time_min", "time_avg", "time_max"),
    ("time_min", "time_typical", "time_max"),
    ("min", "avg", "max"),
    ("min_comm", "max_comm"),
    ("bandwidth", "bandwidth_peak"),
)
#: Of tables without message sizes: figures over all pairs.
_RISING_OF_ALL = (("bandwidth_min", "bandwidth_avg", "bandwidth_max"), ("latency_min", "latency_avg", "latency_max"))
#: The same for a message rate: IMB prints a whole number, perftest millions with six decimals, fabtests with two.
_HALF_A_RATE = {"fabtests": 5000.0}
_HALF_A_MESSAGE = 0.5
#: If the figures of a row lost more than this share by rounding, the row says nothing.
_TOLD_BY = 0.25


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
    for row, value in enumerate(table.column(column), start=1):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{key}: {column} in row {row} is {value}, not a number")
        values.append(float(value))
    if rows == "mean-after-first":
        values = timed_rows(table, values)
    if not values:
        raise ValueError(f"{key}: {len(table.rows)} rows, too few for a {each.name}")
    if rows == "last":
        return values[-1]
    if rows == "best":
        return max(values) if each.better == "higher" else min(values)
    if rows == "worst":
        return min(values) if each.better == "higher" else max(values)
    return math.fsum(values) / len(values)


def timed_rows(table: Table, values: Sequence[float]) -> list[float]:
    """Return the values of a table's rows without the first one, and without those whose time has other work in it."""
    besides = {int(number) for number in str(table.context.get(OTHER_WORK, "")).split()}
    return [value for number, value in enumerate(values, start=1) if number > 1 and number not in besides]


def _latency_figures(curve: Curve, each: Metric) -> list[Figure]:
    above = curve.from_size(1) or curve
    found = [Figure("small_message_latency", above.values[0], curve.unit, above.sizes[0])]
    if each.shape == "collective" and len(above.sizes) > 1:
        found.append(Figure("large_message_latency", above.values[-1], curve.unit, above.sizes[-1]))
    return found


def messages_a_time(key: str) -> int:
    """Return how many messages a bandwidth counts for one printed time: one per direction, and 4 in IMB's Exchange."""
    benchmark = micro.find(key)
    moved = benchmark.traffic
    each_way = 1 if moved is None else max(moved.forward, moved.backward)
    return next((each_way * each.directions for each in benchmark.metrics if each.name == model.BANDWIDTH), 1)


def contradiction(table: Table, key: str) -> str | None:
    """Return which two figures cannot both be true, in the first such row; None if all agree, or if nothing follows.

    If a table combines several rails, its times are the longest and its bandwidths are sums: they are not compared.
    """
    if table.context.get("rails"):
        return None
    if micro.find(key).rows != "sizes" or "size" not in table.columns:
        return next(_find_disorder(table, _RISING_OF_ALL), None)
    disordered = next(_find_disorder(table, _RISING), None)
    if disordered is not None or "bandwidth" not in table.columns:
        return disordered
    if table.units[table.columns.index("bandwidth")] != "MB/s":
        return None
    return next(_contradictions(table, key), None)


def _find_disorder(table: Table, rising: tuple[tuple[str, ...], ...]) -> Iterator[str]:
    """Yield a sentence for each row that was never measured, or whose mean is not between minimum and maximum."""
    known = [tuple(name for name in names if name in table.columns) for names in rising]
    ordered = [pair for names in known for pair in pairwise(names)]
    if not ordered and (rising is _RISING_OF_ALL or "repetitions" not in table.columns):
        return  # most tables: a long output has thousands of them
    for row in table.rows:
        cells = dict(zip(table.columns, row, strict=True))
        size = cells.get("size", "")
        if size != "" and cells.get("repetitions") == 0:
            yield f"{_place(size)} was measured in 0 repetitions"
        for less, more in ordered:
            low, high = _positive(cells[less]), _positive(cells[more])
            if low is not None and high is not None and low > high * (1 + AGREEMENT_SHARE.value) + 2 * _HALF_A_DIGIT:
                at = "" if size == "" else f" at {_place(size)}"
                yield f"{less} {number(low)}{at} is above {more} {number(high)}: they contradict each other"


def _place(size: object) -> str:
    return message_size(size) if isinstance(size, int) else "a size"


def _contradictions(table: Table, key: str) -> Iterator[str]:
    time = next((name for name in _TIMES if name in table.columns), None)
    rate_error = _HALF_A_RATE.get(table.tool, _HALF_A_MESSAGE)
    has_rate = "message_rate" in table.columns
    is_one_pair = not micro.find(key).sums_pairs and "Multi-" not in (table.benchmark or "")
    if not has_rate and (time is None or not is_one_pair):
        return
    for row in table.rows:
        cells = dict(zip(table.columns, row, strict=True))
        size, rate = _positive(cells["size"]), _positive(cells["bandwidth"])
        if size is None or rate is None:
            continue
        took = None if time is None or not is_one_pair else _positive(cells[time])
        if took is not None:
            due = messages_a_time(key) * size / took
            if _differ(rate, due, _HALF_A_DIGIT / took + _half_a_step(rate, table) / rate):
                yield (
                    f"bandwidth {number(rate)} MB/s at {message_size(int(size))} and time {number(took)} us contradict "
                    f"each other: that time is {number(due)} MB/s"
                )
        messages = _positive(cells["message_rate"]) if has_rate else None
        if messages is not None:
            due = messages * size / 1e6
            if _differ(rate, due, rate_error / messages + _half_a_step(rate, table) / rate):
                yield (
                    f"bandwidth {number(rate)} MB/s at {message_size(int(size))} and {number(messages)} messages per "
                    f"second contradict each other: these are {number(due)} MB/s"
                )


def _half_a_step(rate: float, table: Table) -> float:
    """Return half of the step in MB/s to which a bandwidth (MB/s) was rounded in the unit that was printed."""
    if not table.context.get("report_gbits"):
        return _HALF_A_DIGIT
    steps = rate / _GBIT_STEP
    is_coarse = abs(steps - round(steps)) < _FINE_GBIT_STEP / _GBIT_STEP / 2
    return (_GBIT_STEP if is_coarse else _FINE_GBIT_STEP) / 2


def _positive(cell: Cell) -> float | None:
    return float(cell) if isinstance(cell, int | float) and not isinstance(cell, bool) and cell > 0 else None


def _differ(found: float, due: float, rounding: float) -> bool:
    if rounding > _TOLD_BY:
        return False
    return abs(found / due - 1) > AGREEMENT_SHARE.value + 2 * rounding
