"""A stack in an image: what is known of it outside, on a login host, and who starts nothing in it."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from railyard.base.errors import SetupError, take_remarks
from railyard.cluster.doctor.login import ask as ask_login
from railyard.provision import installed_stack
from railyard.provision.installed_stack import changed_files, find_on_nodes, find_stack
from railyard.provision.spack.bootstrap import Getting
from railyard.rfm.run.requirements import ask
from railyard.site.references.load import References
from railyard.site.site import Site
from railyard.site.systems.load import load_system
from railyard.site.test_id import of_name
from tests.made import spack_site

SYSTEM = """\
system: made
description: a stack in an image, made for this test
scheduler: SCHEDULER
launcher: mpirun
nodes: {count: 2}
report_only: made for this test
fabrics:
  ib: {description: two cards, kind: ib, link: ib-edr, rails: [{device: mlx5_0, port: 1, counters: mlx5}]}
stacks:
  openmpi:
    container: {kind: apptainer, image: "{home}/mpi.sif", host_prefix: mpi}
    prefix: /opt/mpi
    benchmarks: {osu: /opt/osu, imb: /opt/imb/IMB-MPI1, pairs: /opt/pairs}
"""


def made_site(folder: Path, scheduler: str = "slurm") -> Site:
    (folder / "systems").mkdir()
    file = folder / "systems/made.yaml"
    file.write_text(SYSTEM.replace("SCHEDULER", scheduler), encoding="utf-8")
    system = load_system(file)
    return Site(folder, system, References(system))


def test_programs_of_an_image_are_links_that_the_job_makes(tmp_path: Path) -> None:
    found = find_stack(made_site(tmp_path), "openmpi")
    assert found.executable("osu", "osu_bw", "osu_old") == "./programs/osu_bw"
    assert found.executable("imb") == "./programs/IMB-MPI1"
    assert (found.launcher, found.prefix) == (f"{tmp_path}/mpi/bin/mpirun", "/opt/mpi")


def test_a_header_of_this_host_says_nothing_about_an_image(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include/mpi.h").write_text("#define MPI_VERSION 5\n#define MPI_SUBVERSION 0\n", encoding="utf-8")
    found = replace(find_stack(made_site(tmp_path), "openmpi"), prefix=str(tmp_path))
    assert found.mpi_standard is None
    assert replace(found, inside=None).mpi_standard == "5.0"


def test_a_changed_image_is_said_once(tmp_path: Path) -> None:
    site = made_site(tmp_path)
    assert changed_files(site, "openmpi") == ()
    (tmp_path / "mpi.sif").write_text("one")
    first = changed_files(site, "openmpi")
    (tmp_path / "mpi.sif").write_text("another")
    os.utime(tmp_path / "mpi.sif", (1, 1))
    installed_stack._changed_files.cache_clear()
    assert (first, changed_files(site, "openmpi")) == (
        (),
        (f"{tmp_path}/mpi.sif has changed since the last run with it (3 bytes then, 7 now)",),
    )


def unfit_stacks(site: Site) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Return the stacks that no test of a run can use, and the remarks."""
    take_remarks()
    unfit = ask(site, (of_name("First", "0a1b2c3d", "made", "ib", "openmpi"),), lambda said: None, Getting())
    return unfit, take_remarks()


def test_a_login_host_without_the_image_is_a_remark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sbatch", "scancel", "sacct"):
        spack_site.program(tmp_path / "bin" / name, "exit 0")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin")
    site = made_site(tmp_path)
    said = f"{tmp_path}/mpi.sif: this host has no such image of openmpi; each node of a run must have it"
    assert unfit_stacks(site) == ({}, (said,))
    (tmp_path / "mpi.sif").touch()
    assert unfit_stacks(site) == ({}, ())


def test_where_no_scheduler_gives_nodes_the_image_must_be_here(tmp_path: Path) -> None:
    (tmp_path / "checks").mkdir()
    with pytest.raises(SetupError) as raised:
        unfit_stacks(made_site(tmp_path, "local"))
    assert str(raised.value) == (
        f"{tmp_path}/mpi.sif: found no image there, expected that of openmpi; copy it there, or fix its container"
    )


def test_doctor_looks_for_the_image_and_for_no_path_inside(tmp_path: Path) -> None:
    made_site(tmp_path)
    (tmp_path / "references").mkdir()
    login, _ = ask_login(tmp_path, "made")
    assert login.paths == {f"{tmp_path}/mpi.sif": False}


def test_a_command_that_starts_nothing_in_images_says_so(tmp_path: Path) -> None:
    with pytest.raises(SetupError) as raised:
        find_on_nodes(made_site(tmp_path), "openmpi")
    assert str(raised.value) == (
        f"systems/made.yaml stacks.openmpi.container: found Apptainer {tmp_path}/mpi.sif, expected a stack on the "
        "nodes themselves: this command starts no programs in images; name another stack"
    )
