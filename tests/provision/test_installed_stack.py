"""A stack's launcher, variables and benchmarks in one form, installed by the site or built by Spack."""

import os
from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.job.mpi_identity import IntendedMpi
from railyard.job.provenance import provenance, spack_provenance
from railyard.provision.installed_stack import InstalledStack, find_stack
from railyard.provision.spack.build import ensure
from railyard.provision.spack.request import request_of
from railyard.site.site import Site
from railyard.site.systems.load import load_system
from tests.made import spack_site
from tests.made.judged_run import launch_of
from tests.made.spack_site import MadeSite


@pytest.fixture
def made_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MadeSite:
    site = spack_site.make(tmp_path)
    monkeypatch.setenv("PATH", f"{site.bin}:{os.environ['PATH']}")
    return site


def site_of(made: MadeSite) -> Site:
    from railyard.site.references.load import references_of

    system = load_system(made.home / "systems/made.yaml")
    return Site(made.home, system, references_of(made.home / "references", system))


def test_what_a_site_has_installed(virtual: Site) -> None:
    found = find_stack(virtual, "intelmpi")
    prefix = f"{virtual.home}/.stacks/intelmpi"
    assert (found.launcher, found.prefix, found.built) == (f"{prefix}/bin/mpirun", prefix, None)
    assert found.tools["imb"] == f"{prefix}/bin/IMB-MPI1"
    assert found.executable("imb") == f"{prefix}/bin/IMB-MPI1"


def test_one_program_of_a_tool_may_be_named_itself(tmp_path: Path) -> None:
    program = tmp_path / "su3_rmd"
    program.touch()
    found = InstalledStack("mpirun", None, {}, {"milc": str(program)})
    assert found.executable("milc", "su3_rmd") == str(program)
    with pytest.raises(SetupError) as error:
        found.executable("milc", "su3_rhmc")
    assert str(error.value) == f"{program}: found no su3_rhmc below it, expected one executable of milc"


def test_a_folder_is_no_tool_of_one_program(tmp_path: Path) -> None:
    there = InstalledStack("mpirun", None, {}, {"imb": str(tmp_path)})
    with pytest.raises(SetupError) as error:
        there.executable("imb")
    assert str(error.value) == f"{tmp_path}: found a folder, expected the executable of imb: name that"


def test_what_spack_is_to_build_and_has_not(made_site: MadeSite) -> None:
    with pytest.raises(SetupError) as error:
        find_stack(site_of(made_site), "openmpi")
    assert str(error.value) == (
        "openmpi on made: found no build of its benchmarks, expected the one of its sources; type: railyard spack "
        "install --system made --stack openmpi"
    )


def test_what_spack_has_built(made_site: MadeSite) -> None:
    site = site_of(made_site)
    built = ensure(request_of(site, "openmpi"), lambda line: None)
    found = find_stack(site, "openmpi")
    assert (found.launcher, found.built) == (f"{made_site.home}/mpi/openmpi/bin/mpirun", built)
    assert found.executable("osu", "osu_bw") == f"{found.tools['osu']}/pt2pt/osu_bw"
    with pytest.raises(SetupError) as error:
        found.executable("osu", "osu_bww")
    assert str(error.value) == (f"{found.tools['osu']}: found no osu_bww below it, expected one executable of osu")


def test_a_run_is_told_by_plain_variables(made_site: MadeSite) -> None:
    site = site_of(made_site)
    ensure(request_of(site, "openmpi"), lambda line: None)
    (made_site.bin / "spack").unlink()
    launch = launch_of(site, "openmpi", ("lo",), nodes=("n1", "n2"))
    assert (launch.prefix, launch.env["PATH"]) == (
        f"{made_site.home}/mpi/openmpi",
        f"{made_site.home}/mpi/openmpi/bin:$PATH",
    )
    assert [name for name in launch.env if "SPACK" in name] == []
    assert [(each.name, each.origin) for each in launch.lock.packages] == [("openmpi", "external")]
    assert not launch.lock.is_whole  # the MPI's own dependencies are in no lock


def test_a_run_is_given_the_prefixes_that_the_lock_names(made_site: MadeSite, tmp_path: Path) -> None:
    trees = made_site.has_tree(
        tmp_path / "up", {"openmpi": ("5.0.10", "libmpi.so.40"), "ucx": ("1.20.1", "libucp.so.0")}
    )
    made_site.behave(trees=trees)
    site = site_of(made_site)
    built = ensure(request_of(site, "openmpi"), lambda line: None)
    launch = launch_of(site, "openmpi", ("lo",), nodes=("n1", "n2"))
    assert launch.lock.is_whole
    assert [(each.name, each.origin) for each in launch.lock.packages] == [
        ("openmpi", f"of the upstream {tmp_path}/up"), ("ucx", f"of the upstream {tmp_path}/up"),
    ]  # fmt: skip
    assert launch.prefix == built.mpi_prefix == launch.lock.packages[0].prefix


