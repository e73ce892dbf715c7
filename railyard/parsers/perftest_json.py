"""Results that perftest writes with ``--out_json``, read line by line: no release up to 2023 wrote valid JSON.

``read`` returns one table of one row per object, with the columns of the printed table of the same test. The file does
not name the unit of a bandwidth. It is 10^9 bit/s (``--report_gbits``) if size times message rate says so, else 2^20
B/s; a bandwidth of 0 is the same in both. An object counts only if its results end with their brace.
"""

import re
from dataclasses import dataclass
from types import MappingProxyType

from railyard.parsers import perftest_formats as formats
from railyard.parsers.output import Cell, ContextValue, Remark, Table
from railyard.parsers.perftest_formats import with_memory

# "test": "RDMA_Write_BW_Test",   |   MsgSize: 65536,   |   "test_info": {   |   }
_WORD = re.compile(
    r'"?(?P<open>test_info|results)"?\s{0,8}:\s{0,8}\{'
    r'|"?(?P<name>[A-Za-z][A-Za-z0-9_.]{0,40})"?\s{0,8}:\s{0,8}(?P<value>"[^"\n]{0,200}"|[^\s,{}"]{1,200}(?:,[0-9]{1,20}(?=[\s,}]))?)'
    r"|(?P<close>\})"
)
_GBIT = formats.GBIT / formats.HEADINGS["BW average[MiB/sec]"].factor  # 119: far more than any rounding


@dataclass(frozen=True, slots=True)
class WrittenJson:
    """What a text has of ``--out_json``, and the lines (1-based) that it takes."""

    tables: tuple[Table, ...] = ()
    failures: tuple[Remark, ...] = ()
    lines: range | frozenset[int] = range(0)


@dataclass(slots=True)
class _Object:
    """One object while it is read."""

    line: int
    info: dict[str, str]
    results: dict[str, str] | None = None


def read(text: str) -> WrittenJson:
    """Return the tables of all objects in this text, in its order; nothing for a text without any."""
    if "results" not in text or ("MsgSize" not in text and "test_info" not in text):
        return WrittenJson()
    tables: list[Table] = []
    failures: list[Remark] = []
    taken: set[int] = set()
    one: _Object | None = None
    line, position = 1, 0
    for word in _WORD.finditer(text):
        line += text.count("\n", position, word.start())
        position = word.start()
        if word["open"]:
            one, ended = _open_object(one, word["open"], line)
            if ended:
                failures.append(_unfinished_remark(ended))
        if one is None:
            continue
        taken.add(line)
        if word["name"]:
            (one.info if one.results is None else one.results)[word["name"]] = word["value"].strip('"')
        elif word["close"] and one.results is not None:
            table = _table(one)
            if table:
                tables.append(table)
            else:
                failures.append(Remark(one.line, 'results without "MsgSize" and a figure for each column'))
            one = None
    if one:
        failures.append(_unfinished_remark(one))
    # the braces around the object are on their own lines
    return WrittenJson(tuple(tables), tuple(failures), frozenset(taken | _braces(text) if taken else ()))


def _open_object(one: _Object | None, name: str, line: int) -> tuple[_Object, _Object | None]:
    """Return the object that goes on or begins here, and the one that ends too early because of it."""
    if name == "results" and one is not None and one.results is None:
        one.results = {}
        return one, None
    return _Object(line, {}, {} if name == "results" else None), one


def _unfinished_remark(one: _Object) -> Remark:
    return Remark(one.line, "results of --out_json that end before their closing brace")


def _braces(text: str) -> set[int]:
    return {number for number, line in enumerate(text.split("\n"), 1) if line.strip() in ("{", "}", "},")}


def _table(one: _Object) -> Table | None:
    results = one.results or {}
    keys = [key for key in formats.JSON_KEYS if key in results]
    heads = tuple(formats.HEADINGS[formats.JSON_KEYS[key]] for key in keys)
    cells = formats.cells(heads, [results[key] for key in keys])
    if cells is None or keys[:1] != ["MsgSize"] or len(keys) < 3:
        return None
    names = [head.column for head in heads]
    in_gbits = "bandwidth" in names and _in_gbit(dict(zip(names, cells, strict=True)))
    if in_gbits:
        cells = tuple(
            cell * _GBIT if head.unit == "MB/s" and cell is not None else cell
            for head, cell in zip(heads, cells, strict=True)
        )
    title = formats.title_of(one.info.get("test", "")) or (None, {})
    context = title[1] | _context(one.info) | ({"report_gbits": True} if in_gbits else {})
    return Table(
        tool="perftest",
        version=None,
        benchmark=formats.executable(title[0], context),
        columns=tuple(names),
        units=tuple(head.unit for head in heads),
        rows=(cells,),
        line=one.line,
        complete=True,
        context=MappingProxyType(context),
    )


def _in_gbit(row: dict[str, Cell]) -> bool:
    """Return whether size times rate is nearer to the bandwidth taken in 10^9 bit/s than in 2^20 B/s."""
    moved = float(row.get("size") or 0) * float(row.get("message_rate") or 0) / 1e6
    printed = float(row["bandwidth"] or 0)
    return printed > 0 and moved / printed > _GBIT**0.5


def _context(info: dict[str, str]) -> dict[str, ContextValue]:
    found: dict[str, ContextValue] = {}
    for name, value in info.items():
        found |= formats.settings(f"{name.replace('Dual_port', 'Dual-port')} : {value}") or {}
    return with_memory(found)
