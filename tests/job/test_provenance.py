"""What a result depends on, by name, and what else belongs in its record: read if it is there, else empty."""

import platform
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from importlib.metadata import version
from pathlib import Path

import pytest

from railyard import __version__
from railyard.job import node_facts
from railyard.job.provenance import circumstances, provenance
from railyard.results.record.form import NodeGroup
from railyard.site.site import Site


def with_mpirun(site: Site, home: Path, script: str | None) -> Site:
    """Return the site with the program of its mpich replaced by this script."""
    program = home / ".stacks" / "mpich" / "bin" / "mpirun"
    program.parent.mkdir(parents=True)
    if script is not None:
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
    return replace(site, home=home)


def test_versions_by_name_and_nothing_of_the_environment(
    virtual: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hush")
    site = with_mpirun(virtual, tmp_path, "echo HYDRA build details:; echo '    Version:  5.0.2'")
    assert provenance(site, "mpich") == {
        "railyard": __version__,
        "reframe": version("reframe-hpc"),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "mpi": "Version:  5.0.2",
    }


@pytest.mark.parametrize("script", [None, "exit 1", "echo no digits here"])
def test_an_mpi_that_does_not_say_its_version_is_left_out(virtual: Site, tmp_path: Path, script: str | None) -> None:
    assert "mpi" not in provenance(with_mpirun(virtual, tmp_path, script), "mpich")


def test_a_stack_of_modules_is_named_by_them(virtual: Site) -> None:
    entry = virtual.system.stacks["mpich"].model_copy(update={"prefix": None, "modules": ("gcc/13", "mpich/5.0.2")})
    system = virtual.system.model_copy(update={"stacks": {"mpich": entry}})
    assert provenance(replace(virtual, system=system), "mpich")["mpi"] == "gcc/13, mpich/5.0.2"


LDD = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibmpi.so.12 => /opt/lib/libmpi.so.12 (0x00007f1)\n\tlibx.so => not found\n"


def test_all_that_there_is() -> None:
    texts = [f"railyard-node 1 t\nnode {node}\nfact smt on\nend\n" for node in ("vn1", "vn2")]
    facts = [found for text in texts if (found := node_facts.parse(text, "t")) is not None]
    east = timezone(timedelta(hours=2))
    assert circumstances(
        facts,
        linked=LDD,
        variables={"UCX_TLS": "tcp", "HOME": "/home/alice"},
        scheduler="slurm",
        job_id=4711,
        started=datetime(2026, 11, 21, 8, 0, 6, tzinfo=east),
    ) == {
        "started": "2026-11-21T06:00:06Z",
        "scheduler": "slurm",
        "job_id": "4711",
        "linked": ("libmpi.so.12 => /opt/lib/libmpi.so.12", "libx.so => not found"),
        "variables": {"UCX_TLS": "tcp"},
        "hardware": (NodeGroup(("vn1", "vn2"), {"smt": "on"}, {}),),
    }


def test_nothing_is_no_error() -> None:
    started = datetime(2026, 11, 21, 8, 0, 6, tzinfo=timezone.utc)
    assert circumstances((), linked=None, variables={}, scheduler=None, job_id=None, started=started) == {
        "started": "2026-11-21T08:00:06Z",
        "scheduler": None,
        "job_id": None,
        "linked": (),
        "variables": {},
        "hardware": (),
    }
