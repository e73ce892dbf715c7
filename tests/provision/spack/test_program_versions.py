"""A program's answer on PATH gives its package, version and prefix; other answers are skipped."""

from pathlib import Path

import pytest

from railyard.provision.spack import detect
from railyard.provision.spack.detect import OTHERS, PROGRAMS, FoundProgram
from tests.made.spack_site import program

#: What each program prints about itself (copied in form; Debian 12's if it has them), and what is read from it.
ANSWERS = [
    ("ompi_info", "Open MPI v4.1.4\n\nhttps://www.open-mpi.org/community/help/", ("openmpi", "4.1.4")),
    ("mpichversion", "MPICH Version:    \t4.0.2\nMPICH Release date:\tThu Apr  7 2022", ("mpich", "4.0.2")),
    ("mpichversion.mpich", "MPICH Version:    \t4.0.2", ("mpich", "4.0.2")),
    ("mpichversion", "MVAPICH Version:    \t4.0\nMVAPICH Device: ch4:ofi", ("mvapich", "4.0")),
    ("mpichversion", "MVAPICH2 Version:    \t2.3.7", ("mvapich2", "2.3.7")),
    (
        "mpirun", "Intel(R) MPI Library for Linux* OS, Version 2021.18 Build 20260130 (id: 1a2b3c4)",
        ("intel-oneapi-mpi", "2021.18"),
    ),
    ("ucx_info", "# UCT version=1.13.1 revision 0000000\n# configured with: --prefix=/usr", ("ucx", "1.13.1")),
    ("ucx_info", "# Library version: 1.20.1\n# Library path: /usr/lib/libucs.so.0", ("ucx", "1.20.1")),
    ("fi_info", "fi_info: 1.17.0\nlibfabric: 1.17.0\nlibfabric api: 1.17", ("libfabric", "1.17.0")),
    ("sinfo", "slurm-wlm 22.05.8", ("slurm", "22.05.8")),
    ("srun", "slurm 24.11.5", ("slurm", "24.11.5")),
    ("pmix_info", "Package: PMIx buildd@x86 Distribution\nPMIx: 4.2.2", ("pmix", "4.2.2")),
]  # fmt: skip


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of fake programs, the only one on PATH."""
    folder = tmp_path / "opt/bin"
    folder.mkdir(parents=True)
    monkeypatch.setenv("PATH", str(folder))
    return folder


def write_program(folder: Path, name: str, text: str, more: str = "") -> None:
    lines = "".join(f"echo '{line}'\n" for line in text.splitlines())
    program(folder / name, f"{lines}{more}")


@pytest.mark.parametrize(("name", "text", "found"), ANSWERS, ids=[f"{name}-{found[0]}" for name, _, found in ANSWERS])
def test_an_answer_is_read(programs: Path, tmp_path: Path, name: str, text: str, found: tuple[str, str]) -> None:
    write_program(programs, name, text)
    assert detect.seen_packages() == (FoundProgram(*found, str(tmp_path / "opt")),)


def test_every_program_has_an_answer_here() -> None:
    """A new MPI library's answer may be in a test of its own."""
    answered = {found[0] for _, _, found in ANSWERS}
    assert {package for package, _ in OTHERS} <= answered <= {package for package, _ in PROGRAMS}
    names = {name for package, program in PROGRAMS if package in answered for name in program.names}
    assert names == {name for name, _, _ in ANSWERS}


def test_the_prefix_is_that_of_the_file_itself(programs: Path, tmp_path: Path) -> None:
    write_program(tmp_path / "real/ucx/bin", "ucx_info", "# Library version: 1.20.1")
    (programs / "ucx_info").symlink_to(tmp_path / "real/ucx/bin/ucx_info")
    assert detect.seen_packages() == (FoundProgram("ucx", "1.20.1", str(tmp_path / "real/ucx")),)


def test_two_programs_of_one_package_are_one(programs: Path, tmp_path: Path) -> None:
    write_program(programs, "sinfo", "slurm 24.11.5")
    write_program(programs, "srun", "slurm 24.11.5")
    assert detect.seen_packages() == (FoundProgram("slurm", "24.11.5", str(tmp_path / "opt")),)


def test_an_answer_on_standard_error_counts_and_a_failing_program_too(programs: Path, tmp_path: Path) -> None:
    program(programs / "fi_info", "echo 'libfabric: 2.5.1' >&2; exit 1")
    assert detect.seen_packages() == (FoundProgram("libfabric", "2.5.1", str(tmp_path / "opt")),)


@pytest.mark.parametrize("text", ["", "mpirun (Open MPI) 4.1.4", "command not found"])
def test_a_program_that_says_something_else_is_passed_over(programs: Path, text: str) -> None:
    write_program(programs, "mpirun", text)
    write_program(programs, "ompi_info", text)
    assert detect.seen_packages() == ()


def test_a_program_that_cannot_be_started_is_passed_over(programs: Path) -> None:
    file = program(programs / "ucx_info", "")
    file.write_text("#!/no/such/interpreter\n", encoding="utf-8")
    assert detect.seen_packages() == ()


def test_a_program_that_hangs_is_passed_over(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detect, "LIMIT_S", 0.2)
    program(programs / "ucx_info", "exec /bin/sleep 30")
    assert detect.seen_packages() == ()


def test_nothing_on_path(programs: Path) -> None:
    assert detect.seen_packages() == ()
