"""A Fortran layer for the wheel `mpich`, which has none: Debian's library over the wheel's own libmpi.

MPICH's Fortran library turns each call into the C call of the same name. Releases that share libmpi.so.12 have the same
names, handles and constants (MPICH ABI Compatibility Initiative, from 3.1 on). Tried: the library of 4.0.2 over the
libmpi of 5.0.2. Three of its calls, PMPIX_Delete_error_…, have another name in 5: a program that makes them ends with a
symbol lookup error. An option tells the linker to accept them.
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
# Debian's Fortran library asks the loader for libmpi by Debian's name: the loader must find the wheel's, never /usr's.
# So the program's search path must also apply to its libraries, as RPATH does and RUNPATH does not. Spack's recipe for
# NPB expects a libmpich.so from an MPI called mpich.
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


def add_wrappers(prefix: Path) -> None:
    """Add the compiler wrappers, and the names that they link, to a prefix that has both of FILES."""
    if not all((prefix / name).exists() for name in FILES):
        return
    for name, target in _LINKS.items():
        (prefix / name).symlink_to(target)
    for name in ("mpifort", "mpif90", "mpif77"):
        place = prefix / "bin" / name
        place.write_text(_WRAPPER, encoding="utf-8")
        place.chmod(0o755)
