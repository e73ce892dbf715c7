"""What each fabric delivered, in one number: the one-way bandwidth of its test over the most rails, and its limit."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from railyard.base.clean_text import one_line
from railyard.base.wording import number
from railyard.benchmarks.curve import Figure
from railyard.results.record.form import CurveRecord, Record
from railyard.results.report.matrix import WORST_FIRST
from railyard.results.report.summary import key_figure
from railyard.results.report.text import COMPUTED_MARK, STATE_WORDS, how_made, percent

_MB_S, _GB_S = "MB/s", "GB/s"
_NOTHING = "–"


@dataclass(frozen=True, slots=True)
class FabricNumber:
    """One fabric: its number with its unit, what that is compared with, its test, and how all tests went.

    ``value`` has a mark if it was computed for a replay. ``limit`` is ``of 12.42 GB/s, 99.8 %``, empty if no physical
    limit is known. ``test`` says where the number is from, and whether that was a replay or a rehearsal. ``states`` are
    all states of its tests, the worst first, with how many tests are in each.
    """

    name: str
    value: str
    unit: str
    limit: str
    test: str
    index: int | None
    states: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Candidate:
    index: int
    record: Record
    curve: CurveRecord
    figure: Figure


def fabric_numbers(records: Sequence[Record]) -> tuple[FabricNumber, ...]:
    """Return a number for each fabric, in the order of the records.

    The number is from a test over the most rails. If such tests failed, it is the lowest figure of these, so that no
    better one hides it. Else it is the highest, and a printed figure counts before a computed one.
    """
    places: dict[tuple[str, str], list[tuple[int, Record]]] = {}
    for index, record in enumerate(records):
        places.setdefault((record.where.system, record.where.fabric), []).append((index, record))
    several = len({system for system, _ in places}) > 1
    return tuple(_number(f"{system}: {fabric}" if several else fabric, own) for (system, fabric), own in places.items())


def _number(name: str, own: Sequence[tuple[int, Record]]) -> FabricNumber:
    states = [record.found.state for _, record in own]
    counts = tuple((state, f"{states.count(state)} {STATE_WORDS[state]}") for state in STATE_WORDS if state in states)
    ordered = tuple(sorted(counts, key=lambda each: WORST_FIRST.index(each[0])))
    ran = [(index, record) for index, record in own if record.found.state != "not-tested"]
    chosen = _choose([each for index, record in ran for each in _bandwidths(index, record)])
    if chosen is not None:
        value, unit = _format_value(chosen.figure.value, chosen.curve.unit)
        marked = value + (COMPUTED_MARK if chosen.figure.computed else "")
        limit = _limit(chosen)
        return FabricNumber(one_line(name), marked, unit, limit, _test(chosen), chosen.index, ordered)
    for index, record in ran:
        figure = key_figure(record)
        if figure is not None:
            value, unit = _format_value(figure.value, figure.unit)
            marked = value + (COMPUTED_MARK if figure.computed else "")
            told = f"{figure.name.replace('_', ' ')}, {_place(record)}"
            return FabricNumber(one_line(name), marked, one_line(unit), "", one_line(told), index, ordered)
    told = "nothing was measured" if ran else "no test ran"
    return FabricNumber(one_line(name), _NOTHING, "", "", told, None, ordered)


def _bandwidths(index: int, record: Record) -> Iterable[_Candidate]:
    """Yield a record's bandwidths that can represent a fabric: its key figures that have a curve."""
    for curve in record.found.curves:
        if curve.metric == "bandwidth" and curve.unit == _MB_S:
            figure = next((one for one in record.found.figures if one.unit == curve.unit), None)
            if figure is not None:
                yield _Candidate(index, record, curve, figure)


def _choose(found: Sequence[_Candidate]) -> _Candidate | None:
    one_way = [each for each in found if each.curve.directions == 1] or found
    most = max((each.record.test.rails for each in one_way), default=0)
    widest = [each for each in one_way if each.record.test.rails == most]
    failed = [each for each in widest if each.record.fails]
    if failed:
        return min(failed, key=lambda each: each.figure.value)
    return max(widest, key=lambda each: (not each.figure.computed, each.figure.value), default=None)


def _format_value(value: float, unit: str) -> tuple[str, str]:
    """Return a value with four digits, as in sentences: with three, 12.40 of 12.42 GB/s would be 12.4 of 12.4."""
    if unit == _MB_S and value >= 1000:
        return number(value / 1000), _GB_S
    return number(value), unit


def _limit(chosen: _Candidate) -> str:
    """Return what the number is compared with: the limit, and the record's per cent of it.

    The limit of a long stream may be below the figure of a burst: then only the per cent are shown.
    """
    limit, share, unit = chosen.curve.limit, chosen.curve.percent_of_limit, chosen.curve.unit
    if limit is None or share is None:
        return ""
    if chosen.figure.value > limit.value:
        return f"{percent(share)} % of the limit"
    in_gb_s = _format_value(chosen.figure.value, unit)[1] == _GB_S
    shown = f"{number(limit.value / 1000)} {_GB_S}" if in_gb_s else f"{number(limit.value)} {unit}"
    return f"of {shown}, {percent(share)} %"


def _test(chosen: _Candidate) -> str:
    both = "both directions, " if chosen.curve.directions == 2 else ""
    return one_line(f"{both}{_place(chosen.record)}")


def _place(record: Record) -> str:
    rails = "1 rail" if record.test.rails == 1 else f"{record.test.rails} rails"
    made = "" if record.no_measurement is None else f", {how_made(record)}"
    return f"{record.test.benchmark}, {rails}, {record.test.stack}{made}"
