"""WRF's answer: the release that a case needs, fields beside a reference, and the speed."""

import pytest

from railyard.benchmarks.apps.wrf_answer import REASONABLE, figures, other_release, remarks, wrong
from railyard.benchmarks.metrics import curves
from railyard.benchmarks.model import physics_of
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.parsers import wrf
from railyard.parsers.output import Table

KEY = "wrf/wrf/conus12km-v4/4-nodes"
PRINTED_ALONE = "the answer was checked only by what WRF prints: no field was compared with a reference"


def table(version: str | None) -> Table:
    release = "" if version is None else f"WRF V{version} MODEL\n"
    text = (
        f"{release}Timing for main: time 2026-11-21_00:01:00 on domain   1:    2.75250 elapsed seconds\n"
        "Timing for main: time 2026-11-21_00:02:00 on domain   1:    0.75250 elapsed seconds\n"
        "d01 2026-11-21_00:02:00 wrf: SUCCESS COMPLETE WRF\n"
    )
    (found,) = wrf.parse(text).tables
    return found


@pytest.mark.parametrize(
    ("case", "version", "why"),
    [
        ("conus12km-v3", "3.9.1.1", None),
        ("conus12km-v3", "3.4", None),
        ("conus12km-v4", "4.7.1", None),
        ("conus12km-v4", None, None),
        ("em_quarter_ss", "4.2.2", None),
        ("em_quarter_ss", "3.9.1.1", None),
        (
            "conus12km-v3",
            "4.5.1",
            "conus12km-v3 ran with WRF 4.5.1, expected up to 3.9: other releases have another case's inputs",
        ),
        (
            "conus2.5km-v4",
            "3.9.1",
            "conus2.5km-v4 ran with WRF 3.9.1, expected 4.0 or newer: other releases have another case's inputs",
        ),
    ],
)
def test_a_release_of_another_case_is_named(case: str, version: str | None, why: str | None) -> None:
    assert other_release(f"wrf/wrf/{case}", [table(version)]) == why
    assert other_release("wrf/wrf", [table(version)]) is None


def log(*lines: str) -> tuple[Table, ...]:
    return wrf.parse("\n".join((*lines, "wrf: SUCCESS COMPLETE WRF\n"))).tables


def a_step(number: int, seconds: float) -> str:
    return f"Timing for main: time 2026-11-21_00:{number:02}:00 on domain   1:{seconds:11.5f} elapsed seconds"


WRITING = "Timing for Writing wrfout_d01_2026-11-21_00:02:00 for domain        1:    4.00000 elapsed seconds"


def test_a_step_that_wrote_a_file_is_not_in_the_time_per_step() -> None:
    tables = log(a_step(1, 9), a_step(2, 0.5), WRITING, a_step(3, 4.5), a_step(4, 0.7), WRITING)
    (main,) = (table for table in tables if table.context["kind"] == "main")
    (curve,) = curves(main, "wrf/wrf/conus12km-v4")
    assert list(curve.values) == pytest.approx([0.6])
    physics = physics_of(BENCHMARKS["wrf/wrf/conus12km-v4"])
    assert physics.remarks("wrf/wrf/conus12km-v4", tables) == (
        "1 step that also wrote a file: left out of the time per step",
        PRINTED_ALONE,
    )
    (speed,) = physics.figures("wrf/wrf/conus12km-v4", tables)
    assert (speed.name, speed.unit) == ("simulated_over_elapsed", "times")
    assert speed.value == pytest.approx(60 / 0.6)


def test_a_run_whose_steps_all_wrote_a_file_has_no_time_per_step() -> None:
    tables = log(a_step(1, 9), WRITING, a_step(2, 4.5), WRITING, a_step(3, 4.5))
    (main,) = (table for table in tables if table.context["kind"] == "main")
    with pytest.raises(ValueError, match="3 rows, too few for a runtime"):
        curves(main, "wrf/wrf/conus12km-v4")
    assert physics_of(BENCHMARKS["wrf/wrf/conus12km-v4"]).figures("wrf/wrf/conus12km-v4", tables) == ()


def difference_tables(**differences: float) -> tuple[Table, ...]:
    """Return the tables of a run whose fields differ from a reference by these root mean squares."""
    heading = "     Field   Ndifs    Dims       RMS (1)            RMS (2)     DIGITS    RMSE     pntwise max"
    rows = [
        f"{name:>10}    199915    3   0.2077143625E+02   0.2077142723E+02   6   {value:.4E}   0.1523E-01"
        for name, value in differences.items()
    ]
    return log("railyard: compare A with B.orig", heading, *rows, "railyard: compared", a_step(1, 9), a_step(2, 0.5))


def test_a_field_far_from_its_reference_is_a_wrong_answer() -> None:
    tables = difference_tables(U=0.5, T=0.004, SWDOWN=6.0, V=0.1)
    assert wrong(KEY, tables) == (
        (
            tables[0].line,
            "U differs from B.orig by 0.5 (root mean square), expected at most 0.0802, 10 times what compilers change, "
            "and V too: the answer is wrong, whatever its speed",
        ),
    )


def test_fields_within_what_compilers_change_are_said() -> None:
    usual = REASONABLE["conus12km-v4"]
    tables = difference_tables(**{**usual, "U": 1.5 * usual["U"]})
    assert wrong(KEY, tables) == ()
    assert remarks(KEY, tables) == ("of 11 fields U differs most from B.orig: 1.5 times what compilers change",)
    assert remarks(KEY, difference_tables()) == ("the answer is that of B.orig in all bits",)


def test_a_case_without_a_published_tolerance_is_not_judged_by_its_fields() -> None:
    tables = difference_tables(U=0.5)
    for key in ("wrf/wrf/conus12km-v3", "wrf/wrf/em_quarter_ss", "wrf/wrf"):
        assert wrong(key, tables) == ()
        assert remarks(key, tables) == (
            "1 field not as in B.orig: not judged, since NCAR states no tolerance for this case",
        )


def test_the_speed_is_in_gflop_s_too_where_the_operations_are_published() -> None:
    tables = log(*(a_step(number, 0.5) for number in range(1, 4)))
    for case, gflop in (("conus12km-v3", 0.418), ("conus2.5km-v3", 27.45)):
        speed, rate = figures(f"wrf/wrf/{case}/2-nodes", tables)
        assert (speed.name, speed.value) == ("simulated_over_elapsed", 120.0)
        assert (rate.name, rate.value, rate.unit) == ("computed_rate", 120 * gflop, "Gflop/s")
    assert [each.name for each in figures(KEY, tables)] == ["simulated_over_elapsed"]
