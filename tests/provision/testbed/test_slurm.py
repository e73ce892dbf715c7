"""Slurm on a testbed comes up completely, reports the state of its nodes, and leaves nothing, whatever ends it."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.cli.main import main
from railyard.parsers import slurm_topology
from railyard.provision.testbed import scheduler, slurm
from railyard.provision.testbed.boot import SEARCH_PATH, find_inside, outermost_processes
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.scheduler import BedScheduler
from railyard.provision.testbed.slurm import SLURM
from tests.made.slurm_ends import kill_node
from tests.patience import wait_for


@pytest.fixture(scope="module")
def with_slurm(namespaces: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    refused = SLURM.find_refusal()
    if refused is not None:
        pytest.skip(refused)
    with Testbed(tmp_path_factory.mktemp("home")) as bed:
        slurm.start(bed)
        yield bed


def no_file(name: str, place: slurm_topology.Place) -> tuple[str, str]:
    raise place.error(f"an Include of {name}", "the lines themselves")


def client(bed: Testbed, name: str, *words: str) -> str:
    """Return what a client of Slurm prints, called from the host as a person does."""
    done = bed.exec("vn1", [str(bed.folder / "slurm/bin" / name), *words], env=environment(bed), timeout_s=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def environment(bed: Testbed) -> dict[str, str]:
    return {"PATH": SEARCH_PATH, "SLURM_CONF": str(bed.folder / "slurm/slurm.conf")}


def test_every_node_is_idle_and_a_second_start_does_nothing(with_slurm: Testbed) -> None:
    states = {node.name: node.state for node in slurm.node_states(with_slurm)}
    assert states == {"vn1": "IDLE", "vn2": "IDLE", "vn3": "IDLE", "vn4": "IDLE"}
    assert slurm.start(with_slurm) is False


def test_a_job_runs_on_all_nodes_by_name(with_slurm: Testbed) -> None:
    done = with_slurm.exec(
        "vn1", ["srun", "-N4", "-n4", "hostname"], env=environment(with_slurm), cwd=Path("/"), timeout_s=60
    )
    assert sorted(done.stdout.split()) == ["vn1", "vn2", "vn3", "vn4"], done.stderr


def test_the_leaves_are_slurms_topology(with_slurm: Testbed) -> None:
    shown = client(with_slurm, "scontrol", "show", "topology")
    found = slurm_topology.parse(shown, "topology", no_file)
    assert {leaf.name: leaf.nodes for leaf in found.leaves} == {"leaf0": ("vn1", "vn2"), "leaf1": ("vn3", "vn4")}


def test_status_shows_what_slurm_says_of_the_nodes(
    with_slurm: Testbed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = with_slurm.folder.parent.parent
    (home / "systems").mkdir(exist_ok=True)
    monkeypatch.setenv("RAILYARD_HOME", str(home))
    client(with_slurm, "scontrol", "update", "NodeName=vn4", "State=DRAIN", "Reason=new cable")
    assert main(["testbed", "status"]) == 0
    assert capsys.readouterr().out.splitlines()[-4:] == [
        "Slurm: vn1 is idle",
        "Slurm: vn2 is idle",
        "Slurm: vn3 is idle",
        "Slurm: vn4 is drained (new cable)",
    ]
    client(with_slurm, "scontrol", "update", "NodeName=vn4", "State=RESUME")


def test_a_node_that_died_is_brought_back(with_slurm: Testbed) -> None:
    assert kill_node(with_slurm, "vn3") > 0
    assert not SLURM.is_up(with_slurm)
    assert slurm.start(with_slurm) is True
    assert all(node.is_ready for node in slurm.node_states(with_slurm))


def test_its_end_leaves_the_testbed_and_nothing_else(with_slurm: Testbed, tmp_path: Path) -> None:
    client(with_slurm, "sbatch", f"--output={tmp_path}/out", f"--chdir={tmp_path}", "--wrap", "touch began; sleep 600")
    wait_for((tmp_path / "began").exists, "the job")
    assert SLURM.stop(with_slurm) is True
    state = with_slurm.state()
    # Marked are the first process and its child, which reads as long as we live.
    held = {state.first, *outermost_processes(with_slurm.folder), *(node.holder for node in state.nodes)}
    assert set(find_inside(state.first).values()) - held == set()
    assert not (with_slurm.folder / "slurm").exists()
    assert SLURM.stop(with_slurm) is False
    slurm.start(with_slurm)


def test_kill_9_leaves_no_daemon(with_slurm: Testbed, tmp_path: Path) -> None:
    """All of Slurm is in the testbed's pid namespace: when that ends, the kernel ends Slurm."""
    bed = Testbed(tmp_path)
    bed.bring_up()
    slurm.start(bed)
    found = list(SLURM.daemons_in(bed.state()))
    assert len(found) >= 9  # munged and slurmd four times, slurmctld once (and its own helper)
    os.kill(bed.state().first.pid, signal.SIGKILL)
    wait_for(lambda: not any(one.is_alive() for one in found), "the end of its daemons")
    bed.take_down()
    assert not (bed.folder / "slurm").exists()


def test_what_is_missing_comes_with_its_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(scheduler, "SEARCH_PATH", str(tmp_path))
    assert SLURM.find_refusal() == (
        "testbed: munged, slurmctld, slurmd, srun, sbatch, salloc, squeue, scancel, scontrol and sinfo are not "
        "installed: apt-get install munge slurm-wlm (Debian's names)"
    )


def test_an_ordinary_user_is_told_why_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for program in SLURM.programs:
        (tmp_path / program).write_text("#!/bin/sh\n", encoding="ascii")
        (tmp_path / program).chmod(0o755)
    monkeypatch.setattr(scheduler, "SEARCH_PATH", str(tmp_path))
    monkeypatch.setattr(scheduler, "needs_user_namespace", lambda: True)
    assert SLURM.find_refusal() == (
        "testbed: Slurm needs root: it sets the groups of each task, which an ordinary user may not do"
    )


def test_a_path_with_a_blank_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(BedScheduler, "find_refusal", lambda self: None)
    bed = Testbed(tmp_path / "a clone")
    with pytest.raises(SetupError) as caught:
        slurm.start(bed)
    assert str(caught.value) == (
        f"testbed: found a blank in {bed.folder}, expected none: Slurm's files cannot have such a path"
    )
