"""The ``np.out`` that NetPIPE writes, of release 2, of 3 and 4, or of 5 -> one typed table."""

import re
from collections.abc import Callable
from types import MappingProxyType

from railyard.parsers.lines import BINARY_MB, DECIMAL, WHOLE, Scanner, decimals, number, run_pattern
from railyard.parsers.parsed import Cell, ContextValue, Table

Row = tuple[Cell, ...]  # size (B), bandwidth (MB/s), time (us)

_CONTEXT = MappingProxyType[str, ContextValue]({"file": "np.out"})
_MBPS = BINARY_MB / 8  # MB/s in 2^20 bit/s
_GBPS = 1e3 / 8  # MB/s in 10^9 bit/s
_NUMBER = re.compile(rf"\A(?:{WHOLE}|{DECIMAL})\Z")


def data_file(text: str) -> Table | None:
    """Return the table of an np.out file: every line has the numbers of one release, and they agree; else None.

    A cut last line does not count, and the table is then incomplete.
    """
    for read, pattern in _RELEASES:
        table = _table(Scanner(text), read, pattern)
        if table:
            return table
    return None


def _table(
    scanner: Scanner, read: Callable[[list[str], int], list[Row] | None], pattern: re.Pattern[str]
) -> Table | None:
    rows: list[Row] = []
    first = fixed = 0  # the first row's line, and the decimals of the last row's last word
    for line in scanner:
        words = line.words
        if not line.text.strip():
            continue
        one = read(words, 1) if all(_NUMBER.match(word) for word in words) else None
        if one is None or not (line.ended or (fixed > 0 and decimals(words[-1]) == fixed)):
            # if this release cannot print such a last line, it is foreign, and the text is not an np.out at all
            if rows and line.ended and read is not _written_by_2 and _is_no_size(words, rows[-1][0]):
                continue
            cut = bool(rows and words) and all(number(word) is not None for word in words)
            return _make_table(rows, first, False) if cut and not any(rest.text.strip() for rest in scanner) else None
        rows += one
        first, fixed = first or line.number, decimals(words[-1])
        while run := scanner.run(pattern):
            words = run.text.split()
            many = read(words, run.text.count("\n"))
            if many is None:
                return None
            rows += many
            fixed = decimals(words[-1])
    return _make_table(rows, first, True) if rows else None


def _is_no_size(words: list[str], last: Cell) -> bool:
    """Return whether a line is a whole number that a command prints below the file: the next size is at most twice the
    last one, and above it.
    """
    return len(words) == 1 and words[0].isdecimal() and last is not None and not last < float(words[0]) <= 2 * last


def _make_table(rows: list[Row], line: int, complete: bool) -> Table:
    columns, units = ("size", "bandwidth", "time"), ("B", "MB/s", "us")
    return Table("netpipe", None, "netpipe", columns, units, tuple(rows), line, complete, _CONTEXT)


def _written_by_3(words: list[str], count: int) -> list[Row] | None:
    """``       1 5.944874   0.00000128`` (3 and 4): bytes, 2^20 bit/s, seconds."""
    if len(words) != 3 * count or not words[0].isdigit() or "." not in words[2]:
        return None
    half = 0.5 * 10.0 ** -decimals(words[2])  # a run prints all values with the same number of decimals
    found: list[Row] = []
    for size, rate, time in zip(*(map(float, words[place::3]) for place in range(3)), strict=True):
        if time <= 0 or abs(rate * time * 131072 - size) > size * (half / time + 1e-3):
            return None
        found.append((int(size), rate * _MBPS, time * 1e6))
    return found


def _written_by_5(words: list[str], count: int) -> list[Row] | None:
    """``      1     0.006     0.005     0.006    1.33`` (5): bytes, mean, worst and best 10^9 bit/s, microseconds."""
    if len(words) != 5 * count or not words[0].isdigit() or "." not in words[4]:
        return None
    found: list[Row] = []
    for size, rate, worst, best, time in zip(*(map(float, words[place::5]) for place in range(5)), strict=True):
        if time <= 0 or not worst <= rate <= best or abs(size * 8e-3 / time - rate) > 0.002 + rate * 0.006 / time:
            return None
        found.append((int(size), rate * _GBPS, time))
    return found


def _written_by_2(words: list[str], count: int) -> list[Row] | None:
    """``0.000097 0.078 8 1 0.000000`` (2): seconds, 2^20 bit/s, bits, bytes, variance; with getrusage four more."""
    width = len(words) // count
    if len(words) != width * count or width not in (5, 9) or not (words[2].isdigit() and words[3].isdigit()):
        return None
    times, rates, bits, sizes = (list(map(float, words[place::width])) for place in range(4))
    if any(bit != 8 * size for bit, size in zip(bits, sizes, strict=True)):
        return None
    return [(int(size), rate * _MBPS, time * 1e6) for size, rate, time in zip(sizes, rates, times, strict=True)]


_RELEASES = (
    (_written_by_3, run_pattern(WHOLE, DECIMAL, DECIMAL)),
    (_written_by_5, run_pattern(WHOLE, DECIMAL, DECIMAL, DECIMAL, DECIMAL)),
    (_written_by_2, run_pattern(DECIMAL, DECIMAL, WHOLE, WHOLE, DECIMAL)),
)
