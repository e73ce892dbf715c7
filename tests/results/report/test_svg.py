"""A curve's drawing is small and valid, and shows line, band, limit and peak in the right places."""

import dataclasses
import re
import xml.etree.ElementTree as ElementTree
from itertools import islice, pairwise

import pytest

from railyard.results.record.form import BandRecord, CurveRecord, LimitRecord, Record
from railyard.results.report.svg import axes_of, describe, grid, out_of_bounds, svg


def curve(records: list[Record], benchmark: str) -> CurveRecord:
    """The first curve of a dual-rail mpich test."""
    return next(
        r for r in records if (r.test.rails, r.test.stack, r.test.benchmark) == (2, "mpich", benchmark)
    ).found.curves[0]


def attributes(drawing: str, name: str) -> list[dict[str, str]]:
    """The attributes of all elements of one class."""
    return [dict(element.attrib) for element in ElementTree.fromstring(drawing).iter() if element.get("class") == name]


def test_every_curve_of_a_run_is_well_formed_and_below_4_kb(faulty_run: list[Record]) -> None:
    for record in faulty_run:
        for one in record.found.curves:
            drawing = svg(one, record.test.benchmark)
            ElementTree.fromstring(drawing)
            assert len(drawing.encode()) < 2500


@pytest.mark.parametrize("value", [5e-324, 1e308, -1e308, 0.0])
def test_any_finite_number_of_a_foreign_record_is_drawn(value: float) -> None:
    band = BandRecord("b", "published", "", (1, 1024), (-5.0, -1e308), (None, value))
    for values in ((value, 12.0), (value, value)):
        ElementTree.fromstring(svg(CurveRecord("latency", "us", (1, 1024), values, bands=(band,))))


@pytest.mark.parametrize("at", [(5e-324, 8.0), (8.0, float("inf")), (5e-324, float("inf")), (1e308, 1e308)])
@pytest.mark.parametrize("base", [2, 10])
def test_an_abscissa_of_any_number_has_few_names(at: tuple[float, float], base: int) -> None:
    # 1 B at 5e-324 MB/s takes longer than a float can say, and powers of ten never pass infinity
    parts = list(islice(grid(axes_of(at, (1.0, 2.0)), "bandwidth", "time", base), 100))
    assert len(parts) < 50
    assert not any("inf" in part or "nan" in part for part in parts)


def test_32_sizes_with_two_bands_stay_below_4_kb() -> None:
    sizes = tuple(2**n for n in range(32))
    values = tuple(100.123 + n for n in range(32))
    bands = tuple(BandRecord(str(n), "published", "", sizes, values, values) for n in range(2))
    drawing = svg(CurveRecord("bandwidth", "MB/s", sizes, values, 2, LimitRecord(140.0, "", ""), bands))
    assert len(drawing.encode()) < 4096 + 2 * 2 * 32 * 12
    assert len(svg(dataclasses.replace(CurveRecord("bandwidth", "MB/s", sizes, values))).encode()) < 2500


def test_large_numbers_of_an_axis_are_powers_of_ten_that_anybody_reads() -> None:
    texts = re.findall(r">([^<]+)</text>", svg(CurveRecord("latency", "us", (4, 1 << 22), (200.0, 8e6))))
    assert {"100,000", "10⁶", "10⁷"} <= set(texts)
    assert not any("e+" in text for text in texts)


def test_the_axes_have_units_and_round_numbers(healthy_run: list[Record]) -> None:
    texts = re.findall(r">([^<]+)</text>", svg(curve(healthy_run, "imb/Uniband"), "imb/Uniband"))
    assert texts == [
        *("0.01", "0.1", "1", "10", "100"),
        *("1 B", "16 B", "256 B", "4 KiB", "64 KiB", "1 MiB", "message size"),
        "bandwidth, MB/s",
        "limit 96.9",
        "95.4 MB/s at 4 MiB",
        *("120 %", "100 %", "80 %", "per cent of the nearest bound"),
    ]


def test_both_directions_are_said_on_the_axis(healthy_run: list[Record]) -> None:
    assert ">bandwidth, both directions, MB/s</text>" in svg(curve(healthy_run, "imb/Biband"))


def test_a_time_over_decades_is_drawn_on_a_logarithmic_axis(healthy_run: list[Record]) -> None:
    drawing = svg(curve(healthy_run, "imb/Allreduce"))
    assert re.findall(r">([\d,]+)</text>", drawing) == ["10", "100", "1,000", "10,000", "100,000"]
    assert ">48.2 us at 4 B</text>" in drawing


