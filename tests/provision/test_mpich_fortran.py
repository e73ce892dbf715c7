"""MPICH's Fortran layer over the wheel's libmpi: there only with both of the system's files; and it works."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from railyard.provision import mpi_prefixes
from railyard.provision.mpi_prefixes import prefix_of, why_missing
from railyard.stacks import libraries
from tests.patience import PATIENCE_S

CLONE = Path(__file__).parents[2]
#: Both ways in which a program names MPI; NPB has the second.
NAMED = ("include 'mpif.h'", "use mpi")
PROGRAM = """
program sums
  {named}
  integer :: error, rank, status(MPI_STATUS_SIZE), from
  real(8) :: mine, total
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  mine = rank + 1
  call MPI_Allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, 1 - rank, 7, from, 1, MPI_INTEGER, 1 - rank, 7, MPI_COMM_WORLD, status, error)
  if (rank == 0) print '(F4.1,3I3)', total, from, status(MPI_SOURCE), status(MPI_TAG)
  call MPI_Finalize(error)
end program
"""


def make_prefix(folder: Path, *names: str) -> Path:
    for part in ("bin", "lib", "include"):
        (folder / part).mkdir(parents=True)
    for name in names:
        (folder / name).write_text("", encoding="ascii")
    return folder


def test_half_a_layer_is_none(tmp_path: Path) -> None:
    for number, name in enumerate(mpi_prefixes.FILES):
        prefix = make_prefix(tmp_path / str(number), name)
        mpi_prefixes.add_wrappers(prefix)
        assert list((prefix / "bin").iterdir()) == []
        assert not (prefix / "lib/libmpich.so.12").is_symlink()


def test_the_wrappers_find_the_prefix_where_it_stands_now(tmp_path: Path) -> None:
    first = make_prefix(tmp_path / "first", "lib/libmpi.so.12", *mpi_prefixes.FILES)
    mpi_prefixes.add_wrappers(first)
    moved = first.rename(tmp_path / "moved")
    assert (moved / "lib/libmpich.so.12").resolve() == moved / "lib/libmpi.so.12"
    for name in ("mpifort", "mpif90", "mpif77"):
        said = subprocess.run(
            [moved / "bin" / name, "-show", "-c", "a.f90"],
            env=os.environ | {"MPICH_FC": "another-compiler"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert said.startswith(f"another-compiler -c a.f90 -I{moved}/include -L{moved}/lib ")
        assert said.rstrip().endswith(f"-Wl,--disable-new-dtags -Wl,-rpath,{moved}/lib -lmpifort -lmpi")


@pytest.mark.parametrize("named", NAMED)
def test_a_program_of_this_clone_computes_over_the_wheels_libmpi_alone(tmp_path: Path, named: str) -> None:
    prefix = prefix_of(CLONE, "mpich")
    reason = why_missing(CLONE, "mpich")
    if reason is not None or not (prefix / "bin/mpifort").exists() or shutil.which("gfortran") is None:
        pytest.skip("this clone's mpich has no Fortran layer, or there is no gfortran: type: make needs stacks SPACK=1")
    (tmp_path / "sums.f90").write_text(PROGRAM.replace("{named}", named), encoding="ascii")
    subprocess.run([prefix / "bin/mpifort", "sums.f90", "-o", "sums"], cwd=tmp_path, check=True, timeout=PATIENCE_S)
    said = subprocess.run(["ldd", "sums"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    found = libraries.interesting(libraries.parse(said))
    assert {name: path for name, path in found.items() if name.startswith("libmpi")} == {
        "libmpi.so.12": f"{prefix}/lib/libmpi.so.12",
        "libmpichfort.so.12": f"{prefix}/lib/libmpichfort.so.12",
    }
    ran = subprocess.run(
        [prefix / "bin/mpiexec", "-n", "2", "./sums"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert ran.stdout.split() == ["3.0", "1", "1", "7"]
