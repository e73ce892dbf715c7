"""Compares the libraries that carry a benchmark's messages, as its own process loaded them, with where they should be.

``ldd`` shows only what the benchmark is linked to, and only for the job's shell. A library loads others when it starts
(UCX and libfabric their transports, Open MPI its components), and LD_PRELOAD, LD_LIBRARY_PATH or a variable such as
FI_PROVIDER_PATH can lead to other ones. ``environment.sh`` reads what is loaded from /proc/PID/maps.

A library is the intended one if it is in the stack's prefix or in a folder that the system's file names
(``libraries``). A copy elsewhere is another one if the file names folders, or if the prefix has its own copy. Verbs,
PSM and CXI belong to the kernel's drivers: without a copy in the prefix they must be the operating system's. If nothing
says where UCX, libfabric or NCCL should be, the operating system's is the intended one, and any other is not proven.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from railyard.base.clean_text import one_line
from railyard.base.hostlist import label, list_nodes
from railyard.base.wording import either, few
from railyard.job.environment import RankEnvironment


@dataclass(frozen=True, slots=True)
class Family:
    """Libraries that come together: regular expressions for the names of all, and patterns for those of the main ones.

    A prefix that has a main one has its own copy of the family. ``of_system``: they belong to the kernel's drivers.
    """

    title: str
    files: tuple[str, ...]
    main: tuple[str, ...]
    of_system: bool = False


_COMPILERS = "(ch|_cray|_(gnu|intel|nvidia|aocc)[a-z0-9_]*)?"
#: The names that their releases have: openucx.org, ofiwg.github.io (a provider is libNAME-fi.so), rdma-core (a driver
#: is libNAME-rdmavNN.so), and NCCL's documentation of plugins. They are valid for Python and for grep -E.
FAMILIES = (
    Family("MPI", (rf"libmpi{_COMPILERS}\.so",), ("libmpi*.so*",)),
    Family("UCX", (r"libuc[pmst](_[a-z0-9_]+)?\.so",), ("libucp.so*",)),
    Family("libfabric", (r"libfabric\.so", r"lib[a-z0-9_.-]+-fi\.so"), ("libfabric.so*",)),
    Family("PSM", (r"libpsm(2|_infinipath)\.so",), ("libpsm2.so*", "libpsm_infinipath.so*"), of_system=True),
    Family(
        "verbs", (r"lib(ibverbs|rdmacm)\.so", r"lib[a-z0-9_]+-rdmav[0-9]+\.so"), ("libibverbs.so*",), of_system=True
    ),
    Family("CXI", (r"libcxi(utils)?\.so",), ("libcxi.so*",), of_system=True),
    Family("NCCL", (r"lib[nr]ccl(-[a-z0-9_-]+)?\.so",), ("libnccl.so*", "librccl.so*")),
)
#: Where the loader looks by itself: /usr/lib64, /usr/lib/x86_64-linux-gnu, …
_OF_THE_SYSTEM = re.compile(r"(?:/usr)?/lib(?:64|32)?/")
_DELETED = " (deleted)"  # the file was replaced after it was loaded
#: Spack ends the name of a package's folder with a hash. The packages that it depends on are beside it.
_OF_SPACK = re.compile(r"-[a-z0-9]{32}$")
#: Where a prefix has its libraries: Intel MPI has libfabric/lib, and the folder of a library may itself be given.
_BELOW = ("", "lib*/", "lib*/*/", "libfabric/lib/", "opt/mpi/libfabric/lib/")


@dataclass(frozen=True, slots=True)
class Places:
    """Where the libraries of a run should be: the prefixes of its stack, and the folders that the file names."""

    prefixes: tuple[str, ...]
    named: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _ExpectedPlace:
    """Where a family should be. ``is_stated``: prefix or file say so, else a copy elsewhere is only not proven."""

    folders: tuple[Path, ...]
    system: bool
    is_stated: bool

    def find_outside(self, paths: Iterable[str]) -> list[str]:
        """Return the libraries that are in none of these folders."""
        return [
            path
            for path in paths
            if not any(Path(path).is_relative_to(folder) for folder in self.folders)
            and not (self.system and _OF_THE_SYSTEM.match(path))
        ]


def pattern() -> str:
    """Return the expression with which ``grep -oE`` finds the path of these libraries in a line of /proc/PID/maps."""
    files = "|".join(each for family in FAMILIES for each in family.files)
    return f"/.*/({files})[^/]*$"


def why_other(found: Iterable[RankEnvironment], places: Places) -> str | None:
    """Return a sentence about the first library of a process that is another one than intended; None if none is."""
    for each in found:
        for family, paths in _by_family(each.libraries or ()):
            expected = _expected_places(family, places)
            outside = expected.find_outside(paths)
            if outside and expected.is_stated:
                where = [*places.prefixes, *places.named, *(["the operating system"] if expected.system else [])]
                return (
                    f"{each.program} on {each.node} loaded {few(outside, 2)}, expected {family.title} of "
                    f"{either(where)}; if it is intended, name its folder under libraries of that stack in the "
                    "system's file"
                )
    return None


def doubts(found: Sequence[RankEnvironment], places: Places, nodes: Sequence[str]) -> tuple[str, ...]:
    """Return remarks about what is not proven: nodes whose process was not read, libraries that may be from anywhere.

    ``nodes`` are those of the run.
    """
    read = {label(each.node) for each in found if _is_read(each, places)}
    unread = [node for node in nodes if label(node) not in read]
    said = (
        [f"not proven: which libraries the benchmark loaded on {list_nodes(unread)} (they were not read)"]
        if unread
        else []
    )
    anywhere: dict[str, list[str]] = {}
    for each in found:
        for family, paths in _by_family(each.libraries or ()):
            expected = _expected_places(family, places)
            if not expected.is_stated and (outside := expected.find_outside(paths)):
                anywhere.setdefault(family.title, outside)
    said += [
        f"not proven: that {few(paths, 2)} is the intended {title}; name its folder under libraries of that stack in "
        "the system's file"
        for title, paths in anywhere.items()
    ]
    return tuple(said)


def _is_read(found: RankEnvironment, places: Places) -> bool:
    """Return whether a process showed its libraries: of an MPI with a prefix, libmpi must be among them."""
    if found.libraries is None:
        return False
    return not places.prefixes or any(family.title == "MPI" for family, _ in _by_family(found.libraries))


def _by_family(paths: Iterable[str]) -> Iterator[tuple[Family, list[str]]]:
    known = tuple(dict.fromkeys(one_line(path.removesuffix(_DELETED)) for path in paths))
    for family in FAMILIES:
        of_it = [path for path in known if re.match("|".join(family.files), Path(path).name)]
        if of_it:
            yield family, of_it


def _expected_places(family: Family, places: Places) -> _ExpectedPlace:
    prefixes, is_mpi = [Path(text) for text in places.prefixes], family.title == "MPI"
    own = dict.fromkeys([*prefixes, *(path.resolve() for path in prefixes)])
    # A prefix may consist of links, as that of a distribution's MPI or a view of Spack's.
    own |= dict.fromkeys(file.resolve().parent for path in prefixes for file in _copies(path, FAMILIES[0].main))
    copies = [file for folder in own for file in _copies(folder, family.main)]
    stores = [path.parent for path in prefixes if _OF_SPACK.search(path.name)]
    folders = [*own, *(file.resolve().parent for file in copies), *stores]
    folders += [path for text in places.named for path in (Path(text), Path(text).resolve())]
    if is_mpi:  # without a prefix, a module decides
        return _ExpectedPlace(tuple(folders) or (Path("/"),), False, True)
    if copies:
        return _ExpectedPlace(tuple(folders), False, True)
    is_stated = bool(places.named) or (family.of_system and bool(prefixes))
    return _ExpectedPlace(tuple(folders), family.of_system or not places.named, is_stated)


def _copies(folder: Path, names: Sequence[str]) -> list[Path]:
    """Return the files of these names in a prefix, or in a folder of libraries."""
    return [file for name in names for where in _BELOW for file in folder.glob(where + name)]
