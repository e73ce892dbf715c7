"""The page in its order: first screen, causes, matrix, curves, then what is folded; and contents that lead to it."""

import dataclasses
import re

import pytest

from railyard.results.record.form import Record
from railyard.results.report.html import html_report
from railyard.results.run_folder import RelationRecord
from railyard.site.matrix import Cell
from railyard.site.test_id import TestId
from tests.made.html_page import Page
from tests.made.records import made_record


def headings(page: str) -> list[str]:
    """The ids of the sections, in their order."""
    return re.findall(r'<h2 id="([^"]+)">', page)


def test_the_sections_of_a_faulty_run_stand_in_their_order(faulty_run: list[Record], all_cells: list[Cell]) -> None:
    page = html_report(faulty_run, problems=["no space left"], cells=all_cells)
    assert headings(page) == [
        *("lost", "failures", "matrix", "rest-report-only", "rest-xfail", "all", "signature", "each"),
        *("not-tested", "environment", "bases"),
    ]


def test_a_healthy_run_has_no_heading_of_what_went_wrong(healthy_run: list[Record]) -> None:
    assert headings(html_report(healthy_run)) == [
        *("matrix", "rest-report-only", "all", "signature", "each", "not-tested", "environment", "bases")
    ]
    assert headings(html_report([])) == ["matrix", "each", "not-tested"]


def test_every_section_has_something_below_its_heading(faulty_run: list[Record], all_cells: list[Cell]) -> None:
    for records, cells in ((faulty_run, all_cells), (faulty_run[:1], []), ([], [])):
        page = html_report(records, cells=cells)
        sections = re.findall(r"<section[^>]*>(.*?)</section>", page, re.DOTALL)
        assert len(sections) == len(headings(page))
        for section in sections:
            below = re.sub(r"<h2.*?</h2>", "", section, flags=re.DOTALL)
            assert Page(below).text, section[:200]


def test_the_contents_name_every_section_in_its_order(faulty_run: list[Record], all_cells: list[Cell]) -> None:
    page = html_report(faulty_run, cells=all_cells)
    (contents,) = re.findall(r'<nav class="contents".*?</nav>', page, re.DOTALL)
    assert re.findall(r'href="#([^"]+)"', contents) == headings(page)
    assert "Report-only</a>" in contents  # no more than what stands before the colon


def test_the_first_screen_has_verdict_numbers_and_suspects_with_a_command(
    faulty_run: list[Record], all_cells: list[Cell]
) -> None:
    page = html_report(faulty_run, cells=all_cells)
    (first,) = re.findall(r"<header>.*?</header>", page, re.DOTALL)
    text = Page(first).text
    assert text.startswith("Railyard report FAIL virtual 3 of 28 tests failed. Nodes 4 nodes: vn1, vn2, vn3 and vn4")
    assert "hsn 76.61 MB/s of 96.91 MB/s, 78.9 % imb/Uniband, 2 rails, mpich 2 fail 12 pass" in text
    assert text.endswith(
        "Suspects, and what to type next "
        "The stack (1 test failed) railyard run --system virtual --failed --dry-run "
        "Rail hsn1 of vn2 (1 test failed) railyard doctor --system virtual --nodes "
        "Node vn3 (1 test failed) railyard doctor --system virtual --nodes"
    )


def test_a_pass_has_no_suspects(healthy_run: list[Record]) -> None:
    assert 'class="suspects"' not in html_report(healthy_run)


def test_a_replay_says_on_the_first_screen_that_nothing_was_measured() -> None:
    words = "replayed: computed from published values, not measured"
    replay = made_record(replayed=words)
    (first,) = re.findall(r"<header>.*?</header>", html_report([replay]), re.DOTALL)
    assert f"This is a replay: nothing was measured. 1 test {words}. PASS virtual 1 test passed" in Page(first).text
    (mixed,) = re.findall(r"<header>.*?</header>", html_report([replay, made_record(case="y")]), re.DOTALL)
    assert "Some tests are replays: they measured nothing. 1 test" in Page(mixed).text
    assert "replay" not in Page(html_report([made_record()])).text


