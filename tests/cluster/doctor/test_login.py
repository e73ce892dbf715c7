"""Each rule of the login host, with a bad and a good case."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from railyard.cluster.doctor.login import Login, ask, findings, needed_programs
from railyard.job.clients import why_silent
from railyard.site.systems.model import System
from tests.made.systems import ETH_ANYWHERE

INSTALL = "install Railyard again (in a clone: make venv)"
WELL = Login(
    python=(3, 11),
    reframe="4.10.4",
    programs={name: f"/usr/bin/{name}" for name in ("sbatch", "scancel", "sacct", "srun")},
    paths={"/opt/ompi": True, "/opt/osu/mpi": True},
    file_clock_s=0.01,
)


def login_sentences(login: Login, system: System) -> list[tuple[str, str]]:
    return [(one.weight, one.sentence) for one in findings(login, system)]


def test_a_host_that_is_well_has_nothing(systems: dict[str, System]) -> None:
    assert login_sentences(WELL, systems["hdr"]) == []


def test_what_is_needed_goes_by_scheduler_and_launcher(systems: dict[str, System]) -> None:
    assert needed_programs(systems["hdr"]) == ("sbatch", "scancel", "sacct", "srun")
    assert needed_programs(systems["roce"]) == ("qsub", "qstat", "qdel")
    assert needed_programs(systems["eth"]) == ()


@pytest.mark.parametrize(
    ("change", "weight", "sentence"),
    [
        ({"python": (3, 9)}, "problem", f"login: this Python is 3.9; {INSTALL} with 3.10 or newer"),
        ({"reframe": None}, "problem", f"login: ReFrame cannot be imported; {INSTALL}"),
        (
            {"reframe": "4.10.1"},
            "problem",
            f"login: Railyard works with ReFrame 4.7 to 4.10, of 4.10 from 4.10.4; this is 4.10.1; {INSTALL}: the "
            "guards against silent passes depend on that version's behaviour",
        ),
        (
            {"state": "/site/.railyard cannot be written (Read-only file system)"},
            "problem",
            "login: /site/.railyard cannot be written (Read-only file system); results are kept there: get write "
            "permission, or move the site",
        ),
        (
            {"file_clock_s": -70.0},
            "problem",
            "login: the file system of the site dates files 70 s behind this host's clock; let chrony or ntpd set the "
            "clocks of both, file server and host",
        ),
        (
            {"programs": {"sbatch": "/usr/bin/sbatch", "scancel": None, "sacct": "/usr/bin/sacct"}},
            "problem",
            "login: scancel, srun are not on the search path, and the file says scheduler slurm, launcher srun; load "
            "the scheduler's module, run it on a host that has it, or correct the file",
        ),
        (
            {"paths": {"/opt/ompi": True, "/opt/osu/mpi": False}},
            "remark",
            "login: /opt/osu/mpi is not there; correct the system's file, unless only the nodes mount it",
        ),
        (
            {"silent": "scontrol: fatal: Could not establish a configuration source"},
            "problem",
            'login: Slurm does not answer: "scontrol: fatal: Could not establish a configuration source"; no job can '
            "be sent from here: find out whether its controller runs (scontrol ping) and whether this host has its "
            "configuration (slurm.conf, or sackd), or use a login host of the cluster",
        ),
        (
            {"shared": "the partition batch (OverSubscribe=NO) gives parts of nodes"},
            "problem",
            "hdr: the partition batch (OverSubscribe=NO) gives parts of nodes; write jobs: {exclusive: true}, or "
            "nodes: {exclusive: false} if they are to be shared",
        ),
        (
            {"switches": (("hdr", "n1 and n2 are at a and b by the file, and at LID 1 on mlx5_0 as measured"),)},
            "problem",
            "hdr, hdr: n1 and n2 are at a and b by the file, and at LID 1 on mlx5_0 as measured; correct "
            "leaf_switches, or the file that topology names, or measure again (railyard fabric --keep-hops): with "
            "wrong ones a good leaf switch may be named",
        ),
        (
            {"closed": (("batch", "Scheduling is stopped: new cables"),)},
            "problem",
            "hdr: queue batch: Scheduling is stopped: new cables; jobs would wait: have it started, or name another "
            "one",
        ),
        (
            {"unfit": (("vn3", "drained (bad cable)"),)},
            "problem",
            "vn3: the scheduler gives it to no job: drained (bad cable); runs leave it out until it is back",
        ),
    ],
)
def test_one_fault_is_one_sentence(
    systems: dict[str, System], change: dict[str, Any], weight: str, sentence: str
) -> None:
    assert login_sentences(replace(WELL, **change), systems["hdr"]) == [(weight, sentence)]


@pytest.mark.parametrize("version", ["4.10.4", "4.10.12", "4.7.4", "4.8.4", "4.9.3"])
def test_the_newest_patch_of_each_release_in_range_is_taken(systems: dict[str, System], version: str) -> None:
    assert login_sentences(replace(WELL, reframe=version), systems["hdr"]) == []


def test_a_replayed_system_needs_neither_scheduler_nor_stacks(systems: dict[str, System]) -> None:
    bare = replace(WELL, programs={}, paths={"/opt/ompi": False})
    assert login_sentences(bare, systems["hdr"].as_replay()) == []


def test_this_host_is_asked(tmp_path: Path) -> None:
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems" / "eth.yaml").write_text(ETH_ANYWHERE, encoding="utf-8")
    login, system = ask(tmp_path, "eth")
    assert system.system == "eth"
    assert (login.state, login.file_clock_s is not None) == (None, True)
    assert [path.name for path in (tmp_path / ".railyard").iterdir()] == []


SILENT = "slurm_load_partitions error: Unable to contact slurm controller (connect failure)"


@pytest.mark.parametrize(
    ("client", "silent"),
    [
        ("echo PartitionName=batch OverSubscribe=EXCLUSIVE", None),
        (f"echo slurm_load_partitions: reads >&2; echo '{SILENT}' >&2; exit 1", SILENT),
        ("exit 3", "scontrol ended with exit code 3"),
    ],
)
def test_slurm_is_asked_whether_it_answers(
    client: str, silent: str | None, systems: dict[str, System], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "systems").mkdir()
    (tmp_path / "scontrol").write_text(f"#!/bin/sh\n{client}\n", encoding="utf-8")
    (tmp_path / "scontrol").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert why_silent(systems["hdr"]) == silent
    assert why_silent(systems["roce"]) is None  # PBS
    (tmp_path / "scontrol").unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert why_silent(systems["hdr"]) is None
