"""A rehearsal while it is up: the variables lead there, and everything goes down, whatever happens."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.base.paths import REHEARSAL_VARIABLE
from railyard.provision.rehearsal import prepare
from railyard.provision.rehearsal.form import Rehearsal
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.lifecycle import OWNER_FILE, sign
from railyard.provision.testbed.lock import HELD_VARIABLE, lock_file
from railyard.provision.testbed.scripts import REHEARSAL, bed_folder
from railyard.site.systems.load import load_system
from railyard.site.systems.model import System

SITE = Path(__file__).parents[2] / "sites/rehearsed"


@pytest.fixture
def system() -> System:
    return load_system(SITE / "systems/ndr.yaml")


@pytest.fixture
def rehearsal(tmp_path: Path) -> Rehearsal:
    return Rehearsal("ndr", str(tmp_path), str(tmp_path / "plan"), ("n1", "n9"))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What was asked of a bed that does nothing."""
    made: list[str] = []
    monkeypatch.setattr(
        prepare, "bring_up", lambda rehearsal, system, keep: made.append("up, to stay" if keep else "up")
    )
    monkeypatch.setattr(prepare, "end_nodes", lambda home: made.append("down"))
    monkeypatch.setattr(
        prepare, "client_variables", lambda home, scheduler: {"PATH": "/slurm/bin:$PATH", "SLURM_CONF": "/slurm/conf"}
    )
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.delenv("SLURM_CONF", raising=False)
    yield made


def test_the_variables_lead_there_and_are_gone_behind_it(
    rehearsal: Rehearsal, system: System, calls: list[str]
) -> None:
    with prepare.standing(rehearsal, system, keep=False, echo=print):
        assert calls == ["up"]
        assert (os.environ["PATH"], os.environ["SLURM_CONF"]) == ("/slurm/bin:/usr/bin", "/slurm/conf")
        assert os.environ[REHEARSAL_VARIABLE] == rehearsal.folder
    assert calls == ["up", "down"]
    assert os.environ["PATH"] == "/usr/bin"
    assert "SLURM_CONF" not in os.environ and REHEARSAL_VARIABLE not in os.environ


def test_it_goes_down_behind_an_error_and_an_interrupt(rehearsal: Rehearsal, system: System, calls: list[str]) -> None:
    for error in (SetupError("no"), KeyboardInterrupt()):
        with pytest.raises(type(error)), prepare.standing(rehearsal, system, keep=False, echo=print):
            raise error
    assert calls == ["up", "down"] * 2


def test_kept_nodes_stay_up_and_it_is_said_how_they_end(rehearsal: Rehearsal, system: System, calls: list[str]) -> None:
    said: list[str] = []
    with prepare.standing(rehearsal, system, keep=True, echo=said.append):
        pass
    assert calls == ["up, to stay"]
    assert said[0].startswith("the nodes are left up; enter one: ") and said[0].endswith("/enter n1 -- sh")
    assert said[1] == "take them down: railyard rehearse --down"


def test_what_did_not_come_up_is_not_taken_down(
    rehearsal: Rehearsal, system: System, calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(rehearsal: Rehearsal, system: System, keep: bool) -> None:
        raise SetupError("another one is up")

    monkeypatch.setattr(prepare, "bring_up", refuse)
    with pytest.raises(SetupError), prepare.standing(rehearsal, system, keep=False, echo=print):
        pass
    assert calls == []


def test_a_terminated_rehearsal_ends_as_an_interrupted_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HELD_VARIABLE, str(lock_file()))
    with pytest.raises(KeyboardInterrupt), prepare.turn(tmp_path, print):
        signal.raise_signal(signal.SIGTERM)


def test_another_rehearsal_of_the_folder_is_refused_before_its_files_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HELD_VARIABLE, str(lock_file()))
    monkeypatch.setattr(Testbed, "is_up", lambda bed: True)
    note = bed_folder(tmp_path, REHEARSAL) / OWNER_FILE
    note.parent.mkdir(parents=True)
    sign(note)
    entered = []
    with pytest.raises(SetupError, match="another one of this site folder is up"), prepare.turn(tmp_path, print):
        entered.append("its files are made again")
    assert entered == []
    note.write_text("1 999\n", encoding="ascii")  # one that was kept, or whose process was killed
    with prepare.turn(tmp_path, print):
        pass


def test_only_what_was_kept_is_taken_down(tmp_path: Path, calls: list[str]) -> None:
    folder = bed_folder(tmp_path, REHEARSAL)
    folder.mkdir(parents=True)
    sign(folder / OWNER_FILE)
    with pytest.raises(SetupError, match="--down: found a rehearsal of this site folder that runs"):
        prepare.take_down(tmp_path)
    assert calls == []
    (folder / OWNER_FILE).write_text("1 999\n", encoding="ascii")
    prepare.take_down(tmp_path)
    assert calls == ["down"]
