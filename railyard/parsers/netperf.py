"""Output of netperf 2.4 to 2.7 as typed tables of one row per run: the classic ones, and omni's ``-k`` and ``-o``.

A stream has ``bandwidth``, MB/s (10^6 B/s): for UDP what the receiver counted, beside ``sent``. netperf's K, M and G
before "Bytes" are binary, its 10^3, 10^6 and 10^9 before "bits" decimal (format_units and calc_thruput in netlib.c). A
request and its response have ``transactions``, 1/s. If both have the same size and one is in flight at a time, half of
a transaction is ``latency``, us, at that ``size``.

A throughput is printed with two decimals, so a row whose own has others is cut. A title without figures, as of
``-O``, whose columns are several lines high, is a failure, and so is a second row below one heading, as ``-P 0`` prints
it. omni's throughput of datagrams is what arrived, except with ``-N`` (send_omni_inner): then it is ``sent``.

Source: HewlettPackard/netperf, src/nettest_bsd.c (send_tcp_stream, send_udp_stream, send_tcp_rr: titles and formats)
and src/nettest_omni.c (send_omni_inner, print_omni_keyword and print_omni_csv).
"""

import re
from dataclasses import dataclass, field
from types import MappingProxyType

from railyard.parsers.lines import Line, decimals, filled_lines, foreign, is_failure, number, own_text
from railyard.parsers.output import Caution, Cell, ContextValue, ParsedOutput, Remark, Table

TOOL = "netperf"

