"""Outputs of railyard-pairs, one trap per test. Texts are synthetic."""

from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.parsers.output import ParseError, Remark
from railyard.parsers.pairs import COLUMNS, UNITS, parse, text_of

TEXT = (Path(__file__).parent / "made/pairs-four-nodes.txt").read_text(encoding="utf-8")
LINES = TEXT.splitlines()


def test_a_table_has_a_row_a_pair_and_the_words_that_the_program_was_given() -> None:
    parsed = parse(TEXT)
    (table,) = parsed.tables
    assert (table.tool, table.version, table.benchmark, table.line, table.complete) == ("pairs", "1", "pairs", 1, True)
    assert (table.columns, table.units) == (COLUMNS, UNITS)
    assert table.rows[0] == (1, 0, 3, 47.81, 47.79, 31.2)
    assert len(table.rows) == 6
    assert dict(table.context) == {
        "ranks": 4,
        "rounds": 3,
        "size": 4194304,
        "window": 8,
        "repeats": 1,
        "warm_up": 1,
        "exchanges": 20,
        "exchange_bytes": 8,
        "hosts": "n1 n2 n3 n4",
    }
    assert (parsed.failures, parsed.remarks) == ((), ())


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text.replace("# end: 6 pairs\n", ""),
        lambda text: text.replace("# end: 6 pairs", "# end: 7 pairs"),
        lambda text: text.replace("1 1 2 47.80 47.77 30.95\n", ""),
        lambda text: text.replace("1 1 2 47.80 47.77 30.95\n", "1 1 2 47.80 47.\n"),
        lambda text: text.replace("1 1 2 47.80", "1 1 4 47.80"),
        lambda text: text.replace("# rank 2 on n3\n", ""),
        lambda text: text.replace(
            "1 1 2 47.80 47.77 30.95\n", "[n2] UCX ERROR connection lost\n1 1 2 47.80 47.77 30.95\n"
        ),
    ],
)
def test_what_is_cut_torn_or_broken_is_not_complete(spoil: Callable[[str], str]) -> None:
    (table,) = parse(spoil(TEXT)).tables
    assert not table.complete


def test_a_line_of_another_program_between_rows_is_a_remark() -> None:
    parsed = parse(TEXT.replace("1 1 2", "a library says something\n1 1 2"))
    assert parsed.remarks == (Remark(9, "a library says something"),)
    assert parsed.tables[0].complete
    assert parsed.tables[0].rows == parse(TEXT).tables[0].rows


def test_wrong_data_is_a_failure() -> None:
    parsed = parse(TEXT.replace("# end", "# FAILED: 3 messages arrived with wrong data\n# end"))
    assert parsed.failures == (Remark(14, "# FAILED: 3 messages arrived with wrong data"),)
    assert parsed.tables[0].complete


def test_a_value_that_is_no_number_is_a_failure_and_an_empty_cell() -> None:
    parsed = parse(TEXT.replace("1 1 2 47.80", "1 1 2 inf"))
    assert parsed.failures == (Remark(9, "1 1 2 inf 47.77 30.95"),)
    assert parsed.tables[0].rows[1] == (1, 1, 2, None, 47.77, 30.95)


def test_two_measurements_in_one_text_are_two_tables() -> None:
    again = TEXT.replace("railyard-pairs 1 pairs", "railyard-pairs 1 alone")
    assert [(table.benchmark, len(table.rows)) for table in parse(TEXT + again).tables] == [("pairs", 6), ("alone", 6)]


def test_a_heading_without_any_row_is_a_failure() -> None:
    parsed = parse("\n".join(LINES[:7]) + "\n")
    assert (parsed.tables, parsed.failures) == ((), (Remark(1, "a heading without any row: pairs"),))


def test_the_programs_own_refusal_is_a_failure() -> None:
    sentence = "railyard-pairs: found no readable file of rounds: rounds.txt"
    parsed = parse(f"{sentence}\nAbort(2) on node 0\n")
    assert parsed.failures == (Remark(1, sentence), Remark(2, "Abort(2) on node 0"))


def test_any_other_text_is_refused() -> None:
    with pytest.raises(ParseError) as caught:
        parse("# OSU MPI Bandwidth Test v7.4\n")
    assert str(caught.value) == (
        "line 1: found '# OSU MPI Bandwidth Test v7.4', "
        'expected output of railyard-pairs: "# railyard-pairs 1 NAME: … ranks"'
    )


def test_a_table_as_text_is_what_the_program_printed() -> None:
    for name in ("pairs", "sample", "alone"):
        text = TEXT.replace(" pairs: ", f" {name}: ")
        (table,) = parse(text).tables
        assert text_of(table) == text
        assert (table.benchmark, table.context.get("sample", False)) == (
            "pairs" if name == "sample" else name,
            name == "sample",
        )
