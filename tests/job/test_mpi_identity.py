"""If an output names its MPI, it is compared with the MPI that the run should use."""

from pathlib import Path

import pytest

from railyard.job.mpi_identity import IntendedMpi, OtherMpi, why_other

RECORDINGS = Path(__file__).parents[1] / "recordings"
OPENMPI = IntendedMpi("openmpi", "4.1.4", "3.1")
#: What libraries print about themselves, each with its stack and a version that it does not contradict.
OWN = [
    ("openmpi", "4.1.4", "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022"),
    # HPC-X has other version numbers than the Open MPI in it.
    ("hpcx", "2.25", "Open MPI v4.1.9a1, package: Open MPI root@host Distribution, ident: 4.1.9a1"),
    ("mpich", "5.0.2", "MPICH Version:      5.0.2"),
    ("intelmpi", "2021.18.0", "Intel(R) MPI Library 2021.18 for Linux* OS"),
    ("intelmpi", "2021.4.0", "[0] MPI startup(): Intel(R) MPI Library, Version 2021.4  Build 20210831 (id: 758087adf)"),
    ("intelmpi", "2021.4.0", "[0] MPI startup(): libfabric version: 1.13.0-impi"),
    ("mvapich2", "2.3.7-1", "MVAPICH2 Version      :\t2.3.7"),
    ("mvapich2", "2.3.7-1", " MVAPICH2-2.3.7 Parameters"),
    ("mvapich", "4.1", "MVAPICH Version      :\t4.1"),
    ("craympich", "8.1.25", "MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)"),
]


@pytest.mark.parametrize(("stack", "version", "line"), OWN)
def test_the_meant_library_may_name_itself(stack: str, version: str, line: str) -> None:
    assert why_other(f"noise\n{line}\n", IntendedMpi(stack, version)) is None
    assert why_other(f"[1,0]<stdout>: {line}\n", IntendedMpi(stack)) is None


ANOTHER = [
    ("mpich", OWN[0][2], "Open MPI", "MPICH (CH4)"),
    ("openmpi", OWN[2][2], "MPICH (CH4)", "Open MPI"),
    ("mpich", OWN[3][2], "Intel MPI", "MPICH (CH4)"),
    ("mpich", OWN[4][2], "Intel MPI", "MPICH (CH4)"),
    ("mvapich", OWN[5][2], "Intel MPI", "MVAPICH 4 (CH4)"),
    ("mvapich", OWN[6][2], "MVAPICH2 (CH3)", "MVAPICH 4 (CH4)"),
    ("mpich", OWN[7][2].strip(), "MVAPICH2 (CH3)", "MPICH (CH4)"),
    ("openmpi", OWN[8][2], "MVAPICH 4 (CH4)", "Open MPI"),
    ("hpcx", OWN[9][2], "HPE Cray MPICH", "NVIDIA HPC-X (Open MPI with UCX and HCOLL)"),
]


@pytest.mark.parametrize(("stack", "line", "ran", "expected"), ANOTHER)
def test_another_library_is_named(stack: str, line: str, ran: str, expected: str) -> None:
    assert why_other(f"noise\n{line}\n", IntendedMpi(stack)) == OtherMpi(2, line, "library", ran, expected)


VERSIONS = [
    ("openmpi", "4.1.5", OWN[0][2], "4.1.4", "Open MPI 4.1.5"),
    ("mpich", "4.3.2", OWN[2][2], "5.0.2", "MPICH (CH4) 4.3.2"),
    ("intelmpi", "2021.18.0", OWN[4][2], "2021.4", "Intel MPI 2021.18.0"),
    ("mvapich2", "2.3.6", OWN[6][2], "2.3.7", "MVAPICH2 (CH3) 2.3.6"),
]


@pytest.mark.parametrize(("stack", "version", "line", "ran", "expected"), VERSIONS)
def test_another_version_than_spack_linked(stack: str, version: str, line: str, ran: str, expected: str) -> None:
    assert why_other(f"{line}\n", IntendedMpi(stack, version)) == OtherMpi(1, line, "version", ran, expected)
    assert why_other(f"{line}\n", IntendedMpi(stack)) is None  # the site's own software: its version is unknown