_EXPECTED = 'output of netperf: "… TEST from … to …" above its figures'
# MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET : demo : first burst 0
_TITLE = re.compile(
    r"\A(?:MIGRATED )?(?P<test>(?:TCP|UDP) (?:STREAM|MAERTS|SENDFILE|REQUEST/RESPONSE|Connect/Request/Response)"
    r"|OMNI (?:Send\|(?:Recv|Receive)|Send|Recv|Receive)) TEST (?:from|to) (?P<rest>\S.{0,400})\Z"
)
_TESTS = MappingProxyType(
    {
        "STREAM": "stream",
        "MAERTS": "maerts",
        "SENDFILE": "sendfile",
        "REQUEST/RESPONSE": "rr",
        "Connect/Request/Response": "crr",
        "Send": "stream",
        "Recv": "maerts",
        "Receive": "maerts",
        "Send|Recv": "rr",
        "Send|Receive": "rr",
    }
)
_BURST = re.compile(r" : first burst (?P<burst>[0-9]{1,9})(?= :|\Z)")
#: What follows the addresses: a terminal may have broken the line before or within the burst.
_WHOLE = re.compile(
    r".{0,300} AF_\w{2,6}(?: : (?:demo|histogram|interval|spin interval|dirty data|cpu bind|nodelay|copy avoidance"
    r"|first burst [0-9]{1,9}|no control"
    r"|\+/-[0-9.]{1,9}% @ [0-9]{1,3}% conf\.(?: {1,2}on result only| (?= : ))?))*\s{0,4}\Z"
)
_REST_OF_TITLE = re.compile(r": |[0-9]{1,9}(?: :|\Z)")
# "-I 99,5": +/-2.500% @ 99% conf.; a warning then gives the whole width that was reached (display_confidence in
# netlib.c), of which releases up to 2.1 print how much less than the demanded one it is.
_ASKED = re.compile(r" : \+/-(?P<half>[0-9]{1,3}\.[0-9]{1,3})% @ [0-9]{1,3}% conf\.")
_WARNING = "!!! WARNING"
_REACHED = re.compile(r"\A!!! Confidence intervals: Throughput {1,9}: {0,9}(?P<width>-?[0-9]{1,4}\.[0-9]{1,3})%")
_OF_WARNING = ("!!! Desired confidence ", "!!! This implies ", "!!! must be ", "!!!  ")
_UNIT = r"(?P<unit>(?:10\^[369]bits|[KMG]Bytes))/s(?:ec)?"
# The last line of a heading, by the kind of test; with -c and -C shares of the processors follow
_HEADINGS = (
    ("stream", 5, 4, re.compile(rf"\Abytes +bytes +bytes +secs\.? +{_UNIT}(?P<more> +% .*)?\Z")),
    ("udp", 6, 2, re.compile(rf"\Abytes +bytes +secs\.? +# +# +{_UNIT}(?P<more> +% .*)?\Z")),
    ("rr", 6, 4, re.compile(r"\Abytes +[Bb]ytes +bytes +bytes +secs\.? +per sec(?P<unit>)(?P<more> +% .*)?\Z")),
)
_HEADING_BEGINS = ("Recv ", "Socket ", "Size ", "Local /Remote", "Send ", "bytes ")
_FACTORS = MappingProxyType(
    {
        **{f"10^{power}bits": 10**power / 8e6 for power in (3, 6, 9)},
        **{f"{prefix}Bytes": 2**power / 1e6 for prefix, power in (("K", 10), ("M", 20), ("G", 30))},
    }
)
# THROUGHPUT=9387.23
_NUMBERS = re.compile(r"[0-9.]{1,20}(?:\s+[0-9.]{1,20}){0,12}")
_FIELD = re.compile(r"\A(?P<name>[A-Z][A-Z0-9_]{1,60})=(?P<value>.{0,200})\Z")
# Headings of -o for the words of -k
_OF_CSV = MappingProxyType(
    {
        "throughput": "THROUGHPUT",
        "throughput units": "THROUGHPUT_UNITS",
        "protocol": "PROTOCOL",
        "direction": "DIRECTION",
        "request size bytes": "REQUEST_SIZE",
        "response size bytes": "RESPONSE_SIZE",
        "initial burst requests": "BURST_SIZE",
        "local send throughput": "LOCAL_SEND_THROUGHPUT",
        "remote recv throughput": "REMOTE_RECV_THROUGHPUT",
    }
)
_THROUGHPUTS = ("THROUGHPUT", "LOCAL_SEND_THROUGHPUT", "REMOTE_RECV_THROUGHPUT")
_NARROWEST = 24  # columns of a terminal that breaks lines
_NO_FIGURE = "a title without any figure"
_UNKNOWN = "omni; expected THROUGHPUT and THROUGHPUT_UNITS with PROTOCOL and DIRECTION, as -k prints them"
_NOT_READ = (
    "; its columns are those of -O, or lack Throughput Units: run it with "
    "-k THROUGHPUT,THROUGHPUT_UNITS,PROTOCOL,DIRECTION"
)
_SECOND = 'a second row below one heading: found "{}", expected a title above each run (run it without -P 0)'
_OWN = ("Interim result: ", "Starting netserver ")
_FAILURE = re.compile(
    r"\A(?:establish control: |netperf: (?!.*\bversion\b)|recv_response|send_\w+: |get_sock|create_data_socket"
    r"|shutdown_control|Could not establish |Resource temporarily|catcher: |complete_addrinfos|!!!)"
)


@dataclass(slots=True)
class _Run:
    """One run while it is read: its title, its heading, its figures."""

    line: int
    test: str | None  # "tcp_stream"; None if nothing says it
    kind: str | None = None  # of its heading
    width: int = 0  # words of its row
    more: int = 0  # of them about processors
    factor: float = 1.0
    figures: dict[str, tuple[Cell, str | None]] = field(default_factory=dict)
    context: dict[str, ContextValue] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)  # of -k and -o
    names: tuple[str, ...] = ()  # the heading of -o
    width_of_csv: int = 0  # words of the row below it
    titled: bool = False
    without_control: bool = False  # -N: no netserver counted what arrived
    has_columns: bool = False  # a heading named a throughput, but not as a classic one or -o does
    spoiled: bool = False
    ended: bool = False  # no digit of what was read can be on the next line
    asked: float = 0.0  # width of the confidence interval, % of the mean
    warned: Remark | None = None  # an interval is wider, and nothing says yet that it is not the throughput's


