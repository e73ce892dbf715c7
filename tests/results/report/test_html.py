"""The page: self-contained, well-formed, escaped, with everything in the records."""

import base64
import dataclasses
import hashlib
import html
import re
from itertools import pairwise

import pytest

from railyard.results.record.form import NodeGroup, Record
from railyard.results.record.pair_rows import PairsRecord
from railyard.results.report.html import html_report
from railyard.results.report.spread import OverTime
from railyard.results.report.svg import EarlierMedian
from railyard.results.run_folder import RelationRecord
from railyard.site.matrix import Cell
from railyard.site.test_id import TestId
from tests.made.html_page import Page


def test_the_verdict_the_counts_and_the_failures_are_said_in_words(
    faulty_run: list[Record], all_cells: list[Cell]
) -> None:
    text = Page(html_report(faulty_run, cells=all_cells)).text
    assert "FAIL virtual 3 of 28 tests failed. Nodes 4 nodes: vn1, vn2, vn3 and vn4 Date 2026-11-21 06:00 UTC" in text
    assert "20 pass 3 fail 0 disturbed 4 report-only 1 expected failure 1 not tested" in text
    assert (
        "Rail hsn1 of vn2 (1 test) Rail hsn1 of vn2: it moved 4.9 MB/s while hsn0 moved 47.8 MB/s Found: bandwidth at "
        "4 MiB is 76.6 MB/s, below 94.03 MB/s, the floor of reference hsn-2 (94 % of the shaped rate of hsn, "
        "systems/virtual.yaml): 81 % of what it should be. Look at: the rate of hsn1 on vn2" in text
    )
    assert (
        "Not tested 1 test did not run; 55 combinations of fabric, rails, stack and benchmark cannot run here. Why: "
        "Ctrl-C came before this test was started. eth, 1 rail, intelmpi: imb/Biband What cannot run here" in text
    )


def test_the_policy_of_the_page_allows_its_own_style_and_nothing_else(
    faulty_run: list[Record], all_cells: list[Cell]
) -> None:
    page = html_report(faulty_run, ["no space left on /scratch"], all_cells)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    assert html.unescape(policy) == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert page.index("Content-Security-Policy") < page.index("<style>") == page.index("style>") - 1
    # What the policy would refuse is not in the page either.
    assert re.findall(r"<script|<img|<iframe|<link|<form| style=| on[a-z]+=|javascript:", page) == []


def test_what_was_disturbed_and_what_was_measured_again_is_shown(
    disturbed_run: list[Record], all_cells: list[Cell]
) -> None:
    page = html_report(disturbed_run, cells=all_cells)
    text = Page(page).text
    assert (
        "FAIL virtual 1 test was disturbed, so nobody can judge what was measured; 1 test was measured again. " in text
    )
    assert "23 pass 0 fail 1 disturbed 5 report-only" in text
    assert (
        "Disturbed: nobody can judge what was measured, so run these again Other work on the nodes (1 test) Disturbed: "
        "its processes waited for a processor 12 % of the time (bound 2 %) Found: bandwidth is low Look at: what else "
        "runs" in text
    )
    assert "What failed and why" not in text
    assert "1 disturbed netpipe/pingpong 2 pass netpipe/stream , netpipe/bidirectional" in text  # in the matrix
    assert (
        "vn1, vn2 · single · 5.1 s · waited for a processor 0.4 % of the time All five rules hold: peak 47.8 MB/s, "
        "101.4 % of the reference.; measured again: 1 earlier measurement was disturbed What was measured before, the "
        "oldest first 2026-11-21T05:59:50Z · 4.2 s · waited for a processor 12.0 % of the time bandwidth is lower; "
        "disturbed: its processes waited" in text
    )


