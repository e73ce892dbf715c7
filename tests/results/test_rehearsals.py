"""A rehearsal is named wherever its records are shown, and never counts as a measurement."""

import csv
import io
import json
import xml.etree.ElementTree as ElementTree
from datetime import datetime, timezone
from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.cli.main import main
from railyard.provision.replay.index import recorded_outputs
from railyard.results import exports
from railyard.results.exports import csv_text
from railyard.results.record.file import FILE_NAME, append_record, read_records
from railyard.results.record.form import Record
from railyard.results.repeats import why_not
from railyard.results.report.files import junit
from railyard.results.report.html import html_report
from railyard.results.report.summary import judge_overall
from railyard.results.report.terminal import markdown, text_report
from railyard.results.report.text import state_words
from railyard.results.series import series_of
from railyard.results.store.exchange import merge
from tests.made.records import MADE, made_record

WORDS = "a rehearsal with stand-ins in place of benchmarks, not a measurement; planted: rail=n3:mlx5_1,share=0.5"
REHEARSED = made_record(rehearsal=WORDS)


def test_a_record_keeps_it_and_one_of_before_has_none(tmp_path: Path) -> None:
    append_record(tmp_path / FILE_NAME, REHEARSED)
    assert read_records(tmp_path).records == (REHEARSED,)
    values = MADE.to_json()
    del values["made"]["rehearsal"]
    assert Record.from_json(values) == MADE


def test_every_page_says_what_it_is() -> None:
    sentence = f"This is {WORDS}."
    assert state_words(REHEARSED) == "pass, rehearsed"
    assert "this is a rehearsal: nothing was measured" in judge_overall([REHEARSED]).sentence
    assert text_report([REHEARSED], width=200).startswith(f"{sentence}\n\n")
    assert f'<p class="rehearsal" role="note">{sentence}</p>' in html_report([REHEARSED])
    assert "> This is a rehearsal with stand-ins" in markdown([REHEARSED])
    suite = ElementTree.fromstring(junit([REHEARSED])).find("testsuite")
    assert suite is not None and suite.get("name") == f"rehearsal of virtual {MADE.made.run}"
    kept = suite.find("testcase/properties/property[@name='rehearsal']")
    assert kept is not None and kept.get("value") == WORDS
    (row,) = csv.DictReader(io.StringIO(csv_text([REHEARSED])))
    assert row["rehearsal"] == WORDS


def test_whether_an_output_was_genuine_is_said_of_each_test() -> None:
    words = "a genuine output of 2026-11-20, recorded in recordings/ndr"
    one = made_record(rehearsal=WORDS, rehearsed_output=words, output="outputs/x.out")
    assert f"Output: <code>outputs/x.out</code> ({words})" in html_report([one])
    kept = ElementTree.fromstring(junit([one])).find(".//property[@name='rehearsed_output']")
    assert kept is not None and kept.get("value") == words


def test_pages_of_measurements_name_none() -> None:
    assert judge_overall([MADE]).sentence == "1 test passed against its references."
    for page in (text_report([MADE]), markdown([MADE]), junit([MADE])):
        assert "rehears" not in page
    assert '<p class="rehearsal"' not in html_report([MADE])


def test_it_is_said_where_nothing_was_judged_too() -> None:
    untested = made_record(state="not-tested", rehearsal=WORDS)
    assert judge_overall([untested]).sentence == (
        "No test ran to a verdict, so nothing is known of this system; this is a rehearsal: nothing was measured."
    )


def test_it_is_no_reference_no_series_and_no_sample() -> None:
    assert why_not(REHEARSED, replace=True) == "it is from a rehearsal: stand-ins ran, nothing was measured"
    assert series_of([REHEARSED]) == ()
    rehearsed = made_record(run="r9", time="2027-01-01T00:00:00Z", rehearsal=WORDS)
    assert exports.newest([MADE, rehearsed], datetime(2027, 1, 2, tzinfo=timezone.utc)) == (MADE,)


def test_its_outputs_are_not_recorded(tmp_path: Path) -> None:
    append_record(tmp_path / FILE_NAME, REHEARSED)
    with pytest.raises(RailyardError, match="found a rehearsed test, whose output a stand-in made"):
        recorded_outputs(tmp_path, {}, (), ())


def test_it_is_not_merged_into_stored_runs(tmp_path: Path) -> None:
    other, home = tmp_path / "other", tmp_path / "home"
    append_record(other / "r1" / FILE_NAME, REHEARSED)
    append_record(other / "r2" / FILE_NAME, made_record(run="r2"))
    with pytest.raises(RailyardError, match="found a rehearsal, expected a measurement; that line is left out"):
        merge(home, other)
    assert not (home / ".railyard/runs" / MADE.made.run).exists()


def test_it_is_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "systems").mkdir()
    monkeypatch.setenv("RAILYARD_HOME", str(tmp_path))
    append_record(tmp_path / ".railyard/runs/r1" / FILE_NAME, made_record(run="r1"))
    append_record(tmp_path / ".railyard/rehearsals/r2" / FILE_NAME, made_record(run="r2", rehearsal=WORDS))
    assert main(["compare", "r1", str(tmp_path / ".railyard/rehearsals/r2")]) == 2
    assert (
        "found r2, a rehearsal, in which nothing was measured, expected runs that measured" in capsys.readouterr().err
    )


def test_stored_runs_do_not_list_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "systems").mkdir()
    monkeypatch.setenv("RAILYARD_HOME", str(tmp_path))
    append_record(tmp_path / ".railyard/runs/r1" / FILE_NAME, made_record(run="r1"))
    append_record(tmp_path / ".railyard/rehearsals/r2" / FILE_NAME, made_record(run="r2", rehearsal=WORDS))
    assert main(["results", "list", "--json"]) == 0
    assert [one["run"] for one in json.loads(capsys.readouterr().out)] == ["r1"]
