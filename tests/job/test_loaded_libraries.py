"""Where the libraries that carry messages were loaded from: what is meant, what is another one, what proves nothing."""

import re
from pathlib import Path

import pytest

from railyard.job.environment import (
    OtherLibrary,
    Places,
    RankEnvironment,
    UnprovenLibraries,
    doubts,
    pattern,
    why_other_libraries,
)
from railyard.stacks.libraries import LockedLibraries, LockedPackage

NOTHING = UnprovenLibraries((), {})
SYSTEM = "/usr/lib/x86_64-linux-gnu"


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """Return a stack's prefix that has its own UCX, and neither libfabric nor verbs."""
    lib = tmp_path / "mpich/lib"
    (lib / "mpich/ucx").mkdir(parents=True)
    for name in ("libmpi.so.12", "mpich/libucp.so.0", "mpich/ucx/libuct_ib.so.0"):
        (lib / name).touch()
    return tmp_path / "mpich"


def rank_environment(*libraries: str | Path, node: str = "vn1") -> RankEnvironment:
    return RankEnvironment(node, "IMB-MPI1", {}, tuple(map(str, libraries)))


def title_of(found: OtherLibrary | None) -> str:
    """Return of which family a library from elsewhere is; empty if none is from elsewhere."""
    return "" if found is None else found.title


def test_the_prefix_and_what_belongs_to_the_kernels_drivers_are_intended(prefix: Path) -> None:
    lib, places = prefix / "lib", Places((str(prefix),))
    found = [
        rank_environment(
            *(lib / "libmpi.so.12", lib / "mpich/libucp.so.0", lib / "mpich/ucx/libuct_ib.so.0"),
            *(f"{SYSTEM}/libibverbs.so.1.14.44.0", f"{SYSTEM}/libfabric.so.1", "/lib64/libpsm2.so.2"),
        )
    ]
    assert why_other_libraries(found, places) is None
    assert doubts(found, places, ("vn1",)) == NOTHING


@pytest.mark.parametrize(
    ("library", "title", "of_system"),
    [
        ("/home/me/ucx/lib/libucp.so.0", "UCX", False),
        (f"{SYSTEM}/libucp.so.0.0.0", "UCX", False),
        ("/home/me/ucx/lib/libucs_signal.so.0 (deleted)", "UCX", False),
        ("/home/me/lib/libmpi.so.12", "MPI", False),
        ("/home/me/lib/libibverbs.so.1", "verbs", True),
        ("/home/me/lib/libmlx5-rdmav34.so", "verbs", True),
        ("/home/me/lib/libpsm2.so.2", "PSM", True),
    ],
)
def test_a_library_of_elsewhere_is_named_with_the_place_that_was_expected(
    prefix: Path, library: str, title: str, of_system: bool
) -> None:
    found = [
        rank_environment(prefix / "lib/libmpi.so.12", node="vn1"),
        rank_environment(prefix / "lib/libmpi.so.12", library, node="vn2"),
    ]
    path = library.removesuffix(" (deleted)")
    expected = OtherLibrary("IMB-MPI1", "vn2", (path,), title, (str(prefix),), of_system)
    assert why_other_libraries(found, Places((str(prefix),))) == expected


def test_a_folder_that_the_file_names_is_a_place_and_then_no_other_is(prefix: Path) -> None:
    ours, theirs = "/opt/ofi/lib/libfabric.so.1", "/home/me/lib/libfabric.so.1"
    places = Places((str(prefix),), ("/opt/ofi",))
    assert why_other_libraries([rank_environment("/opt/ofi/lib/libpsm3-fi.so", ours)], places) is None
    for other in (theirs, f"{SYSTEM}/libfabric.so.1"):
        assert why_other_libraries([rank_environment(other)], places) == OtherLibrary(
            "IMB-MPI1", "vn1", (other,), "libfabric", (str(prefix), "/opt/ofi"), of_system=False
        )


def test_what_nothing_states_is_not_proven_and_no_fault(prefix: Path) -> None:
    mpi, libraries = prefix / "lib/libmpi.so.12", ("/opt/a/libfabric.so.1", "/opt/b/libnccl-net.so")
    assert why_other_libraries([rank_environment(mpi, *libraries)], Places((str(prefix),))) is None
    assert doubts([rank_environment(mpi, *libraries)], Places((str(prefix),)), ("vn1",)) == UnprovenLibraries(
        (), {"libfabric": libraries[:1], "NCCL": libraries[1:]}
    )


def test_a_node_that_shows_no_libraries_is_not_proven(prefix: Path) -> None:
    unread, early = RankEnvironment("vn2", "IMB-MPI1", {}), rank_environment(f"{SYSTEM}/libibverbs.so.1", node="vn3")
    found = [rank_environment(prefix / "lib/libmpi.so.12"), unread, early]
    assert doubts(found, Places((str(prefix),)), ("vn1", "vn2", "vn3", "vn4")) == UnprovenLibraries(
        ("vn2", "vn3", "vn4"), {}
    )


