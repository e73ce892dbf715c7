"""A figure that a replay computed and no source printed is marked wherever it is shown."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from railyard.benchmarks.model import Figure
from railyard.results.comparison import as_json as comparison_json
from railyard.results.comparison import compare
from railyard.results.comparison import text as comparison_text
from railyard.results.exports import csv_text
from railyard.results.record.form import CurveRecord, Record
from railyard.results.relations import costs_of_run, judge
from railyard.results.report.files import junit
from railyard.results.report.html import html_report
from railyard.results.report.svg import signatures
from railyard.results.report.terminal import markdown, text_report
from railyard.results.store.query import detail_lines
from railyard.results.store.query import test_lines as lines_of_tests
from railyard.site.site import site_at
from tests.made.records import made_record

ROOT = Path(__file__).resolve().parents[3]
WORDS = "replayed: computed from published values, not measured"
MARK = "* computed, not published"
SIZES = (1, 1 << 20, 4 << 20)


def replay_record(*, peak_is_computed: bool = False, fabric: str = "sci", stack: str = "tcp") -> Record:
    """Return the record of a replay whose source printed 118 MB/s at 4 MiB, or nothing."""
    computed = SIZES if peak_is_computed else SIZES[:2]
    return made_record(
        case=f"NetpipeTcpPingPong %rails=1 @survey-2004:{fabric}+{stack}",
        system="survey-2004",
        fabric=fabric,
        stack=stack,
        benchmark="netpipe/pingpong",
        replayed=WORDS,
        figures=(
            Figure("peak", 118.0, "MB/s", 4 << 20, computed=peak_is_computed),
            Figure("n_half", 2403.0, "B", None, computed=True),
        ),
        curves=(
            CurveRecord("bandwidth", "MB/s", SIZES, (0.05, 113.0, 118.0), computed=computed),
            CurveRecord("latency", "us", SIZES, (20.0, 9280.0, 35547.0), computed=SIZES),
        ),
    )


MEASURED = replay_record().with_fields(
    replayed=None,
    figures=tuple(replace(one, computed=False) for one in replay_record().found.figures),
    curves=tuple(replace(one, computed=()) for one in replay_record().found.curves),
)


@pytest.mark.parametrize("shown", [text_report, markdown])
def test_a_table_marks_a_peak_that_no_source_printed(shown: object) -> None:
    assert callable(shown)
    marked = shown([replay_record(peak_is_computed=True)]).replace("\\", "")
    assert "118* " in marked and MARK in " ".join(marked.split())
    printed = shown([replay_record()]).replace("\\", "")
    assert "118* " not in printed and "118 " in printed
    assert MARK not in shown([MEASURED]).replace("\\", "")


def test_the_page_marks_figures_and_what_of_a_curve_is_the_sources() -> None:
    page = html_report([replay_record()])
    assert "<span>N½ <b>2403* B</b></span>" in page and "<span>peak <b>118 MB/s at 4 MiB</b></span>" in page
    assert "* computed, not published (pale dots): the source printed 1 of 3 values." in page
    assert "* computed, not published (pale dots): the source printed 0 of 3 values." in page
    assert "20.0* us at 1 B" in page and ">118 MB/s at 4 MiB</text>" in page
    assert 'class="line computed"' in page and 'class="dots computed"' in page
    measured = html_report([MEASURED])
    assert "computed, not published" not in measured and 'class="line computed"' not in measured


def test_a_network_signature_says_that_it_was_computed() -> None:
    (chart,) = signatures([replay_record()])
    assert MARK in chart.words and "us to 118* MB/s" in str(chart.drawing)
    (measured,) = signatures([MEASURED])
    assert MARK not in measured.words and "118 MB/s" in str(measured.drawing)


def test_each_number_of_the_csv_says_whether_it_was_computed() -> None:
    rows = list(csv.reader(csv_text([replay_record()]).splitlines()))
    name, size, value, computed = (rows[0].index(head) for head in ("name", "size_bytes", "value", "computed"))
    assert [(row[name], row[size], row[value], row[computed]) for row in rows[1:]] == [
        ("peak", "4194304", "118.0", ""),
        ("n_half", "", "2403.0", "yes"),
        ("bandwidth", "1", "0.05", "yes"),
        ("bandwidth", "1048576", "113.0", "yes"),
        ("bandwidth", "4194304", "118.0", ""),
        ("latency", "1", "20.0", "yes"),
        ("latency", "1048576", "9280.0", "yes"),
        ("latency", "4194304", "35547.0", "yes"),
    ]
    assert "yes" not in csv_text([MEASURED])


def test_the_record_and_its_lines_say_which_values_were_computed() -> None:
    values = replay_record().to_json()
    assert [figure["computed"] for figure in values["found"]["figures"]] == [False, True]
    assert [curve["computed"] for curve in values["found"]["curves"]] == [[1, 1 << 20], list(SIZES)]
    told = detail_lines(values)
    assert [line.strip() for line in told if "computed, not published" in line] == [
        "1 B      0.0500  (computed, not published)",
        "1 MiB       113.0  (computed, not published)",
        "1 B       20.00  (computed, not published)",
        "1 MiB        9280  (computed, not published)",
        "4 MiB       35547  (computed, not published)",
    ]
    line, last = lines_of_tests([replay_record(peak_is_computed=True)])
    assert "  118* MB/s  " in line
    assert last == "* computed, not published: made for a replay, no source printed it"


def test_junit_marks_the_key_figure() -> None:
    assert '<property name="peak" value="118* MB/s" />' in junit([replay_record(peak_is_computed=True)])
    assert '<property name="peak" value="118 MB/s" />' in junit([replay_record()])


def test_a_comparison_says_on_which_side_a_figure_was_computed() -> None:
    found = compare([replay_record()], [MEASURED])
    told = " ".join(comparison_text(found, ("a replay", "a run")).split())
    assert "n_half: 2403 (computed, not published) on A, 2403 on B, B" in told
    assert "peak: 118.0 on A, 118.0 on B, MB/s" in told
    assert "bandwidth along 3 sizes, 2 of them computed, not published: " in told
    (test,) = comparison_json(found, ("a", "b"))["tests"]
    assert [figure["computed"] for figure in test["figures"]] == [[False, False], [True, False]]
    assert [curve["computed"] for curve in test["curves"]] == [[1, 1 << 20], list(SIZES)]


def test_a_relation_between_computed_curves_says_so() -> None:
    references = site_at(ROOT, "survey-2004").references
    both = [replay_record(fabric="quadrics", stack="mpich"), replay_record(fabric="myrinet", stack="mpich")]
    both[0] = both[0].with_fields(curves=(replace(both[0].found.curves[1], values=(2.0, 9000.0, 30000.0)),))
    made = {one.id: one.sentence for one in judge(references, both)}
    assert made["quadrics-quickest"].endswith(" (figures of a replay: computed, not published)")
    measured = [one.with_fields(curves=tuple(replace(each, computed=()) for each in one.found.curves)) for one in both]
    made = {one.id: one.sentence for one in judge(references, measured)}
    assert "computed" not in made["quadrics-quickest"]


def test_no_invented_latency_stands_beside_a_price() -> None:
    system = site_at(ROOT, "survey-2004").system
    assert {(cost.bandwidth_mb_s, cost.latency_us) for cost in costs_of_run(system, [replay_record()])} == {
        (118.0, None)
    }
    assert {(cost.bandwidth_mb_s, cost.latency_us) for cost in costs_of_run(system, [MEASURED])} == {(118.0, 20.0)}