def test_line_limit_floor_and_peak_stand_at_their_values() -> None:
    band = BandRecord("floor", "class", "", (1, 4, 16), (None, 40.0, 40.0), (None, None, None))
    one = CurveRecord("bandwidth", "MB/s", (1, 4, 16), (0.0, 25.0, 50.0), 1, LimitRecord(50.0, "", ""), (band,))
    drawing = svg(one)
    # 58 to 546 across, 208 (zero) to 26 (the top, 50) in height.
    assert attributes(drawing, "line") == [{"class": "line", "d": "M58,208L302,117L546,26"}]
    assert attributes(drawing, "limit") == [{"class": "limit", "d": "M58,26H546"}]
    assert attributes(drawing, "edge") == [{"class": "edge", "d": "M302,62.4L546,62.4"}]
    assert attributes(drawing, "band") == [{"class": "band", "d": "M302,26L546,26L546,62.4L302,62.4Z"}]
    assert [each["d"] for each in attributes(drawing, "dots bad")] == ["M302,117h0"]
    assert [each["d"] for each in attributes(drawing, "dots")] == ["M546,26h0"]
    assert [each["d"] for each in attributes(drawing, "dots free")] == ["M58,208h0"]
    # in the strip below, 25 of 40 (less than 80 %) and 50 of 40 (more than 120 %) are arrows at its edges
    assert [each["d"] for each in attributes(drawing, "beyond bad")] == ["M298,297h8l-4,6z"]
    assert [each["d"] for each in attributes(drawing, "beyond")] == ["M542,261h8l-4,-6z"]
    assert ">62.5 %</text>" in drawing
    assert ">125 %</text>" in drawing
    assert attributes(drawing, "even") == [{"class": "even", "d": "M58,279H546"}]
    assert attributes(drawing, "mark") == [{"class": "mark", "cx": "546", "cy": "26", "r": "4.5"}]


def test_a_band_at_a_lone_size_has_an_area() -> None:
    band = BandRecord("floor", "class", "", (4,), (40.0,), (60.0,))
    drawing = svg(CurveRecord("bandwidth", "MB/s", (1, 4, 16), (0.0, 25.0, 50.0), bands=(band,)))
    assert attributes(drawing, "band")[0]["d"].startswith("M296,")


def test_bad_sizes_are_those_outside_any_band() -> None:
    loose = BandRecord("loose", "class", "", (1, 2, 4), (1.0, 1.0, 1.0), (9.0, 9.0, 9.0))
    tight = BandRecord("tight", "contract", "", (2, 8), (5.0, 5.0), (None, None))
    one = CurveRecord("bandwidth", "MB/s", (1, 2, 4, 8), (0.5, 4.0, 9.5, 5.0), bands=(loose, tight))
    assert out_of_bounds(one) == (1, 2, 4)
    assert out_of_bounds(dataclasses.replace(one, bands=(tight, loose))) == (1, 2, 4)


def test_the_description_says_peak_limit_and_whether_it_is_within() -> None:
    band = BandRecord("floor", "class", "", (1, 1048576), (None, 40.0), (None, None))
    one = CurveRecord("bandwidth", "MB/s", (1, 1048576), (0.04, 47.8), 1, LimitRecord(48.6, "", ""), (band,))
    assert describe(one, "imb/Uniband") == (
        "imb/Uniband bandwidth: 47.8 MB/s at 1 MiB, limit 48.6 MB/s, within its references"
    )
    slow = dataclasses.replace(one, values=(0.04, 4.9))
    assert describe(slow, "imb/Uniband") == (
        "imb/Uniband bandwidth: 4.90 MB/s at 1 MiB, limit 48.6 MB/s, outside its references at 1 MiB"
    )


@pytest.mark.parametrize(
    ("sizes", "values"),
    [((0,), (1.0,)), ((0, 1, 2), (0.0, 0.0, 0.0)), ((8,), (0.0,)), ((1, 2), (-1.0, 1.0)), ((1, 2), (1e-9, 1e15))],
)
@pytest.mark.parametrize("unit", ["MB/s", "us"])
def test_odd_curves_are_drawn_within_the_picture(sizes: tuple[int, ...], values: tuple[float, ...], unit: str) -> None:
    drawing = svg(CurveRecord("odd", unit, sizes, values))
    (line,) = attributes(drawing, "line")
    for x, y in re.findall(r"([\d.-]+),([\d.-]+)", line["d"]):
        assert 58 <= float(x) <= 546
        assert 26 <= float(y) <= 208


def test_no_sizes_no_drawing() -> None:
    assert svg(CurveRecord("bandwidth", "MB/s", (), ())) == ""


def test_texts_are_escaped() -> None:
    drawing = svg(CurveRecord("<b>&\x1b[31m", '"MB/s"', (1,), (1.0,)), "<script>")
    ElementTree.fromstring(drawing)
    assert "<script>" not in drawing
    assert "&lt;b&gt;&amp;, &#34;MB/s&#34;</text>" in drawing


