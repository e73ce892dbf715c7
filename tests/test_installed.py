"""A stack's launcher, variables and benchmarks in one form, installed or built by Spack."""

import os
from pathlib import Path

import pytest

from railyard.errors import SetupError
from railyard.installed import installed, request_of
from railyard.launch import plan_launch
from railyard.provenance import provenance, spack_provenance
from railyard.site import Site
from railyard.spack.build import ensure
from railyard.systems import load_system
from tests.spack import madesite
from tests.spack.madesite import MadeSite


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MadeSite:
    site = madesite.make(tmp_path)
    monkeypatch.setenv("PATH", f"{site.bin}:{os.environ['PATH']}")
    return site


def site_of(made: MadeSite) -> Site:
    from railyard.references import references_of

    system = load_system(made.home / "systems/made.yaml")
    return Site(made.home, system, references_of(made.home / "references", system))


def test_what_a_site_has_installed(virtual: Site) -> None:
    found = installed(virtual, "intelmpi")
    prefix = f"{virtual.home}/.stacks/intelmpi"
    assert (found.launcher, found.prefix, found.built) == (f"{prefix}/bin/mpirun", prefix, None)
    assert found.tools == {"imb": f"{prefix}/bin/IMB-MPI1"}
    assert found.executable("imb") == f"{prefix}/bin/IMB-MPI1"


def test_what_spack_is_to_build_and_has_not(made: MadeSite) -> None:
    with pytest.raises(SetupError) as error:
        installed(site_of(made), "openmpi")
    assert str(error.value) == (
        "openmpi on made: found no build of its benchmarks, expected the one of its sources; type: railyard spack "
        "install --system made --stack openmpi"
    )


def test_what_spack_has_built(made: MadeSite) -> None:
    site = site_of(made)
    built = ensure(request_of(site, "openmpi"), lambda line: None)
    found = installed(site, "openmpi")
    assert (found.launcher, found.built) == (f"{made.home}/mpi/openmpi/bin/mpirun", built)
    assert found.executable("osu", "osu_bw") == f"{found.tools['osu']}/pt2pt/osu_bw"
    with pytest.raises(SetupError) as error:
        found.executable("osu", "osu_bww")
    assert str(error.value) == (f"{found.tools['osu']}: found no osu_bww below it, expected one executable of osu")


def test_a_run_is_told_by_plain_variables(made: MadeSite) -> None:
    site = site_of(made)
    ensure(request_of(site, "openmpi"), lambda line: None)
    (made.bin / "spack").unlink()
    launch = plan_launch(site, "hsn", "openmpi", ("lo",), ("n1", "n2"), ranks=2, ranks_per_node=1, as_root=False)
    assert (launch.prefix, launch.env["PATH"]) == (f"{made.home}/mpi/openmpi", f"{made.home}/mpi/openmpi/bin:$PATH")
    assert [name for name in launch.env if "SPACK" in name] == []


def test_every_record_says_what_was_built(made: MadeSite) -> None:
    site = site_of(made)
    built = ensure(request_of(site, "openmpi"), lambda line: None)
    found = spack_provenance(built)
    assert provenance(site, "openmpi")["spack"] == found
    assert (found["key"], found["spack"], found["target"]) == (built.key, "1.2.0.dev0 (made)", "x86_64_v3")
    assert len(str(found["lock_sha256"])) == 64
    assert found["mpi"] == f"openmpi@4.1.4 in {made.home}/mpi/openmpi"
    assert found["libraries"] == [f"{made.home}/mpi/openmpi/lib/libmpi.so.40.1.2"]
    specs = found["specs"]
    assert isinstance(specs, list)
    assert [spec.split(" /")[0] for spec in specs] == [
        "openmpi@4.1.4",
        "gcc@12.2.0",
        "osu-micro-benchmarks@7.4 %gcc@12.2.0",
        "intel-mpi-benchmarks@2021.7 %gcc@12.2.0",
    ]


def test_a_request_of_a_stack_that_spack_does_not_build(virtual: Site) -> None:
    with pytest.raises(SetupError) as error:
        request_of(virtual, "intelmpi")
    assert str(error.value) == (
        "systems/virtual.yaml stacks.intelmpi: found no spack, expected what Spack is to build for it"
    )
