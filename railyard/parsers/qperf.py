"""Output of qperf 0.4.0 to 0.4.11, as typed tables: one of one row per test, columns named and ordered as printed.

Times are us, bandwidths MB/s (10^6 B/s), rates 1/s, sizes B, costs s/GB, processor shares %, counts without unit. qperf
divides by 1000 from unit to unit, so its KB, MB and GB are decimal; KiB to TiB are binary. Source: ``view_band``,
``view_rate``, ``view_size``, ``view_time``, ``view_cost`` in qperf.c of 0.4.11. The words (hosts, systems) of the block
``conf:`` are the context of every table after it; the version is its ``loc_qperf``.

qperf prints all figures of a test at its end. So a table is complete unless its last line is cut, an error is before
its end, or one side's bandwidth is missing. A test without any figure is a failure.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from railyard.parsers.lines import Line, filled_lines, foreign, is_failure, number, own_text
from railyard.parsers.output import ContextValue, ParsedOutput, Remark, Table

TOOL = "qperf"


def _steps(words: tuple[str, ...], base: float, factor: float) -> dict[str, float]:
    return {word: factor * base**step for step, word in enumerate(words)}


_TIMES = _steps(("ns", "us", "ms", "sec"), 1e3, 1e-3)
# End of the printed name -> unit of the column, and a factor for each printed unit. The first that fits counts.
_KINDS: tuple[tuple[str, str | None, Mapping[str, float]], ...] = (
    (
        "bw",
        "MB/s",
        _steps(("bytes/sec", "KB/sec", "MB/sec", "GB/sec", "TB/sec"), 1e3, 1e-6)
        | _steps(("bits/sec", "Kb/sec", "Mb/sec", "Gb/sec", "Tb/sec"), 1e3, 1e-6 / 8),  # --use_bits_per_sec
    ),
    ("cost", "s/GB", _steps(("ns/GB", "us/GB", "ms/GB", "sec/GB"), 1e3, 1e-9)),
    ("rate", "1/s", _steps(("/sec", "K/sec", "M/sec", "G/sec", "T/sec"), 1e3, 1.0)),
    ("latency", "us", _TIMES),
    ("", "us", _TIMES),
    ("", "%", {"% cpus": 1.0}),
    (
        "",
        "B",
        _steps(("bytes", "KB", "MB", "GB", "TB"), 1e3, 1.0) | _steps(("KiB", "MiB", "GiB", "TiB"), 2**10, 2.0**10),
    ),
    ("", None, _steps(("", "thousand", "million", "billion", "trillion"), 1e3, 1.0)),
)
# A cut line could end in the unit of another kind, or without one; for these names the kind is known
_CERTAIN = tuple(ending for ending, _, _ in _KINDS if ending)

# rc_rdma_write_bw:   (all tests of 0.4.11; ibv_devinfo prints "rc_odp_caps:")
_TEST = re.compile(
    r"\A(?P<name>(?:rds|sctp|sdp|tcp|udp|uc|ud|xrc|rc)_(?:bw|lat)|(?:rc|uc|ud|xrc)_bi_bw|rc_rdma_read_(?:bw|lat)"
    r"|(?:rc|uc)_rdma_write_(?:bw|lat|poll_lat)|(?:ver_)?rc_(?:compare_swap|fetch_add)(?:_mr)?|conf|quit):\Z"
)
_MAIN = MappingProxyType(
    {
        "lat": frozenset({"latency"}),
        "bw": frozenset({"bw", "send_bw", "recv_bw"}),
        "": frozenset({"msg_rate"}),
    }
)
_SIDES = frozenset({"send_bw", "recv_bw"})
# What else -v… prints: resources, and the parameters of either side (qperf.c, show_rest and ParName)
_BESIDES = re.compile(
    r"\A(?:msg_rate|(?:send|recv)_cost|(?:(?:send|recv|loc|rem|l|r|s)_){0,3}(?:cpus_(?:used|user|intr|kernel|iowait)"
    r"|real_time|cpu_time|errors|bytes|msgs|max_cqes?|no_(?:bytes|msgs|errs|cpus|ticks)|timer_[a-z]{4,8}|access_recv"
    r"|affinity|alt_port|cq_poll|flip|id|ip_port|mtu_size|msg_size|poll_mode|port|rd_atomic|service_level|sock_buf_size"
    r"|src_path_bits|static_rate|time|timeout|traffic_class|use_cm))\Z"
)
#     msg_size   =  64 KiB (65,536)
_FIGURE = re.compile(
    r"\A(?P<name>[a-z][a-z0-9_]{0,40})\s{1,60}=\s{1,60}(?P<value>-?[0-9][0-9,]{0,30}(?:\.[0-9]{1,20})?)"
    r"(?: (?P<unit>[A-Za-z/% ]{0,12}))?(?: \([0-9,]{1,30}\))?\Z"
)
#     loc_node   =  vm1
_WORD = re.compile(r"\A(?P<name>[a-z][a-z0-9_]{0,40})\s{1,60}=\s{1,60}(?P<value>\S.{0,200})\Z")
_GROUPS = re.compile(r"\A-?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]{1,20})?\Z")
# qperf's own errors (support.c, rdma.c, socket.c), from either side
_FAILURE = re.compile(
    r"\A(?:server: |client: |internal error: )?(?:failed to |unable to |could not |cannot |\S{1,80}: failed to connect"
    r"|\S{1,80}: bad |synchronize |remote |bad message|CQ error|.{1,80}(?:failed|timed out|not responding)\b"
    r"|invalid port|out of space)"
)
_EXPECTED = 'output of qperf: a test\'s name with its colon ("rc_bw:")'


@dataclass(slots=True)
class _Run:
    """One test while it is read."""

    line: int
    name: str
    context: dict[str, ContextValue]  # shared with the configuration until it gets a word of its own
    shared: bool = True
    figures: dict[str, tuple[float, str | None]] = field(default_factory=dict)
    spoiled: bool = False

    def takes(self, name: str) -> bool:
        """Return whether a figure can be this test's: main figures first, of its kind, and none twice."""
        figures = self.figures
        if name in figures:
            return False
        if name in _main_of(self.name):
            # one bandwidth, or one of each side
            return not (_SIDES & figures.keys() if name == "bw" else "bw" in figures and name in _SIDES)
        return bool(figures) and _is_besides(name)

    def says(self, name: str, word: str) -> None:
        """Keep a word."""
        if self.shared:
            self.context, self.shared = dict(self.context), False
        self.context[name] = word


