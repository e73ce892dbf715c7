"""A Fortran layer for the wheel `mpich`, which is built without one: Debian's, over the wheel's own libmpi.

MPICH's Fortran library turns each call into the C call of the same name, and between releases that share libmpi.so.12
the names, handles and constants are the same (MPICH ABI Compatibility Initiative, from 3.1 on). Tried: the library of
4.0.2 over the libmpi of 5.0.2. Three of its calls, PMPIX_Delete_error_…, have another name in 5: a program that makes
them ends in a symbol lookup error, and the linker is told not to mind.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

_LIBRARY = "lib/libmpichfort.so.12"
#: What `use mpi` reads, as NPB does: the module, and those that it uses itself.
_MODULES = ("mpi", "mpi_base", "mpi_constants", "mpi_sizeofs")
#: Paths in a prefix, and the system's own (Debian's libmpich-dev).
FILES: Mapping[str, str] = MappingProxyType(
    {
        _LIBRARY: "/usr/lib/{machine}-linux-gnu/libmpichfort.so.12",
        "include/mpif.h": "/usr/include/{machine}-linux-gnu/mpich/mpif.h",
        **{f"include/{name}.mod": f"/usr/include/{{machine}}-linux-gnu/mpich/{name}.mod" for name in _MODULES},
    }
)
# Debian's name of libmpi, which its Fortran library asks the loader for: the wheel's must answer, never /usr's. So the
# program's own search path must hold for its libraries' needs too, which RPATH does and RUNPATH does not.
# Spack's recipe of NPB asks an MPI called mpich for a libmpich.so.
_LINKS = {
    "lib/libmpich.so.12": "libmpi.so.12",
    "lib/libmpich.so": "libmpi.so.12",
    "lib/libmpifort.so": "libmpichfort.so.12",
}
_WRAPPER = """#!/bin/sh
# gfortran with MPICH's Fortran layer (Debian's) and this prefix's own libmpi.
prefix=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
show=
[ "${1:-}" != -show ] || { show=echo; shift; }
exec $show "${MPICH_FC:-gfortran}" "$@" "-I$prefix/include" "-L$prefix/lib" \\
    -Wl,--allow-shlib-undefined -Wl,--disable-new-dtags "-Wl,-rpath,$prefix/lib" -lmpifort -lmpi
"""


def complete(prefix: Path) -> None:
    """Add the wrappers of the compiler and the names that they link, to a prefix that has both of FILES."""
    if not all((prefix / name).exists() for name in FILES):
        return
    for name, target in _LINKS.items():
        (prefix / name).symlink_to(target)
    for name in ("mpifort", "mpif90", "mpif77"):
        place = prefix / "bin" / name
        place.write_text(_WRAPPER, encoding="utf-8")
        place.chmod(0o755)
