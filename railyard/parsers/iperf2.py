"""Output of iperf 2.0 to 2.2, client or server, as typed tables: a row per end of a run, streams summed.

``context["role"]`` names the end of each row: the sender is a client, the receiver a server, or the "Server Report"
that a client prints for UDP. ``interval`` is a row's length in seconds, ``streams`` the number of streams ("several"
for a sum alone). Bandwidth is MB/s (10^6 B/s): bits are decimal here, bytes binary (kConversionForBits and
kConversion of stdio.c). Over UDP, ``lost`` of ``datagrams`` did not arrive.

A run both ways at once (``-d``, ``--full-duplex``) is ``bidirectional``, with a row for each direction. "[ *1]" comes
back (setTransferID), and so does what arrives at the port on which the client listens.

A run's report begins at 0 s, as the first interval of ``-i`` does. It is the last line of its stream that begins at
0 s, and intervals before it end where it ends. Where no interval is there, a report of less than 3 s counts only if
its end is no whole number of seconds: it may be the first interval of a text that ends early. With several streams,
only their sum counts.

iperf3 is another program: its streams are "connected to" an address, and its reports end with sender or receiver.

Source: report_bw_format and its neighbours in src/Locale.c, byte_snprintf in src/stdio.c, iperf 2.0.13 (lynxis/iperf2)
and 2.1.6 (open-vela/external_iperf2).
"""

import math
import re
from dataclasses import dataclass, field
from types import MappingProxyType

from railyard.parsers.iperf3 import Interval, wrong_intervals
from railyard.parsers.lines import Line, filled_lines, foreign, is_failure, own_text
from railyard.parsers.output import ContextValue, ParsedOutput, Remark, Table
from railyard.parsers.wrong_lines import MIXED

TOOL = "iperf2"

SUM = "SUM"
_BIT_RATES = {prefix: 1e-6 / 8 * 1e3**step for step, prefix in enumerate(("", "K", "M", "G", "T"))}
_BYTES = {prefix: 1e-6 * 2.0 ** (10 * step) for step, prefix in enumerate(("", "K", "M", "G", "T"))}

# [  3]  0.0-10.0 sec  10.9 GBytes  9.40 Gbits/sec   |   [SUM] 0.0000-10.0131 sec  10.9 GBytes  9.35 Gbits/sec
_REPORT = re.compile(
    r"^\[ {0,3}(?P<id>SUM|\*?[0-9]{1,5})\] {1,3}(?P<start>[0-9]{1,9}\.[0-9]{1,4})-"
    r" {0,3}(?P<end>[0-9]{1,9}\.[0-9]{1,4}) sec {1,6}(?P<moved>[0-9]{1,9}(?:\.[0-9]{1,3})?) (?P<size>[KMGT]?)Bytes"
    r" {1,6}(?P<rate>[0-9]{1,9}(?:\.[0-9]{1,4})?) (?P<prefix>[KMGT]?)(?P<kind>bits|Bytes)/sec(?P<rest>(?:\s.{0,200})?)$"
)
# One of another form, such as "[  3]  0.0-10.0 sec  10,9 GBytes  9,40 Gbits/sec"; sums of both directions are not read
_UNREAD = re.compile(r"^\[ {0,3}(?!FD|SUM-)[^]]{0,8}\] .{0,200}[KMGT]?(?:bits|Bytes)/sec(?:\s|$)")
# 0.010 ms    0/  893 (0%)
_DATAGRAMS = re.compile(r"^\s{1,6}[0-9.]{1,12} ms {1,6}(?P<lost>[0-9]{1,18})/ {0,8}(?P<sent>[0-9]{1,18}) \(")
# [  3] local 10.0.0.1 port 40000 connected with 10.0.0.2 port 5001 (icwnd/mss/irtt=14/1448/97)
_CONNECTED = re.compile(
    r"\[ {0,3}(?P<id>\*?[0-9]{1,5})\] local \S{1,200} port (?P<port>[0-9]{1,5}) connected with \S{1,200} port [0-9]"
    r"(?P<rest>[^[]{0,300})"
)
# Client connecting to 10.0.0.2, TCP port 5001   |   Server listening on UDP port 5001
_BEGINS = re.compile(
    r"^(?P<side>Client connecting to \S{1,200},|Server listening on) (?P<protocol>TCP|UDP) port (?P<port>[0-9]{1,5})"
)
# [  3] Server Report:
_SERVERS = re.compile(r"^\[ {0,3}(?P<id>[0-9]{1,5})\] Server Report:$")
_VERSION = re.compile(r"^iperf version (?P<version>2\.[0-9.]{1,12}\S{0,12})")
_OWN = ("TCP window size", "UDP buffer size", "Sending ", "Receiving ", "Binding to", "Read buffer", "Write buffer")
_FAILED = re.compile(
    r"\b(?:connect|bind|write|read|accept|listen|recv\w{0,8}) failed: |^(?:\[.{1,6}\] )?WARNING: did not rec"
)
_SHORTEST = 3.0  # seconds: nobody makes reports of longer intervals, but for long runs
_EXPECTED = 'output of iperf 2: "… connected with …" or a report "[  3]  0.0-10.0 sec …"'