def parse(text: str) -> ParsedOutput:
    """Return the tables, failures and remarks of one output of qperf.

    Raises ParseError if the text has neither a test of qperf with its colon nor a server's errors under its name.
    """
    text = own_text(text, TOOL, _EXPECTED)
    reader = _Reader()
    for line, stripped in filled_lines(text):
        reader.read(line, stripped)
    return reader.result(text)


class _Reader:
    """The open test, what ``conf`` said, and what was found so far."""

    def __init__(self) -> None:
        self.run: _Run | None = None  # the test that takes figures
        self.last: _Run | None = None  # the test that is not closed
        self.tables: list[Table] = []
        self.conf: _Run | None = None  # the last one
        self.failures: list[Remark] = []
        self.remarks: list[Remark] = []

    def read(self, line: Line, text: str) -> None:
        """Read one stripped line: a test's name, one of its figures or words, or another line."""
        if text[-1] == ":" and self._test(line, text):
            return
        if not (self.run and "  =  " in text and len(text) <= 300 and self._figure(self.run, line, text)):
            failed = bool(_FAILURE.match(text[:200])) or is_failure(text)
            (self.failures if failed else self.remarks).append(Remark(line.number, text[:2000]))
            if self.run and (failed or line.dots):
                self.run.spoiled = True

    def result(self, text: str) -> ParsedOutput:
        """Return what was found, after every line was read."""
        if self.last is None and not (self.failures and re.search(r"\bqperf\b", text)):
            raise foreign(text, _EXPECTED)
        self._close()
        ordered = sorted(self.failures, key=lambda item: item.line)
        return ParsedOutput(tuple(self.tables), tuple(ordered), tuple(sorted(self.remarks, key=lambda item: item.line)))

    def _close(self) -> None:
        """End the last test."""
        run = self.last
        if run is None:
            return
        if len(_SIDES & run.figures.keys()) == 1:
            self.failures.append(Remark(run.line, f"only one side's bandwidth: {run.name}"))
        elif run.figures:
            self.tables.append(_table(run))
        else:
            notes = self.remarks if run.name in ("conf", "quit") else self.failures  # these two do not measure
            notes.append(Remark(run.line, f"a test without any figure: {run.name}"))

    def _test(self, line: Line, text: str) -> bool:
        name = _test_of(text) if len(text) <= 120 else None
        if name:
            said = self.conf.context if self.conf else {}
            self._close()
            self.run = self.last = _Run(line.number, name, said)
            if name == "conf":
                self.conf = self.run
        return name is not None

    def _figure(self, run: _Run, line: Line, text: str) -> bool:
        figure = _figure_of(text) if run.name != "conf" else None
        if figure:
            name, found = figure
            if not run.takes(name):
                self.run = None  # the next test's name is missing
                return False
            if found and (line.ended or name.endswith(_CERTAIN)):
                run.figures[name] = found
                return True
        elif line.ended and (word := _WORD.match(text)):
            run.says(word["name"], word["value"])
            return True
        run.spoiled |= not line.ended
        return False


