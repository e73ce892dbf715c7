"""`railyard export sick` as it is typed: list, JSON, drain commands, tickets, and what is nothing to list."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.base.paths import HOME_VARIABLE
from railyard.cli.main import main
from railyard.results.record.file import FILE_NAME, append_record
from railyard.results.record.form import Record, Suspect
from tests.made.systems import HDR_BY_NAME
from tests.results.sick.conftest import RAIL, made_failure, made_pass

Say = Callable[..., tuple[int, str, str]]
PAIR = Suspect("pair", "slow only between these two", "n1-n2")
RUN = "20261121T060000Z-ab12"


def hdr(record: Record) -> Record:
    return record.with_fields(system="hdr", fabric="hdr")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site with one run on each of two systems, a replay, and a page of the first run."""
    (tmp_path / "systems").mkdir()
    drain = 'gate: {drain: [scontrol, update, "NodeName={node}", "Reason={reason}"]}\n'
    (tmp_path / "systems/hdr.yaml").write_text(f"{HDR_BY_NAME}{drain}", encoding="utf-8")
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    keep(tmp_path, hdr(made_failure(Suspect("rail", "slow", "n1", "mlx5_0:1"), PAIR, nodes=("n1", "n2"))))
    keep(tmp_path, made_failure(RAIL, day=22))
    keep(tmp_path, made_failure(Suspect("node", "played", "vn9"), day=23, replayed="replayed: recorded"))
    (tmp_path / ".railyard/runs" / RUN / "report.html").write_text("<html>", encoding="utf-8")
    return tmp_path


def keep(home: Path, record: Record) -> None:
    append_record(home / ".railyard/runs" / record.made.run / FILE_NAME, record)


@pytest.fixture
def say(home: Path, capsys: pytest.CaptureFixture[str]) -> Say:
    def type_words(*words: str) -> tuple[int, str, str]:
        code = main(["export", "sick", *words])
        return (code, *capsys.readouterr())

    return type_words


def test_all_runs_are_listed_the_newest_first_and_no_replay(say: Say) -> None:
    assert say() == (
        0,
        "2026-11-22T06:00:12Z  virtual  rail hsn1 of vn2 (named, 1 run): it moved 4.9 of 48 MB/s\n"
        "2026-11-21T06:00:12Z  hdr  rail mlx5_0:1 of n1 (named, 1 run): slow\n"
        "2026-11-21T06:00:12Z  hdr  pair n1-n2 (named, 1 run): slow only between these two\n"
        "1 suspect left out: of a replay or a rehearsal, which measured nothing\n"
        "2 tests: 3 sick parts\n",
        "",
    )


def test_a_run_a_system_or_a_time_may_be_asked_for(say: Say) -> None:
    assert [part["system"] for part in json.loads(say("--system", "hdr", "--json")[1])["sick"]] == ["hdr", "hdr"]
    assert [part["node"] for part in json.loads(say("20261122", "--json")[1])["sick"]] == ["vn2"]
    assert [part["node"] for part in json.loads(say("--since", "2026-11-22", "--json")[1])["sick"]] == ["vn2"]


def test_a_part_that_passed_since_is_said_so_though_its_run_is_asked_for(home: Path, say: Say) -> None:
    keep(home, made_pass(23))
    (part,) = json.loads(say("20261122", "--json")[1])["sick"]
    assert (part["state"], part["passed"]["run"]) == ("passed since", "20261123T060000Z-ab12")


def test_drain_commands_are_those_of_the_systems_file(home: Path, say: Say) -> None:
    code, out, _ = say("--system", "hdr", "--as", "drain")
    assert (code, out.splitlines()) == (
        0,
        [
            "# hdr: 1 node to drain; no command was run: read the reasons first",
            "# rail mlx5_0:1 of n1: slow",
            "scontrol update NodeName=n1 'Reason=railyard: rail mlx5_0:1 of n1: slow'",
            "# pair n1-n2: drains no node: a pair is slow; both its nodes may be good with all other nodes",
        ],
    )
    (home / "systems/hdr.yaml").write_text(HDR_BY_NAME, encoding="utf-8")
    code, out, err = say("--system", "hdr", "--as", "drain")
    assert (code, out) == (2, "")
    assert err.startswith("railyard: systems/hdr.yaml: gate.drain: found nothing, expected the site's own command")


def test_a_ticket_has_the_page_of_its_run_or_how_it_is_made(home: Path, say: Say) -> None:
    out = say("--as", "ticket")[1]
    pages = [line.partition("**: ")[2] for line in out.splitlines() if line.startswith("- **Page")]
    made = "railyard report 20261122T060000Z-ab12 -o 20261122T060000Z-ab12.html"
    assert pages == [made, *2 * [f"{home}/.railyard/runs/{RUN}/report.html"]]


def test_a_file_is_written_whole(home: Path, say: Say) -> None:
    assert say("--json", "-o", str(home / "sick.json")) == (0, "", f"wrote {home}/sick.json: 3 parts\n")
    assert json.loads((home / "sick.json").read_text(encoding="utf-8"))["format"] == 1
    assert [path.name for path in home.glob("*sick*")] == ["sick.json"]


def test_a_healthy_store_has_no_sick_part(home: Path, say: Say) -> None:
    keep(home, made_pass(23, run="well", system="edr"))
    assert say("well") == (0, "1 test: 0 sick parts\n", "")
    assert say("well", "--as", "drain")[1] == "# no part is sick: nobody to drain\n"
    assert say("well", "--as", "ticket")[1] == "1 test: 0 sick parts\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--json", "--as", "drain"), "--json prints the list: leave out --as (see: railyard export sick --help)"),
        (
            (RUN, "--system", "hdr"),
            "--system: found it with a run, expected one of the two (see: railyard export sick --help)",
        ),
        (
            ("20261123",),
            "20261123T060000Z-ab12: found no measured test, expected some: a replay and a rehearsal show no sick part",
        ),
        (
            ("--system", "hrd"),
            '--system: found no run of "hrd", expected a system that ran; did you mean "hdr"?',
        ),
    ],
)
def test_a_mistake_is_one_sentence(say: Say, words: tuple[str, ...], sentence: str) -> None:
    code, out, err = say(*words)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1] == f"railyard: {sentence}"
