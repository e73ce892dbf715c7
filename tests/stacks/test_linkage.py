"""What ldd printed decides whether a benchmark runs over its stack's own MPI."""

from pathlib import Path

import pytest

from railyard.stacks import libraries

#: From an IMB-MPI1 that our Spack built for Open MPI (paths shortened).
OPENMPI = """\
	linux-vdso.so.1 (0x00007f4adc5bb000)
	libmpi_cxx.so.40 => /usr/lib/libmpi_cxx.so.40 (0x00007f4adc4ec000)
	libmpi.so.40 => {prefix}/lib/libmpi.so.40 (0x00007f4adc3ad000)
	libucp.so.0 => /usr/lib/libucp.so.0 (0x00007f4adc2ad000)
	libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f4adbe1e000)
	/lib64/ld-linux-x86-64.so.2 (0x00007f4adc5bd000)
"""


def test_what_is_read() -> None:
    found = libraries.parse(OPENMPI.format(prefix="/opt/openmpi") + "\tlibfabric.so.1 => not found\n")
    assert found == {
        "libmpi_cxx.so.40": "/usr/lib/libmpi_cxx.so.40",
        "libmpi.so.40": "/opt/openmpi/lib/libmpi.so.40",
        "libucp.so.0": "/usr/lib/libucp.so.0",
        "libc.so.6": "/lib/x86_64-linux-gnu/libc.so.6",
        "libfabric.so.1": None,
    }
    assert libraries.interesting(found) == {
        "libmpi_cxx.so.40": "/usr/lib/libmpi_cxx.so.40",
        "libmpi.so.40": "/opt/openmpi/lib/libmpi.so.40",
        "libucp.so.0": "/usr/lib/libucp.so.0",
    }


@pytest.mark.parametrize("text", ["\tnot a dynamic executable\n", "", "\tstatically linked\n"])
def test_what_has_no_libraries(text: str) -> None:
    assert libraries.parse(text) == {}


WRONG = [
    (("libmpi.so.40",), "/opt/openmpi", None),
    (("libmpi.so.40",), None, None),
    (
        ("libmpi.so.12", "libmpich.so.12"), "/opt/mpich",
        "osu_bw is linked to libmpi.so.40 (/opt/openmpi/lib/libmpi.so.40), expected libmpi.so.12 or libmpich.so.12",
    ),
    (
        ("libmpi.so.40",), "/opt/hpcx",
        "osu_bw is linked to /opt/openmpi/lib/libmpi.so.40, expected libmpi.so.40 of /opt/hpcx",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("sonames", "prefix", "sentence"), WRONG)
def test_the_wrong_mpi(sonames: tuple[str, ...], prefix: str | None, sentence: str | None) -> None:
    found = libraries.parse(OPENMPI.format(prefix="/opt/openmpi"))
    assert libraries.why_wrong("osu_bw", found, sonames, prefix) == sentence


def test_a_library_that_is_not_found() -> None:
    found = {"libmpi.so.40": None, "libucp.so.0": None, "libc.so.6": "/lib/libc.so.6"}
    assert libraries.why_wrong("osu_bw", found, ("libmpi.so.40",), None) == (
        "osu_bw needs libmpi.so.40, libucp.so.0, which the loader does not find"
    )


def test_no_mpi_at_all() -> None:
    assert libraries.why_wrong("osu_bw", {"libc.so.6": "/lib/libc.so.6"}, ("libmpi.so.40",), None) == (
        "osu_bw is linked to no MPI library at all, expected libmpi.so.40"
    )


def test_a_compilers_own_library_is_matched_by_its_pattern() -> None:
    found = {"libmpi_gnu_123.so.12": "/opt/cray/lib/libmpi_gnu_123.so.12"}
    assert libraries.why_wrong("osu_bw", found, ("libmpi_*.so.12",), "/opt/cray") is None


def test_a_prefix_may_be_made_of_links(tmp_path: Path) -> None:
    real, prefix = tmp_path / "usr/lib", tmp_path / "stacks/openmpi"
    real.mkdir(parents=True)
    (real / "libmpi.so.40").write_text("", encoding="utf-8")
    (prefix / "lib").mkdir(parents=True)
    found: dict[str, str | None] = {"libmpi.so.40": str(real / "libmpi.so.40")}
    assert libraries.why_wrong("osu_bw", found, ("libmpi.so.40",), str(prefix)) is not None
    (prefix / "lib/libmpi.so.40").symlink_to(real / "libmpi.so.40")
    assert libraries.why_wrong("osu_bw", found, ("libmpi.so.40",), str(prefix)) is None


VERBS = {"libibverbs.so.1": "/usr/lib/libibverbs.so.1", "libc.so.6": "/lib/libc.so.6"}
WITHOUT_MPI = [
    (VERBS, ("libibverbs.so.1",), None),
    ({"libc.so.6": "/lib/libc.so.6"}, (), None),
    (
        {"libc.so.6": "/lib/libc.so.6"}, ("libibverbs.so.1",),
        "ib_write_bw is not linked to libibverbs.so.1, expected it",
    ),
    (
        VERBS | {"libmpi.so.40": "/usr/lib/libmpi.so.40"}, ("libibverbs.so.1",),
        "ib_write_bw is linked to libmpi.so.40 (/usr/lib/libmpi.so.40), expected no MPI library",
    ),
    (
        {"libibverbs.so.1": None}, ("libibverbs.so.1",),
        "ib_write_bw needs libibverbs.so.1, which the loader does not find",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("found", "sonames", "sentence"), WITHOUT_MPI)
def test_a_stack_without_mpi(found: dict[str, str | None], sonames: tuple[str, ...], sentence: str | None) -> None:
    assert libraries.why_wrong("ib_write_bw", found, sonames, None) == sentence


def test_spectrum_mpis_library_is_an_mpi() -> None:
    found = {"libmpi_ibm.so.3": "/opt/ibm/spectrum_mpi/lib/libmpi_ibm.so.3"}
    assert libraries.why_wrong("osu_bw", found, ("libmpi_ibm.so.*",), "/opt/ibm/spectrum_mpi") is None
    assert libraries.is_mpi_library("libmpi.so.99") and not libraries.is_mpi_library("libsite.so")