def test_the_matrix_has_states_in_words_and_the_reason_of_each_hole(
    faulty_run: list[Record], all_cells: list[Cell]
) -> None:
    text = Page(html_report(faulty_run, cells=all_cells)).text
    assert "1 fail netpipe/stream 2 pass netpipe/pingpong , netpipe/bidirectional 4 more cannot run here" in text
    assert "does not run Intel MPI 2021.18 over OFI tcp takes two interfaces and silently uses one." in text
    assert "Nothing runs on eth, 2 rails: eth has 1 rail per node (eth0)" in text
    assert (
        "The packaged IMB binary needs libmpi.so.12 and does not run under Open MPI (libmpi.so.40). hsn, 1 rail, "
        "openmpi: 4 benchmarks; hsn, 2 rails, openmpi: 4 benchmarks" in text
    )


def test_a_cell_in_which_tests_passed_is_green_whatever_else_was_not_tested(faulty_run: list[Record]) -> None:
    cells = [one for one in Page(html_report(faulty_run)).having("td") if one.get("data-stack") == "intelmpi"]
    assert [one["class"] for one in cells] == ["pass", "absent", "pass"]


def test_a_test_shows_rules_figures_references_path_command_and_environment(faulty_run: list[Record]) -> None:
    record = next(record for record in faulty_run if record.found.verdict.rule == 4)
    other = faulty_run[0].with_fields(environment={"python": "3.12"})
    text = Page(html_report([record, other])).text
    for words in (
        "4 path proof does not hold The sentence above says it. 5 reference",
        "peak 95.8 MB/s at 4 MiB N½ 1500 B small-message latency 24.6 us at 1 B",
        "hsn-2 (class): at least 94.4 MB/s from 1 MiB to 4 MiB 94 % of the shaped rate of hsn, systems/virtual.yaml",
        "The physical limit : 97.3 MB/s, 2 x 400 Mbit/s x 1448/1538 (TCP/IP headers, MTU 1500) HTB class of",
        "vn1 hsn0 yes 168.0 MB 2.4 MB 99.9 vn1 hsn1 yes 4.0 kB 0.1 kB 0.0 vn1 eth0 no 21.0 kB 18.0 kB 0.1",
        "mpirun -np 2 -hosts vn1,vn2 stream",
        "mpi Open MPI v4.1.4",
        "Output: reframe/output/virtual/hsn/openmpi/NetpipeStream/rfm_job.out",
    ):
        assert words in text


def test_what_all_environments_share_is_said_once(healthy_run: list[Record]) -> None:
    text = Page(html_report(healthy_run)).text
    assert text.count("6.18.5") == 1
    assert text.count("Intel MPI 2021.18") == sum(record.test.stack == "intelmpi" for record in healthy_run)


def test_problems_of_the_run_have_a_heading_only_where_there_are_any(healthy_run: list[Record]) -> None:
    assert "Problems of the run" not in html_report(healthy_run)
    assert "Problems of the run" in html_report(healthy_run, problems=("-S nosuch=3 named nothing",))


def test_nothing_is_fetched_and_every_link_has_its_target(faulty_run: list[Record], all_cells: list[Cell]) -> None:
    text = html_report(faulty_run, cells=all_cells)
    page = Page(text)
    assert not re.search(r"https?:|url\(|@import|<script|<link|<img| src=", text)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for attributes in page.having("a"):
        assert (attributes["href"] or "")[0] == "#"
        assert (attributes["href"] or "")[1:] in ids
    for _, attributes in page.elements:
        assert attributes.get("aria-labelledby", ids[0]) in ids


def test_it_can_be_read_without_seeing_it(faulty_run: list[Record]) -> None:
    page = Page(html_report(faulty_run))
    assert next(page.having("html"))["lang"] == "en"
    assert all(attributes.get("scope") in ("col", "row") for attributes in page.having("th"))
    drawings = [one for one in page.having("svg") if one.get("aria-hidden") != "true"]
    assert len([one for one in drawings if "class" not in one]) == 1 + sum(
        len(record.found.curves) for record in faulty_run
    )
    assert all(one["role"] == "img" for one in drawings)
    # each drawing's title says what it shows; the last title is the page's own
    assert len(list(page.having("title"))) == len(drawings) + 1
    levels = [int(tag[1]) for tag, _ in page.elements if tag in ("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb. Source: WCAG 2.2, definition of relative luminance."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1])