def test_the_standard_that_imb_prints_is_held_against_the_header() -> None:
    text = (RECORDINGS / "imb2021.11-PingPong-mpich5.0.2-veth.out").read_text(encoding="utf-8")
    assert why_other(text, IntendedMpi("mpich", "5.0.2", "5.0")) is None
    assert why_other(text, IntendedMpi("mpich")) is None
    assert why_other(text, OPENMPI) == OtherMpi(9, "# MPI Version           : 5.0", "standard", "5.0", "3.1")


NPB = " Compile options:\n    MPIFC        = {}\n    FLINK        = $(MPIFC)\n    FMPI_LIB     = (none)\n"


@pytest.mark.parametrize("path", ["/opt/openmpi/bin/mpif90", "mpif90", "/opt/openmpi/b...", "/opt/ope..."])
def test_npb_may_name_the_wrapper_of_its_own_mpi(path: str) -> None:
    assert why_other(NPB.format(path), IntendedMpi("openmpi", compiled_with="/opt/openmpi")) is None


@pytest.mark.parametrize("path", ["/opt/mpich/bin/mpif90", "/opt/openmpi-5/bin/mpif90", "/opt/mpi..."])
def test_npb_that_was_compiled_with_another_mpi(path: str) -> None:
    assert why_other(NPB.format(path), IntendedMpi("openmpi", compiled_with="/opt/openmpi")) == OtherMpi(
        2, f"MPIFC        = {path}", "wrapper", path, "/opt/openmpi"
    )
    assert (
        why_other(NPB.format(path), IntendedMpi("openmpi")) is None
    )  # installed software: nobody knows how it was compiled


def test_a_wrapper_may_be_reached_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "real/bin").mkdir(parents=True)
    (tmp_path / "real/bin/mpif90").write_text("", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    text = NPB.format(tmp_path / "real/bin/mpif90")
    assert why_other(text, IntendedMpi("openmpi", compiled_with=str(tmp_path / "link"))) is None


NO_NAMES = [
    "",
    "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n1             2.00\n",
    "WARNING: No preset parameters were found for the device that Open MPI detected\n",
    "1 process killed (possibly by Open MPI)\n",
    "By default, for Open MPI 4.0 and later, infiniband ports on a device are not used by default\n",
    "Open MPI version 5 is newer\n",
    "# IMB-MPI1 PingPong \n#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part\n",
    "MPI startup(): without a rank\n",
]


@pytest.mark.parametrize("text", NO_NAMES)
def test_what_names_no_library_contradicts_nothing(text: str) -> None:
    assert why_other(text, IntendedMpi("mpich", "5.0.2", "5.0", "/opt/mpich")) is None


@pytest.mark.parametrize("file", sorted(RECORDINGS.glob("*.out")), ids=lambda file: file.name)
def test_recordings_name_the_mpi_in_their_own_names(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    meant = IntendedMpi("mpich", "5.0.2", "5.0") if "mpich" in file.name else OPENMPI
    assert why_other(text, meant) is None


PARASTATION = "=== ParaStation MPI 5.13.0-1 ===\nVersion(PSMPI): 5.13.0-1 (gcc)\nMPICH Version:      4.3.2\n"


@pytest.mark.parametrize(
    ("stack", "text", "other"),
    [
        ("parastation", PARASTATION, None),
        ("mpich", PARASTATION, ("ParaStation MPI", "MPICH (CH4)")),
        ("parastation", "Open MPI v4.1.4", ("Open MPI", "ParaStation MPI")),
        ("spectrummpi", "IBM Spectrum MPI 10.4.0.6", None),
        ("spectrummpi", "Open MPI v10.4.0", None),
        ("openmpi", "IBM Spectrum MPI 10.4.0.6", ("IBM Spectrum MPI", "Open MPI")),
        ("fujitsumpi", "FUJITSU MPI Library 4.0.0 (4.0.1fj4.0.0)", None),
        ("mpt", "HPE MPT 2.23  08/26/20 02:54:49-root", None),
        ("mpt", "MPICH Version:      4.3.2", ("MPICH (CH4)", "HPE MPT")),
    ],
)
def test_stacks_from_documentation_are_told_from_those_that_they_derive_from(
    stack: str, text: str, other: tuple[str, str] | None
) -> None:
    found = why_other(text, IntendedMpi(stack, None))
    assert (None if found is None else (found.ran, found.expected)) == other
