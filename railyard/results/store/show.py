"""Stored runs and tests as text: one line per run, one line per test, or everything about one test."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from railyard.base.clean_text import one_line
from railyard.base.hostlist import list_nodes
from railyard.base.wording import count_of, message_size, number
from railyard.results.record.form import PART_OF, STATES, DeficitRecord, Record
from railyard.results.report.summary import key_figure
from railyard.results.report.text import COMPUTED_WORDS, figure_number
from railyard.results.store.query import RunSummary

_HOW: Mapping[str, str] = {
    "killed": "was killed before its end",
    "running": "has not ended yet",
    "ended": "ended before the first one",
}


_PARTS = frozenset(PART_OF.values())
_COMPUTED = "computed, not published"
#: If a list has more parts than this, the text has the first ones, or a summary.
_MOST = 64


def run_lines(found: Sequence[RunSummary]) -> list[str]:
    """Return one line per run: id, when, systems, how many tests are in each state, and what could not be read."""
    width = max(len(one.run) for one in found)
    systems = max(len(", ".join(one.systems)) for one in found)
    lines = []
    for one in found:
        counts = ", ".join(f"{one.counts[state]} {state}" for state in STATES if one.counts.get(state))
        tests = sum(one.counts.values())
        told = ": ".join(filter(None, (count_of(tests, "test"), counts))) + _unfinished_words(one)
        lines.append(f"{one.run:<{width}}  {_minute(one.began)}  {', '.join(one.systems):<{systems}}  {told}")
        lines += [f"{'':{width}}  {sentence}" for sentence in one.problems]
    return lines


def test_lines(records: Sequence[Record]) -> list[str]:
    """Return one line per test: state, fabric, stack, rails, benchmark, key figure, and the verdict's sentence.

    If a figure is marked as computed, the last line says what that means.
    """
    heads = [
        (
            record.found.state,
            record.where.fabric,
            record.test.stack,
            count_of(record.test.rails, "rail"),
            record.test.benchmark,
            "" if (figure := key_figure(record)) is None else f"{figure_number(figure)} {figure.unit}",
        )
        for record in records
    ]
    widths = [max(len(head[column]) for head in heads) for column in range(6)]
    lines = [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(head, widths, strict=True))
        + f"  {one_line(record.found.verdict.text)}"
        for head, record in zip(heads, records, strict=True)
    ]
    is_marked = any(figure.computed for record in records if (figure := key_figure(record)) is not None)
    return [*lines, *([COMPUTED_WORDS] if is_marked else [])]


def detail_lines(values: Mapping[str, Any]) -> list[str]:
    """Return everything stored about one test, one line per value; curves have one line per size."""
    lines = [str(values["test"]["case"])]
    for key, value in values.items():
        shown = (
            {name: item for name, item in value.items() if name not in ("case", "curves")} if key in _PARTS else value
        )
        lines += _detail(key, shown, 1)
    for curve in values["found"]["curves"]:
        deficit = curve.get("deficit")
        said = (
            "" if deficit is None else f": {DeficitRecord(deficit['share'], deficit['size'], deficit['repeats']).words}"
        )
        lines.append(f"  {curve['metric']}, {curve['unit']}{said}")
        bounds = [
            band for band in curve["bands"] if any(side != [None] * len(side) for side in (band["low"], band["high"]))
        ]
        for place, (size, value) in enumerate(zip(curve["sizes"], curve["values"], strict=True)):
            made = _COMPUTED if size in curve.get("computed", ()) else ""
            told = ", ".join(filter(None, (made, *(_format_bound(band, place, size) for band in bounds))))
            lines.append(f"    {message_size(size):>10}  {number(value):>10}{f'  ({told})' if told else ''}")
    return lines


def _format_bound(band: Mapping[str, Any], place: int, size: int) -> str:
    if place >= len(band["sizes"]) or band["sizes"][place] != size:
        return ""
    low, high = band["low"][place], band["high"][place]
    parts = [f"at least {number(low)}"] if low is not None else []
    parts += [f"at most {number(high)}"] if high is not None else []
    return f"{' and '.join(parts)}: {band['id']}" if parts else ""


def _detail(key: str, value: Any, depth: int) -> Iterator[str]:
    indent = "  " * depth
    if value is None or value == "" or (isinstance(value, (list, dict)) and not value):
        return
    if isinstance(value, Mapping):
        yield f"{indent}{key}"
        for name, item in value.items():
            yield from _detail(str(name), item, depth + 1)
    elif isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        for number_, item in enumerate(value[:_MOST], start=1):
            yield from _detail(f"{key} {number_}", item, depth)
        if len(value) > _MOST:
            yield f"{indent}{key}: {len(value) - _MOST} more (--json prints them)"
    elif isinstance(value, list) and len(value) > _MOST:
        yield f"{indent}{key}: {_summarize(value)}"
    elif isinstance(value, list):
        yield f"{indent}{key}: {('; ' if key == 'remarks' else ' ').join(map(str, value))}"
    else:
        yield f"{indent}{key}: {value}"


def _summarize(values: Sequence[Any]) -> str:
    """Return a summary of thousands of values: nodes as ranges, numbers from the least to the largest."""
    numbers = [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]
    if not numbers:
        return list_nodes([str(value) for value in values])
    lacking = f", {len(values) - len(numbers)} none" if len(numbers) < len(values) else ""
    return f"{len(values)} values, {min(numbers)} to {max(numbers)}{lacking} (--json prints them)"


def _unfinished_words(one: RunSummary) -> str:
    """Return words for a run that did not reach its end, or that still runs; nothing for any other."""
    if one.promised is None or (one.promised.state == "ended" and one.counts):
        return ""
    return f"; {count_of(len(one.promised.tests), 'test')} promised, the run {_HOW[one.promised.state]}"


def _minute(time: str) -> str:
    return time[:16].replace("T", " ")