def test_text_has_the_contrast_of_wcag_aa_in_both_schemes(scheme: int) -> None:
    found = re.findall(r":root \{(.*?)\}", html_report([]), re.DOTALL)[scheme]
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", found))
    pairs = [(name, f"{name}-bg") for name in ("pass", "fail", "report", "xfail", "none")]
    pairs += [(ink, ground) for ink in ("ink", "soft", "link") for ground in ("page", "card")]
    pairs += [("ink", f"{name}-bg") for name in ("pass", "fail", "report", "xfail", "none")]
    assert {f"c{number}" for number in range(4)} <= set(colours)
    pairs += [(f"c{number}", "page") for number in range(4)]
    for ink, ground in pairs:
        light, dark = sorted((luminance(colours[ink]), luminance(colours[ground])), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, ground)


def test_the_numbers_in_a_heat_map_have_that_contrast_on_each_colour() -> None:
    page = html_report([])
    (ink,) = re.findall(r"\.heat-number text \{ fill: (#[0-9a-f]{6})", page)
    grounds = re.findall(r"\.h\d \{ fill: (#[0-9a-f]{6})", page)
    assert len(grounds) == 5
    for ground in grounds:
        assert (luminance(ground) + 0.05) / (luminance(ink) + 0.05) >= 4.5, ground


def test_texts_that_try_to_break_out_stay_text(hostile: Record) -> None:
    text = html_report(
        [hostile, hostile.with_fields(state="pass", case="x"), hostile.with_fields(state="xfail")],
        ["<script>\x1b[31mproblem"],
        [Cell(TestId("<u>", "<i>", 1, "<u>"), "<script>\x1b]0;x\x07")],
        [RelationRecord("r", "<i>", "order", "fail", "<u>", "<script>")],
    )
    assert set(text) & set("\x1b\x00\x07\u202e") == set()
    page = Page(text)
    assert {"script", "i", "u"} & {name for name, _ in page.elements} == set()
    assert "<script>alert(1)</script>]]>&red'\" next line" in page.text
    assert "<script>problem" in page.text
    assert all(not name.startswith("on") for _, attributes in page.elements for name in attributes)


def test_a_page_without_records_says_that_nothing_was_judged() -> None:
    text = Page(html_report([])).text
    assert "NOTHING JUDGED no system No test ran to a verdict, so nothing is known of this system." in text
    assert "There are no records." in text


def test_a_page_of_30_tests_is_small(faulty_run: list[Record], all_cells: list[Cell]) -> None:
    assert len(html_report(faulty_run, cells=all_cells).encode()) < 8_000 * len(faulty_run)


def test_the_page_says_where_references_come_from_and_how_traffic_was_split(faulty_run: list[Record]) -> None:
    text = Page(html_report(faulty_run)).text
    assert (
        "Where references and limits come from 9 references and limits, each with its source "
        "94 % of the shaped rate of eth, systems/virtual.yaml eth-1 (class, 8 tests) "
        "94 % of the shaped rate of hsn, systems/virtual.yaml hsn-1 (class, 9 tests) hsn-2 (class, 6 tests)" in text
    )
    assert "Split over the rails of vn1: hsn0 50.0 %, hsn1 50.0 %" in text
    assert "Split over the rails of vn1: hsn0 99.9 %, hsn1 0.0 %" in text


def test_what_was_not_tested_is_one_folded_line(healthy_run: list[Record], all_cells: list[Cell]) -> None:
    page = html_report(healthy_run, cells=all_cells)
    assert (
        "Not tested 55 combinations of fabric, rails, stack and benchmark cannot run here. Why: What cannot run here "
        "The packaged IMB binary needs" in Page(page).text
    )
    assert re.search(r'<h2 id="not-tested">Not tested</h2>\s*<details>\s*<summary>', page)
    assert "The run left out nothing that it was to test." in Page(html_report(healthy_run)).text


