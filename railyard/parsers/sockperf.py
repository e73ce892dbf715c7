"""Output of sockperf 2.5 to 3.10's clients, as typed tables: one row per test, or per server of a test.

``ping-pong`` and ``under-load``: latency (us; half a round trip, as sockperf prints it unless ``--full-rtt``),
latency_std_dev, percentiles (``latency_99.999`` to ``latency_25``), latency_max and latency_min, observations, dropped
and duplicated messages. With ``--full-rtt`` all of these are whole round trips (``round_trip…``), and ``latency`` is
half of the mean. ``throughput``: message_rate (1/s), bandwidth (MB/s, 10^6 B/s; sockperf's MBps and Gbps are made of
MiB), messages: what the sender's socket took, not what arrived.

An output does not name its test or the size of its messages. Both are in the client's command line (14 B without
``-m``), and the size is in the header of a full log. Without a command a latency is a ping-pong's if its messages
follow one another, each after the answer to the one before: observations times round trip is then the run's time. It
is one under load if the client sent twice what it got back, or more. A throughput's size follows from its figures.

A table is complete if its last line is there: the smallest observation, or the bandwidth.

Source: client_statistics, printPercentiles, print_average_results and stream_statistics of src/client.cpp, log_msg of
src/defs.h, sockperf 2.7 to 3.10 (Mellanox/sockperf).
"""

import math
import re
from dataclasses import dataclass, field

from railyard.parsers.lines import BINARY_MB, Line, filled_lines, foreign, is_failure, own_text
from railyard.parsers.output import Cell, ContextValue, ParsedOutput, Remark, Table

TOOL = "sockperf"

_COLOUR = re.compile(r"\x1b?\[[0-9]{1,2}(?:;[0-9]{1,3}){0,3}m")
_FIGURE = r"[0-9]{1,12}\.[0-9]{3}"
_COUNT = "[0-9]{1,15}"
_PREFIX = "sockperf: "
# ====> avg-latency=14.321 (std-dev=0.432, mean-ad=…   |   ====> avg-lat= 14.321 (std-dev=0.432)
_MEAN = re.compile(
    rf"^====> avg-(?P<what>lat|latency|rtt)= {{0,8}}(?P<mean>{_FIGURE}) \(std-dev=(?P<deviation>{_FIGURE})[,)]"
)
# Summary: Latency is 14.321 usec   |   Summary: Round trip of burst of 10 messages is 28.642 usec
_SUMMARY = re.compile(
    r"^Summary: (?P<what>Latency|Round trip)"
    rf"(?: of burst of (?P<burst>{_COUNT}) messages)? is (?P<mean>{_FIGURE}) usec$"
)
# ---> percentile 99.999 =   95.123   |   ---> <MAX> observation =  100.123
_PERCENTILE = re.compile(
    r"^---> (?:percentile (?P<rank>[0-9]{1,3}\.[0-9]{3})|<?(?P<end>MAX|MIN)>? observation)"
    rf" = {{1,8}}(?P<value>{_FIGURE})$"
)
_OBSERVATIONS = re.compile(rf"^Total (?P<count>{_COUNT}) observations;")
_VALID = re.compile(rf"^\[Valid Duration\] RunTime=(?P<seconds>{_FIGURE}) sec; SentMessages=(?P<sent>{_COUNT});")
_LOST = re.compile(rf"^# dropped messages = (?P<dropped>{_COUNT}); # duplicated messages = (?P<duplicated>{_COUNT});")
_SERVER = re.compile(r"^=========\s?Printing statistics for Server No: (?P<server>[0-9]{1,4})$")
# Total of 5000000 messages sent in 1.100 sec   |   Summary: Message Rate is 4545454 [msg/sec], Packet Rate is about …
_SENT = re.compile(
    rf"^Total of (?P<messages>{_COUNT}) messages sent in (?P<seconds>{_FIGURE}) sec(?: \({_COUNT} messages skipped\))?$"
)
_RATE = re.compile(rf"^Summary: Message Rate is (?P<rate>{_COUNT}) \[msg/sec\]")
_BANDWIDTH = re.compile(
    r"^Summary: BandWidth is (?P<bytes>[0-9]{1,12}\.[0-9]{3}(?:[0-9]{6})?) (?P<unit>[MG])Bps "
    r"\((?P<bits>[0-9]{1,12}\.[0-9]{3}(?:[0-9]{6})?) [MG]bps\)$"
)
_NOTE = re.compile(rf"^NOTE: test was performed, using (?:average )?msg-size=(?P<size>{_COUNT})(?:[.,]| \(\+)")
_VERSION = re.compile(r"^== version #(?P<version>\S{0,60}) == ?$")
# [ 0] IP = 10.0.0.2        PORT = 11111 # TCP
_ADDRESS = re.compile(r"^\[ {0,3}[0-9]{1,4}\] (?:IP|ADDR) = .{1,200} # (?P<protocol>TCP|UDP|STREAM|DGRAM)$")
# $ sockperf ping-pong -i 10.0.0.2 --tcp -m 1024
_COMMAND = re.compile(
    r"(?:^|[\s/;&|(_`])sockperf (?P<test>under-load|ul|ping-pong|pp|throughput|tp|playback|pb)"
    r"(?P<options>(?:\s[^;&|]{0,2000})?)$"
)
_SIZE = re.compile(r"(?:^|\s)(?:-m ?|--msg-size[ =])(?P<size>[1-9][0-9]{0,9})(?=\s|$)")
_SAYS_SIZE = re.compile(r"(?:^|\s)(?:-m|--msg-size)")
_RANGE = re.compile(r"(?:^|\s)(?:-r|--range)\b")  # sizes around the stated one
_LOG = re.compile(r"test was performed using the following parameters: .{0,200}--msg-size=(?P<size>[0-9]{1,9}) --")
# The rest of a command that a page has broken or a shell continues
_REST = re.compile(r"^[-0-9]|(?:^|\s)(?:-m|--msg-size)\b")
_PARTS = tuple("--msg-size"[:length] for length in range(1, 11))
_NAMES = {"ul": "under-load", "pp": "ping-pong", "tp": "throughput", "pb": "playback"}
_SMALLEST = 14  # bytes: MsgHeader::EFFECTIVE_SIZE
_UNSAID = 1472  # bytes: a throughput's NOTE names any other size
#: Share of a run in which a ping-pong waits for answers: all of it, but for the clock's reading. Checked nowhere else.
_BUSY = (0.8, 1.05)
_OWN = (
    *("using ", "Warmup stage", "Starting test", "Test end", "[Total Run]", "[SERVER]", "[CLIENT]", "[Histogram]"),
    *("NOTE:", "Info:", "Preload", "preload"),
)
# How a line of figures begins: its rest may be in the next line, if the output was broken at a column.
_BEGUN = re.compile(
    rf"^(?:====> avg-|Summary: |---> (?:percentile|<?M)|\[Valid Duration\]|# dropped|Total (?:of )?{_COUNT}(?: |$))"
)
_FAILED = re.compile(
    r"^(?:ERROR: |No messages were|No valid observations|Test end before test start|\S{0,80}:[0-9]{1,5}:ERROR: )"
    r"|conflicts with|Invalid"
)
_EXPECTED = 'output of sockperf: lines that begin with "sockperf: "'


