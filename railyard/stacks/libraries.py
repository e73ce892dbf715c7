"""Libraries that carry messages, by family, and the packages of a lock that have them."""

import re
from dataclasses import dataclass
from pathlib import Path

_COMPILERS = "(ch|_cray|_ibm|_(gnu|intel|nvidia|aocc)[a-z0-9_]*)?"


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
            return (
                f"{executable} is linked to {path}, expected {name} of {named[0].short} in {named[0].prefix}, which "
                "the lock names"
            )
        if lock.is_whole and not (family.of_system and LOADERS_OWN.match(path)):
            return f"{executable} is linked to {path}, expected no {family.title}: no package of the lock has it"
    return None
