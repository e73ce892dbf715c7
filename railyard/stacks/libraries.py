"""Libraries that carry messages: by family, the packages of a lock that have them, and which ones an executable is
linked to, by what ``ldd`` printed.

Which programs belong to which stack: MPI programs to MPI libraries, clients and servers to stacks without MPI.

Programs that MPI starts but that measure another library (nccl-tests) belong only to that library.

An application that starts its own processes if there is no MPI can belong to both.

Which files are where a program runs: on this host's file system, or in an image that only a job can look into.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch, fnmatchcase
from pathlib import Path, PurePath
from typing import Protocol

from railyard.stacks import wording as words
from railyard.stacks.model import STACKS

#: Why an application that starts its own processes runs over one rail.
ONE_RAIL = "an application that starts its own processes is given one address per node"


def why_not_tool(stack: str, tool: str, pair: bool, starts_itself: bool = False) -> str | None:
    """Return None if a check of this tool can run with this stack, else the reason.

    ``pair``: the check's benchmark is a client and a server, not an MPI program. ``starts_itself``: it is an
    application that starts its own processes if there is no MPI.
    """
    entry = STACKS[stack]
    if (tool in entry.tools and pair == entry.pair) or (starts_itself and entry.addressed):
        return None
    if entry.by_mpi:
        return f"{stack} is not an MPI library: only its own benchmarks can use it ({', '.join(entry.tools)})"
    if starts_itself and entry.pair:
        others = [name for name, other in STACKS.items() if other.addressed]
        return f"{stack} has no MPI and no address to give to an application: use {' or '.join(others)}"
    if entry.tools:
        return f"{stack} has no MPI: its benchmarks are a client and a server ({', '.join(entry.tools)})"
    if not pair:
        libraries = [name for name, other in STACKS.items() if other.by_mpi and tool in other.tools]
        return (
            f"{tool} does not measure {stack} but another library: its stack is {' or '.join(libraries)}"
            if libraries
            else None
        )
    others = [name for name, other in STACKS.items() if tool in other.tools]
    return f"a client and a server of {tool} need no MPI: their stack is {' or '.join(others) or 'unknown'}"


def why_not_own(stack: str, rails: int, starts_itself: bool) -> str | None:
    """Return why an application cannot start its own processes over so many rails of this stack, or None."""
    return f"{ONE_RAIL}: one rail" if starts_itself and STACKS[stack].pair and rails > 1 else None


def tool_features(stack: str, tools: Iterable[str], applications: Collection[str] = ()) -> list[str]:
    """Return the features by which ReFrame's environment of a stack shows these tools, without those it cannot have.

    A client and server is not the same program as MPI's of the same name (NetPIPE), so it is another feature. So is an
    application (named in ``applications``) that starts its own processes.
    """
    entry = STACKS[stack]
    if not entry.pair:
        return sorted(tool for tool in tools if why_not_tool(stack, tool, pair=False) is None)
    there = sorted(tools)
    own = [own_feature(tool) for tool in there if entry.addressed and tool in applications]
    return [*(pair_feature(tool) for tool in there if tool in entry.tools), *own]


def pair_feature(tool: str) -> str:
    """Return the feature of a tool that is a client and a server."""
    return f"pair_{tool}"


def own_feature(tool: str) -> str:
    """Return the feature of an application that starts its own processes."""
    return f"own_{tool}"


class FileView(Protocol):
    """The files as a program sees them."""

    def real(self, path: Path) -> Path:
        """Return a path without symbolic links; the path itself if nobody knows it."""

    def find(self, folder: Path, patterns: Sequence[str]) -> list[Path]:
        """Return the files of these patterns (``lib*/libmpi*.so*``) in a folder."""


class HostFiles:
    """This host's own file system."""

    def real(self, path: Path) -> Path:
        return path.resolve()

    def find(self, folder: Path, patterns: Sequence[str]) -> list[Path]:
        return [file for pattern in patterns for file in folder.glob(pattern)]


HOST = HostFiles()


@dataclass(frozen=True, slots=True)
class ImageFiles:
    """What a job saw inside an image: the real path of each folder and library that it was asked for."""

    links: Mapping[Path, Path]
    files: tuple[Path, ...]

    @classmethod
    def of(cls, folders: Iterable[tuple[str, str]], files: Iterable[tuple[str, str]]) -> "ImageFiles":
        """Return it from pairs of a path and its real path."""
        listed = tuple((Path(path), Path(real)) for path, real in files)
        links = {Path(path): Path(real) for path, real in folders} | dict(listed)
        return cls(links, tuple(dict.fromkeys(path for path, _ in listed)))

    def real(self, path: Path) -> Path:
        return self.links.get(path, path)

    def find(self, folder: Path, patterns: Sequence[str]) -> list[Path]:
        inside = [file for file in self.files if file.is_relative_to(folder)]
        return [file for pattern in patterns for file in inside if _fits(file.relative_to(folder), pattern)]


def _fits(path: PurePath, pattern: str) -> bool:
    parts = PurePath(pattern).parts
    return len(parts) == len(path.parts) and all(map(fnmatchcase, path.parts, parts))


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