def test_every_record_says_what_was_built(made_site: MadeSite) -> None:
    site = site_of(made_site)
    built = ensure(request_of(site, "openmpi"), lambda line: None)
    found = spack_provenance(built)
    assert provenance(site, "openmpi")["spack"] == found
    assert (found["key"], found["spack"], found["target"]) == (built.key, "1.2.0.dev0 (made)", "x86_64_v3")
    assert len(str(found["lock_sha256"])) == 64
    assert found["mpi"] == f"openmpi@4.1.4 in {made_site.home}/mpi/openmpi"
    assert found["libraries"] == [f"{made_site.home}/mpi/openmpi/lib/libmpi.so.40.1.2"]
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


HEADERS = [
    ("#define MPI_VERSION 3\n#define MPI_SUBVERSION 1\n", "3.1"),
    ("#ifndef BUILD_MPI_ABI\n#define MPI_VERSION    5\n#define MPI_SUBVERSION 0\n#endif\n", "5.0"),
    ("#  define MPI_VERSION (4)\r\n#  define MPI_SUBVERSION (1)\r\n", "4.1"),
    ("#define MPI_VERSION 3\n", None),
    ("#define MPI_VERSION MAJOR\n#define MPI_SUBVERSION MINOR\n", None),
    (None, None),
]


@pytest.mark.parametrize(("text", "standard"), HEADERS)
def test_the_standard_stands_in_the_header(tmp_path: Path, text: str | None, standard: str | None) -> None:
    if text is not None:
        (tmp_path / "include").mkdir()
        (tmp_path / "include/mpi.h").write_bytes(text.encode())
    assert InstalledStack("mpirun", str(tmp_path), {}, {}).mpi_standard == standard
    assert InstalledStack("mpirun", None, {}, {}).mpi_standard is None


def test_a_run_is_told_which_mpi_it_is_meant_to_be(made_site: MadeSite) -> None:
    made_site.write("mpi/openmpi/include/mpi.h", "#define MPI_VERSION 3\n#define MPI_SUBVERSION 1\n")
    site = site_of(made_site)
    ensure(request_of(site, "openmpi"), lambda line: None)
    launch = launch_of(site, "openmpi", ("lo",), nodes=("n1", "n2"))
    assert launch.mpi == IntendedMpi("openmpi", "4.1.4", "3.1", f"{made_site.home}/mpi/openmpi")


def test_of_installed_software_no_version_is_known(virtual: Site) -> None:
    assert (find_stack(virtual, "intelmpi").mpi_version, find_stack(virtual, "intelmpi").mpi_standard) == (None, None)


@pytest.mark.parametrize("has_overlay", [False, True])
def test_a_system_like_another_has_its_builds_unless_it_has_an_overlay(made_site: MadeSite, has_overlay: bool) -> None:
    text = "system: twin\nlike: made\ndescription: the same nodes\nscheduler: slurm-nodb\nlauncher: srun\n"
    (made_site.home / "systems/twin.yaml").write_text(text, encoding="utf-8")
    if has_overlay:
        (made_site.home / "systems/spack/twin.yaml").write_text("packages: {}\n", encoding="utf-8")
    site = Site(made_site.home, load_system(made_site.home / "systems/twin.yaml"), site_of(made_site).references)
    expected = "twin" if has_overlay else "made"
    assert {request_of(site, stack).system for stack in site.system.stacks} == {expected}


def test_a_class_that_was_not_built_is_named_with_what_to_do(tmp_path: Path) -> None:
    """Without npb_classes a large system gets class E, which may not be built. Nothing runs another class instead."""
    (tmp_path / "bt.D.x").touch()
    with pytest.raises(SetupError) as error:
        InstalledStack("mpirun", None, {}, {"npb": str(tmp_path)}).executable("npb", "bt.E.x")
    assert str(error.value) == (
        f"{tmp_path}: found no bt.E.x below it, expected one executable of npb; build it, or name the classes that are "
        "built (npb_classes in the system's file)"
    )


@pytest.mark.parametrize(
    ("there", "found"),
    [
        (("sp-mz.C.x", "sp-mz.C.16"), "bin/sp-mz.C.x"),
        (("sp-mz.C.16", "sp-mz.C.4"), "bin/sp-mz.C.16"),
        (
            ("sp-mz.C.4",),
            "found no sp-mz.C.x or sp-mz.C.16 below it, expected one executable of npb-mz; build it, or name the "
            "classes that are built (npb_classes in the system's file)",
        ),
        (("a/sp-mz.C.x", "sp-mz.C.x", "sp-mz.C.16"), "found 2 sp-mz.C.x below it, expected one executable of npb-mz"),
    ],
)
def test_an_executable_may_have_another_name_in_another_release(
    tmp_path: Path, there: tuple[str, ...], found: str
) -> None:
    for name in there:
        (tmp_path / "bin" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "bin" / name).touch()
    stack = InstalledStack("mpirun", None, {}, {"npb-mz": f"{tmp_path}/bin"})
    if found.startswith("bin/"):
        assert stack.executable("npb-mz", "sp-mz.C.x", "sp-mz.C.16") == f"{tmp_path}/{found}"
        return
    with pytest.raises(SetupError) as error:
        stack.executable("npb-mz", "sp-mz.C.x", "sp-mz.C.16")
    assert str(error.value) == f"{tmp_path}/bin: {found}"
