"""`railyard compare` from end to end: runs in folders, its text and JSON, its exit codes, and what it refuses."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from railyard.cli.commands.compare import command
from railyard.cli.main import main
from railyard.results.record.file import append_record
from railyard.results.record.form import Record

Repeats = Callable[..., tuple[Record, ...]]


@pytest.fixture
def site(tmp_path: Path, repeats: Repeats, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site with five runs of a good rail, named good0 to good4, and five of one that is 5 % slower from 64 KiB."""
    (tmp_path / "systems").mkdir()
    for name, slower in (("good", None), ("slow", 65536)):
        for record in repeats(name, 5, slower_from=slower, environment={"kernel": name}):
            append_record(tmp_path / ".railyard" / "runs" / record.made.run / "records.jsonl", record)
    monkeypatch.setenv("RAILYARD_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def run(*words: str, code: int = 0) -> str:
    """The output of the command, which returned this exit code."""
    result = CliRunner().invoke(command, list(words), standalone_mode=False)
    if result.exception:
        raise result.exception
    assert result.return_value == code
    return result.stdout


def test_the_whole_text(site: Path) -> None:
    lines = run("good*", "slow*").splitlines()
    assert lines[:6] == [
        "A: 5 runs, good0 to good4, virtual",
        "B: 5 runs, slow0 to slow4, virtual",
        "",
        "What differed around the tests",
        "  kernel: good on A, slow on B",
        "",
    ]
    assert lines[6] == "imb/Uniband (virtual, hsn, mpich, rails 1, single): 5 repeats on A, 5 on B"
    assert lines[7].startswith("  peak: ") and " MB/s: B is worse: B is " in lines[7]
    told = " ".join(" ".join(lines[8:]).split())
    assert told.startswith("confidence) bandwidth along 12 sizes: B is ")
    assert "below A from 64 KiB to 4 MiB (4 sizes, " in told
    assert "differs: imb/Uniband (virtual, hsn, mpich, rails 1, single): peak: B is " in told
    assert "differs: imb/Uniband (virtual, hsn, mpich, rails 1, single): bandwidth: B is " in told
    assert told.endswith("1 test, 1 figure: 1 B is worse each has 95 % confidence: about 0.1 of 1 may differ by chance")


def test_the_same_as_json(site: Path) -> None:
    found = json.loads(run("good*", "slow*", "--json", "--fail-on-regression", "3%", code=1))
    (test,) = found["tests"]
    assert (found["format"], found["confidence"], test["repeats"]) == (1, 0.95, [5, 5])
    (figure,) = test["figures"]
    assert (figure["name"], figure["unit"], figure["kind"], figure["method"]) == ("peak", "MB/s", "worse", "exact")
    assert figure["low"] < figure["shift"] < figure["high"] < 0
    (stretch,) = test["curves"][0]["stretches"]
    assert (stretch["first"], stretch["last"]) == (65536, 4194304)
    assert found["environment"] == [{"name": "kernel", "a": ["good"], "b": ["slow"]}]
    assert (found["gate"]["passed"], len(found["gate"]["regressions"])) == (False, 2)


def test_exit_codes_of_the_gate(site: Path) -> None:
    assert "FAIL: 2 regressions of 3 % or more" in run("good*", "slow*", "--fail-on-regression", "3", code=1)
    assert "PASS: no regression of 10 % or more" in run("good*", "slow*", "--fail-on-regression", "10%")
    assert "FAIL: no figure could be compared with 5 %" in run("good0", "slow0", "--fail-on-regression", "5%", code=1)
    assert "cannot tell: 1 and 1 repeats" in run("good0", "slow0")


def test_a_side_without_runs_has_those_of_the_other(site: Path, repeats: Repeats) -> None:
    for record in repeats("good", 5, rails=2, policy="striping", peak=200.0):
        append_record(site / ".railyard" / "runs" / record.made.run / "records.jsonl", record)
    text = run("good*:rails=1", ":rails=2")
    assert "A: 5 runs, good0 to good4, virtual, rails=1\n" in text
    assert "B: 5 runs, good0 to good4, virtual, rails=2\n" in text
    assert "rails: 1 on A, 2 on B\npolicy: single on A, striping on B\n" in text
    assert "B is better: B is 100.0 % above A" in text or "B is better: B is 99." in text or "is 100." in text


def test_a_folder_that_is_named_needs_no_site(site: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RAILYARD_HOME")
    monkeypatch.chdir("/")
    runs = tmp_path / ".railyard" / "runs"
    assert "A: run good0, virtual\n" in run(str(runs / "good0"), str(runs / "slow0" / "records.jsonl"))


def test_a_line_that_gave_no_record_is_said(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (site / ".railyard" / "runs" / "good0" / "records.jsonl").open("a") as file:
        file.write('{"format": 1')
    assert main(["compare", "good*", "slow*"]) == 0
    assert "the last line is cut after 12 bytes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("good0", "good0"),
            '"good0", "good0": found the same tests on both sides, expected two sides; name other runs',
        ),
        ((":rails=1", ":rails=2"), '":rails=1", ":rails=2": found no run on either side, expected '),
        (("good", "slow0"), '"good": found 5 runs that begin like this, expected one; write good* for all of them'),
        (("good0", "slwo0"), '"slwo0": found no run and no folder with this name, expected one; did you mean "slow0"?'),
        (("good0", "bad*"), '"bad*": found no run with this name among 10 in '),
        (("good0", "slow0:rails=3"), '"slow0:rails=3": found no test with rails=3, expected one; known: 1'),
        (("good0", "slow0", "--noise", "much"), 'found "much", expected a positive number of per cent, such as 5%'),
        (("good0", "slow0", "--fail-on-regression", "-1"), 'found "-1", expected a positive number of per cent'),
        (("last99", "slow0"), "last99: found 10 stored runs in "),
    ],
)
def test_a_mistake_is_a_sentence_and_exits_2(
    site: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], sentence: str
) -> None:
    assert main(["compare", *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert sentence in said.err
    assert "Traceback" not in said.err


def test_unlike_things_exit_2(
    site: Path, new_record: Callable[..., Record], capsys: pytest.CaptureFixture[str]
) -> None:
    other = new_record("other").with_fields(benchmark="osu/osu_bw")
    append_record(site / ".railyard" / "runs" / "other" / "records.jsonl", other)
    assert main(["compare", "good0", "other"]) == 2
    assert "A has imb/Uniband, B has osu/osu_bw: found no benchmark that both have" in capsys.readouterr().err
