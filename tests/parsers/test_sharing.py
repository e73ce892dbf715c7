"""Output of railyard-sharing: one row of four times, complete or not at all, and its own refusals."""

import pytest

from railyard.parsers.output import ParseError, Remark
from railyard.parsers.sharing import BENCHMARK, COLUMNS, parse

TEXT = """\
# railyard-sharing 1: 2 ranks on processor 5 of vn1
# seconds of the same work while the other rank is
# asleep receiving polling yielding
0.2013 0.4031 0.4020 0.2040
# end
"""


def test_one_row_of_seconds_with_its_place() -> None:
    parsed = parse(TEXT)
    (table,) = parsed.tables
    assert (table.tool, table.version, table.benchmark, table.line, table.complete) == (
        "sharing", "1", BENCHMARK, 1, True,
    )  # fmt: skip
    assert (table.columns, table.units) == (COLUMNS, ("s",) * 4)
    assert table.rows == ((0.2013, 0.4031, 0.402, 0.204),)
    assert dict(table.context) == {"ranks": 2, "processor": 5, "node": "vn1"}
    assert (parsed.failures, parsed.remarks) == ((), ())


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("# end\n", ""),
        TEXT.replace("# end", "0.2013 0.4031 0.4020 0.2040\n# end"),
    ],
)
def test_a_cut_or_doubled_output_is_not_whole(text: str) -> None:
    assert not parse(text).tables[0].complete


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("0.2013 0.4031 0.4020 0.2040\n", ""),
        TEXT.replace("0.2040\n", "0.2"),
        TEXT.replace("0.4020", "nan"),
    ],
)
def test_a_heading_without_its_row_is_a_failure_and_no_table(text: str) -> None:
    parsed = parse(text)
    assert (parsed.tables, parsed.failures) == ((), (Remark(1, "a heading without any row: two-ranks-a-processor"),))


def test_a_refusal_of_its_own_and_a_launchers_line_are_failures() -> None:
    alone = parse("railyard-sharing: found its two ranks on two nodes, expected both on one\n")
    assert (alone.tables, [failure.line for failure in alone.failures]) == ((), [1])
    killed = parse(TEXT + "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\na word\n")
    assert ([one.line for one in killed.failures], [one.line for one in killed.remarks]) == ([6], [7])


@pytest.mark.parametrize("text", ["", "# railyard-pairs 1 pairs: 4 ranks, 3 rounds\n", "see railyard-sharing\n"])
def test_another_output_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)


ROW = TEXT.splitlines()[3]
ONE = "expected one output, from its heading to its end (give each a file of its own)"


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        (TEXT + ROW + "\n# end\n", Remark(6, f'a row without its heading: found "{ROW}", {ONE}')),
        (ROW + "\n# end\n" + TEXT, Remark(1, f'a row without its heading: found "{ROW}", {ONE}')),
        (TEXT + TEXT.splitlines()[0], Remark(6, f'a second heading: found "{TEXT.splitlines()[0]}", {ONE}')),
    ],
)
def test_what_belongs_to_another_output_is_a_failure(text: str, failure: Remark) -> None:
    parsed = parse(text)
    assert (len(parsed.tables), parsed.failures) == (1, (failure,))
