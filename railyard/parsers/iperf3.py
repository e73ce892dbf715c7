"""iperf3 3.0 to 3.21, console (``-V``, ``-P``, ``-R``, ``--bidir``, UDP), ``--json`` and ``--json-stream``, as tables.

``parse`` returns one table per run, in the order of the text. Its rows are the run's sums, or with one stream, that
stream's closing lines; the intervals before them are not rows, but if nothing moved in one, that is a failure.
``context["role"]`` says what each row is, in order ("sender, receiver"), ``interval`` is the first row's length in
seconds, ``streams`` the number of streams per direction. With JSON in one direction, ``bytes_sent`` and
``bytes_received`` are what the two ends counted themselves.
Bandwidth is MB/s (10^6 B/s): iperf3's bits are decimal, its bytes ("MBytes/sec" of ``-f M``) binary (units.c). A
sender's bandwidth over UDP is what was sent, not what arrived: ``lost`` of ``datagrams`` did not arrive.

A table is complete if it has "iperf Done." or a receiver's row for each direction, and no error of iperf3 before its
end. A run without closing lines, or with several streams and no sum, gives a failure and no table.

Clients that run at once, each with a title (``-T``) before its lines, are one table: a row for each, then their sum.
iperf3 prints a title and ": " before each line (iperf_printf of iperf_api.c). The lines of the clients alternate, and
only their sum says what the link carried.

``--json`` writes one object per run, ``--json-stream`` one per line (since 3.17). An object may begin a line at any
indent. A cut object gives a failure and no figures.

The intervals of a run of iperf3 or iperf 2 (``-i``): seconds in which (almost) nothing moved, and sums that
contradict it.

Both print the same: for each stream, and for their sum, a line a second. The first interval has the start of the
connections, and the last one may be the few milliseconds until the end is noticed, so neither alone counts as still.

Source: iperf_print_intermediate and print_interval_results in src/iperf_api.c of esnet/iperf; a server's last interval
is as short as the time until its client's end arrives.
"""

import math
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from railyard.base.wording import number
from railyard.parsers.lines import Line, each_line, figure, foreign, is_failure, objects, own_text, texts_of
from railyard.parsers.output import ContextValue, ParsedOutput, Remark, Table

#: An interval shorter than this share of the longest is a rest at a run's end.
_WHOLE = 0.5
#: An interval below this share of the median moved nothing for nine tenths of its length.
_STILL = 0.10
#: After a lost window a healthy link goes on when the least time-out is over (200 ms, TCP_RTO_MIN of Linux). Twice that
#: and more is a stall: intervals of 0.1 s (``-i 0.1``) show the time-outs themselves, s.
_STALL_S = 0.5
#: How far the mean of all intervals may be from the closing line: both have three digits, and the two ends count at
#: slightly different times, which is most of a short run.
_AGREES = 0.10
#: Between the end of one interval and the begin of the next, and at a run's end, s.
_GAP_S = 0.3


@dataclass(frozen=True, slots=True)
class Interval:
    """What moved from ``start`` to ``end``, s; ``line`` is its place in the output."""

    line: int
    start: float
    end: float
    bandwidth_mb_s: float

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.end - self.start


def wrong_intervals(intervals: Sequence[Interval], closing_mb_s: Sequence[float], seconds: float) -> Remark | None:
    """Return that a run moved almost nothing for a while, or that its intervals contradict its closing lines, or None.

    ``closing_mb_s``: what the ends counted over the whole run of ``seconds``. Without all its intervals only those that
    are there are looked at.
    """
    return _contradiction(intervals, closing_mb_s, seconds) or _find_silence(intervals, seconds)


def _find_silence(intervals: Sequence[Interval], seconds: float) -> Remark | None:
    longest = max((each.seconds for each in intervals), default=0.0)
    whole = [each for each in intervals if each.seconds >= _WHOLE * longest]
    usual = statistics.median(each.bandwidth_mb_s for each in whole) if whole else 0.0
    still = [each for each in whole if each.bandwidth_mb_s == 0 or each.bandwidth_mb_s < _STILL * usual]
    if not still or still == [intervals[0]]:
        return None
    spans: list[list[float]] = []
    for each in still:
        if spans and abs(each.start - spans[-1][1]) < _GAP_S * longest:
            spans[-1][1] = each.end
        else:
            spans.append([each.start, each.end])
    if all(end - start < _STALL_S for start, end in spans):
        return None
    where = ", ".join(f"{start:.1f} to {end:.1f} s" for start, end in spans[:5]) + (", …" if spans[5:] else "")
    lost = sum(each.seconds for each in still)
    most = max(each.bandwidth_mb_s for each in still)
    rate = "0 bits/s" if most == 0 else f"{number(most)} MB/s or less, the median is {number(usual)}"
    return Remark(still[0].line, f"{round(lost, 1):g} of {round(seconds, 1):g} seconds at {rate}: {where}")


