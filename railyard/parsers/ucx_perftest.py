"""Output of ucx_perftest of UCX 1.5 to 1.18, as typed tables: one row for each finished test, its last report.

Columns by the heading's names: iterations; ``latency`` or ``overhead`` (us, over the whole run; of a ping-pong it is
half a round trip) with ``_average`` (of the last interval) and a percentile (``_typical`` up to 1.11, later ``_50``);
``bandwidth`` and ``message_rate`` likewise. The heading's "MB/s" are MiB/s (print_progress divides by 1024 * 1024),
here MB/s (10^6 B/s). A test of several threads prints no averages; then its latency is the threads' mean.

A client prints neither its test nor its message size. Both come from its command line, its server's box or the name of
a batch file's test, if one of them is in the text (``ucx_perftest_settings``). The size follows from the figures, too:
bandwidth by message rate. A size that the text states counts only if its figures agree. Without one, the size is the
only whole number of bytes that gives the printed figures, or the only round one. Otherwise the table has no sizes.

Tests that differ only in a rising size make one table. A row counts if it is its test's last: "Final:" since 1.10. Up
to 1.9 it is the last before the next heading; at the end of a text it counts if its iterations are those of ``-n``, or
if they are a multiple of 100, since an interval ends anywhere.

Source: print_progress, print_header and print_test_name of src/tools/perf/perftest.c (1.8) and perftest_run.c (1.18),
ucx_perf_calc_result of lib/libperf.c (openucx/ucx).

What a run of ucx_perftest was asked for: from its command line, its server's box, or a test's name in a batch file.

A client prints figures alone: which test it is and its message size are in these places only.

Source: TEST_PARAMS_ARGS and the table ``tests`` of src/tools/perf/perftest.c, print_header and print_test_name of
perftest_run.c, and the example batch files of contrib/ucx_perftest_config, UCX 1.8 to 1.18 (openucx/ucx).
"""

import math
import re
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Literal

from railyard.parsers.lines import BINARY_MB, Line, filled_lines, foreign, is_failure, number, own_text
from railyard.parsers.output import NO_CONTEXT, Cell, ContextValue, ParsedOutput, Remark, Table

