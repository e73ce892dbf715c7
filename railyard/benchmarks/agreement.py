"""Whether the columns of a row agree: size, time, bandwidth and message rate come from one measurement.

A minimum is not above a mean, and neither is above the maximum.

If a row contradicts itself, its tool did not print it like that: a digit, a unit or a size belongs to something else.
"""

from collections.abc import Iterator
from itertools import pairwise

from railyard.base.bounds import AGREEMENT_SHARE
from railyard.base.wording import message_size, number
from railyard.benchmarks import model
from railyard.benchmarks.table import micro
from railyard.parsers.output import Cell, Table

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
        where = message_size(size) if isinstance(size, int) else "a size"
        if size != "" and cells.get("repetitions") == 0:
            yield f"{where} was measured in 0 repetitions"
        for less, more in ordered:
            low, high = _positive(cells[less]), _positive(cells[more])
            if low is not None and high is not None and low > high * (1 + AGREEMENT_SHARE.value) + 2 * _HALF_A_DIGIT:
                at = "" if size == "" else f" at {where}"
                yield f"{less} {number(low)}{at} is above {more} {number(high)}: they contradict each other"


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
        where, shown = message_size(int(size)), f"bandwidth {number(rate)} MB/s"
        took = None if time is None or not is_one_pair else _positive(cells[time])
        if took is not None:
            due = messages_a_time(key) * size / took
            if _differ(rate, due, _HALF_A_DIGIT / took + _half_a_step(rate, table) / rate):
                yield (
                    f"{shown} at {where} and time {number(took)} us contradict each other: that time is "
                    f"{number(due)} MB/s"
                )
        messages = _positive(cells["message_rate"]) if has_rate else None
        if messages is not None:
            due = messages * size / 1e6
            if _differ(rate, due, rate_error / messages + _half_a_step(rate, table) / rate):
                yield (
                    f"{shown} at {where} and {number(messages)} messages per second contradict each other: these are "
                    f"{number(due)} MB/s"
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