def parse(text: str) -> ParsedOutput:
    """Return the tables, failures and remarks of one output of netperf.

    Raises ParseError if the text has neither a title nor fields of omni nor an error of netperf.
    """
    text = own_text(text, TOOL, _EXPECTED)
    reader = _Reader()
    for line, stripped in filled_lines(text):
        reader.read(line, stripped)
    return reader.result(text)


class _Reader:
    """The run that is open, and what was found so far."""

    def __init__(self) -> None:
        self.run: _Run | None = None
        self.tables: list[Table] = []
        self.failures: list[Remark] = []
        self.remarks: list[Remark] = []

    def read(self, line: Line, text: str) -> None:
        """Read one stripped line: a title, a heading, a row, a field; any other is a failure or a remark."""
        if len(text) <= 1000 and self._is_taken(line, text):
            return
        run = self.run
        if run is not None and _is_second(run, text):
            self.failures.append(Remark(line.number, _SECOND.format(text[:200])))
            run.spoiled = True
            return
        failed = _FAILURE.match(text) is not None or is_failure(text)
        (self.failures if failed else self.remarks).append(Remark(line.number, text[:2000]))
        # a line that a terminal broke: "first burst 1" and "6", "REQUEST_SIZE=10" and "24"
        rest_of_title = run is not None and run.kind is None and _REST_OF_TITLE.match(text) is not None
        if run is not None:
            run.has_columns |= "Throughput" in text
            run.spoiled |= failed or line.dots or rest_of_title or _NUMBERS.fullmatch(text) is not None

    def result(self, text: str) -> ParsedOutput:
        """Return what was found, after every line was read."""
        self._close()
        if not self.tables and not any(_is_own(failure.text) for failure in self.failures):
            raise foreign(text, _EXPECTED)
        return ParsedOutput(tuple(self.tables), tuple(sorted(self.failures)), tuple(self.remarks))

    def _is_taken(self, line: Line, text: str) -> bool:
        if self._title(line, text) or self._field(line, text) or self._csv(line, text) or text.startswith(_OWN):
            return True
        if self.run is None:
            return False
        if self.run.ended and text.isdecimal():
            return True  # `echo $?`, `nproc` or `date +%s` below the run
        return self._warning(self.run, line, text) or _heading(self.run, text) or _row(self.run, line, text)

    def _warning(self, run: _Run, line: Line, text: str) -> bool:
        """Read a line of the warning about confidence intervals: only a throughput's that is too wide is a failure."""
        reached = _REACHED.match(text)
        if text == _WARNING:
            run.warned = Remark(line.number, text)
        elif reached is not None and run.warned is not None and 0 <= float(reached["width"]) <= run.asked:
            only = f"only a processor's share varied too much: {text}"
            self.remarks.append(Caution(line.number, only))
            run.warned = None
        elif reached is not None and run.warned is not None:
            run.warned = Remark(line.number, f"the throughput varied more than asked for: {text}")
        return reached is not None or text == _WARNING or text.startswith(_OF_WARNING)

    def _title(self, line: Line, text: str) -> bool:
        found = _TITLE.match(text)
        if found is None:
            return False
        self._close()
        protocol, _, test = found["test"].partition(" ")
        named = None if protocol == "OMNI" else f"{protocol.lower()}_{_TESTS[test]}"
        self.run = _Run(line.number, named, titled=True, spoiled=_WHOLE.match(found["rest"]) is None)
        if protocol == "OMNI":
            self.run.fields["DIRECTION"] = test
        asked = _ASKED.search(found["rest"])
        self.run.without_control = " : no control" in found["rest"]
        self.run.asked = 2 * float(asked["half"]) if asked is not None else 0.0
        burst = _BURST.search(found["rest"])
        if burst is not None:
            self.run.context["burst"] = int(burst["burst"])
        return True

    def _field(self, line: Line, text: str) -> bool:
        """Read a field of -k."""
        run, found = self.run, _FIELD.match(text)
        if found is None or (run is not None and run.kind is not None):
            return False
        if run is None or (found["name"] in run.fields and found["name"] != "DIRECTION"):
            run = self._begin(line)
        if line.ended:
            run.fields[found["name"]] = found["value"].strip('"')
            run.ended = "THROUGHPUT" in run.fields and not _may_go_on(text)
        return True

    def _begin(self, line: Line) -> _Run:
        """Return a new run whose title is missing."""
        self._close()
        self.run = _Run(line.number, None)
        return self.run

    def _csv(self, line: Line, text: str) -> bool:
        """Read the heading of -o, or the line below it."""
        run, words = self.run, text.split(",") if "," in text else []
        if "Throughput" in words and "Throughput Units" in words:
            run = self._begin(line) if run is None or run.figures or run.names or "THROUGHPUT" in run.fields else run
            run.names, run.width_of_csv = tuple(words), len(words)
            return True
        if run is None or not run.names or len(words) != len(run.names) or not line.ended:
            return False
        named = zip(map(str.lower, run.names), words, strict=True)
        run.fields |= {_OF_CSV[name]: word for name, word in named if name in _OF_CSV}
        run.names = ()
        run.ended = not _may_go_on(text)
        return True

    def _close(self) -> None:
        """End the open run: a table, or a failure if it has no figures."""
        run, self.run = self.run, None
        if run is None:
            return
        if run.warned is not None:
            run.spoiled = True
            self.failures.append(run.warned)
        if not run.figures and "THROUGHPUT" in run.fields:
            _take_fields(run)
        if run.figures:
            self.tables.append(_table(run))
        elif run.test is not None or run.names or run.titled or {"THROUGHPUT", "THROUGHPUT_UNITS"} & run.fields.keys():
            why = _NOT_READ if run.test and (run.has_columns or run.names) else ""
            self.failures.append(Remark(run.line, f"{_NO_FIGURE}: {run.test or _UNKNOWN}{why}"))


