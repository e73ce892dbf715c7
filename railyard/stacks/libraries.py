"""Libraries that carry messages: by family, the packages of a lock that have them, and which ones an executable is
linked to, by what ``ldd`` printed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from railyard.stacks import wording as words
from railyard.stacks.file_view import HOST, FileView

_COMPILERS = "(ch|_cray|_ibm|_(gnu|intel|nvidia|aocc)[a-z0-9_]*)?"
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


@dataclass(frozen=True, slots=True)
class Family:
    """Libraries that come together: regular expressions for the names of all, and patterns for those of the main ones.

    A prefix that has a main one has its own copy of the family. ``of_system``: they belong to the kernel's drivers.
    ``packages`` are Spack's packages that install them; of MPI the stack says which.
    """

    title: str
    files: tuple[str, ...]
    main: tuple[str, ...]
    packages: tuple[str, ...] = ()
    of_system: bool = False


#: The names that their releases have: openucx.org, ofiwg.github.io (a provider is libNAME-fi.so), rdma-core (a driver
#: is libNAME-rdmavNN.so), and NCCL's documentation of plugins. They are valid for Python and for grep -E.
FAMILIES = (
    Family("MPI", (rf"libmpi{_COMPILERS}\.so",), ("libmpi*.so*",)),
    Family("UCX", (r"libuc[pmst](_[a-z0-9_]+)?\.so",), ("libucp.so*",), ("ucx",)),
    Family("libfabric", (r"libfabric\.so", r"lib[a-z0-9_.-]+-fi\.so"), ("libfabric.so*",), ("libfabric",)),
    Family(
        "PSM", (r"libpsm(2|_infinipath)\.so",), ("libpsm2.so*", "libpsm_infinipath.so*"), ("opa-psm2", "psm"),
        of_system=True,
    ),
    Family(
        "verbs", (r"lib(ibverbs|rdmacm)\.so", r"lib[a-z0-9_]+-rdmav[0-9]+\.so"), ("libibverbs.so*",), ("rdma-core",),
        of_system=True,
    ),
    Family("CXI", (r"libcxi(utils)?\.so",), ("libcxi.so*",), ("libcxi",), of_system=True),
    Family(
        "NCCL", (r"lib[nr]ccl(-[a-z0-9_-]+)?\.so",), ("libnccl.so*", "librccl.so*"), ("nccl", "rccl", "aws-ofi-nccl")
    ),
)  # fmt: skip
#: Prefixes of the operating system: everything else may be below them, too.
OF_THE_SYSTEM = ("/", "/usr")
#: Where the loader looks by itself: /usr/lib64, /usr/lib/x86_64-linux-gnu, …
LOADERS_OWN = re.compile(r"(?:/usr)?/lib(?:64|32)?/")


@dataclass(frozen=True, slots=True)
class LockedPackage:
    """A package that a lock names: ``ucx``, ``ucx@1.20.1 /abc1234``, its prefix, and where it comes from."""

    name: str
    short: str
    prefix: str
    origin: str

    def has(self, path: str) -> bool:
        """Return whether a library lies in its prefix; at the operating system's prefix, where the loader looks."""
        real = Path(path).resolve()
        if self.prefix in OF_THE_SYSTEM:
            return any(LOADERS_OWN.match(str(each)) for each in (path, real))
        return any(each.is_relative_to(self.prefix) or each.is_relative_to(Path(self.prefix).resolve())
                   for each in (Path(path), real))  # fmt: skip


@dataclass(frozen=True, slots=True)
class LockedLibraries:
    """The packages of a lock that have libraries for messages.

    ``is_whole``: the MPI, too, was installed by Spack, so the lock names every library that it was built with. The
    dependencies of an external MPI are in no lock.
    """

    packages: tuple[LockedPackage, ...] = ()
    is_whole: bool = False

    def packages_of(self, family: Family) -> tuple[LockedPackage, ...]:
        """Return the packages that have libraries of a family."""
        return tuple(each for each in self.packages if each.name in family.packages)


def find_family(path: str) -> Family | None:
    """Return the family of a library by its file's name; None if it carries no messages."""
    name = Path(path).name
    return next((family for family in FAMILIES if re.match("|".join(family.files), name)), None)


def carries_messages(package: str) -> bool:
    """Return whether a package of Spack, other than an MPI, has libraries that carry messages."""
    return any(package in family.packages for family in FAMILIES)


def why_not_locked(executable: str, found: dict[str, str], lock: LockedLibraries, mpi_prefix: str | None) -> str | None:
    """Return why a linked library is not of the package that the lock names, or None if each is.

    ``found`` are the paths of the executable's libraries of MPI and of the network, by soname. ``mpi_prefix`` may have
    its own copy of a library. MPI itself is not looked at: it is proven by its prefix.
    """
    mpi = [] if mpi_prefix is None else [LockedPackage("", "", mpi_prefix, "")]
    for name, path in found.items():
        family = find_family(name)
        if family is None or family.title == "MPI":
            continue
        named = lock.packages_of(family)
        if any(each.has(path) for each in (*named, *mpi)):
            continue
        if named:
            return words.not_locked(executable, path, name, named[0].short, named[0].prefix)
        if lock.is_whole and not (family.of_system and LOADERS_OWN.match(path)):
            return words.in_no_package(executable, path, family.title)
    return None


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
        return words.not_found(executable, missing)
    if not any(soname.startswith("libmpi") for soname in sonames):
        return _why_without(executable, found, sonames)
    mpis = {name: path for name, path in found.items() if path and _LIBMPI.match(name)}
    if not mpis:
        return words.no_mpi(executable, sonames)
    for name, path in mpis.items():
        if not any(fnmatch(name, soname) for soname in sonames):
            return words.other_mpi(executable, name, path, sonames)
        if prefix is not None and not _lies_in(path, Path(prefix), files):
            return words.other_folder(executable, path, (name,), prefix)
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
        return words.not_linked(executable, sonames)
    if prefix is not None and not _lies_in(path, Path(prefix), files):
        return words.other_folder(executable, path, sonames, prefix)
    return None


def _why_without(executable: str, found: Mapping[str, str | None], sonames: tuple[str, ...]) -> str | None:
    """Return why an executable does not fit a stack without MPI: it has an MPI, or none of the stack's libraries."""
    mpi = next(((name, str(path)) for name, path in found.items() if _LIBMPI.match(name)), None)
    if mpi is not None:
        return words.any_mpi(executable, *mpi)
    if sonames and not any(fnmatch(name, soname) for name in found for soname in sonames):
        return words.not_linked(executable, sonames)
    return None


def _lies_in(path: str, prefix: Path, files: FileView) -> bool:
    real = files.real(Path(path))
    if Path(path).is_relative_to(prefix) or real.is_relative_to(files.real(prefix)):
        return True
    return any(files.real(folder / Path(path).name) == real for folder in (prefix / "lib", prefix / "lib64"))
