"""Output of railyard-sharing (``railyard/provision/programs/sharing.c``), as one typed table with one row.

Columns: seconds for the same work while the other rank on the processor is asleep, receiving in the library's own way,
polling, or yielding. ``context``: ranks, processor, node.
"""

import re
from types import MappingProxyType

from railyard.parsers.lines import foreign, is_failure, lines_of, number, own_text
from railyard.parsers.output import ParsedOutput, Remark, Table

TOOL = "sharing"

BENCHMARK = "two-ranks-a-processor"
COLUMNS = ("asleep", "receiving", "polling", "yielding")

# # railyard-sharing 1: 2 ranks on processor 0 of vn1
_HEADING = re.compile(
    r"\A# railyard-sharing (?P<format>[0-9]{1,4}): (?P<ranks>[0-9]{1,7}) ranks on processor (?P<processor>[0-9]{1,7}) "
    r"of (?P<node>\S{1,255})\Z"
)
_SAID = ("# seconds of the same work while the other rank is", f"# {' '.join(COLUMNS)}")
_END = "# end"
# 0.2013 0.4031 0.4020 0.2040
_ROW = re.compile(r"\A(?:[0-9]{1,9}\.[0-9]{4} ){3}[0-9]{1,9}\.[0-9]{4}\Z")
_REFUSAL = re.compile(r"\Arailyard-sharing: \S.{0,400}\Z")
_ONE = "one output, from its heading to its end (give each a file of its own)"
_EXPECTED = 'output of railyard-sharing: "# railyard-sharing 1: 2 ranks on processor …"'


def parse(text: str) -> ParsedOutput:
    """Return the table, failures and remarks of one output of railyard-sharing.

    Raises ParseError if the text has neither its heading nor a sentence of its own.
    """
    heading: tuple[int, re.Match[str]] | None = None
    rows: list[tuple[float | int | None, ...]] = []
    failures: list[Remark] = []
    remarks: list[Remark] = []
    ended = refused = False
    plain = own_text(text, TOOL, _EXPECTED)
    for line in lines_of(plain):
        said = line.text.strip()
        found = _HEADING.match(said)
        if found and heading is None:
            heading = (line.number, found)
        elif heading and not ended and _ROW.match(said) and line.ended:
            rows.append(tuple(number(word) for word in said.split()))
        elif heading and said == _END:
            ended = True
        elif found or _ROW.match(said):
            what = "a second heading" if found else "a row without its heading"
            failures.append(Remark(line.number, f'{what}: found "{said[:200]}", expected {_ONE}'))
        elif said and said not in _SAID:
            own = bool(_REFUSAL.match(said))
            refused |= own
            (failures if own or is_failure(said) else remarks).append(Remark(line.number, said[:2000]))
    if heading is None:
        if not refused:
            raise foreign(plain, _EXPECTED)
        return ParsedOutput((), tuple(failures), tuple(remarks))
    at, title = heading
    if not rows:
        failures.append(Remark(at, f"a heading without any row: {BENCHMARK}"))
        return ParsedOutput((), tuple(sorted(failures, key=lambda failure: failure.line)), tuple(remarks))
    table = Table(
        tool="sharing",
        version=title["format"],
        benchmark=BENCHMARK,
        columns=COLUMNS,
        units=("s",) * len(COLUMNS),
        rows=tuple(rows),
        line=at,
        complete=ended and len(rows) == 1,
        context=MappingProxyType(
            {"ranks": int(title["ranks"]), "processor": int(title["processor"]), "node": title["node"]}
        ),
    )
    return ParsedOutput((table,), tuple(failures), tuple(remarks))
