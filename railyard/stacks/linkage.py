"""Which libraries an executable is linked to, by what ``ldd`` printed, and which ones must be among them."""

import re
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path

from railyard.stacks.file_view import HOST, FileView

#: Libraries that decide over which network a benchmark runs: how their sonames begin.
INTERESTING = (
    "libmpi",
    "libmpich",
    "libucp",
    "libuct",
    "libfabric",
    "libpsm",
    "libibverbs",
    "librdmacm",
    "libcxi",
    "libnccl",
    "librccl",
)
#: What ldd prints for a script and for a static executable.
NO_LIBRARIES = "not a dynamic executable"
# libmpi.so.40 => /opt/openmpi/lib/libmpi.so.40 (0x00007f…)   |   libmpi.so.40 => not found
_LINE = re.compile(r"^\s*(?P<name>\S+) => (?:(?P<path>/\S+) \(0x[0-9a-f]+\)|(?P<missing>not found))\s*$", re.MULTILINE)
# libmpi.so.40, libmpich.so.12, libmpi_gnu_123.so.12; not libmpi_mpifh (Fortran) and libmpicxx, which come in addition.
_LIBMPI = re.compile(r"libmpi(?:ch|_cray|_ibm|_gnu\w*|_intel\w*|_nvidia\w*|_aocc\w*)?\.so")


def parse(text: str) -> dict[str, str | None]:
    """Return what ``ldd`` printed: the path of each soname, None for a library that is not found."""
    return {line["name"]: line["path"] for line in _LINE.finditer(text)}


def is_mpi_library(name: str) -> bool:
    """Return whether a name is that of an MPI library, as those of the table's stacks are: libmpi.so.12."""
    return _LIBMPI.match(name) is not None


def interesting(found: Mapping[str, str | None]) -> dict[str, str]:
    """Return those that are libraries of MPI or of the network."""
    return {name: path for name, path in found.items() if path is not None and name.startswith(INTERESTING)}


def why_wrong(
    executable: str,
    found: Mapping[str, str | None],
    sonames: tuple[str, ...],
    prefix: str | None,
    files: FileView = HOST,
) -> str | None:
    """Return why an executable is not linked to its stack's MPI, or None if it is.

    ``sonames`` are the names of this MPI's library; ``prefix`` is the folder that it must be in, or None if a module
    decides; both are where ``files`` are. Symbolic links are followed on both sides, since a prefix may consist of
    them. If a stack has no MPI (no libmpi among its sonames), an executable must not be linked to any MPI, but to one
    of the sonames.
    """
    missing = [name for name, path in found.items() if path is None]
    if missing:
        return f"{executable} needs {', '.join(missing)}, which the loader does not find"
    if not any(soname.startswith("libmpi") for soname in sonames):
        return _why_without(executable, found, sonames)
    mpis = {name: path for name, path in found.items() if path and _LIBMPI.match(name)}
    if not mpis:
        return f"{executable} is linked to no MPI library at all, expected {' or '.join(sonames)}"
    for name, path in mpis.items():
        if not any(fnmatch(name, soname) for soname in sonames):
            return f"{executable} is linked to {name} ({path}), expected {' or '.join(sonames)}"
        if prefix is not None and not _lies_in(path, Path(prefix), files):
            return f"{executable} is linked to {path}, expected {name} of {prefix}"
    return None


def why_without(
    executable: str,
    found: Mapping[str, str | None],
    sonames: tuple[str, ...],
    prefix: str | None,
    files: FileView = HOST,
) -> str | None:
    """Return why an executable is not linked to another library that it should measure (NCCL), or None if it is.

    ``prefix`` is the folder that the library must be in, or None if that does not matter.
    """
    path = next((path for name, path in found.items() if name in sonames), None)
    if path is None:
        return f"{executable} is not linked to {' or '.join(sonames)}, expected it"
    if prefix is not None and not _lies_in(path, Path(prefix), files):
        return f"{executable} is linked to {path}, expected {' or '.join(sonames)} of {prefix}"
    return None


def _why_without(executable: str, found: Mapping[str, str | None], sonames: tuple[str, ...]) -> str | None:
    """Return why an executable does not fit a stack without MPI: it has an MPI, or none of the stack's libraries."""
    mpi = next((f"{name} ({path})" for name, path in found.items() if _LIBMPI.match(name)), None)
    if mpi is not None:
        return f"{executable} is linked to {mpi}, expected no MPI library"
    if sonames and not any(fnmatch(name, soname) for name in found for soname in sonames):
        return f"{executable} is not linked to {' or '.join(sonames)}, expected it"
    return None


def _lies_in(path: str, prefix: Path, files: FileView) -> bool:
    real = files.real(Path(path))
    if Path(path).is_relative_to(prefix) or real.is_relative_to(files.real(prefix)):
        return True
    return any(files.real(folder / Path(path).name) == real for folder in (prefix / "lib", prefix / "lib64"))