def test_a_rehearsal_says_what_to_type_on_the_real_cluster(faulty_run: list[Record]) -> None:
    records = [record.with_fields(rehearsal="a rehearsal; planted: x") for record in faulty_run]
    page = html_report(records)
    (first,) = re.findall(r"<header>.*?</header>", page, re.DOTALL)
    assert "This is a rehearsal; planted: x." in Page(first).text
    assert (
        "Suspects, and what to type next on the real cluster The stack (1 test failed) railyard run" in Page(first).text
    )
    assert "Type next on the real cluster: railyard doctor --system virtual --nodes Test:" in Page(page).text


def test_failed_tests_are_in_full_before_the_cards_of_the_others(faulty_run: list[Record]) -> None:
    page = Page(html_report(faulty_run))
    articles = [one["class"] for one in page.having("article")]
    assert articles == ["test"] * 3 + ["test card"] * 25


def test_what_a_verdict_says_of_its_suspect_is_not_said_again(faulty_run: list[Record]) -> None:
    record = next(one for one in faulty_run if one.found.state == "fail" and one.found.verdict.rule == 5)
    (suspect,) = record.found.verdict.suspects
    page = html_report([record])
    assert page.count(suspect.reason) == 1  # in the headline of its cause, to which the test has a link
    assert Page(page).text.count(f"Look at: {record.found.verdict.next}") == 1
    (article,) = re.findall(r'<article class="test" id="test-1".*?</article>', page, re.DOTALL)
    assert '<b>What failed:</b> <a href="#cause-1">Rail hsn1 of vn2</a>' in article
    verdict = dataclasses.replace(record.found.verdict, remarks=(f"hsn1 of vn2: {suspect.reason}",))
    text = Page(html_report([record.with_fields(verdict=verdict)])).text
    assert text.count(suspect.reason) == 2 and "Suspect:" not in text


def test_one_value_has_no_drawing_and_says_what_it_is_compared_with(healthy_run: list[Record]) -> None:
    record = healthy_run[0]
    (curve,) = record.found.curves
    band = dataclasses.replace(curve.bands[0], sizes=(0,), low=(40.0,), high=(None,))
    one = dataclasses.replace(curve, metric="runtime", unit="s", sizes=(0,), values=(47.0,), bands=(band,), limit=None)
    page = html_report([record.with_fields(curves=(one,))])
    assert "runtime: one value, at least 40.0 s." in Page(page).text
    assert "<figure>" not in re.sub(r'<section aria-labelledby="signature".*?</section>', "", page, flags=re.DOTALL)
    assert 'class="cards plain"' in page and 'class="cards"' not in page


@pytest.mark.parametrize(("count", "rows", "folded"), [(6, 6, ""), (7, 1, "6 relations hold")])
def test_of_many_relations_those_that_hold_are_folded(count: int, rows: int, folded: str) -> None:
    found = [RelationRecord(f"r{number}", "says", "order", "pass", "held", "source") for number in range(count - 1)]
    found.append(RelationRecord("broken", "says", "order", "fail", "not held", "source"))
    page = html_report([made_record()], relations=found)
    (section,) = re.findall(r'<section aria-labelledby="relations">.*?</section>', page, re.DOTALL)
    open_part, _, rest = section.partition("<details>")
    assert open_part.count('<th scope="row">') == rows
    assert "broken" in open_part
    assert folded in rest


def test_tests_without_a_record_are_folded_behind_the_first_twelve(healthy_run: list[Record]) -> None:
    cells = [Cell(TestId("hsn", "mpich", 1, f"osu/b{number}")) for number in range(20)]
    page = html_report(healthy_run, cells=cells)
    assert "<summary>8 more tests left no record</summary>" in page
    assert page.count("should have run, but left no record") == 20