@dataclass(frozen=True, slots=True)
class _Report:
    """One line with a rate; ``lost`` and ``datagrams`` are what a receiver of UDP counted."""

    line: int
    stream: str
    start: float
    end: float
    bandwidth_mb_s: float
    decimals: int
    lost: int | None = None
    datagrams: int | None = None


@dataclass(slots=True)
class _Run:
    """One run: ``reports`` are the last ones that begin at 0 s, by stream and whether the server made them.

    ``streams``: whether what a stream moves comes back. ``intervals``: where the others end. ``taken``: all in their
    order. ``is_servers``: the next report is the server's. ``has_unread``: a report cannot be read.
    """

    line: int
    side: str | None
    protocol: str | None
    version: str | None
    streams: dict[str, bool] = field(default_factory=dict)
    reports: dict[tuple[str, bool], _Report] = field(default_factory=dict)
    intervals: dict[str, float] = field(default_factory=dict)
    taken: dict[tuple[str, bool], list[_Report]] = field(default_factory=dict)
    is_servers: bool = False
    spoiled: bool = False
    has_unread: bool = False

    @property
    def both_ways(self) -> bool:
        """Whether both directions are loaded at once."""
        return len({*self.streams.values()}) == 2

    def is_of_another(self, report: _Report) -> bool:
        """Return whether a report's time does not go on from where its stream is: another run's output is mixed in."""
        if self.streams and report.stream not in {SUM, *self.streams}:
            return True
        first = self.reports.get((report.stream, self.is_servers))
        if report.start > 0:
            before = self.intervals.get(report.stream, first.end if first else None)
            return report.start < before - 0.1 if before is not None else bool(self.streams)
        if first is None:
            return False
        if abs(report.end - first.end) <= 0.1:  # an interval as long as the run has the figures of its report
            return not math.isclose(report.bandwidth_mb_s, first.bandwidth_mb_s, rel_tol=0.05)
        return report.end < first.end or first.end >= self.intervals.get(report.stream, math.inf) - 0.1

    def take(self, report: _Report) -> None:
        """Keep a report, or note where an interval ends."""
        self.taken.setdefault((report.stream, self.is_servers), []).append(report)
        if report.start > 0:
            self.intervals[report.stream] = report.end
        else:
            self.reports[report.stream, self.is_servers] = report

    def final(self) -> list[tuple[_Report, str]]:
        """Return the reports of the whole run with their ends, the sender's first; none if they are missing."""
        if self.both_ways:
            return self._final_both_ways()
        streams = {*self.streams} | {stream for stream, _ in self.reports if stream != SUM}
        wanted = SUM if len(streams) > 1 else next(iter(streams), SUM)
        reports = (
            (each, is_servers or self.side == "server")
            for (stream, is_servers), each in self.reports.items()
            if stream == wanted
        )
        return [(each, "receiver" if received else "sender") for each, received in reports if self._is_final(each)]

    def _final_both_ways(self) -> list[tuple[_Report, str]]:
        """Return the reports of the one stream each way; none if one is missing, or if there are several."""
        found = {self.streams[stream]: each for (stream, _), each in self.reports.items() if stream in self.streams}
        if len(self.streams) != 2 or len(found) != 2 or not all(map(self._is_final, found.values())):
            return []
        return [(found[False], "forth"), (found[True], "back")]

    def wrong_intervals(self) -> list[Remark]:
        """Return that nothing moved in intervals, or that its intervals contradict its reports."""
        found = (
            wrong_intervals(
                [Interval(each.line, each.start, each.end, each.bandwidth_mb_s) for each in taken if each is not last],
                [last.bandwidth_mb_s],
                last.end,
            )
            for last, _ in self.final()
            for taken in self.taken.values()
            if last in taken
        )
        return [remark for remark in found if remark is not None]

    def is_over(self) -> bool:
        """Return whether all its streams have their reports: a further connection is another run's."""
        known = {stream for stream, _ in self.reports}
        return bool(known) and self.streams.keys() <= known

    def _is_final(self, report: _Report) -> bool:
        last = self.intervals.get(report.stream)
        if last is not None:
            return report.end >= last - 0.1
        return report.end >= _SHORTEST or not report.end.is_integer()


