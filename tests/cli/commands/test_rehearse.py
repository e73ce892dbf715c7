"""`railyard rehearse`: its first and last lines, its exit code, and what it refuses before anything is brought up."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from railyard.base.errors import RailyardError
from railyard.base.paths import REHEARSAL_VARIABLE
from railyard.cli.main import main
from railyard.provision.rehearsal import nodes, prepare
from railyard.provision.rehearsal.form import GRAMMAR
from railyard.provision.testbed.lock import HELD_VARIABLE, lock_file
from railyard.results.record.form import Record, Suspect, VerdictRecord
from railyard.rfm.run import session
from railyard.rfm.run.reframe import Outcome
from tests.made.records import made_record

SITE = Path(__file__).parents[2] / "sites/rehearsed"
FAULT = "rail=n9:mlx5_1,share=0.5"


@pytest.fixture
def stub_rehearsal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Return a function that sets what a run would leave; it returns a dictionary that gets what was asked for."""
    for name in ("systems", "references"):
        shutil.copytree(SITE / name, tmp_path / name)
    monkeypatch.setenv("RAILYARD_HOME", str(tmp_path))
    monkeypatch.setenv(HELD_VARIABLE, str(lock_file()))
    monkeypatch.setattr(nodes, "memory_available_mib", lambda: 4000)
    monkeypatch.setattr(prepare, "write", lambda folder, system: {"openmpi": {"osu": "/stand/osu"}})

    def leaving(*records: Record) -> dict[str, Any]:
        asked: dict[str, Any] = {"bed": []}
        monkeypatch.setattr(prepare, "bring_up", lambda rehearsal, system, **more: asked["bed"].append("up"))
        monkeypatch.setattr(prepare, "end_nodes", lambda home: bool(asked["bed"].append("down")))
        monkeypatch.setattr(prepare, "client_variables", lambda home, scheduler: {})

        def run(self: session.Session) -> Outcome:
            asked.update(options=self.options, variable=os.environ.get(REHEARSAL_VARIABLE))
            return Outcome("r1", tmp_path, records, (), False)

        monkeypatch.setattr(session.Session, "run", run)
        return asked

    return leaving


def test_a_fault_that_is_named_is_said_and_the_exit_code_is_of_the_run(
    stub_rehearsal: Callable[..., dict[str, Any]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    suspect = Suspect("rail", "it moved half", "n9", "mlx5_1:1")
    asked = stub_rehearsal(made_record(state="fail", verdict=VerdictRecord("too slow", 5, suspects=(suspect,))))
    assert main(["rehearse", "--system", "ndr", "--fault", FAULT, "--nodes", "4", "-n", "OsuBandwidth"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("A rehearsal of ndr: 4 nodes (n1, n")
    assert said[0].endswith(f"; planted: {FAULT}; nothing is measured")
    assert "left out: modules: openmpi/5.0.5 is not loaded" in said
    assert said[-2:] == [f"planted {FAULT}: named by 1 of 1 failed test", "blamed: rail mlx5_1:1 of n9 (1 test)"]
    assert asked["bed"] == ["up", "down"]
    assert (asked["options"].system, asked["options"].reframe) == ("ndr", ("-n", "OsuBandwidth"))
    assert asked["variable"] == str(tmp_path / ".railyard/rehearsal")


def test_a_healthy_rehearsal_exits_0(
    stub_rehearsal: Callable[..., dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    stub_rehearsal(made_record())
    assert main(["rehearse", "--system", "ndr:ndr"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "nothing was planted: no test failed"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "--system: found none, expected the system to rehearse; type: railyard rehearse --system NAME"),
        (["--system", "nrd"], '--system: found "nrd", expected a file in systems/; did you mean "ndr"?'),
        (["--system", "ndr:hdr"], '--system: found fabric "hdr", expected one of ndr; did you mean "ndr"?'),
        (["--system", "ndr", "-p", "opnmpi"], '-p: found "opnmpi", expected a stack of ndr; did you mean "openmpi"?'),
        (["--system", "ndr", "-P", "rails=7"], "-P rails=7: found 7 rails, expected 1 or 2"),
        (["--system", "ndr", "--fault", "node=n99,dies"], '--fault node=n99,dies: found no node "n99"'),
        (["--system", "ndr", "-l"], "found an option that runs nothing (-l), expected options that choose tests"),
        (["--system", "ndr", "--failed"], "--failed: found it in a rehearsal, expected tests by name"),
        (
            ["--system", "ndr", "--recording", "recordings/ndr"],
            "recordings/ndr/index.json: found no such file, expected the index of the recordings",
        ),
    ],
)
def test_what_is_wrong_is_refused_before_anything_stands(
    stub_rehearsal: Callable[..., dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    sentence: str,
) -> None:
    asked = stub_rehearsal()
    assert main(["rehearse", *words]) == 2
    assert sentence in capsys.readouterr().err
    assert asked["bed"] == []


def test_a_run_that_cannot_begin_leaves_nothing_up(
    stub_rehearsal: Callable[..., dict[str, Any]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = stub_rehearsal()

    def refuse(self: session.Session) -> Outcome:
        raise RailyardError("nothing was selected")

    monkeypatch.setattr(session.Session, "run", refuse)
    assert main(["rehearse", "--system", "ndr", "-n", "NoSuch"]) == 2
    assert asked["bed"] == ["up", "down"]


@pytest.mark.parametrize(("was_up", "said"), [(True, "the rehearsal is down\n"), (False, "no rehearsal was up\n")])
def test_down_takes_down_what_was_kept(
    stub_rehearsal: Callable[..., dict[str, Any]],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    was_up: bool,
    said: str,
) -> None:
    stub_rehearsal()
    monkeypatch.setattr(prepare, "end_nodes", lambda home: was_up)
    assert main(["rehearse", "--down"]) == 0
    assert capsys.readouterr().out == said


def test_the_help_shows_every_form_of_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rehearse", "--help"]) == 0
    shown = capsys.readouterr().out
    assert [form for form in GRAMMAR if f"  {form} " not in shown] == []