TESTS = (
    *("am_lat", "put_lat", "add_lat", "get", "fadd", "swap", "cswap", "am_bw", "put_bw", "get_bw", "add_mr"),
    *("tag_lat", "tag_bw", "tag_sync_lat", "tag_sync_bw", "ucp_put_lat", "ucp_put_bw", "ucp_get", "ucp_add"),
    *("ucp_fadd", "ucp_swap", "ucp_cswap", "stream_bw", "stream_lat", "ucp_am_lat", "ucp_am_bw"),
)
#: "| Test: " of a box -> the test, by its layer: both layers have a "put latency".
_TRANSPORT = {
    "active message latency": "am_lat",
    "put latency": "put_lat",
    "atomic add latency": "add_lat",
    "get latency / bandwidth / message rate": "get",
    "active message bandwidth / message rate": "am_bw",
    "put bandwidth / message rate": "put_bw",
    "get bandwidth / message rate": "get_bw",
    "atomic add message rate": "add_mr",
}
_PROTOCOL = {
    "tag match latency": "tag_lat",
    "tag match bandwidth": "tag_bw",
    "tag sync match latency": "tag_sync_lat",
    "tag sync match bandwidth": "tag_sync_bw",
    "put latency": "ucp_put_lat",
    "put bandwidth": "ucp_put_bw",
    "get latency / bandwidth / message rate": "ucp_get",
    "stream bandwidth": "stream_bw",
    "stream latency": "stream_lat",
    "am latency": "ucp_am_lat",
    "am bandwidth / message rate": "ucp_am_bw",
}
_LAYERS = {"transport layer": _TRANSPORT, "protocol layer": _PROTOCOL}
# Names of tests in the example batch files: "ucp_contig_tag_bw", "put_zcopy_lat", "put_bw_HH". Put, get and am are
# tests of both layers: the layout of the data is said for the transports only, the memory of both ends for UCP only.
_BATCH = (
    (re.compile(r"(?:\A|_)sync_tag_(lat|bw)|(?:\A|_)tag_sync_(lat|bw)"), "tag_sync_{}"),
    (re.compile(r"(?:\A|_)tag_(lat|bw)"), "tag_{}"),
    (re.compile(r"(?:\A|_)stream_(?:data_)?(lat|bw)"), "stream_{}"),
    (re.compile(r"\Aput_(?:short|bcopy|zcopy)_(lat|bw)\Z"), "put_{}"),
    (re.compile(r"\Aam_(?:short|short_iov|bcopy|zcopy)_(lat|bw)\Z"), "am_{}"),
    (re.compile(r"\Aput_(lat|bw)_[HD]{2}\Z"), "ucp_put_{}"),
    (re.compile(r"\Aget_[HD]{2}\Z"), "ucp_get"),
)
# $ ./ucx_perftest node2 -t tag_bw -s 1048576 -n 1000
_COMMAND = re.compile(r"(?:^|[\s/;&|(])ucx_perftest(?P<arguments>(?:\s[^;&|]{0,2000})?)")
# Options with a value that matter here
_WANTED = frozenset("tsOmTn")
_DIGITS = re.compile(r"[1-9][0-9]{0,17}")
_SIZES = re.compile(r"[0-9]{1,15}(?:,[0-9]{1,15}){0,31}")
# | Message size: 8                                                                                          |
_BOX = re.compile(r"^\|\s(?P<name>API|Test|Send memory|Recv memory|Message size|Window size):\s+(?P<value>\S.*?)\s*\|$")


@dataclass(frozen=True, slots=True)
class Settings:
    """What is known about one test; None: not said. ``size`` and ``window`` are a message's bytes and how many fly.

    ``name``: that of a test of batch files, without its size.
    """

    test: str | None = None
    size: int | None = None
    window: int | None = None
    threads: int | None = None
    iterations: int | None = None
    send_memory: str | None = None
    receive_memory: str | None = None
    loopback: bool | None = None
    name: str | None = None

    def fill_from(self, other: "Settings") -> "Settings":
        """Return these settings, and the other ones where these say nothing."""
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(other, **{name: value for name, value in said.items() if value is not None})

    def context(self) -> dict[str, ContextValue]:
        """Return what a table says besides its figures."""
        names = ("window", "threads", "send_memory", "receive_memory", "loopback", "name")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


def of_command(text: str) -> Settings | None:
    """Return what a client's command line asks for; None if a line has no such command, or it is a server's."""
    if "ucx_perftest" not in text or len(text) > 4000:
        return None
    found = [_of_arguments(each["arguments"].split()) for each in _COMMAND.finditer(text)]
    return next((each for each in reversed(found) if each is not None), None)


def _of_arguments(words: list[str]) -> Settings | None:
    given: dict[str, str] = {}
    for place, word in enumerate(words):
        if word[:1] == "-" and word[1:2] in _WANTED:
            given[word[1]] = word[2:] or (words[place + 1] if place + 1 < len(words) else "")
        elif word == "-l":
            given["l"] = ""
    if not given.keys() & {"t", "s"}:
        return None
    test = given.get("t")
    memory = given.get("m", "").split(",")
    return Settings(
        test=test if test in TESTS else None,
        size=_sum_of(given["s"]) if "s" in given else 8,  # init_test_params
        window=_number(given.get("O")),
        threads=_number(given.get("T")),
        iterations=_number(given.get("n")),
        send_memory=memory[0] or None,
        receive_memory=memory[-1] or None,
        loopback=True if "l" in given else None,
    )


def _number(word: str | None) -> int | None:
    return int(word) if word and _DIGITS.fullmatch(word) else None