def parse(text: str) -> ParsedOutput:
    """Return the tables, failures and remarks of one output.

    Raises ParseError if the text has neither a connection nor a report of iperf 2.
    """
    text = own_text(text, TOOL, _EXPECTED)
    reader = _Reader()
    for line, stripped in filled_lines(text):
        reader.read(line, stripped)
    return reader.result(text)


class _Reader:
    """What was said about the next run, the open run, and what was found so far."""

    def __init__(self) -> None:
        self.side: str | None = None
        self.protocol: str | None = None
        self.version: str | None = None
        self.begun = 0  # the line of a client whose connection is not there yet
        self.clients = 0  # such ones
        self.ports: set[str] = set()  # on which a server listens
        self.runs: list[_Run] = []
        self.mixed: Remark | None = None
        self.failures: list[Remark] = []
        self.remarks: list[Remark] = []

    def read(self, line: Line, text: str) -> None:
        """Read one stripped line."""
        if text[0] == "[" and self._report(line, text):
            return
        if begins := _BEGINS.match(text[:400]):
            self.side = "client" if begins["side"].startswith("Client") else "server"
            self.protocol = begins["protocol"]
            if self.side == "server":
                self.ports.add(begins["port"])
            else:
                self.begun = line.number
                self.clients += 1
        elif version := _VERSION.match(text[:100]):
            self.version = version["version"]
        elif server := _SERVERS.match(text[:100]):
            for run in self.runs[-1:]:
                if run.protocol == "TCP" or (server["id"], True) in run.reports:
                    self._report_mixed(line, text)
                run.is_servers = True
        elif not (text.startswith(("-----", *_OWN)) or text.endswith("datagrams")):
            self._foreign(line, text)

    def result(self, text: str) -> ParsedOutput:
        """Return what was found, after every line was read."""
        if not self.runs and self.begun:
            self.failures.append(Remark(self.begun, "a client without a connection"))
        elif not self.runs:
            raise foreign(text, _EXPECTED)
        if self.mixed is not None:
            return ParsedOutput((), (self.mixed, *self.failures), tuple(self.remarks))
        tables = []
        for run in self.runs:
            rows = run.final()
            self.failures.extend(run.wrong_intervals())
            if rows:
                tables.append(_table(run, rows))
            elif not run.has_unread:
                what = "the sum of its streams" if len(run.streams) > 1 and run.is_over() else "its report"
                what = f"{what}, both ways at once" if run.both_ways else what
                self.failures.append(Remark(run.line, f"a run without {what}"))
        return ParsedOutput(
            tuple(tables), tuple(sorted(self.failures, key=lambda each: each.line)), tuple(self.remarks)
        )

    def _report(self, line: Line, text: str) -> bool:
        if _CONNECTED.match(text[:700]):
            for connected in _CONNECTED.finditer(text[:2000]):  # several, if lines were joined
                self._connect(line, text, connected)
            return True
        found = _REPORT.match(text) if len(text) <= 400 else None
        if found is None:
            return text.startswith("[ ID]") or (line.ended and self._fail_unread(line, text))
        if "nan%)" in found["rest"]:  # of no datagram at all
            self.failures.append(Remark(line.number, f"not finite: {text[:300]}"))
        report = _of(line.number, found)
        if not (self.runs or report.decimals in (1, 4)):
            return False  # iperf3 has two
        if report.bandwidth_mb_s < 0:
            for run in self.runs[-1:]:
                run.spoiled = True
            self.failures.append(Remark(line.number, f"figures that contradict each other: {text[:300]}"))
            return True
        if not self.runs or (report.start == 0 and self._is_next(report)):
            self._begin(line)
        elif not self.runs[-1].has_unread and self.runs[-1].is_of_another(report):
            self._report_mixed(line, text)
        self.runs[-1].take(report)
        return True

    def _fail_unread(self, line: Line, text: str) -> bool:
        """Take a report of another form, whose figures are missing; return whether it is one."""
        is_report = bool(self.runs) and bool(_UNREAD.match(text[:400]))
        if is_report:
            self.failures.append(Remark(line.number, f"a report that cannot be read: {text[:300]}"))
            self.runs[-1].spoiled = self.runs[-1].has_unread = True
        return is_report

    def _report_mixed(self, line: Line, text: str) -> None:
        self.mixed = self.mixed or Remark(line.number, f"found {text[:200]!r} before the run above has ended: {MIXED}")

    def _connect(self, line: Line, text: str, connected: re.Match[str]) -> None:
        stream = connected["id"]
        back = stream.startswith("*") or connected["port"] in self.ports
        if not self.runs or self.runs[-1].is_over() or (self.clients and not self._answers(back)):
            self._begin(line)
        elif stream in self.runs[-1].streams:
            self._report_mixed(line, text)
        self.runs[-1].streams[stream] = back
        if "(full-duplex)" in connected["rest"]:
            self.runs[-1].streams[f"*{stream.lstrip('*')}"] = not back

    def _answers(self, back: bool) -> bool:
        """Return whether a connection is the other direction of the open run: a server connects to its client (-d)."""
        return not back and bool(self.ports) and all(self.runs[-1].streams.values())

    def _is_next(self, report: _Report) -> bool:
        """Return whether a report must be of a run whose connection the text lacks."""
        run = self.runs[-1]
        if not run.streams:
            return run.is_of_another(report)
        return report.stream != SUM and run.is_over() and report.stream not in run.streams

    def _begin(self, line: Line) -> None:
        self.runs.append(_Run(line.number, self.side, self.protocol, self.version))
        self.begun = 0
        self.clients = max(0, self.clients - 1)

    def _foreign(self, line: Line, text: str) -> None:
        failed = bool(_FAILED.search(text[:300])) or is_failure(text)
        self.clients = 0 if failed else self.clients
        (self.failures if failed else self.remarks).append(Remark(line.number, text[:2000]))
        for run in self.runs[-1:] if failed or line.dots else ():
            run.spoiled = run.spoiled or not run.is_over()