@dataclass(slots=True)
class _Run:
    """One table while it is read; ``seconds`` and ``sent`` are those of the valid part of a run."""

    line: int
    context: dict[str, ContextValue]
    version: str | None = None
    test: str | None = None
    size: int | None = None
    figures: dict[str, tuple[float, str | None]] = field(default_factory=dict)
    seconds: float = 0.0
    sent: int = 0
    ended: bool = False
    spoiled: bool = False

    def put(self, name: str, value: float, unit: str | None = "us") -> None:
        """Keep a figure."""
        self.figures[name] = (value, unit)

    def value(self, name: str) -> float:
        """Return a figure; 0 if there is none."""
        return self.figures[name][0] if name in self.figures else 0.0

    def fits(self, bandwidth_mib_s: float, half: float) -> bool:
        """Return whether a throughput's bandwidth fits its message rate and the size that it states.

        If it states none, the size is the one that both figures give, or 1472 B: only that size needs no NOTE.
        ``half``: of the bandwidth's last digit.
        """
        rate = self.value("message_rate")
        if rate <= 0:
            return True
        least, most = ((bandwidth_mib_s + step) * 2**20 / rate for step in (-1.1 * half, 1.1 * half))
        if self.size is not None:
            return least <= self.size <= most
        if math.ceil(least) == math.floor(most):
            self.size = math.ceil(least)
        elif least <= _UNSAID <= most:
            self.size = _UNSAID
        return math.ceil(least) <= math.floor(most)

    def benchmark(self) -> str | None:
        """Return the test: the command's, or the one that the figures show."""
        if "bandwidth" in self.figures or "message_rate" in self.figures:
            return "throughput"
        if self.context.get("burst", 1) != 1:
            return "burst"
        if self.test is not None:
            return self.test
        observations = self.value("observations")
        busy = observations * 2 * self.value("latency") * 1e-6 / self.seconds if self.seconds else 0.0
        if _BUSY[0] <= busy <= _BUSY[1]:
            return "ping-pong"
        return "under-load" if 0 < 2 * observations <= self.sent else None


