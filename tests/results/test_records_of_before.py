"""Records of an earlier release can be read and used beside new ones: of_67aa8ca/README.md says who wrote them."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from railyard.base.errors import RailyardError
from railyard.base.paths import HOME_VARIABLE
from railyard.cli.main import railyard_group
from railyard.job.case import Case
from railyard.results.pairing import pair
from railyard.results.record.file import FILE_NAME, append_record, read_records
from railyard.results.record.form import PART_OF, Record, Suspect
from railyard.results.report.overview import read_cells
from railyard.results.store import query
from railyard.results.store.exchange import merge
from railyard.verdict.assess import Assessment, record_of

BEFORE = Path(__file__).parent / "record" / "of_67aa8ca"
RUNS = sorted(path.name for path in BEFORE.iterdir() if path.is_dir())
#: The day on which one test failed, one was disturbed, and one was switched off.
FAULTY = "20261121T060000Z-ab12"
REPLAYED = "20261123T085308Z-cc48"
ONE_RAIL = "ImbUniband %rails=1 @virtual:hsn+mpich"

Assess = Callable[..., Assessment]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site with the stored runs of the earlier release."""
    for folder in ("systems", "references"):
        shutil.copytree(Path(__file__).parents[2] / folder, tmp_path / folder)
    shutil.copytree(BEFORE, tmp_path / ".railyard" / "runs", ignore=shutil.ignore_patterns("README.md"))
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    return tmp_path


def run(*words: str, code: int = 0) -> str:
    """The output of a command, which returned this exit code."""
    result = CliRunner().invoke(railyard_group, list(words), standalone_mode=False)
    if result.exception:
        raise result.exception
    assert result.return_value == code, result.output
    return result.stdout


def stored_records(name: str) -> tuple[Record, ...]:
    found = read_records(BEFORE / name)
    assert found.problems == ()
    return found.records


def today(assessed: Assess, hour: int = 6, rate_mb_s: float = 47.8) -> Record:
    """A record of the same test from this Railyard, four days later."""
    return record_of(
        assessed(rates={1 << 20: rate_mb_s - 0.4, 4 << 20: rate_mb_s}),
        run=f"20261125T{hour:02}0000Z-ab12",
        time=f"2026-11-25T{hour:02}:00:01Z",
        elapsed_s=5.0,
        environment={"railyard": "0.1.0", "kernel": "6.1", "mpi": "MPICH 4.3.0"},
        command=("mpirun", "-n", "2", "IMB-MPI1"),
        output="outputs/x.out",
    )


@pytest.mark.parametrize("name", RUNS)
def test_every_record_is_read_and_nothing_of_it_is_lost(name: str) -> None:
    lines = [json.loads(line) for line in (BEFORE / name / FILE_NAME).read_text(encoding="utf-8").splitlines()]
    for line, record in zip(lines, stored_records(name), strict=True):
        assert _changed_places(line, flat(record.to_json())) == []
        assert record.extra == {}


def flat(values: dict[str, Any]) -> dict[str, Any]:
    """Return a record's values as format 1 has them: without parts."""
    fields = {name: value for part, own in values.items() if part in PART_OF.values() for name, value in own.items()}
    return {"format": 1, **fields}


def _changed_places(old: Any, new: Any, where: str = "") -> list[str]:
    """Return the places where an earlier value has changed or is gone; new keys do not count."""
    if isinstance(old, dict):
        gone = [f"{where}.{key}" for key in old if key not in new]
        return gone + [
            place for key in old if key in new for place in _changed_places(old[key], new[key], f"{where}.{key}")
        ]
    if isinstance(old, list) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        return [place for index, (one, other) in pairs for place in _changed_places(one, other, f"{where}[{index}]")]
    return [] if old == new else [where]


@pytest.mark.parametrize("name", RUNS)
def test_a_record_that_is_read_and_written_again_is_the_same_to_the_byte(name: str, tmp_path: Path) -> None:
    """Except for new keys; a file written with them is the same when it is read and written again."""
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    for record in stored_records(name):
        append_record(first, record)
    for record in read_records(first).records:
        append_record(second, record)
    assert second.read_bytes() == first.read_bytes()
    before = (BEFORE / name / FILE_NAME).read_text(encoding="utf-8").splitlines()
    for old, new in zip(before, first.read_text(encoding="utf-8").splitlines(), strict=True):
        kept = _without_later_keys(json.loads(old), flat(json.loads(new)))
        assert kept == json.loads(old)


def _without_later_keys(old: Any, new: Any) -> Any:
    if isinstance(new, dict):
        return {key: _without_later_keys(old[key], new[key]) for key in new if key in old}
    if isinstance(new, list):
        return [_without_later_keys(one, other) for one, other in zip(old, new, strict=True)]
    return new