def _is_second(run: _Run, text: str) -> bool:
    """Return whether a line is one more row of a run that has its own: a run of its own, whose title is missing."""
    if run.width_of_csv and not run.names:
        return "THROUGHPUT" in run.fields and text.count(",") == run.width_of_csv - 1
    return bool(run.figures) and _NUMBERS.fullmatch(text) is not None and len(text.split()) == run.width


def _table(run: _Run) -> Table:
    said = (TOOL, None, run.test, run.figures)
    return Table.of_figures(*said, line=run.line, complete=not run.spoiled, context=run.context)


def _is_own(failure: str) -> bool:
    return failure.startswith(_NO_FIGURE) or _FAILURE.match(failure) is not None


def _heading(run: _Run, text: str) -> bool:
    """Take a line of a classic heading; the last one has the units."""
    if not text.startswith(_HEADING_BEGINS):
        return False
    for kind, width, more, pattern in _HEADINGS:
        found = pattern.match(text) if run.kind is None else None
        if found is not None:
            run.kind, run.more = kind, more if found["more"] else 0
            run.width = width + run.more
            run.factor = _FACTORS.get(found["unit"], 1.0)
    return True


def _row(run: _Run, line: Line, text: str) -> bool:
    """Take a row of a classic table; False for any other line."""
    words = text.split()
    values = [number(word) for word in words]
    if run.kind is None or run.test is None or None in values:
        return False
    if run.kind == "udp" and run.figures:
        return _take_received(run, line, words)
    if run.figures:
        return run.kind == "rr" and len(words) == 2  # the other side's buffers
    if len(words) != run.width or not (line.ended or run.more == 0):
        run.spoiled = True
        return False
    place = run.width - run.more - 1
    figure, seconds = words[place], words[2 if run.kind == "udp" else place - 1]
    whole = [word for at, word in enumerate(words[:place]) if word != seconds or at < 2]
    if decimals(figure) != 2 or decimals(seconds) != 2 or not all(map(str.isdigit, whole)):
        run.spoiled = True
        return False
    run.context["seconds"] = float(seconds)
    run.ended = run.kind != "udp" and _has_decimals(words[-1], run)
    if run.kind == "rr":
        _take_transactions(run, float(figure), int(words[2]), int(words[3]))
    else:
        run.context["call_size"] = int(words[2 if run.kind == "stream" else 1])
        run.figures["sent" if run.kind == "udp" else "bandwidth"] = float(figure) * run.factor, "MB/s"
        run.spoiled |= run.kind == "udp"  # until the receiver's row
    return True


