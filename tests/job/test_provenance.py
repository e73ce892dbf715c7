"""What a result depends on, by name."""

import platform
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from railyard import __version__
from railyard.job.provenance import provenance
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