def test_the_median_of_earlier_runs_is_drawn_and_said(healthy_run: list[Record]) -> None:
    record = healthy_run[0]
    key = (record.where.system, record.test.case, "bandwidth")
    text = html_report([record], earlier={key: EarlierMedian(record.found.curves[0].values, 7)})
    assert text.count('class="before"') == 1
    assert "Dotted: the median of 7 earlier runs." in Page(text).text
    other = EarlierMedian(record.found.curves[0].values[:3], 7)
    assert 'class="before"' not in html_report([record], earlier={key: other})


def test_drawings_share_their_grids(healthy_run: list[Record]) -> None:
    text = html_report(healthy_run)
    grids = set(re.findall(r'<g id="(grid-\d+)">', text))
    assert grids == set(re.findall(r'<use href="#(grid-\d+)"/>', text))
    assert len(grids) < len(re.findall(r"<use ", text)) / 2


def over_a_year(records: list[Record], runs: int) -> list[Record]:
    """The same tests in many runs; the third run had a failure."""
    found = []
    for index in range(runs):
        for number, record in enumerate(records):
            changed = record.with_fields(run=f"run{index:04}", time=f"2026-{index:04}")
            if (index, number) == (2, 0):
                changed = changed.with_fields(
                    state="fail",
                    verdict=dataclasses.replace(changed.found.verdict, sentence="It was slow.", rule=5),
                )
            found.append(changed)
    return found


def test_many_runs_show_each_test_once_with_the_spread_of_all(healthy_run: list[Record]) -> None:
    page = Page(html_report(over_a_year(healthy_run[:5], 40)))
    assert "PASS virtual " in page.text
    assert (
        "Verdict and counts are those of the newest record of each of 5 tests. Their spread is that of all 200 records "
        "of 40 runs." in page.text
    )
    assert len(list(page.having("article"))) == 5
    assert "What failed earlier test failed last why, the last time" in page.text
    assert "1 of 39 2026-0002 It was slow." in page.text
    assert page.text.count("40 records, the newest of 2026-0039") == 5
    assert (
        "Shaded: all, 80 % and 50 % of the runs; dotted: their median; line: the newest; dashed: the limit."
        in page.text
    )


def test_a_page_of_many_runs_hardly_grows_with_them(healthy_run: list[Record]) -> None:
    few = html_report(over_a_year(healthy_run[:5], 10))
    many = html_report(over_a_year(healthy_run[:5], 150))
    assert len(many) < 1.3 * len(few)


def test_a_page_of_many_tests_keeps_what_failed_in_full(faulty_run: list[Record]) -> None:
    records = [record.with_fields(case=f"{record.test.case} {index}") for index in range(8) for record in faulty_run]
    text = Page(html_report(records)).text
    ran = sum(record.found.state != "not-tested" for record in records)
    assert f"This page shows {ran} tests, so those that passed are without their rules, path and command." in text
    failed = sum(record.found.state == "fail" for record in records)
    assert text.count("The five rules") == failed
    # What the rule that failed found is the test's own sentence, which stands above the rules.
    assert text.count("The sentence above says it.") == failed
    assert len(html_report(records).encode()) < 5_000 * len(records)


def test_two_systems_have_a_matrix_each(healthy_run: list[Record]) -> None:
    other = [record.with_fields(system="other") for record in healthy_run[:3]]
    page = Page(html_report([*healthy_run[:3], *other]))
    labels = [one["aria-label"] for one in page.having("div") if "aria-label" in one]
    assert [one for one in labels if one and one.startswith("Matrix")] == [
        "Matrix of fabric, rails and stack of virtual",
        "Matrix of fabric, rails and stack of other",
    ]
    assert [one["href"] for one in page.having("a")].count(
        "#test-4"
    ) == 2  # from the matrix of the other, and the table