def _sum_of(word: str) -> int | None:
    """Return the bytes of a message whose parts are listed; None for anything else, such as a shell's variable."""
    return sum(map(int, word.split(","))) if _SIZES.fullmatch(word) else None


class Box:
    """The lines of a server's box, while they are read."""

    def __init__(self) -> None:
        self._said: dict[str, str] = {}

    def take(self, text: str) -> bool:
        """Read a line of the box; return whether it is one."""
        found = _BOX.match(text) if text.startswith("| ") and len(text) <= 200 else None
        if found:
            if found["name"] == "API":
                self._said.clear()  # the first line of a box
            self._said[found["name"]] = found["value"]
        return found is not None

    def settings(self) -> Settings | None:
        """Return what the last box said; None if there was none."""
        if not self._said:
            return None
        tests = _LAYERS.get(self._said.get("API", ""), {})
        return Settings(
            test=tests.get(self._said.get("Test", "").removeprefix("UCP ")),
            size=_number(self._said.get("Message size")),
            window=_number(self._said.get("Window size")),
            send_memory=self._said.get("Send memory"),
            receive_memory=self._said.get("Recv memory"),
        )

    def clear(self) -> None:
        """Forget the box: it is known whose it is."""
        self._said = {}


def of_batch(name: str) -> Settings:
    """Return what a test's name in batch files says: "tag_lat/4096" is a test and a size, other parts are free."""
    test = size = None
    parts = name.split("/")
    for part in parts:
        if _DIGITS.fullmatch(part):
            size = int(part)
        else:
            test = test or _test_of(part)
    return Settings(test=test, size=size, name="/".join(part for part in parts if not _DIGITS.fullmatch(part)))


def _test_of(part: str) -> str | None:
    if part in TESTS:
        return part
    for pattern, name in _BATCH:
        if found := pattern.search(part):
            return name.format(next(filter(None, found.groups()), ""))
    return None


Form = Literal["old", "stage", "test"]

_NAMES = ["average", "overall"] * 3
# 50.0%ile
_PERCENTILE = re.compile(r"(?P<rank>[0-9]{1,3})(?P<rest>\.[0-9])%ile")
_WHOLE = "[0-9]{1,18}|[0-9]{1,3}(?:,[0-9]{3}){1,6}"
# Final:                  1000      0.240  1675.942  1671.351    46615.58   46743.62         597         598
ROW = re.compile(
    rf"^(?P<before>\S{{1,200}}\s|\s*)\s*(?P<iterations>{_WHOLE})(?P<times>(?:\s+[0-9]{{1,12}}\.[0-9]{{3}}){{3}})"
    rf"(?P<rates>(?:\s+[0-9]{{1,12}}\.[0-9]{{2}}){{2}})(?P<counts>(?:\s+(?:{_WHOLE})){{2}})(?:\s{{2,}}\S.{{0,500}})?$"
)
# The same of several threads: Final:    2000000                     0.412     37.01                4850211
THREADS = re.compile(
    rf"^(?P<before>Final:)\s+(?P<iterations>{_WHOLE})\s+(?P<time>[0-9]{{1,12}}\.[0-9]{{3}})"
    rf"\s+(?P<rate>[0-9]{{1,12}}\.[0-9]{{2}})\s+(?P<count>{_WHOLE})$"
)


@dataclass(frozen=True, slots=True)
class Heading:
    """The two lines that name the columns."""

    line: int
    form: Form
    time: str  # latency or overhead
    percentile: str  # the column's name

    @property
    def columns(self) -> tuple[str, ...]:
        return (
            *("iterations", self.percentile, f"{self.time}_average", self.time),
            *("bandwidth_average", "bandwidth", "message_rate_average", "message_rate"),
        )

    @property
    def columns_of_threads(self) -> tuple[str, ...]:
        return ("iterations", f"thread_{self.time}", "bandwidth", "message_rate")