@lru_cache(maxsize=256)
def _test_of(text: str) -> str | None:
    """Return the name of the test that a line begins; None for any other line."""
    test = _TEST.match(text)
    return test["name"] if test else None


@lru_cache(maxsize=256)
def _main_of(test: str) -> frozenset[str]:
    """Return the names of a test's main figures."""
    ending = test.rpartition("_")[2]
    return _MAIN.get(ending, _MAIN[""])


@lru_cache(maxsize=1024)
def _is_besides(name: str) -> bool:
    return bool(_BESIDES.match(name))


@lru_cache(maxsize=4096)  # with -v each test prints most of its parameters again
def _figure_of(text: str) -> tuple[str, tuple[float, str | None] | None] | None:
    """Return a figure's name, and its value with its unit, None if these are impossible; None for any other line."""
    figure = _FIGURE.match(text)
    if not figure:
        return None
    name, digits, printed = figure.groups()
    unit, value = _unit_of(name, printed or ""), _number(digits, printed or "")
    return name, (value * unit[1], unit[0]) if unit and value is not None else None


def _number(digits: str, unit: str) -> int | float | None:
    """Return a printed number; None if its comma may be that of decimals.

    1000 K/sec is printed as 1 M/sec, so only the smallest and the largest unit have thousands, "1,000" by rounding,
    and multiples of 1024 ("1,020 KiB").
    Source: view_band, nice_1024, place_val and commify of src/qperf.c (linux-rdma/qperf).
    """
    is_scaled = unit.strip()[:1] in tuple("KMGmun") and not unit.strip().endswith("iB") and digits != "1,000"
    if "," in digits and (is_scaled or not _GROUPS.match(digits)):
        return None
    return number(digits.replace(",", ""))


@lru_cache(maxsize=1024)
def _unit_of(name: str, printed: str) -> tuple[str | None, float] | None:
    """Return a figure's unit and factor by the end of its name; None if the printed unit does not fit it."""
    printed = printed.strip()
    for ending, unit, factors in _KINDS:
        if name.endswith(ending) and printed in factors:
            return unit, factors[printed]
        if ending and name.endswith(ending):
            return None
    return None


def _table(run: _Run) -> Table:
    version = run.context.get("loc_qperf")
    return Table.of_figures(
        "qperf",
        str(version) if version else None,
        run.name,
        run.figures,
        line=run.line,
        complete=not run.spoiled,
        context=run.context,
    )
