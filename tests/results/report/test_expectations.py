"""A failure whose expected failure has expired, or covers other rules, says so wherever a reader sees the failure."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date

import pytest

from railyard.results.record.form import Record, Suspect
from railyard.results.record.headline import broken_expectation
from railyard.results.report.files import junit
from railyard.results.report.html import html_report
from railyard.results.report.terminal import markdown, text_report
from railyard.verdict.assess import verdict_record
from railyard.verdict.verdict import judge
from tests.verdict.test_verdict import EXPECTED, SLOW

LATER = date(2026, 11, 22)
EXPIRED = "the expected failure (known slow cable, until 2026-11-21) has expired"
OTHER_RULES = "the expected failure (known slow cable, until 2026-11-21) covers rule 4 only"
AS_MARKDOWN: Callable[[Sequence[Record]], str] = markdown


def after(record: Record, today: date, rules: tuple[int, ...] = (4, 5)) -> Record:
    """Return a record of a slow run on a day, with a failure that is expected until 2026-11-21 for these rules."""
    expected = EXPECTED.model_copy(update={"rules": rules})
    verdict = judge(replace(SLOW, expected_failure=expected, today=today))
    return record.with_fields(state=verdict.state, verdict=verdict_record(verdict))


def flat(text: str) -> str:
    return " ".join(text.replace("\\", "").split())


@pytest.mark.parametrize("make", [text_report, html_report, AS_MARKDOWN, junit])
@pytest.mark.parametrize(("today", "rules", "said"), [(LATER, (4, 5), EXPIRED), (EXPECTED.expires, (4,), OTHER_RULES)])
def test_each_form_of_the_report_says_it_once_beside_the_failure(
    healthy_run: list[Record], make: Callable[..., str], today: date, rules: tuple[int, ...], said: str
) -> None:
    record = after(healthy_run[0], today, rules)
    assert record.found.state == "fail"
    text = flat(make([record]))
    # the page has the whole sentence of the verdict at the test itself, too
    assert text.count(said) == (2 if make is html_report else 1)
    labelled = f"<b>Also:</b> {said}</p>" if make is html_report else f"also: {said}"
    assert labelled in text


def test_the_page_says_it_of_each_test_of_a_cause(healthy_run: list[Record]) -> None:
    first, second, third = healthy_run[:3]
    plain = first.with_fields(state="fail", verdict=verdict_record(judge(SLOW)))
    slow = [plain, after(second, EXPECTED.expires, (4,)), after(third, LATER)]
    blamed = (Suspect("rail", "it moved 4.9 MB/s", "vn2", "hsn1"),)
    text = html_report([one.with_fields(verdict=replace(one.found.verdict, suspects=blamed)) for one in slow])
    assert text.count('class="failure"') == 1
    assert [text.count(f"<b>Also:</b> {said}</p>") for said in (EXPIRED, OTHER_RULES)] == [1, 1]


def test_a_failure_that_nobody_expected_says_nothing_of_it(faulty_run: list[Record]) -> None:
    assert [broken_expectation(record.found.verdict) for record in faulty_run] == [""] * len(faulty_run)
    assert "expected failure (" not in text_report(faulty_run)
    assert broken_expectation(verdict_record(judge(SLOW))) == ""
    assert broken_expectation(verdict_record(judge(replace(SLOW, expected_failure=EXPECTED)))) == ""


def test_what_the_line_of_the_finding_has_already_is_not_said_again(healthy_run: list[Record]) -> None:
    """The sentence of a crash has no figures that were measured, so it is shown whole."""
    crashed = replace(SLOW, job=replace(SLOW.job, exit_code=3), expected_failure=EXPECTED)
    record = healthy_run[0].with_fields(state="fail", verdict=verdict_record(judge(crashed)))
    said = "the expected failure (known slow cable, until 2026-11-21) covers rule 4 and 5 only"
    for text in (text_report([record]), markdown([record])):
        assert flat(text).count(said) == 1