def heading_of(line: int, time: str | None, named: list[str]) -> Heading | None:
    """Return the heading of a line's cells; None if they are not those of a known release."""
    form: Form = "old"
    if named[0] in ("Stage", "Test"):
        form = "stage" if named[0] == "Stage" else "test"
        named = named[1:]
    if time is None or len(named) != 8 or named[0] != "# iterations" or named[2:] != _NAMES:
        return None
    if named[1] == "typical":
        return Heading(line, form, time, f"{time}_typical")
    rank = _PERCENTILE.fullmatch(named[1])
    if rank is None:
        return None
    return Heading(line, form, time, f"{time}_{rank['rank']}{rank['rest'].removesuffix('.0')}")


def cells_of(found: re.Match[str]) -> tuple[Cell, ...]:
    times = [float(word) for word in found["times"].split()]
    rates = [float(word) * BINARY_MB for word in found["rates"].split()]
    return (_count(found["iterations"]), *times, *rates, *map(_count, found["counts"].split()))


def cells_of_threads(found: re.Match[str]) -> tuple[Cell, ...]:
    """Return a row of the figures that several threads have together."""
    rate = float(found["rate"]) * BINARY_MB
    return (_count(found["iterations"]), float(found["time"]), rate, _count(found["count"]))


def _count(word: str) -> int | None:
    value = number(word.replace(",", ""))
    return value if isinstance(value, int) else None


def _overall_figures(cells: tuple[Cell, ...]) -> tuple[float, float, float]:
    """Return time, bandwidth and message rate of a row over the whole run."""
    time, rate, count = (cells[3], cells[5], cells[7]) if len(cells) > 4 else cells[1:]
    return float(time or 0), float(rate or 0) / BINARY_MB, float(count or 0)


def agree(cells: tuple[Cell, ...]) -> bool:
    """Return whether time and message rate of a row are each other's reciprocal: a rate that lost digits is not.

    The rate of several threads is their sum, and the time their mean, so the product is their number.
    """
    time, _, rate = _overall_figures(cells)
    product = time * rate * 1e-6
    coarse = 0.02 + 0.0005 / max(time, 0.001) + 0.51e-6 * time  # by the digits that are not printed
    wanted = 1 if len(cells) > 4 else max(1, round(product))
    return abs(product - wanted) <= coarse * wanted


def size_of(cells: tuple[Cell, ...], stated: int | None) -> int | None:
    """Return the bytes of a message that give the printed figures: the stated ones, or the roundest that do.

    Their digits leave a range of sizes: a bandwidth has two decimals (MiB/s), a rate none, a time three. If the range
    is wider than 0.2 %, nothing is returned; the roundest size in it is the one with the largest power of 2 or 10.
    """
    time, bandwidth, rate = _overall_figures(cells)
    slow, fast = (bandwidth - 0.0051) * 2**20, (bandwidth + 0.0051) * 2**20
    least, most = slow / (rate + 0.51), fast / max(rate - 0.51, 0.1)
    if len(cells) > 4:  # of one thread
        least, most = max(least, slow * (time - 0.00051) * 1e-6), min(most, fast * (time + 0.00051) * 1e-6)
    if stated is not None and least <= stated <= most:
        return stated
    if least <= 0 or most < math.ceil(least) or (most - least > 0.002 * least and math.floor(most) > math.ceil(least)):
        return None
    steps = sorted((base**power for base in (2, 10) for power in range(64) if base**power <= most), reverse=True)
    return next((math.floor(most / step) * step for step in steps if math.floor(most / step) * step >= least), None)


TOOL = "ucx_perftest"
#: What a stream is called whose test the text does not name: only streams have an "overhead" as their time.
BANDWIDTH = "bandwidth"

