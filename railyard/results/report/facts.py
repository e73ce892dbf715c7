"""What a page is about, in one line: system, nodes, date, run, and how long its tests took."""

import re
from collections.abc import Sequence

from railyard.base.clean_text import one_line
from railyard.base.wording import count_of, listing
from railyard.results.record.form import Record

_MOST_NAMES = 8
_MOST_RUNS = 3
_CLOCK = re.compile(r"(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}):\d{2}(?:\.\d+)?Z")


def facts(records: Sequence[Record]) -> tuple[tuple[str, str], ...]:
    """Return the known names and values: Nodes, Date, Run, Tests took."""
    nodes = tuple(dict.fromkeys(node for record in records for node in record.nodes))
    times = sorted(record.time for record in records if record.time)
    runs = list(dict.fromkeys(record.run for record in records))
    took_s = sum(record.elapsed_s or 0.0 for record in records)
    found = [("Nodes", _nodes(nodes, records))]
    if times:
        found.append(("Date", _span(shown_time(times[0]), shown_time(times[-1]))))
    if runs:
        shown = ", ".join(map(one_line, runs)) if len(runs) <= _MOST_RUNS else f"{len(runs)} runs"
        found.append(("Run" if len(runs) == 1 else "Runs", shown))
    if took_s:
        found.append(("Tests took", _length(took_s)))
    return tuple(pair for pair in found if pair[1])


def node_names(nodes: Sequence[str]) -> str:
    """Return nodes by name if they are few, else some names and the number: ``n1, n2 … n5000 (5,000 nodes)``."""
    if len(nodes) <= _MOST_NAMES:
        return one_line(", ".join(nodes))
    return one_line(f"{nodes[0]}, {nodes[1]} … {nodes[-1]} ({count_of(len(nodes), 'node', ',')})")


def shown_time(time: str) -> str:
    """Return a record's time to the minute: ``2026-11-21 06:00 UTC``; a time in another form stays as it is."""
    found = _CLOCK.fullmatch(time)
    return f"{found[1]} {found[2]} UTC" if found else one_line(time)


def _nodes(nodes: Sequence[str], records: Sequence[Record]) -> str:
    if not nodes:
        return "none: nothing was measured" if any(record.replayed is not None for record in records) else ""
    if len(nodes) <= _MOST_NAMES:
        return one_line(f"{count_of(len(nodes), 'node')}: {listing(nodes)}")
    return node_names(nodes)


def _span(first: str, last: str) -> str:
    day, _, _ = last.partition(" ")
    if first == last or first.startswith(f"{day} "):
        return first
    return f"{first} to {last}"


def _length(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
