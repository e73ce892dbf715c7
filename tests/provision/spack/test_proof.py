"""What a build must have: every executable, linked to the stack's own MPI."""

import json
from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.provision.spack.build import ensure
from railyard.provision.spack.request import ready
from railyard.stacks import wording as stack_words
from tests.made.spack_site import MadeSite

COMMAND = "railyard spack install --system made --stack openmpi"
AGAIN = f"Spack treats it as installed: when you have fixed that, type {COMMAND} --again"


def refusal_of(site: MadeSite, stack: str = "openmpi", tools: tuple[str, ...] = ("osu", "imb")) -> str:
    with pytest.raises(SetupError) as error:
        ensure(site.request(stack, tools), lambda line: None)
    assert ready(site.request(stack, tools)) is None
    return str(error.value)


def prefix(site: MadeSite, package: str) -> Path:
    return next((site.home / ".railyard/spack/opt").glob(f"{package}-*"))


def test_another_mpi_than_the_stacks_is_linked(site: MadeSite) -> None:
    site.behave(linked="openmpi", linked_prefix="/usr", packages=["intel-mpi-benchmarks"])
    assert refusal_of(site, "mpich", ("imb",)) == (
        f"wrong MPI linked: {prefix(site, 'intel-mpi-benchmarks')}/bin/IMB-MPI1 is linked to libmpi.so.40 "
        "(/usr/lib/libmpi.so.40), expected libmpi.so.12 or libmpich.so.12; give each MPI library a prefix of its own "
        "in the overlay"
    )


def test_the_same_mpi_of_another_prefix_is_linked(site: MadeSite) -> None:
    site.behave(linked_prefix="/opt/other", packages=["intel-mpi-benchmarks"])
    assert refusal_of(site, tools=("imb",)) == (
        f"wrong MPI linked: {prefix(site, 'intel-mpi-benchmarks')}/bin/IMB-MPI1 is linked to "
        f"/opt/other/lib/libmpi.so.40, expected libmpi.so.40 of {site.home}/mpi/openmpi; give each MPI library a "
        "prefix of its own in the overlay"
    )


def test_the_environment_has_another_mpi(site: MadeSite) -> None:
    site.behave(mpi="mpich")
    sentence = refusal_of(site)
    assert sentence.startswith("spack_envs/openmpi: found mpich@5.0.2 /")
    assert sentence.endswith(" as the environment's MPI, expected openmpi: the benchmarks would measure another stack")


def test_npb_without_some_of_its_benchmarks(site: MadeSite) -> None:
    site.behave(packages=["npb"], leave_out=["cg", "ep", "ft", "mg"])
    place = prefix_after(site, "npb")
    assert refusal_of(site, tools=("npb",)) == (
        f"npb@3.4.3: its install succeeded, but cg.*, ep.*, ft.*, mg.* are not in {place}/bin; the build left them "
        f"out: see its log in {place}/.spack; {AGAIN}"
    )


def test_an_executable_is_missing(site: MadeSite) -> None:
    site.behave(leave_out=["IMB-MPI1"])
    place = prefix_after(site, "intel-mpi-benchmarks")
    assert refusal_of(site) == (
        f"intel-mpi-benchmarks@2021.7: its install succeeded, but IMB-MPI1 is not in {place}/bin; the build left it "
        f"out: see its log in {place}/.spack; {AGAIN}"
    )


def prefix_after(site: MadeSite, package: str) -> Path:
    with pytest.raises(SetupError):
        ensure(site.request(tools=("npb",) if package == "npb" else ("osu", "imb")), lambda line: None)
    lock = json.loads(next(site.request().place.glob("*/*/spack.lock")).read_text(encoding="utf-8"))
    node = next(each for each in lock["concrete_specs"].values() if each["name"] == package)
    return site.home / ".railyard/spack/opt" / f"{package}-{node['version']}-{node['hash']}"


def test_a_tool_that_the_environment_does_not_build(site: MadeSite) -> None:
    assert refusal_of(site, tools=("osu", "wrf")) == (
        "systems/made.yaml stacks.openmpi.spack.benchmarks: found wrf, but the environment has no package wrf; add it "
        "to spack_envs/openmpi/spack.yaml"
    )


def test_executables_that_show_no_library_prove_nothing(site: MadeSite) -> None:
    site.behave(static=True, packages=["intel-mpi-benchmarks"])
    assert refusal_of(site, tools=("imb",)) == (
        f"{prefix(site, 'intel-mpi-benchmarks')}: found no dynamic program among the executables of "
        "intel-mpi-benchmarks, expected some that are linked to libmpi.so.40: so nothing shows which MPI they would "
        "measure; build them shared"
    )


@pytest.fixture
def verbs(site: MadeSite) -> MadeSite:
    """The synthetic site with an environment without MPI."""
    site.write("spack_envs/verbs/spack.yaml", "spack:\n  include: [../common]\n  specs: [perftest]\n  view: false\n")
    external = '  rdma-core: {externals: [{spec: rdma-core@44.0, prefix: "{home}/rdma"}]}\n'
    site.edit("systems/spack/made.yaml", "packages:\n", f"packages:\n{external}")
    site.write("rdma/lib/libibverbs.so.1", "a library")
    site.behave(packages=["perftest"])
    return site


def test_a_stack_without_mpi_is_linked_to_its_own_libraries(verbs: MadeSite) -> None:
    found = ensure(verbs.request("verbs", ("perftest",)), lambda line: None)
    assert (found.mpi, found.mpi_prefix, found.contents) == ("", "", "perftest")
    assert found.tools == {"perftest": f"{prefix(verbs, 'perftest')}/bin"}
    assert len(found.executables) == 6
    assert {library.path for library in found.libraries} == {f"{verbs.home}/rdma/lib/libibverbs.so.1"}


def test_a_stack_without_mpi_that_is_linked_to_one(verbs: MadeSite) -> None:
    verbs.behave(packages=["perftest"], linked="openmpi")
    (verbs.home / "rdma/lib/libmpi.so.40").write_text("a library", encoding="utf-8")
    sentence = refusal_of(verbs, "verbs", ("perftest",))
    program, library = f"{prefix(verbs, 'perftest')}/bin/ib_read_bw", f"{verbs.home}/rdma/lib/libmpi.so.40"
    linked = stack_words.any_mpi(program, "libmpi.so.40", library)
    assert sentence == (
        f"wrong library linked: {linked}; check what its package depends on in spack_envs/ and in the overlay"
    )


def test_verbs_built_static_show_nothing(verbs: MadeSite) -> None:
    verbs.behave(packages=["perftest"], static=True)
    found = ensure(verbs.request("verbs", ("perftest",)), lambda line: None)
    assert found.libraries == ()