_TIMES = ("latency (usec)", "overhead (usec)")
_GROUPS = ["bandwidth (MB/s)", "message rate (msg/s)"]
# +tag_lat/8-----+--------------+----------+   |   ===== tag_bw =====
_TITLE = re.compile(r"^\+(?P<name>[^\s+|-][^\s|]{0,199}?)[-+]{0,200}\+$")
_RULED = re.compile(r"^={2,200} ?(?P<name>[a-z_]{2,20}) ?={2,200}$")
_BORDER = re.compile(r"^\+[-+]{3,300}$")
_INTERVAL = re.compile(r"^\[thread [0-9]{1,4}\]")
_BEGUN = re.compile(r"^(?:Final|\[thread|\s*[0-9])")
# The beginning of a row: a test's name, its iterations, and figures with points.
_PART = re.compile(r"^\S{1,200}\s+[0-9,]{1,24}(?:\s+[0-9]{1,12}\.[0-9]{2,3}){1,5}(?:\s+[0-9,]{1,24})?\s*$")
_OWN = re.compile(r"^(?:Waiting for connection\.\.\.|Accepted connection from \S{1,100})$")
# [1700000000.1] [node1:12:0]  perftest.c:391  UCX  ERROR client failed. connect() failed: Connection refused
_OWN_FAILURE = re.compile(r"\b(?:perftest|libperf)[a-z_]{0,20}\.c{1,2}:[0-9]{1,6} +UCX +(?:ERROR|FATAL)")
_FEWER = "a report of no more iterations than the one above it, so the heading between them is lost"
_EXPECTED = 'output of ucx_perftest: a heading with "# iterations" and "message rate (msg/s)"'


@dataclass(slots=True)
class _Test:
    """One test while it is read: after a heading, or after the title of one of a batch."""

    line: int
    heading: Heading
    settings: Settings
    last: tuple[Line, tuple[Cell, ...]] | None = None  # up to 1.9: the last report
    begun: bool = False
    refused: bool = False
    rows: int = 0


@dataclass(slots=True)
class _Run:
    """One table while it is read."""

    line: int
    heading: Heading
    settings: Settings
    columns: tuple[str, ...]
    sizes: list[int | None] = field(default_factory=list)
    rows: list[tuple[Cell, ...]] = field(default_factory=list)
    spoiled: bool = False

    @property
    def benchmark(self) -> str | None:
        if self.settings.test is not None:
            return self.settings.test
        # the heading of a batch file says "overhead" of any test
        return BANDWIDTH if self.heading.time == "overhead" and self.settings.name is None else None

    def is_alike(self, columns: tuple[str, ...], settings: Settings) -> bool:
        """Return whether a further test differs from these at most in its size."""
        return (self.columns, self.settings.test, self.settings.context()) == (
            *(columns, settings.test),
            settings.context(),
        )

    def is_continued(self, size: int | None) -> bool:
        """Return whether a size is the next one of this table."""
        last = self.sizes[-1]
        return not self.spoiled and size is not None and last is not None and last < size


def parse(text: str) -> ParsedOutput:
    """Return the tables, failures and remarks of one output.

    Raises ParseError if the text has neither a heading, nor a server's box, nor an error of ucx_perftest.
    """
    text = own_text(text, TOOL, _EXPECTED)
    reader = _Reader()
    for line, _ in filled_lines(text):
        reader.read(line)
    return reader.result(text)