def _take_received(run: _Run, line: Line, words: list[str]) -> bool:
    """Take what the receiver of datagrams counted: its buffer, seconds, messages and throughput."""
    if "bandwidth" in run.figures or len(words) != 4 + run.more or decimals(words[3]) != 2:
        return False
    if not line.ended and run.more:
        return False
    run.figures["bandwidth"] = float(words[3]) * run.factor, "MB/s"
    run.spoiled, run.ended = False, _has_decimals(words[-1], run)
    return True


def _has_decimals(last: str, run: _Run) -> bool:
    """Return whether a row's last word is not cut: two decimals of the throughput, or three of a processor's work."""
    return decimals(last) == (3 if run.more else 2)


def _may_go_on(text: str) -> bool:
    """Return whether the last number of a line of fields may go on in the next line, where a terminal broke it."""
    return len(text) >= _NARROWEST and text[-1].isdigit() and decimals(re.split("[=,]", text)[-1]) != 2


def _take_transactions(run: _Run, rate: float, request: int, response: int) -> None:
    run.context |= {"request_size": request, "response_size": response}
    is_in_turn = run.context.get("burst", 0) == 0 and request == response and rate > 0
    run.figures |= {"size": (request, "B")} if is_in_turn else {}
    run.figures["transactions"] = rate, "1/s"
    run.figures |= {"latency": (5e5 / rate, "us")} if is_in_turn else {}


def _take_fields(run: _Run) -> None:
    """Take the figures of omni's fields; none if the unit or a size is missing or cut."""
    fields, rate = run.fields, number(run.fields["THROUGHPUT"])
    if run.test is None and fields.get("PROTOCOL") in ("TCP", "UDP") and fields.get("DIRECTION") in _TESTS:
        run.test = f"{fields['PROTOCOL'].lower()}_{_TESTS[fields['DIRECTION']]}"
    unit = fields.get("THROUGHPUT_UNITS", "").removesuffix("/s")
    if run.test is None or rate is None or any(decimals(fields.get(name, "0.00")) != 2 for name in _THROUGHPUTS):
        return
    if burst := number(fields.get("BURST_SIZE", "")):
        run.context["burst"] = burst
    sizes = [number(fields.get(name, "")) for name in ("REQUEST_SIZE", "RESPONSE_SIZE")]
    if unit == "Trans" and isinstance(sizes[0], int) and isinstance(sizes[1], int):
        _take_transactions(run, float(rate), sizes[0], sizes[1])
    elif unit == "Trans":
        run.figures["transactions"] = float(rate), "1/s"  # of unknown sizes
    elif unit in _FACTORS:
        run.figures |= {name: (value * _FACTORS[unit], "MB/s") for name, value in _rates(run, float(rate)).items()}


def _rates(run: _Run, rate: float) -> dict[str, float]:
    """Return what omni's throughput is, in its unit: of datagrams, what arrived if netserver counted it.

    Without a title nothing says that it did, except its own figure.
    """
    if not (run.test or "").startswith("udp"):
        return {"bandwidth": rate}
    sent = number(run.fields.get("LOCAL_SEND_THROUGHPUT", ""))
    arrived = number(run.fields.get("REMOTE_RECV_THROUGHPUT", ""))
    if arrived:
        return ({"sent": float(sent)} if sent else {}) | {"bandwidth": float(arrived)}
    is_counted = run.test == "udp_maerts" or (run.titled and not run.without_control)
    return {"bandwidth" if is_counted else "sent": rate}
