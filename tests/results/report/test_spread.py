"""Many runs of one test in one drawing: quantiles in their places, and the key figure run by run."""

import re
import xml.etree.ElementTree as ElementTree

from railyard.base.numbers import quantile
from railyard.results.record.form import CurveRecord, LimitRecord
from railyard.results.report.spread import spread_svg, timeline_svg

SIZES = (1, 4, 16)


def curve(*values: float, sizes: tuple[int, ...] = SIZES) -> CurveRecord:
    return CurveRecord("bandwidth", "MB/s", sizes, values, limit=LimitRecord(100.0, "", ""))


def test_quantiles_are_linear_between_the_values() -> None:
    assert [quantile((1.0, 2.0, 4.0), share) for share in (0.0, 0.25, 0.5, 0.75, 1.0)] == [1.0, 1.5, 2.0, 3.0, 4.0]
    assert quantile((7.0,), 0.9) == 7.0


def test_areas_median_and_newest_stand_at_their_values() -> None:
    drawing = spread_svg([curve(20, 20, 20), curve(60, 60, 60), curve(40, 40, 40)], "imb/Uniband")
    paths = re.findall(r'class="(all-runs|before|line|limit)" d="([^"]+)"', drawing)
    # 208 is zero, 26 is 100: the whole range is 20 to 60, the median and the newest 40
    assert paths[0] == ("all-runs", "M58,98.8L302,98.8L546,98.8L546,171.6L302,171.6L58,171.6Z")
    assert [name for name, _ in paths] == ["all-runs"] * 3 + ["limit", "before", "line"]
    assert paths[4][1] == paths[5][1] == "M58,135.2L302,135.2L546,135.2"
    assert (
        ">imb/Uniband bandwidth of 3 runs: at 16 B from 20.0 to 60.0 MB/s, median 40.0, newest 40.0</title>" in drawing
    )


def test_runs_over_other_sizes_are_left_out_and_not_counted() -> None:
    drawing = spread_svg([curve(1.0, 2.0, sizes=(1, 4)), curve(40, 40, 40), curve(50, 50, 50)], "x")
    assert "of 2 runs" in drawing


def test_a_thousand_runs_are_as_small_as_three() -> None:
    few = spread_svg([curve(20 + n, 30 + n, 40 + n) for n in range(3)], "x")
    many = spread_svg([curve(20 + n % 7, 30 + n % 5, 40 + n % 3) for n in range(1000)], "x")
    assert len(many) < len(few) + 200
    ElementTree.fromstring(many)


def test_a_key_figure_from_run_to_run_marks_what_failed() -> None:
    drawing = timeline_svg([(95.0, False), (90.0, True), (94.0, False)], "MB/s", "peak")
    ElementTree.fromstring(drawing)
    assert re.findall(r'class="(dots[^"]*)"', drawing) == ["dots", "dots bad"]
    assert "<title>peak over 3 runs: 90.0 to 95.0 MB/s, 1 failed</title>" in drawing


def test_a_year_of_runs_is_drawn_by_ranges_and_a_median() -> None:
    drawing = timeline_svg([(95.0 + n % 5, n == 7) for n in range(2000)], "MB/s", "peak")
    ElementTree.fromstring(drawing)
    assert 'class="range"' in drawing and 'class="dots bad"' in drawing and 'class="dots"' not in drawing
    assert len(drawing) < 7000


def test_one_run_and_none_have_no_drawing() -> None:
    assert timeline_svg([(1.0, False)], "MB/s", "peak") == ""
    assert spread_svg([], "x") == ""
    assert spread_svg([curve(sizes=())], "x") == ""


def test_runs_that_are_all_alike_are_drawn() -> None:
    ElementTree.fromstring(timeline_svg([(0.0, False)] * 3, "MB/s", "peak"))
    ElementTree.fromstring(spread_svg([curve(0.0, 0.0, 0.0)] * 3, "x"))