@dataclass(slots=True)
class _Client:
    """What a client said before its figures."""

    version: str | None = None
    protocol: str | None = None
    test: str | None = None
    size: int | None = None


def parse(text: str) -> ParsedOutput:
    """Return the tables, failures and remarks of one output.

    Raises ParseError if the text has neither a figure of a client nor an error under sockperf's name.
    """
    text = own_text(text, TOOL, _EXPECTED)
    reader = _Reader()
    for line, stripped in filled_lines(text):
        reader.read(line, stripped)
    return reader.result(text)


class _Reader:
    """What the client said, the open table, and what was found so far."""

    def __init__(self) -> None:
        self.client = _Client()
        self.run: _Run | None = None
        self.runs: list[_Run] = []
        self.server = 0  # the line where a server began
        self.commanded = False  # by the line before
        self.failures: list[Remark] = []
        self.remarks: list[Remark] = []
        self.own_failures = 0

    def read(self, line: Line, text: str) -> None:
        """Read one stripped line, as a page shows it: quoted ("> "), or with bold parts."""
        text = text.removeprefix("> ").strip() or text
        if text.startswith(("sockperf", "**sockperf")):
            text = text.replace("**", "")
        if self.commanded:
            self.commanded = False
            if _REST.search(text[:200]):
                self.client.size = None
        if text.startswith(_PREFIX):
            said = text.removeprefix(_PREFIX).lstrip()[:700]
            said = _COLOUR.sub("", said).rstrip() if "m" in said and "[" in said else said
            if not self._read_client_line(line, said):
                self._other(line, text, said)
        elif text.startswith(("sockperf[CLIENT]", "sockperf[SERVER]")):
            self.run = None
            self.server = self.server or (line.number if "[SERVER]" in text[:20] else 0)
        elif not self._read_surroundings(text):
            self._foreign(line, text)

    def result(self, text: str) -> ParsedOutput:
        """Return what was found, after every line was read."""
        if not self.runs and self.server:
            self.failures.append(Remark(self.server, "no figures: a server prints none, its client's output has them"))
        elif not self.runs and not self.own_failures:
            raise foreign(text, _EXPECTED)
        tables = []
        for run in self.runs:
            if run.figures:
                tables.append(_table(run))
            elif not self.own_failures:
                self.failures.append(Remark(run.line, "a test without any figure"))
        ordered = sorted(self.failures, key=lambda each: each.line)
        return ParsedOutput(tuple(tables), tuple(ordered), tuple(self.remarks))

    def _read_surroundings(self, text: str) -> bool:
        """Read what is around a client's lines: its command, the address of its server, the header of its log."""
        if address := _ADDRESS.match(text[:300]):
            self.client.protocol = address["protocol"]
            return True
        if log := _LOG.match(text[:400]):
            self.client.size = int(log["size"])
            return True
        command = _COMMAND.search(text) if "sockperf " in text and len(text) <= 3000 else None
        if command:
            self._command(command)
        return False  # a command is a remark, too

    def _command(self, command: re.Match[str]) -> None:
        options = command["options"].rstrip("\\ ")
        size = _SIZE.search(options)
        is_said = _SAYS_SIZE.search(options) or options.endswith(_PARTS)
        known = int(size["size"]) if size else None if is_said else _SMALLEST
        known = None if _RANGE.search(options) else known
        self.run, self.commanded = None, True
        test = _NAMES.get(command["test"], command["test"])
        self.client = _Client(version=self.client.version, test=test, size=known)

    def _read_client_line(self, line: Line, said: str) -> bool:
        """Read what a client says; return whether it is a figure or belongs to one."""
        if said.startswith(("====> ", "Summary: ")):
            return self._mean(line, said) or self._rate(line, said)
        if said.startswith("---> "):
            return self._percentile(said)
        if said.startswith(("Total ", "[Valid", "# dropped")):
            return self._counts(line, said)
        if server := _SERVER.match(said):
            self.run = self._begin(line)
            self.run.context["server"] = int(server["server"])
        elif version := _VERSION.match(said):
            self.client.version = version["version"] or None
        elif note := _NOTE.match(said):
            for run in self._open():
                run.size = int(note["size"])
        else:
            return False
        return True

    def _begin(self, line: Line) -> _Run:
        client = self.client
        context: dict[str, ContextValue] = {"protocol": client.protocol} if client.protocol else {}
        made = _Run(line.number, context, client.version, client.test, client.size)
        self.runs.append(made)
        return made

    def _of(self, line: Line, name: str) -> _Run:
        """Return the table of a figure: another one if this one has that figure."""
        if self.run is None or name in self.run.figures or self.run.ended:
            self.run = self._begin(line)
        return self.run

    def _open(self) -> list[_Run]:
        return [] if self.run is None or self.run.ended else [self.run]

    def _mean(self, line: Line, said: str) -> bool:
        """Read a mean: it is printed twice, with its deviation and as the summary."""
        found = _MEAN.match(said) or _SUMMARY.match(said)
        if found is None:
            return False
        mean, parts = float(found["mean"]), found.groupdict()
        name = "round_trip" if found["what"] in ("rtt", "Round trip") else "latency"
        if "burst" in parts and self.run is not None and "deviation" in self.run.context:
            run, (known, _) = self.run, self.run.figures.get(name, (None, None))
            run.context.pop("deviation")
            if known != mean:
                self._contradiction(line, run, said)
        else:
            run = self._of(line, name)
            run.put(name, mean)
            if name == "round_trip":
                run.put("latency", mean / 2)
        if parts.get("deviation"):
            run.put(f"{name}_std_dev", float(parts["deviation"]))
            run.context["deviation"] = True
        if parts.get("burst"):
            run.context["burst"] = int(parts["burst"])
        return True

    def _percentile(self, said: str) -> bool:
        found = _PERCENTILE.match(said)
        for run in self._open() if found else []:
            assert found is not None
            name = "round_trip" if "round_trip" in run.figures else "latency"
            if name in run.figures:
                rank = (found["end"] or found["rank"].rstrip("0").rstrip(".")).lower()
                run.put(f"{name}_{rank}", float(found["value"]))
                run.ended = rank == "min"
                return True
        return False

    def _counts(self, line: Line, said: str) -> bool:
        if sent := _SENT.match(said):
            self._of(line, "messages").put("messages", int(sent["messages"]), None)
        elif valid := _VALID.match(said):
            if self.run is None or self.run.figures:
                self.run = self._begin(line)
            self.run.seconds, self.run.sent = float(valid["seconds"]), int(valid["sent"])
        elif observations := _OBSERVATIONS.match(said):
            for run in self._open():
                run.put("observations", int(observations["count"]), None)
        elif lost := _LOST.match(said):
            for run in self._open():
                run.put("dropped", int(lost["dropped"]), None)
                run.put("duplicated", int(lost["duplicated"]), None)
        else:
            return False
        return True

    def _rate(self, line: Line, said: str) -> bool:
        if rate := _RATE.match(said):
            self._of(line, "message_rate").put("message_rate", int(rate["rate"]), "1/s")
            return True
        found = _BANDWIDTH.match(said)
        if found is None:
            return False
        run = self._of(line, "bandwidth")
        factor = 1000 if found["unit"] == "G" else 1
        half = 0.5 * 10.0 ** -len(found["bytes"].partition(".")[2])
        if abs(8 * float(found["bytes"]) - float(found["bits"])) > 9.1 * half or not run.fits(
            float(found["bytes"]) * factor, half * factor
        ):
            self._contradiction(line, run, said)
            return True
        run.put("bandwidth", float(found["bytes"]) * factor * BINARY_MB, "MB/s")
        run.ended = True
        return True

    def _contradiction(self, line: Line, run: _Run, said: str) -> None:
        run.spoiled = True
        self.failures.append(Remark(line.number, f"figures that contradict each other: {said[:300]}"))

    def _other(self, line: Line, text: str, said: str) -> None:
        """Sort a line under sockperf's name that has no figure."""
        if said.startswith("[SERVER]"):
            self.server = self.server or line.number
        if _FAILED.search(said[:300]):
            self.own_failures += 1
            self.failures.append(Remark(line.number, text[:2000]))
            for run in self._open():
                run.spoiled = True
        elif _BEGUN.match(said):
            self._report_unread(line, text)
        elif not said.startswith(_OWN):
            self._foreign(line, text)

    def _report_unread(self, line: Line, text: str) -> None:
        """Report a line of figures that has another form: its figures are missing."""
        if line.ended:
            self.failures.append(Remark(line.number, f"a line of figures that cannot be read: {text[:300]}"))
        for run in self._open():
            run.spoiled = True

    def _foreign(self, line: Line, text: str) -> None:
        failed = is_failure(text)
        (self.failures if failed else self.remarks).append(Remark(line.number, text[:2000]))
        for run in self._open() if failed or line.dots else ():
            run.spoiled = True


def _table(run: _Run) -> Table:
    context = {name: said for name, said in run.context.items() if name != "deviation"}
    figures: dict[str, tuple[Cell, str | None]] = {**({"size": (run.size, "B")} if run.size else {}), **run.figures}
    return Table.of_figures(
        TOOL,
        run.version,
        run.benchmark(),
        figures,
        line=run.line,
        complete=run.ended and not run.spoiled,
        context=context,
    )