def test_states_rules_and_suspects_are_those_that_were_written() -> None:
    slow, disturbed, switched_off = stored_records(FAULTY)
    assert (slow.found.state, slow.found.verdict.rule, slow.found.verdict.class_, slow.fails) == (
        "fail",
        5,
        "fabric",
        True,
    )
    (suspect,) = slow.found.verdict.suspects
    assert suspect == Suspect("rail", suspect.reason, "vn2", "hsn0")
    # What is a remark today was part of the sentence then, and is still shown.
    assert slow.found.verdict.remarks == ()
    assert slow.found.verdict.text.endswith(
        "; hsn0 of vn2 alone is slow with every partner: 4.8 with vn1 and 4.7 with vn3"
    )
    assert (disturbed.found.state, disturbed.found.verdict.class_, disturbed.fails) == ("fail", "disturbed", True)
    assert (switched_off.found.state, switched_off.found.verdict.text) == ("not-tested", "not tested: hsn1 is on order")


def test_a_run_of_before_is_reported(home: Path) -> None:
    text = " ".join(run("report", FAULTY, "--format", "terminal", code=1).split())
    assert "hsn0 of vn2 alone is slow with every partner" in text
    assert "3 tests: 0 pass, 2 fail, 0 disturbed, 0 report-only, 0 expected failure, 1 not tested" in text
    for form in ("html", "md", "junit", "csv", "json"):
        assert "imb/Uniband" in run("report", FAULTY, "--format", form, code=1)


def test_the_cells_of_a_run_of_before_are_read(home: Path) -> None:
    cells = read_cells(BEFORE / REPLAYED / "matrix.json")
    ran = [(cell.test.fabric, cell.test.check) for cell in cells if cell.reason is None]
    assert ran == [("edr", "OsuBandwidth"), ("fdr", "OsuBandwidth")]
    text = " ".join(run("report", REPLAYED).split())
    assert "2 tests: 2 pass, 0 fail, 0 disturbed" in text
    assert "left no record" not in text


def test_records_of_before_are_exported(home: Path) -> None:
    found = json.loads(run("results", "export", "--format", "json"))
    assert len(found["records"]) == 10
    rows = run("results", "export", "--format", "csv").splitlines()
    assert len(rows) > 10 and all(ONE_RAIL in row or "%rails=" in row for row in rows[1:])
    assert run("results", "verify").splitlines()[-1] == "10 records of 6 runs: 0 problems, 6 remarks"


def test_a_test_of_today_is_the_same_test_as_before(assess_cell: Assess, home: Path) -> None:
    before = [record for name in RUNS[:4] for record in stored_records(name)]
    new = today(assess_cell)
    old = before[0]
    same = ("case", "check", "hash", "system", "fabric", "stack", "rails", "policy", "benchmark", "nodes", "references")
    assert {key: new.value(key) for key in same} == {key: old.value(key) for key in same}
    (matched,) = pair(before, [new]).matched
    assert (len(matched.a), len(matched.b)) == (4, 1)
    append_record(home / ".railyard" / "runs" / new.made.run / FILE_NAME, new)
    text = " ".join(run("compare", "20261117T060000Z-ab12", new.made.run).split())
    assert "imb/Uniband (virtual, hsn, mpich, rails 1, single): 1 repeat on A, 1 on B" in text


def test_history_is_judged_over_records_of_before_and_of_today(assess_cell: Assess, home: Path) -> None:
    for hour in range(6, 24):
        new = today(assess_cell, hour, (47.8 if hour < 15 else 43.2) + 0.01 * (hour % 3))
        append_record(home / ".railyard" / "runs" / new.made.run / FILE_NAME, new)
    found = json.loads(run("history", "--json", "--all", "--figure", "peak", "--rails", "1", "--system", "virtual"))
    (series,) = [one for one in found["figures"] if one["benchmark"] == "imb/Uniband"]
    assert [len(series["runs"]), len(series["changes"])] == [23, 1]
    assert series["changes"][0]["kind"] == "worse"
    # The first five are from before: four good ones, and the day of the slow rail.
    assert [point["value"] for point in series["runs"][:5]] == pytest.approx([47.8, 47.9, 47.7, 47.85, 4.8], rel=0.002)


def test_a_case_holds_what_a_record_of_before_is_told_by(assess_cell: Assess) -> None:
    case: Case = assess_cell().case
    assert str(case.test) == stored_records(RUNS[0])[0].test.case == ONE_RAIL


def test_records_of_before_are_merged_as_they_are_and_once(tmp_path: Path) -> None:
    for came, there in ((3, 0), (0, 3)):
        (merged,) = merge(tmp_path, BEFORE / FAULTY)
        assert (merged.run, merged.came, merged.there, merged.problems) == (FAULTY, came, there, ())
    here = tmp_path / ".railyard" / "runs" / FAULTY / FILE_NAME
    assert here.read_bytes() == (BEFORE / FAULTY / FILE_NAME).read_bytes()
    line = {**json.loads(here.read_bytes().splitlines()[0]), "rehearsal": "a rehearsal"}
    (rehearsed := tmp_path / "rehearsed.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    with pytest.raises(RailyardError, match="found a rehearsal, expected a measurement"):
        merge(tmp_path, rehearsed)


def test_records_of_before_are_read_without_pairs_too(home: Path) -> None:
    assert query.records(home, slim=True).records == query.records(home).records