def test_the_strip_below_shows_the_nearest_of_several_bounds() -> None:
    loose = BandRecord("loose", "class", "", (1, 4), (50.0, 50.0), (None, None))
    tight = BandRecord("tight", "contract", "", (1, 4), (100.0, None), (None, 125.0))
    drawing = svg(CurveRecord("bandwidth", "MB/s", (1, 4), (90.0, 120.0), bands=(tight, loose)))
    # 90 % of 100 at 1 B, and 125 over 120 (104.2 %) at 4 B: 256 is 120 %, 302 is 80 %
    assert [each["d"] for each in attributes(drawing, "dots bad")][1] == "M58,290.5h0"
    assert [each["d"] for each in attributes(drawing, "dots")][1] == "M546,274.2h0"


def labels(drawing: str) -> list[tuple[float, str]]:
    """The position of the middle of each number in the strip, and its words without the sign."""
    found = re.findall(r'class="strip-name" x="([\d.]+)"[^>]*>([^<]+) %<', drawing)
    return [(float(x), words) for x, words in found]


def svg_below_floor(count: int, first: float = 50.0) -> str:
    """A drawing of values of a bound of 100, each one less than the one before, down to ``first`` less ``count``."""
    sizes = tuple(1 << at for at in range(count))
    band = BandRecord("floor", "class", "", sizes, (100.0,) * count, (None,) * count)
    return svg(CurveRecord("bandwidth", "MB/s", sizes, tuple(first - at for at in range(count)), bands=(band,)))


@pytest.mark.parametrize("count", [2, 5, 11, 12, 16, 23, 40])
def test_each_value_outside_the_strip_is_in_a_number_or_a_range_and_none_overlap(count: int) -> None:
    drawing = svg_below_floor(count)
    assert drawing.count("h8l-4,6z") == count
    found = labels(drawing)
    ends = [[float(end) for end in words.split("–")] for _, words in found]
    assert ends[0][-1] == 50.0
    assert ends[-1][0] == 51.0 - count
    # each range begins where the one to its left ended
    assert [left[0] - right[-1] for left, right in pairwise(ends)] == [1.0] * (len(ends) - 1)
    halves = [(len(words) + 2) * 6.2 / 2 for _, words in found]
    for (left, _), half, (right, _), other in zip(found, halves, found[1:], halves[1:], strict=False):
        assert left + half < right - other
    assert found[0][0] - halves[0] >= 0
    assert found[-1][0] + halves[-1] <= 560.1  # a coordinate has one decimal


def test_numbers_with_room_stay_single_and_equal_ones_are_said_once() -> None:
    assert [words for _, words in labels(svg_below_floor(8))] == [f"{50 - at}.0" for at in range(8)]
    sizes = tuple(1 << at for at in range(23))
    band = BandRecord("floor", "class", "", sizes, (100.0,) * 23, (None,) * 23)
    same = labels(svg(CurveRecord("bandwidth", "MB/s", sizes, (44.0,) * 23, bands=(band,))))
    assert {words for _, words in same} == {"44.0"}


def test_nothing_measured_where_a_bound_is_has_an_arrow_with_0() -> None:
    band = BandRecord("floor", "class", "", (1, 4), (40.0, 40.0), (None, None))
    drawing = svg(CurveRecord("bandwidth", "MB/s", (1, 4), (0.0, 40.0), bands=(band,)))
    assert [words for _, words in labels(drawing)] == ["0"]
    assert attributes(drawing, "dots free") == []


def test_sizes_that_nothing_bounds_are_grey_with_and_without_bounds_elsewhere() -> None:
    rate = CurveRecord("message_rate", "1/s", (1, 4, 16), (30.0, 20.0, 10.0))
    unbounded = BandRecord("none", "class", "", (1, 4, 16), (None,) * 3, (None,) * 3)
    for bands in ((), (unbounded,)):
        drawing = svg(dataclasses.replace(rate, bands=bands))
        assert attributes(drawing, "dots") == []
        assert [each["d"].count("h0") for each in attributes(drawing, "dots free")] == [3]
    bounded = dataclasses.replace(unbounded, low=(None, 10.0, 10.0))
    drawing = svg(dataclasses.replace(rate, bands=(bounded,)))
    assert [each["d"] for each in attributes(drawing, "dots free")] == ["M58,26h0"]


def test_a_limit_stands_at_the_sizes_at_which_it_holds() -> None:
    one = CurveRecord("bandwidth", "MB/s", (1, 4, 16), (0.0, 60.0, 50.0), 1, LimitRecord(50.0, "", "", 4))
    assert [each["d"].split(",")[0] for each in attributes(svg(one), "limit")] == ["M302"]
    largest = dataclasses.replace(one, limit=LimitRecord(50.0, "", "", 1048576))
    assert [each["d"].split(",")[0] for each in attributes(svg(largest), "limit")] == ["M534"]
