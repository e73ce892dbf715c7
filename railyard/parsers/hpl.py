"""HPL 1.0 to 2.3, Intel's, AMD's (also rocHPL) and NVIDIA's builds of it, and HPL-AI, as one typed table.

``parse`` returns one table per text, one row per test: N, NB, P, Q, time (s), performance (Gflop/s, of all processes),
passed. Rows of HPL-AI are a table of their own (``hpl_ai``) with fgmres (s) and performance_irs (Gflop/s), None if the
row prints none. ``passed`` is HPL's own residual check. It is None if the check was switched off, and False if the
residual is not a number, whatever is printed beside it. If ``passed`` is False, a plausible rate means nothing.

A row counts after its residual is judged: HPL 1.0 prints three residuals per row, later releases one. A table is
complete at "End of Tests." or if the closing counts add up to its rows. It is not complete if those counts name more
rows. Source: HPL_pdtest.c and HPL_pddriver.c of 1.0a to 2.3; for the variants, recorded outputs.

``HplReader`` reads the lines of one or more runs: ``hpcc`` has them inside its own output.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from railyard.base.bounds import AGREEMENT_SHARE
from railyard.base.wording import number as shown
from railyard.parsers.lines import (
    Line,
    filled_lines,
    foreign,
    is_failure,
    not_a_number,
    number,
    own_text,
    remember_matches,
)
from railyard.parsers.output import Cell, ContextValue, ParsedOutput, Remark, Table

TOOL = "hpl"

_HPCC = ("HPC Challenge Benchmark version", "Begin of HPL section.", "Begin of Summary section.")
_EXPECTED = 'output of HPL: a banner "HPLinpack …" or a heading "T/V  N  NB …"'
_FIRST, _LAST = ("N", "NB", "P", "Q", "time", "performance"), ("passed",)
COLUMNS = MappingProxyType({"hpl": _FIRST + _LAST, "hpl_ai": (*_FIRST, "fgmres", "performance_irs", *_LAST)})
UNITS: MappingProxyType[str, tuple[str | None, ...]] = MappingProxyType(
    {
        "hpl": (None, None, None, None, "s", "Gflop/s", None),
        "hpl_ai": (None, None, None, None, "s", "Gflop/s", "s", "Gflop/s", None),
    }
)
# HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018    |    HPL-NVIDIA 24.3.0  -- NVIDIA …
_BANNER = re.compile(
    r"^(?P<name>HPLinpack|HPL-[A-Za-z-]{2,20}|rocHPL\S{0,8})\s+v?(?P<version>[0-9]\S{0,20})\s+--\s.{0,200}$"
)
# WR11C2R4, WC0 (NVIDIA), WR0XR8C48 (AMD), HPL_AI   WR03L2L2
_CODE = re.compile(r"^(?:HPL_AI\s{1,40})?W[A-Z]{0,2}[0-9][0-9A-Za-z]{0,20}\s")
#               1 tests completed and passed residual checks,
_COUNT = re.compile(
    r"^(?P<count>[0-9]{1,9}) tests (?P<what>completed and passed|completed and failed|completed without|skipped)\b"
)
_FINISHED = re.compile(r"^Finished\s+(?P<count>[0-9]{1,9}) tests with the following results:$")
_OWN = re.compile(
    r"^(?:[=-]{20,}|-[-V]{20,}|(?:T/V|N|NB|PMAP|P|Q|Time|Gflops|PFACT|NBMIN|NDIV|RFACT|BCAST|DEPTH|SWAP|L1|U|EQUIL|ALIGN)\s*:"
    r"|Written by A\. P|Modified by |An explanation of the input|The following parameter|- The |- Computational tests"
    r"|HPL_pdgesv\(\) |\|\||(?:\S{1,80}\s+:\s+)?Column=|Prog=|(?:\+ )*Max aggregated|(?:Time\s+)?Gflops$"
    # rocHPL's progress: "  0.5% | 000000512 |    0.1234567  |  1.234e+04 …", its columns' heads, and what it says twice
    r"|%\s+\| Column|\|[\s|]*(?:Small\b|$)|[0-9]{1,3}\.[0-9]%\s\|\s[0-9]{9}\s\||Final Score:|Residual value ="
    r"|Residual Check: PASSED|Local matrix size\s+=|Total device memory use =)"
)
_is_own = remember_matches(_OWN)
_HALF_A_DIGIT_S = 0.005  # HPL prints its time with two decimals
_TOLD_BY = 0.25  # a time that lost a larger share by rounding says nothing
_UNREAD = "a row that cannot be read: "


def parse(text: str) -> ParsedOutput:
    """Return the table, failures and remarks of one output of HPL.

    Raises ParseError if the text has neither a banner nor a heading of HPL nor an error of xhpl, or if it is hpcc's.
    """
    text = own_text(text, TOOL, _EXPECTED)
    if any(mark in text for mark in _HPCC):
        raise foreign(text, "output of HPL alone: this is HPC Challenge's, which hpcc reads")
    reader = HplReader()
    for line, stripped in filled_lines(text):
        reader.read(line, stripped)
    tables = reader.tables()
    if not reader.known and not (reader.failures and "xhpl" in text):
        raise foreign(text, _EXPECTED)
    ordered = sorted(reader.failures, key=lambda item: item.line)
    return ParsedOutput(tables, tuple(ordered), tuple(reader.remarks))


class HplReader:
    """The state between lines: the row that waits for its residual, the closing counts, and what was found so far.

    ``read`` takes one line that is not blank. At the end, ``tables`` returns the tables; ``failures`` and ``remarks``
    are the rest.
    """

    def __init__(self) -> None:
        self.rows: dict[str, list[tuple[Cell, ...]]] = {}
        self.failures: list[Remark] = []
        self.remarks: list[Remark] = []
        self.known = False
        self._version: str | None = None
        self._context: dict[str, ContextValue] = {}
        self._line = 0  # of the banner before the first row, else of the first heading
        self._heading = 0
        self._row: list[str] = []  # words of a row that is not yet judged or not yet whole
        self._row_line = 0
        self._residual = ""  # the first half of a residual that a mailer wrapped
        self._residual_line = 0
        self._verdicts: list[bool] = []
        self._before = 0  # rows of the runs before this one
        self._counts: dict[str, int] = {}
        self._ended = self._dots = self._spoiled = False

    def read(self, line: Line, text: str) -> None:
        """Read one stripped line; the first character decides which kinds it can be."""
        for kind in _KINDS.get(text[0], ()):
            if kind(self, line, text):
                return
        if _is_own(text):
            return
        self._dots |= text[0] in ".…[" and line.dots
        (self.failures if is_failure(text) else self.remarks).append(Remark(line.number, text[:2000]))

    def tables(self) -> tuple[Table, ...]:
        """Return the tables, after every line was read: HPL's and HPL-AI's rows are separate."""
        complete = self._whole_run() and not self._spoiled
        if self.known and not self.rows:
            self.failures.append(Remark(self._line or self._heading, "HPL gave no row with a residual"))
        return tuple(
            Table(
                tool="hpl",
                version=self._version,
                benchmark=kind,
                columns=COLUMNS[kind],
                units=UNITS[kind],
                rows=tuple(rows),
                line=self._line or self._heading,
                complete=complete,
                context=MappingProxyType(dict(self._context)),
            )
            for kind, rows in self.rows.items()
        )

    def _banner(self, line: Line, text: str) -> bool:
        banner = _BANNER.match(text)
        if not banner:
            return False
        if self._row_count() > self._before or self._counts:
            # another run of the same program follows
            self._settle()
            self._spoiled |= not self._whole_run()
            self._before, self._counts, self._ended, self._dots = self._row_count(), {}, False, False
        self.known = True
        if not self.rows:
            self._line = line.number
        if banner["name"] != "HPLinpack":
            self._context["implementation"] = f"{banner['name']} {banner['version']}"
        if banner["name"] == "HPLinpack" or self._version is None:
            self._version = banner["version"]
        return True

    def _title(self, line: Line, text: str) -> bool:
        if not text.startswith("T/V") or text[:200].split()[:3] != ["T/V", "N", "NB"]:
            return False
        self._settle()
        self.known = True
        self._heading = self._heading or line.number
        return True

    def _begin(self, line: Line, text: str) -> bool:
        if not self._heading or not _CODE.match(text):
            return False
        words = text[:400].split()
        self._settle()
        if not _shape(words):
            if line.ended:
                self.failures.append(Remark(line.number, f"{_UNREAD}{text[:300]}"))
            return line.ended
        self._row, self._row_line = words, line.number
        return True

    def _rest(self, line: Line, text: str) -> bool:
        """Read the second half of a row that a mailer wrapped."""
        words = self._row + text[:400].split()
        is_whole = bool(_cells(self._row)) and not (self._row[0] == "HPL_AI" and len(self._row) < 4 + len(_FIRST))
        if not self._row or self._verdicts or is_whole or not _shape(words):
            return False
        self._row = words
        return True

    def _check(self, line: Line, text: str) -> bool:
        """Read a residual: "||Ax-b||_oo/(eps*(…)*N)=   3.0e-03 ...... PASSED", three of them in HPL 1.0."""
        joined = f"{self._residual} {text}" if self._residual else text
        begun = joined.startswith("||Ax-b||_oo") and " . ." not in joined and len(joined) < 400
        if not self._row or not begun:
            return False
        words = joined.replace("=", " ").split()
        if words[-1] not in ("PASSED", "FAILED"):
            self._residual = text if text.startswith("|") else self._residual
            self._residual_line = line.number
            return text.startswith("|")
        self._residual = ""
        self._verdicts.append(words[-1] == "PASSED" and not any(not_a_number(word) for word in words))
        if not self._verdicts[-1]:
            self.failures.append(Remark(line.number, joined))
        if "||x||_oo" in joined:
            # the only residual since HPL 2.0, the last of the three of HPL 1.0
            self._settle()
        return True

    def _count(self, line: Line, text: str) -> bool:
        found = _COUNT.match(text) or _FINISHED.match(text)
        if not found:
            return False
        self._settle()
        what = found.groupdict().get("what", "finished")
        self._counts[what] = int(found["count"])
        if what == "skipped" and int(found["count"]):
            self.failures.append(Remark(line.number, text))
        return True

    def _end(self, line: Line, text: str) -> bool:
        if text != "End of Tests.":
            return False
        self._settle()
        self._ended = True
        return True

    def _read_report(self, line: Line, text: str) -> bool:
        """Read what HPL_pwarn and HPL_abort print: "HPL ERROR from process # 0, …" and ">>> … <<<" below it."""
        if not text.startswith(("HPL ERROR", "HPL WARNING from", ">>> ")):
            return False
        self.failures.append(Remark(line.number, text[:2000]))
        return True

    def _settle(self) -> None:
        """Close the open row: what follows shows that no further residual belongs to it."""
        cells = _cells(self._row)
        if self._row and not cells:
            self.failures.append(Remark(self._row_line, f"{_UNREAD}{' '.join(self._row)}"))
        if cells:
            if self._residual and not self._verdicts:
                self.failures.append(
                    Remark(self._residual_line, f"a residual without PASSED or FAILED: {self._residual}")
                )
            if why := _contradiction(cells):
                self.failures.append(Remark(self._row_line, why))
            kind = "hpl" if len(cells) == len(_FIRST) else "hpl_ai"
            passed = all(self._verdicts) if self._verdicts else None
            self.rows.setdefault(kind, []).append((*cells, passed))
        self._row, self._verdicts, self._residual = [], [], ""

    def _row_count(self) -> int:
        return sum(map(len, self.rows.values()))

    def _whole_run(self) -> bool:
        """Return whether the text shows that no row is missing since the last banner."""
        rows, counts = self._row_count() - self._before, self._counts
        tests = [count for what, count in counts.items() if what.startswith("completed")]
        finished = counts.get("finished", rows + counts.get("skipped", 0)) - counts.get("skipped", 0)
        if sum(tests) > rows or finished > rows:
            return False
        return bool(tests and sum(tests) == rows) or (self._ended and not self._dots)


def _shape(words: Sequence[str]) -> bool:
    """Return whether these words can be a row or its first half: a code, then numbers."""
    numbers = words[2:] if words[0] == "HPL_AI" else words[1:]
    return all(number(word.strip("()") or "0") is not None or not_a_number(word) for word in numbers)


def _cells(words: Sequence[str]) -> tuple[Cell, ...]:
    """Return the cells of a row, without ``passed``, of words that have a ``_shape``; none if words are missing.

    HPL prints time and rate with decimals ("%18.2f %18.4e"), so that a year behind a broken line is no rate. NVIDIA's
    releases since 23 print the rate of one GPU after the total, "( 4.213e+04)": it is not a column here.
    """
    ai = bool(words) and words[0] == "HPL_AI"
    printed = words[2:] if ai else words[1:]
    size = len(_FIRST)
    if len(printed) < size or not "".join(printed[:4]).isdecimal() or printed[size - 1].isdecimal():
        return ()
    cells = tuple(number(word) for word in printed)
    if not ai:
        return cells[:size]
    # a third number between them is the count of iterations
    return (*cells[:size], *((cells[size], cells[-1]) if len(cells) > size + 1 else (None, None)))


def _contradiction(cells: Sequence[Cell]) -> str | None:
    """Return that a row's rate and its N and time cannot all be right; None if they agree, or if the time is too short.

    Source: HPL_pdtest.c: (2/3 N^3 + 3/2 N^2) operations, over the time.
    """
    size, took, rate = cells[0], cells[4], cells[5]
    if not (isinstance(size, int) and took and rate) or _HALF_A_DIGIT_S > _TOLD_BY * took:
        return None
    due = (2 / 3 * size + 3 / 2) * size**2 / took / 1e9
    if abs(rate - due) <= due * (AGREEMENT_SHARE.value + 2 * _HALF_A_DIGIT_S / took):
        return None
    return (
        f"{shown(rate)} Gflop/s contradict N {size} and time {shown(took)} s, which are {shown(due)} Gflop/s: was the "
        "row changed?"
    )


# A line's first character -> what it can be
_KINDS: Mapping[str, tuple[Callable[[HplReader, Line, str], bool], ...]] = MappingProxyType(
    {
        "H": (HplReader._banner, HplReader._begin, HplReader._read_report),
        "r": (HplReader._banner,),
        "T": (HplReader._title,),
        "W": (HplReader._begin,),
        "|": (HplReader._check,),
        "P": (HplReader._check,),
        "F": (HplReader._check, HplReader._count),
        ".": (HplReader._check,),
        "E": (HplReader._end,),
        ">": (HplReader._read_report,),
        **dict.fromkeys("0123456789", (HplReader._count, HplReader._rest, HplReader._check)),
    }
)