def _of(line: int, found: re.Match[str]) -> _Report:
    """Return a report; its bandwidth is -1 if the bytes that were moved say something else."""
    start, end = float(found["start"]), float(found["end"])
    rates = _BIT_RATES if found["kind"] == "bits" else _BYTES
    rate = float(found["rate"]) * rates[found["prefix"]]
    moved = float(found["moved"]) * _BYTES[found["size"]]
    seconds = end - start
    # three digits of both, and a time of one decimal
    coarse = 0.02 + 0.06 / seconds if seconds > 0 else 0.0
    agrees = seconds > 0 and abs(moved - rate * seconds) <= coarse * max(moved, rate * seconds)
    datagrams = _DATAGRAMS.match(found["rest"])
    return _Report(
        line,
        found["id"],
        start,
        end,
        rate if agrees or moved == rate == 0 else -1.0,
        len(found["end"].partition(".")[2]),
        int(datagrams["lost"]) if datagrams else None,
        int(datagrams["sent"]) if datagrams else None,
    )


def _table(run: _Run, rows: list[tuple[_Report, str]]) -> Table:
    context: dict[str, ContextValue] = {
        **({"protocol": run.protocol} if run.protocol else {}),
        **({"side": run.side} if run.side else {}),
        "role": ", ".join(role for _, role in rows),
        **({"bidirectional": True} if run.both_ways else {}),
        "streams": 1 if run.both_ways else len(run.streams) or ("several" if rows[0][0].stream == SUM else 1),
        "interval": round(rows[0][0].end, 4),
    }
    for row, _ in rows:
        if row.datagrams is not None:
            context |= {"protocol": "UDP", "datagrams": row.datagrams, "lost": row.lost}
    return Table(
        tool=TOOL,
        version=run.version,
        benchmark="iperf2",
        columns=("bandwidth",),
        units=("MB/s",),
        rows=tuple((row.bandwidth_mb_s,) for row, _ in rows),
        line=run.line,
        complete=not run.spoiled,
        context=MappingProxyType(context),
    )