def test_pairs_have_a_heat_map_with_the_worst_named(healthy_run: list[Record]) -> None:
    values = ((None, 52.0, 51.0), (52.0, None, 4.9), (51.0, 50.5, None))
    pairs = PairsRecord(("n1", "n2", "n3"), 4194304, values, expected=50.0)
    record = healthy_run[0].with_fields(benchmark="pairs/pairs", pairs=pairs)
    text = Page(html_report([record])).text
    assert (
        "Rows send, columns receive, 4 MiB messages; 100 % is 50.0 MB/s, the bound that a pair must reach. below 50 % "
        "100 % or more The slowest pairs n2 to n3 4.90 MB/s, 9.8 %" in text
    )


def test_nodes_and_their_cards_are_listed_once(healthy_run: list[Record]) -> None:
    group = NodeGroup(("vn1", "vn2"), {"processor": "Xeon", "smt": "off"}, {"mlx5_0": {"firmware": "20.41"}})
    records = [record.with_fields(hardware=(group,)) for record in healthy_run[:4]]
    text = Page(html_report(records)).text
    assert text.count("vn1, vn2: Xeon processor Xeon smt off mlx5_0 firmware 20.41") == 1


def test_a_node_whose_processor_has_no_name_is_listed_without_it(healthy_run: list[Record]) -> None:
    """The kernel gives Arm processors no model name."""
    records = [healthy_run[0].with_fields(hardware=(NodeGroup(("vn1",), {"smt": "off"}, {}),))]
    assert "vn1 smt off" in Page(html_report(records)).text


def test_a_cell_of_many_benchmarks_names_the_first_twelve_of_a_state(faulty_run: list[Record]) -> None:
    one = next(record for record in faulty_run if record.found.state == "fail")
    good = faulty_run[0].with_fields(fabric=one.where.fabric, rails=one.test.rails, stack=one.test.stack)
    some = [good.with_fields(benchmark=f"osu/b{index}", case=f"b{index}") for index in range(14)]
    cells = [
        Cell(TestId(one.where.fabric, one.test.stack, one.test.rails, f"perftest/p{index}"), "no verbs")
        for index in range(5)
    ]
    cells += [
        Cell(TestId(one.where.fabric, "tcp", one.test.rails, f"iperf3/{index}"), f"no {index}") for index in range(2)
    ]
    text = Page(html_report([one, *some], cells=cells)).text
    names = " , ".join(f"osu/b{index}" for index in range(12))
    assert f"1 fail {one.test.benchmark} 14 pass {names} , and 2 more 5 more cannot run here" in text
    assert "Nothing runs on tcp, for several reasons" in text


def test_failures_of_one_cause_are_one_card(healthy_run: list[Record]) -> None:
    failed = [record.with_fields(state="fail") for record in healthy_run[:9]]
    page = Page(html_report(failed))
    cards = [one for one in page.having("div") if one.get("class") == "failure"]
    assert [one["id"] for one in cards] == ["cause-1", "cause-2"]  # what is the same sentence but for its figures


def test_figures_that_changed_have_a_drawing_and_their_sentences(healthy_run: list[Record]) -> None:
    values = tuple((47.8 if run < 8 else 45.9, run == 9) for run in range(12))
    one = OverTime(
        heading="imb/Uniband (virtual, hsn): peak",
        figure="peak",
        unit="MB/s",
        values=values,
        marks=(8,),
        changes=(("worse", "fell by 4.0 % <b>"), ("better", "rose by 1.0 %")),
        remarks=("1 run left out: not tested",),
    )
    page = html_report(healthy_run, over_time=[one])
    assert '<h2 id="over-time">What changed over time</h2>' in page
    assert '<span class="state fail">worse</span> fell by 4.0 % &lt;b&gt;' in page
    assert '<span class="state pass">better</span> rose by 1.0 %' in page
    assert '<li class="soft">1 run left out: not tested</li>' in page
    assert page.count('<path class="step" d="M') == 1
    assert "its level changed before run 9" in page
    assert "What changed over time" not in html_report(healthy_run)