def _contradiction(intervals: Sequence[Interval], closing_mb_s: Sequence[float], seconds: float) -> Remark | None:
    if not intervals or not closing_mb_s or not _cover(intervals, seconds):
        return None
    total = sum(each.seconds for each in intervals)
    mean = sum(each.seconds * each.bandwidth_mb_s for each in intervals) / total
    if any(math.isclose(mean, closing, rel_tol=_AGREES) for closing in closing_mb_s):
        return None
    said = " and ".join(number(each) for each in closing_mb_s)
    return Remark(
        intervals[0].line,
        f"figures that contradict each other: the mean of the intervals is {number(mean)} MB/s, the closing lines say "
        f"{said} MB/s",
    )


def _cover(intervals: Sequence[Interval], seconds: float) -> bool:
    """Return whether the intervals are all of a run, without a gap."""
    at = 0.0
    for each in intervals:
        if each.seconds <= 0 or abs(each.start - at) > _GAP_S:
            return False
        at = each.end
    return abs(at - seconds) <= max(_GAP_S, 0.05 * seconds)


SUM = "SUM"  # in the place of a stream's number


@dataclass(frozen=True, slots=True)
class Row:
    """One closing line: sender or receiver, its stream or SUM, its direction (``--bidir``), its figures."""

    role: str
    stream: str
    way: str | None
    bandwidth_mb_s: float
    retransmits: int | None
    seconds: float