class _Reader:
    """The settings that wait for their heading, the open test, and what was found so far."""

    def __init__(self) -> None:
        self.command = Settings()
        self.box = Box()
        self.boxes: list[int] = []  # lines of boxes
        self.titled: str | None = None
        self.time: str | None = None
        self.test: _Test | None = None
        self.headings = 0
        self.runs: list[_Run] = []
        self.failures: list[Remark] = []
        self.remarks: list[Remark] = []

    def read(self, line: Line) -> None:
        """Read one line that is not blank."""
        text = line.text.rstrip()
        taken = (
            (text[0] == "|" and self._heading(line, text))
            or (text[0] in "+=" and self._title(line, text))
            or (self.test is not None and self._row(self.test, line, text))
            or _OWN.match(text[:200])
        )
        if not taken:
            self._foreign(line, text.strip())

    def result(self, text: str) -> ParsedOutput:
        """Return what was found, after every line was read."""
        self._close(at_end=True)
        if not self.headings and self.boxes:
            self.failures.append(
                Remark(self.boxes[0], "no figures: a server prints none, its client's output has them")
            )
        elif not self.headings and not any(_OWN_FAILURE.search(failure.text) for failure in self.failures):
            raise foreign(text, _EXPECTED)
        tables = tuple(_table(run) for run in self.runs)
        return ParsedOutput(tables, tuple(sorted(self.failures, key=lambda each: each.line)), tuple(self.remarks))

    def _heading(self, line: Line, text: str) -> bool:
        if self.box.take(text):
            if text.startswith("| API:"):
                self.boxes.append(line.number)
            return True
        cells = [cell.strip() for cell in text.split("|")] if len(text) <= 300 and line.ended else []
        named = [cell for cell in cells if cell]
        if len(named) == 3 and named[0] in _TIMES and named[1:] == _GROUPS:
            self.time = named[0].partition(" ")[0]
            return True
        if "# iterations" not in named or "overall" not in named:
            return False
        heading = heading_of(line.number, self.time, named)
        self._close()
        self.time = None
        self.headings += 1
        if heading is None:
            self.failures.append(Remark(line.number, f"a heading with other columns than ucx_perftest's: {text[:300]}"))
            return True
        self._begin(line.number, heading)
        return True

    def _begin(self, line: int, heading: Heading) -> None:
        """Open the test after a heading."""
        said = self.command
        if self.titled is not None:
            said = Settings(test=self.titled).fill_from(said)
            self.titled = None
        self.test = _Test(line, heading, said)

    def _title(self, line: Line, text: str) -> bool:
        if _BORDER.match(text):
            return True
        if ruled := _RULED.match(text):
            if ruled["name"] in TESTS:
                self.titled = ruled["name"]
            return ruled["name"] in TESTS
        title = _TITLE.match(text) if line.ended else None
        if title is None or self.test is None:
            return False
        heading = self.test.heading
        if self.test.begun or self.test.rows:
            self._close()
        # options of the command line hold for each test of a batch, but its test and size are the file's own
        said = replace(self.command, test=None, size=None, iterations=None)
        self.test = _Test(line.number, heading, of_batch(title["name"]).fill_from(said), begun=True)
        return True

    def _row(self, test: _Test, line: Line, text: str) -> bool:
        """Take a report; return whether the line is one, or the beginning of one that is cut."""
        if _INTERVAL.match(text):
            test.begun = True
            return True
        found = ROW.match(text) if len(text) <= 900 else None
        several = THREADS.match(text) if found is None and test.heading.form == "stage" else None
        cells = cells_of(found) if found else cells_of_threads(several) if several else None
        if cells is None or not line.ended:
            return self._cut(test, line, text)
        if found and not _is_named_well(test, found["before"].strip(), text):
            return found["before"].isspace() and test.heading.form == "stage"  # an interval of a build without threads
        if not agree(cells):
            test.refused = True
            self.failures.append(Remark(line.number, f"figures that contradict each other: {text.strip()[:300]}"))
            return True
        self._take(test, line, cells, found["before"].strip() if found else "")
        return True

    def _cut(self, test: _Test, line: Line, text: str) -> bool:
        if line.ended and _PART.match(text):
            self.failures.append(Remark(line.number, f"a row without all its figures: {text.strip()[:300]}"))
        elif line.ended or not _BEGUN.match(text):
            return False
        test.begun = True
        for run in self.runs[-1:]:
            run.spoiled = True
        return True

    def _take(self, test: _Test, line: Line, cells: tuple[Cell, ...], name: str) -> None:
        """Keep a test's last report; up to 1.9 it is only known later that it was the last."""
        test.begun = True
        if test.heading.form == "old":
            before = test.last[1][0] if test.last is not None else None
            if before is not None and int(cells[0] or 0) <= int(before):
                test.refused, test.last = True, None
                self.failures.append(Remark(line.number, f"{_FEWER}: {line.text.strip()[:300]}"))
            test.last = None if test.refused else (line, cells)
            return
        if test.heading.form == "test" and name:
            said = replace(self.command, test=None, size=None, iterations=None)
            test.settings = of_batch(name).fill_from(said)
        self._keep(test, line, cells)

    def _keep(self, test: _Test, line: Line, cells: tuple[Cell, ...]) -> None:
        box = self.box.settings()
        if box is not None:
            test.settings = test.settings.fill_from(box)
            self.box.clear()
        stated = test.settings.size if not test.rows or test.heading.form == "test" else None
        size = size_of(cells, stated)
        test.rows += 1
        # the first batch file is the outer loop: with sizes in it, each size has all tests
        columns = test.heading.columns if len(cells) > 4 else test.heading.columns_of_threads
        run = next((run for run in reversed(self.runs) if run.is_alike(columns, test.settings)), None)
        if run is None or not run.is_continued(size):
            where = test.heading.line if all(run.line != test.heading.line for run in self.runs) else line.number
            run = _Run(where, test.heading, test.settings, columns)
            self.runs.append(run)
        run.sizes.append(size)
        run.rows.append(cells)

    def _close(self, at_end: bool = False) -> None:
        """End the open test: take what was its last report, or note that it has none."""
        test, self.test = self.test, None
        if test is None:
            return
        if test.last is not None:
            line, cells = test.last
            if not at_end or _is_last(test.settings.iterations, cells[0]):
                self._keep(test, line, cells)
        if not (test.rows or test.refused) and (test.begun or test.line == test.heading.line):
            what = "a test without its last report" if test.begun else "a heading without any row"
            self.failures.append(Remark(test.line, what))
            for run in self.runs[-1:]:
                run.spoiled |= at_end and test.begun

    def _foreign(self, line: Line, text: str) -> None:
        command = of_command(text)
        if command is not None:
            self.command = command
        failed = is_failure(text) or bool(_OWN_FAILURE.search(text[:2000]))
        (self.failures if failed else self.remarks).append(Remark(line.number, text[:2000]))
        if failed or line.dots:
            for run in self.runs[-1:] if self.test and self.test.rows else ():
                run.spoiled = True


