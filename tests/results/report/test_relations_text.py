"""Relations and costs in every report: one row each, a failure that fails the run, and the files beside the records."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from railyard.base.errors import InputError
from railyard.results.record.file import append_record
from railyard.results.record.form import Record
from railyard.results.reference_sheet import relation_lines
from railyard.results.report.files import read_results, write_format, write_reports
from railyard.results.run_folder import CostRecord, RelationRecord
from railyard.rfm.run.reframe import Outcome

HOLDS = RelationRecord(
    "faster", "A is faster than B", "ratio", "pass", "A is 1.97 times B at 4 MiB", "a blog, 2016-02-02"
)
BROKEN = RelationRecord(
    "quicker", "A <b> is quicker", "ahead", "fail", "A is not ahead of B", "a blog, 2016-02-02", "mpich"
)
UNJUDGED = RelationRecord("same", "no difference", "same", "not-judged", "not judged: side B is missing", "a blog")
COST = CostRecord("hsn", "mpich", 1, "EUR", "2026-01-01", 90, 110, "around", 2, 36, 47.8, 60.0)


def test_the_lines_say_state_words_and_sentence() -> None:
    assert relation_lines([HOLDS, BROKEN, UNJUDGED], width=60) == (
        "Relations between curves\n"
        "  faster           pass\n"
        "    A is faster than B: A is 1.97 times B at 4 MiB\n"
        "  quicker (mpich)  fail\n"
        "    A <b> is quicker: A is not ahead of B\n"
        "  same             not judged\n"
        "    no difference: not judged: side B is missing\n"
        "3 relations: 1 pass, 1 fail, 1 not judged"
    )
    assert "\x1b[1;31mfail\x1b[0m" in relation_lines([BROKEN], colour=True)


def test_a_broken_relation_fails_a_run_that_is_healthy_else(tmp_path: Path, healthy_run: list[Record]) -> None:
    for record in healthy_run:
        append_record(tmp_path / "records.jsonl", record)
    text = write_reports(tmp_path, healthy_run, relations=[HOLDS, BROKEN, UNJUDGED], costs=[COST])
    assert "FAIL: 1 of 3 relations between curves failed.\n" in text
    assert "hsn     mpich      1   2–36  about 90.0–110 EUR  47.8            478  60.0       6.00\n" in text
    again = read_results(tmp_path)
    assert (again.relations, again.costs, again.is_pass) == ((HOLDS, BROKEN, UNJUDGED), (COST,), False)
    told = json.loads(write_format(again, "json"))
    assert [each["state"] for each in told["relations"]] == ["pass", "fail", "not-judged"]
    assert (told["costs"][0]["bandwidth_mb_s_per_1000"], told["costs"][0]["latency_us_x_1000"]) == (478.0, 6.0)
    suites = {suite.get("name"): suite for suite in ElementTree.fromstring(write_format(again, "junit"))}
    related = suites["relations"]
    assert [related.get(name) for name in ("tests", "failures", "skipped")] == ["3", "1", "1"]
    assert [[child.tag for child in case] for case in related] == [[], ["failure"], ["skipped"]]
    html = write_format(again, "html")
    assert "A &lt;b&gt; is quicker: A is not ahead of B" in html and "A <b> is quicker" not in html
    assert '<h2 id="costs">What it costs</h2>' in html and "about 90.0–110 EUR" in html


def test_without_relations_and_prices_nothing_is_said_or_written(tmp_path: Path, healthy_run: list[Record]) -> None:
    text = write_reports(tmp_path, healthy_run)
    assert "Relations" not in text and "costs" not in text
    assert not (tmp_path / "relations.json").exists() and not (tmp_path / "costs.json").exists()
    assert "Relations between curves" not in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("relation", "code"), [(HOLDS, 0), (UNJUDGED, 0), (BROKEN, 1)])
def test_the_exit_code_of_a_run(healthy_run: list[Record], relation: RelationRecord, code: int) -> None:
    outcome = Outcome("run", Path(), tuple(healthy_run), (), False, relations=(relation,))
    assert outcome.exit_code == code


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[]", 'found something else, expected {"format": 1, "relations": […]}'),
        ('{"format": 2, "relations": []}', 'found something else, expected {"format": 1, "relations": […]}'),
        ('{"format": 1, "relations": [{"id": 3}]}', "relations[0].id: found 3, expected a text"),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, healthy_run: list[Record], text: str, sentence: str) -> None:
    append_record(tmp_path / "records.jsonl", healthy_run[0])
    path = tmp_path / "relations.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_results(tmp_path)
    assert str(caught.value) == f"{path}: {sentence}"