@dataclass(slots=True)
class Run:
    """One run: ``connected`` counts its streams' lines, ``both`` is ``--bidir``, ``reverse`` ``-R``."""

    line: int
    version: str | None = None
    context: dict[str, ContextValue] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    connected: int = 0
    headings: int = 0
    retransmits: bool = False
    both: bool = False
    reverse: bool = False
    done: bool = False
    spoiled: bool = False
    intervals: dict[tuple[str, str | None], list[Interval]] = field(default_factory=dict)

    def take(self, stream: str, way: str | None, interval: Interval) -> None:
        """Keep an interval of a stream, or of the sum, in one direction."""
        self.intervals.setdefault((stream, way), []).append(interval)

    def streams(self) -> int:
        """Return how many streams ran in one direction: as announced, else as connected, else as closed."""
        said = self.context.get("streams")
        if said:
            return int(said)
        closed = len({row.stream for row in self.rows} - {SUM})
        return max(1, (self.connected or closed) // (2 if self.both else 1))

    def wrong_intervals(self) -> list[Remark]:
        """Return, for each direction, that nothing moved in intervals, or that they contradict its closing lines."""
        rows = self._closing_rows()
        found = (
            wrong_intervals(
                intervals,
                [row.bandwidth_mb_s for row in rows],
                max((row.seconds for row in rows if row.way == way), default=0.0),
            )
            for (stream, way), intervals in self.intervals.items()
            if any((row.stream, row.way) == (stream, way) for row in rows)
        )
        return [remark for remark in found if remark is not None]

    def _closing_rows(self) -> list[Row]:
        """Return the closing lines of the run's sums, or of its one stream."""
        return [row for row in self.rows if row.stream == SUM] or (self.rows if self.streams() == 1 else [])

    def table(self) -> Table | None:
        """Return the run's table; None if it has no closing line, or several streams and no sum."""
        rows = self._closing_rows()
        if not rows:
            return None
        printed = self.retransmits or any(row.retransmits is not None for row in rows)
        received = {row.way for row in rows if row.role == "receiver"}
        context: dict[str, ContextValue] = {
            **self.context,
            "role": ", ".join(f"{row.way} {row.role}" if row.way else row.role for row in rows),
            **({"bidirectional": True} if any(row.way for row in rows) else {}),
            "streams": self.streams(),
            "interval": rows[0].seconds,
        }
        return Table(
            tool="iperf3",
            version=self.version,
            benchmark="iperf3",
            columns=("bandwidth", "retransmits") if printed else ("bandwidth",),
            units=("MB/s", None) if printed else ("MB/s",),
            rows=tuple((row.bandwidth_mb_s, row.retransmits)[: 2 if printed else 1] for row in rows),
            line=self.line,
            complete=not self.spoiled and (self.done or len(received) == (2 if self.both else 1)),
            context=MappingProxyType(context),
        )


TOOL = "iperf3"

_BIT_RATES = {prefix: 1e-6 / 8 * 1e3**step for step, prefix in enumerate(("", "K", "M", "G", "T"))}
_BYTE_RATES = {prefix: 1e-6 * 2.0 ** (10 * step) for step, prefix in enumerate(("", "K", "M", "G", "T"))}

# [SUM][TX-C]   0.00-10.00  sec  22.0 GBytes  18.9 Gbits/sec   69             sender
_CLOSING = re.compile(
    r"^.{0,80}?\[ {0,3}(?P<id>SUM|[0-9]{1,4})\](?:\[(?P<way>[TR]X-[CS])\])? {1,6}"
    r"(?P<start>[0-9]{1,9}\.[0-9]{1,2}) ?-(?P<end>[0-9]{1,9}\.[0-9]{1,2}) {1,6}sec {1,6}"
    r"[0-9.]{1,12} [KMGT]?Bytes {1,6}(?P<rate>[0-9]{1,9}(?:\.[0-9]{1,4})?) (?P<prefix>[KMGTkmgt]?)"
    r"(?P<kind>bits|Bytes)/sec(?P<rest>(?:\s.{0,80})?)$"
)
#   0.023 ms  0/159 (0%)
_DATAGRAMS = re.compile(r"\bms {1,6}(?:(?P<lost>-?[0-9]{1,18})|Unknown)/(?P<sent>[0-9]{1,18})\b")
# Connecting to host 10.0.0.2, port 5201   |   Accepted connection from 10.0.0.1, port 40972
_BEGINS = re.compile(r"^.{0,80}?(?P<side>Connecting to host|Accepted connection from) \S{1,200}, port [0-9]{1,5}\s*$")
# Starting Test: protocol: TCP, 2 streams, 131072 byte blocks, omitting 0 seconds, 10 second test
_STARTING = re.compile(r"^.{0,80}?Starting Test: protocol: (?P<name>[A-Z]{3,4}), (?P<streams>[0-9]{1,4}) streams?,.*$")
# iperf 3.7+ (cJSON 1.5.2)
_VERSION = re.compile(r"^\s{0,8}iperf (?P<version>3\.\S{1,20})(?: \(.{0,40}\))?\s{0,8}$")
_SIGN = re.compile(r"\biperf3: |\biperf 3\.|\biperf3 ")
_OWN = ("Server listening on", "-----", "Reverse mode", "Time:", "Test Complete.", "CPU Utilization", "Server output:")
_EXPECTED = 'output of iperf3: "Connecting to host …" or a closing line "… sec … sender"'
# "s1:  Connecting to host 10.0.0.2, port 5101"
_BEGINS_WITH_TITLE = re.compile(
    r"\A(?P<title>[^\s\[\]:][^\[\]:]{0,60}):  (?=Connecting to host \S{1,200}, port [0-9]{1,5}\s*\Z)"
)
_BIT = 1e-6 / 8  # MB/s in one bit/s
# Sum under "end" -> who measured it and, with --bidir, in which direction; up to 3.6, UDP has only "sum"
_SUMS = (
    ("sum_sent", "sender", "TX-C"),
    ("sum_received", "receiver", "TX-C"),
    ("sum_sent_bidir_reverse", "sender", "RX-C"),
    ("sum_received_bidir_reverse", "receiver", "RX-C"),
)


def parse(text: str) -> ParsedOutput:
    """Return the tables, failures and remarks of one output of iperf3, printed or in JSON.

    Raises ParseError if the text has neither a run of iperf3 nor an error under its name.
    """
    text = own_text(text, TOOL, _EXPECTED)
    if (several := clients_of(text, _read)) is not None:
        return several
    return _read(text)


def _read(text: str) -> ParsedOutput:
    reader = _Reader(*read_json(text))
    if not (reader.runs or reader.failures):
        for line in each_line(text):
            reader.read(line)
    return reader.result(text)


class _Reader:
    """The runs (the last one is open), and what else was found so far."""

    def __init__(self, runs: list[Run], failures: list[Remark]) -> None:
        self.runs = runs
        self.version: str | None = None
        self.failures = failures
        self.remarks: list[Remark] = []

    def read(self, line: Line) -> None:
        """Read one line: an interval, a heading or a closing line; the rest is sorted."""
        text = line.text
        if "/sec" in text:
            if len(text) <= 400:
                self._closing_line(line)
        elif "[ ID]" in text:
            self._heading(text)
        elif text and not text.isspace() and not self._read_own_line(line, text):
            self._foreign(line, text.strip())

    def result(self, text: str) -> ParsedOutput:
        """Return what was found, after everything was read."""
        tables = []
        for run in self.runs:
            table = run.table()
            self.failures.extend(run.wrong_intervals())
            if table:
                tables.append(table)
            else:
                what = "the sum of its streams" if run.rows else "closing lines"
                self.failures.append(Remark(run.line, f"a run without {what}"))
        if not self.runs and not (self.failures and _SIGN.search(text)):
            raise foreign(text, _EXPECTED)
        return ParsedOutput(
            tuple(tables), tuple(sorted(self.failures, key=lambda item: item.line)), tuple(self.remarks)
        )

    def _run(self, line: Line) -> Run:
        if not self.runs:
            self.runs.append(Run(line.number, self.version))
        return self.runs[-1]

    def _heading(self, text: str) -> None:
        for run in self.runs[-1:]:
            run.headings += 1
            run.both = "[Role]" in text
            run.retransmits = "Retr" in text
            if "atagrams" in text:
                run.context["protocol"] = "UDP"

    def _closing_line(self, line: Line) -> None:
        named = line.text.rstrip().endswith(("sender", "receiver"))
        # up to 3.1, UDP ends with one line that names no side: it counts the sender's bytes and what did not arrive
        old = line.ended and bool(self.runs) and self.runs[-1].headings > 1 and " ms " in line.text
        found = _CLOSING.match(line.text)
        if not found:
            return
        if not (named or old):
            self._interval(line.number, found)
            return
        run, words = self._run(line), found["rest"].split()
        datagrams = _DATAGRAMS.search(found["rest"])
        if datagrams:
            run.context |= {"protocol": "UDP", "datagrams": int(datagrams["sent"])}
            run.context |= {"lost": int(datagrams["lost"])} if datagrams["lost"] else {}
        again = len(words) == 2 and words[0].isdecimal() and run.context.get("protocol") != "UDP"
        run.rows.append(
            Row(
                role=words[-1] if named else "sender",
                stream=found["id"],
                way=found["way"],
                bandwidth_mb_s=_rate_mb_s(found),
                retransmits=int(words[0]) if again else None,
                seconds=round(float(found["end"]) - float(found["start"]), 2),
            )
        )

    def _interval(self, line: int, found: re.Match[str]) -> None:
        """Keep an interval; what ``-O`` leaves out of the run is none of it."""
        if "(omitted)" in found["rest"]:
            return
        interval = Interval(line, float(found["start"]), float(found["end"]), _rate_mb_s(found))
        for run in self.runs[-1:]:
            run.take(found["id"], found["way"], interval)

    def _read_own_line(self, line: Line, text: str) -> bool:
        """Read what a run says about itself; return whether the line is one of iperf3's."""
        begins = _BEGINS.match(text) if ", port " in text else None
        if begins:
            self.runs.append(Run(line.number, self.version))
            self.runs[-1].context["side"] = "client" if begins["side"].startswith("Connecting") else "server"
        elif " connected to " in text and " local " in text and "[" in text:
            if self._run(line).rows:  # the next run's beginning is missing
                self.runs.append(Run(line.number, self.version))
            self.runs[-1].connected += 1
        elif text.strip() == "iperf Done.":
            for run in self.runs[-1:]:
                run.done = True
        elif "Starting Test: " in text and (starting := _STARTING.match(text)):
            self._run(line).context |= {"protocol": starting["name"], "streams": int(starting["streams"])}
        elif version := _VERSION.match(text):
            self.version = version["version"]
        else:
            return (
                "- - - - -" in text
                or text.strip().startswith(_OWN)
                or text.rstrip().endswith(("datagrams", "available)"))
            )
        return True

    def _foreign(self, line: Line, text: str) -> None:
        failed = "iperf3: error" in text or "iperf3: interrupt" in text or is_failure(text)
        (self.failures if failed else self.remarks).append(Remark(line.number, text[:2000]))
        for run in self.runs[-1:] if failed or line.dots else ():
            run.spoiled |= not run.done


def _rate_mb_s(found: re.Match[str]) -> float:
    """Return the bandwidth of an interval or a closing line, MB/s."""
    rates = _BIT_RATES if found["kind"] == "bits" else _BYTE_RATES
    return float(found["rate"]) * rates[found["prefix"].upper()]


def clients_of(text: str, read: Callable[[str], ParsedOutput]) -> ParsedOutput | None:
    """Return the one table of several clients with titles; None if the text has fewer than two titles.

    ``read`` reads the text of one client.
    """
    if "Connecting to host" not in text:
        return None
    lines = texts_of(text)
    titles = list(dict.fromkeys(found["title"] for line in lines if (found := _BEGINS_WITH_TITLE.match(line))))
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
    return ParsedOutput(made, tuple(failures[line] for line in sorted(failures)))


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


def read_json(text: str) -> tuple[list[Run], list[Remark]]:
    """Return the runs of all objects of iperf3 in this text, and failures: errors that they report, and cut objects."""
    runs: list[Run] = []
    failures: list[Remark] = []
    if '"start"' not in text and '"event"' not in text:
        return runs, failures
    for lines, found in objects(text, _is_own):
        line = lines.start
        if found is None:
            failures.append(Remark(line, "JSON of iperf3 that ends before its closing brace"))
            continue
        event = found.get("event")
        piece = {event: found.get("data")} if isinstance(event, str) else found
        start, end, error = piece.get("start"), piece.get("end"), piece.get("error")
        if isinstance(start, dict):
            runs.append(_start_run(line, start))
        for run in runs[-1:]:
            _take_intervals(run, line, piece)
        if runs and isinstance(end, dict):
            _end_run(runs[-1], end)
        if runs and isinstance(error, str):
            failures.append(Remark(line, f"iperf3: {error[:2000]}"))
            runs[-1].spoiled = True
    return runs, failures


def _is_own(beginning: str) -> bool:
    return "iperf 3" in beginning or beginning.startswith(('{"event":"', '{\n\t"start"'))


def _start_run(line: int, start: dict[str, Any]) -> Run:
    version, said = start.get("version"), start.get("test_start")
    run = Run(line)
    if isinstance(version, str) and version.startswith("iperf 3"):
        run.version = version.split()[1]
    if isinstance(said, dict):
        streams, protocol = figure(said, "num_streams"), said.get("protocol")
        if streams and streams >= 1:
            run.context["streams"] = int(streams)
        if isinstance(protocol, str):
            run.context["protocol"] = protocol
        run.both = said.get("bidir") == 1
        run.reverse = said.get("reverse") == 1
    return run


def _take_intervals(run: Run, line: int, piece: dict[str, Any]) -> None:
    """Keep the sums of the intervals of a run's object ("intervals"), or of one event ("interval").

    Source: iperf_print_intermediate in src/iperf_api.c of esnet/iperf; ``omitted`` is what ``-O`` leaves out.
    """
    several, one = piece.get("intervals"), piece.get("interval")
    for each in several if isinstance(several, list) else [one]:
        for name, way in (("sum", "TX-C" if run.both else None), ("sum_bidir_reverse", "RX-C")):
            values = each.get(name) if isinstance(each, dict) else None
            if not isinstance(values, dict) or values.get("omitted") is True:
                continue
            start, end, rate = (figure(values, key) for key in ("start", "end", "bits_per_second"))
            if start is not None and end is not None and rate is not None:
                run.take(SUM, way, Interval(line, start, end, rate * _BIT))


def _end_run(run: Run, end: dict[str, Any]) -> None:
    run.done = True
    sums = [(end.get(name), role, way if run.both else None) for name, role, way in _SUMS]
    if not any(isinstance(values, dict) for values, _, _ in sums):
        sums = [(end.get("sum"), "sender", None)]
    for values, role, way in sums:
        rate = figure(values, "bits_per_second") if isinstance(values, dict) else None
        if not isinstance(values, dict) or rate is None:
            continue
        counted_bytes = figure(values, "bytes")
        if way is None and counted_bytes is not None and not run.reverse:
            run.context |= {"bytes_sent" if role == "sender" else "bytes_received": int(counted_bytes)}
        again, seconds = figure(values, "retransmits"), figure(values, "seconds")
        counted = None if again is None else int(again)
        run.rows.append(Row(role, SUM, way, rate * _BIT, counted, round(seconds or 0.0, 2)))
        sent, lost = figure(values, "packets"), figure(values, "lost_packets")
        if sent is not None and lost is not None:
            run.context |= {"datagrams": int(sent), "lost": int(lost)}