def _is_named_well(test: _Test, before: str, text: str) -> bool:
    """Return whether what is before a row's figures makes it a test's last report.

    Without a name, a row begins with blanks: a line that begins with a figure is the rest of a broken one.
    """
    form = test.heading.form
    if before:
        return before == "Final:" if form != "test" else before != "Final:"
    return form != "stage" and text[0] in " \t"


def _is_last(asked: int | None, iterations: Cell) -> bool:
    count = int(iterations or 0)
    return count == asked if asked is not None else count % 100 == 0


def _table(run: _Run) -> Table:
    has_sizes = None not in run.sizes
    context = run.settings.context()
    columns = ("size", *run.columns) if has_sizes else run.columns
    rows = [(size, *row) for size, row in zip(run.sizes, run.rows, strict=True)] if has_sizes else run.rows
    return Table(
        tool=TOOL,
        version=None,
        benchmark=run.benchmark,
        columns=columns,
        units=tuple(map(_unit, columns)),
        rows=tuple(rows),
        line=run.line,
        complete=not run.spoiled,
        context=MappingProxyType(context) if context else NO_CONTEXT,
    )


def _unit(column: str) -> str | None:
    if column in ("size", "iterations"):
        return "B" if column == "size" else None
    return "MB/s" if column.startswith("bandwidth") else "1/s" if column.startswith("message_rate") else "us"
