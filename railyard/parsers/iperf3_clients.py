"""Several clients of iperf3 in one text, each with its title (``-T``): one table, with a row for each and their sum.

iperf3 prints a title and ": " before each line (iperf_printf of iperf_api.c). The clients run at once, so their lines
alternate, and only their sum says what the link carried.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType

from railyard.parsers.lines import texts_of
from railyard.parsers.parsed import Parsed, Remark, Table

# "s1:  Connecting to host 10.0.0.2, port 5101"
_BEGINS = re.compile(r"\A(?P<title>[^\s\[\]:][^\[\]:]{0,60}):  (?=Connecting to host \S{1,200}, port [0-9]{1,5}\s*\Z)")


def clients_of(text: str, read: Callable[[str], Parsed]) -> Parsed | None:
    """Return the one table of several clients with titles; None if the text has fewer than two titles.

    ``read`` reads the text of one client.
    """
    if "Connecting to host" not in text:
        return None
    lines = texts_of(text)
    titles = list(dict.fromkeys(found["title"] for line in lines if (found := _BEGINS.match(line))))
    if len(titles) < 2:
        return None
    parts = [(title, read("\n".join(_of_client(lines, title, titles)))) for title in titles]
    failures = {note.line: note for _, part in parts for note in part.failures}
    tables = [(title, part.tables[0]) for title, part in parts if len(part.tables) == 1]
    for title, part in parts:
        if len(part.tables) > 1:
            line = part.tables[1].line
            failures[line] = Remark(line, f"the client {title} ran again: give each of its runs a file of its own")
    whole = len(tables) == len(titles)
    made = (_sum(tables),) if whole else ()
    if not whole and not failures:
        failures[1] = Remark(1, "a client without closing lines")
    return Parsed(made, tuple(failures[line] for line in sorted(failures)))


def _of_client(lines: Sequence[str], title: str, titles: Sequence[str]) -> list[str]:
    """Return a client's lines without its title, in their places; the lines of others are empty."""
    own, others = f"{title}:", tuple(f"{other}:" for other in titles if other != title)
    return ["" if line.startswith(others) else line.removeprefix(own) for line in lines]


def _sum(tables: Sequence[tuple[str, Table]]) -> Table:
    """Return one table: what arrived of each client, and the sum."""
    rates = [_received_bandwidth(table) for _, table in tables]
    first = tables[0][1]
    return replace(
        first,
        columns=("bandwidth",),
        units=("MB/s",),
        rows=(*((rate,) for rate in rates), (sum(rates),)),
        line=min(table.line for _, table in tables),
        complete=all(table.complete for _, table in tables),
        context=MappingProxyType(
            {
                **{name: value for name, value in first.context.items() if name in ("protocol", "side", "interval")},
                "role": ", ".join([*(title for title, _ in tables), "sum"]),
                "clients": len(tables),
                "streams": sum(int(table.context["streams"] or 0) for _, table in tables),
            }
        ),
    )


def _received_bandwidth(table: Table) -> float:
    """Return a client's bandwidth: its last row is what the receiver counted, if it is there."""
    value = table.rows[-1][0]
    return float(value) if isinstance(value, int | float) else 0.0
