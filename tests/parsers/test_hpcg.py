"""Reports of HPCG 3.0 and 3.1: the rating, its validity, and what is cut or broken. Texts are synthetic."""

from pathlib import Path

import pytest

from railyard.benchmarks.metrics import key_of
from railyard.parsers.hpcg import parse
from railyard.parsers.output import ParseError, Remark, validation_of

MADE = Path(__file__).parent / "made"
VALID = (MADE / "hpcg-3.1-valid.txt").read_text(encoding="utf-8")
INVALID = (MADE / "hpcg-3.0-invalid.txt").read_text(encoding="utf-8")
RATING = "Final Summary::HPCG result is VALID with a GFLOP/s rating of=36.8812\n"


def test_a_valid_report_has_its_rating_its_parts_and_its_problem() -> None:
    parsed = parse(VALID)
    (table,) = parsed.tables
    assert (table.version, table.complete, key_of(table)) == ("3.1", True, "hpcg/hpcg")
    assert dict(zip(table.columns, zip(table.units, table.rows[0], strict=True), strict=True)) == {
        "time": ("s", 62.0114),
        "ddot": ("Gflop/s", 14.1),
        "waxpby": ("Gflop/s", 23.6),
        "spmv": ("Gflop/s", 41.2),
        "mg": ("Gflop/s", 38.7),
        "raw": ("Gflop/s", 38.0121),
        "performance": ("Gflop/s", 36.8812),
        "passed": (None, True),
    }
    assert dict(table.context) == {
        **{"processes": 8, "threads": 4, "nx": 104, "ny": 104, "nz": 104},
        **{"equations": 8998912, "official": False},
    }
    assert parsed.failures == ()


def test_an_invalid_report_fails_its_own_check() -> None:
    parsed = parse(INVALID)
    assert validation_of(parsed.tables) is False
    assert parsed.failures == (Remark(43, "HPCG result is INVALID."),)
    assert parsed.tables[0].version == "3.0"


def test_the_rating_alone_is_a_report() -> None:
    (table,) = parse(RATING).tables
    assert (table.columns, table.rows) == (("performance", "passed"), ((36.8812, True),))


@pytest.mark.parametrize(
    "text", [RATING[:-1], RATING[:-3], RATING.replace("36.", "3\n6."), RATING.replace("36.", "36\n.")]
)
def test_a_rating_that_is_cut_or_broken_is_none(text: str) -> None:
    assert parse(text).tables == ()


def test_two_ratings_that_differ_are_a_failure() -> None:
    parsed = parse(VALID.replace(RATING, RATING.replace("36.8812", "36.88")))
    assert parsed.failures[0] == Remark(44, "two ratings that differ: 36.88 and 36.8812 Gflop/s")
    assert parsed.tables == ()


def test_a_report_that_does_not_say_whether_it_is_valid_is_not_whole_and_another_text_is_refused() -> None:
    assert not parse(VALID[: VALID.index("Final Summary")]).tables[0].complete
    with pytest.raises(ParseError):
        parse("HPL_Tflops=1.0\n")