def test_a_prefix_of_links_stands_for_what_they_lead_to(tmp_path: Path) -> None:
    real, prefix = tmp_path / "system", tmp_path / "openmpi"
    for folder in (real, prefix / "lib"):
        folder.mkdir(parents=True)
    for name in ("libmpi.so.40.30.4", "libucp.so.0"):
        (real / name).touch()
    (prefix / "lib/libmpi.so.40").symlink_to(real / "libmpi.so.40.30.4")
    places = Places((str(prefix),))
    assert why_other_libraries([rank_environment(real / "libmpi.so.40.30.4", real / "libucp.so.0")], places) is None
    assert title_of(why_other_libraries([rank_environment("/home/me/libucp.so.0")], places)) == "UCX"


def test_the_packages_of_spack_lie_beside_each_other(tmp_path: Path) -> None:
    prefix = tmp_path / f"openmpi-4.1.6-{'a' * 32}"
    ucx = tmp_path / f"ucx-1.15.0-{'b' * 32}/lib/libucp.so.0"
    assert doubts([rank_environment(prefix / "lib/libmpi.so.40", ucx)], Places((str(prefix),)), ("vn1",)) == NOTHING


def library_lock(*packages: tuple[str, str], whole: bool = True) -> LockedLibraries:
    found = tuple(LockedPackage(name, f"{name}@1 /abc1234", prefix, "built here") for name, prefix in packages)
    return LockedLibraries(found, is_whole=whole)


def test_a_lock_names_the_prefix_of_each_library_in_whichever_tree_it_is() -> None:
    mpi, ucx = f"/up/openmpi-5.0.10-{'a' * 32}", "/site/opt/ucx-1-def"
    places = Places((mpi,), lock=library_lock(("openmpi", mpi), ("ucx", ucx), ("rdma-core", "/usr")))
    right = rank_environment(f"{mpi}/lib/libmpi.so.40", f"{ucx}/lib/libucp.so.0", f"{SYSTEM}/libibverbs.so.1")
    assert why_other_libraries([right], places) is None
    assert doubts([right], places, ("vn1",)) == NOTHING
    # beside the MPI is not enough: only what the lock names counts
    for other in (f"{SYSTEM}/libucp.so.0", f"/up/ucx-1.15.0-{'b' * 32}/lib/libucp.so.0"):
        assert why_other_libraries([rank_environment(f"{mpi}/lib/libmpi.so.40", other)], places) == OtherLibrary(
            "IMB-MPI1", "vn1", (other,), "UCX", (mpi, f"ucx@1 /abc1234 in {ucx}"), of_system=False
        )
    found = why_other_libraries([rank_environment("/opt/ofi/lib/libfabric.so.1")], places)
    assert found is not None and (found.title, found.places) == ("libfabric", (mpi,))
    # A prefix of the operating system has everything below it, too.
    odd = rank_environment("/usr/mpi/lib/libibverbs.so.1")
    assert title_of(why_other_libraries([odd], places)) == "verbs"


def test_what_a_lock_has_at_the_operating_systems_prefix_is_where_the_loader_looks() -> None:
    places = Places(("/up/openmpi",), lock=library_lock(("openmpi", "/up/openmpi"), ("ucx", "/usr")))
    assert why_other_libraries([rank_environment(f"{SYSTEM}/libucp.so.0")], places) is None
    assert title_of(why_other_libraries([rank_environment("/usr/local/lib/libucp.so.0")], places)) == "UCX"


def test_a_library_that_the_lock_names_beside_an_external_mpi_is_stated() -> None:
    places = Places(("/opt/mpi",), lock=library_lock(("openmpi", "/opt/mpi"), ("ucx", "/opt/ucx"), whole=False))
    assert why_other_libraries([rank_environment("/opt/ucx/lib/libucp.so.0")], places) is None
    assert title_of(why_other_libraries([rank_environment(f"{SYSTEM}/libucp.so.0")], places)) == "UCX"


def test_a_lock_with_an_external_mpi_says_nothing_about_what_that_was_built_with() -> None:
    places = Places(("/opt/mpi",), lock=library_lock(("openmpi", "/opt/mpi"), ("rdma-core", "/usr"), whole=False))
    found = rank_environment("/opt/mpi/lib/libmpi.so.40", "/opt/ucx/lib/libucp.so.0")
    assert why_other_libraries([found], places) is None
    assert doubts([found], places, ("vn1",)) == UnprovenLibraries((), {"UCX": ("/opt/ucx/lib/libucp.so.0",)})


def test_the_pattern_finds_each_library_that_carries_messages_and_no_other() -> None:
    names = (
        "libmpi.so.40.30.4 libmpi_cray.so.12 libucp.so.0 libuct.so.0 libucs.so.0 libucm.so.0 libuct_ib_mlx5.so.0 "
        "libfabric.so.1 libpsm3-fi.so libverbs-1.12-fi.so libpsm2.so.2.2 libibverbs.so.1 librdmacm.so.1 "
        "libmlx5-rdmav34.so libcxi.so.1 libnccl.so.2 librccl.so.1 libnccl-net.so libnccl-net-ofi.so"
    ).split()
    for name in names:
        assert re.search(pattern(), f"7f00-7f01 r-xp 0000 fe:00 12  /opt/x y/lib/{name}"), name
    for name in ("libc.so.6", "libmpifort.so.12", "libm.so.6", "libucharset.so.0", "libnl-3.so.200", "IMB-MPI1"):
        assert not re.search(pattern(), f"7f00-7f01 r-xp 0000 fe:00 12  /opt/lib/{name}"), name
