"""Reads a benchmark's own process on each node, and compares its variables with those that were planned.

A rank may not have what the job exports: a module, a profile or a wrapper may set another value, and a launcher may
pass none on. ``environment.sh`` (package data beside this file) reads the variables from /proc. It reads only variables
that choose transport and rails, by whole names, because an environment holds secrets. It also writes which libraries
the process loaded.

``ldd`` shows only what the benchmark is linked to, and only for the job's shell. A library loads others when it starts
(UCX and libfabric their transports, Open MPI its components), and LD_PRELOAD, LD_LIBRARY_PATH or a variable such as
FI_PROVIDER_PATH can lead to other ones. ``environment.sh`` reads what is loaded from /proc/PID/maps.

A library is the intended one if it is in the stack's prefix or in a folder that the system's file names
(``libraries``). A copy elsewhere is another one if the file names folders, or if the prefix has its own copy. Verbs,
PSM and CXI belong to the kernel's drivers: without a copy in the prefix they must be the operating system's. If nothing
says where UCX, libfabric or NCCL should be, the operating system's is the intended one, and any other is not proven.
Of what Spack built, the lock says it: the prefix of the package that it names, in whichever install tree that is.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from railyard.base.hostlist import label
from railyard.base.paths import packaged_text
from railyard.base.values import one_line
from railyard.job.launch import Launch
from railyard.stacks.ask import variables_of_stack
from railyard.stacks.libraries import FAMILIES, HOST, LOADERS_OWN, OF_THE_SYSTEM, Family, FileView, LockedLibraries
from railyard.stacks.ucx import KEEPS_WHOLE

_DELETED = " (deleted)"  # the file was replaced after it was loaded
#: Spack ends the name of a package's folder with a hash. The packages that it depends on are beside it.
_OF_SPACK = re.compile(r"-[a-z0-9]{32}$")
#: Where a prefix has its libraries: Intel MPI has libfabric/lib, and the folder of a library may itself be given.
_BELOW = ("", "lib*/", "lib*/*/", "libfabric/lib/", "opt/mpi/libfabric/lib/")


@dataclass(frozen=True, slots=True)
class Places:
    """Where the libraries of a run should be: the stack's prefixes, the folders that the file names, Spack's lock.

    ``files``: what is there, on this host or in the run's image.
    """

    prefixes: tuple[str, ...]
    named: tuple[str, ...] = ()
    lock: LockedLibraries = field(default_factory=LockedLibraries)
    files: FileView = HOST


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
            and not (self.system and LOADERS_OWN.match(path))
        ]


FORMAT = 1
SCRIPT = "environment.sh"
NAMES_FILE = "environment.names"
LIBRARIES_FILE = "environment.libraries"
#: For a run in an image: the names of its program, one per line.
PROGRAMS_FILE = "environment.programs"
SUFFIX = ".environment"
_LONGEST = 300
#: How the script's lines begin: a variable, that /proc/PID/maps could be read, a library in it.
_KINDS = ("set", "maps", "library")


@dataclass(frozen=True, slots=True)
class RankEnvironment:
    """What the first rank's process of a node has: its program, and the variables that were asked for, by name.

    ``libraries`` are the paths of the libraries for messages that it loaded; None if the node does not show them.
    """

    node: str
    program: str
    variables: Mapping[str, str]
    libraries: tuple[str, ...] | None = None


def scripts(stack: str) -> dict[str, str]:
    """Return the files for the counter reader's folder: the script, the names that it may write down, and libraries."""

    names = "".join(f"{name}\n" for name in sorted(variables_of_stack(stack)))
    libraries = f"{pattern()}\n"
    return {SCRIPT: packaged_text(f"job/scripts/{SCRIPT}"), NAMES_FILE: names, LIBRARIES_FILE: libraries}


def planned_variables(launch: Launch) -> dict[str, str]:
    """Return the variables that the stack is given, with their values; without those that a shell still fills in."""
    told = {name: launch.env.get(name, value) for name, value in launch.settings.env.items()}
    return {name: value for name, value in told.items() if "$" not in value}


def parse(text: str, tag: str) -> RankEnvironment | None:
    """Return what a node wrote; None if the file is from another run, was cut, or is not the script's."""
    lines = text.split("\n")
    if len(lines) < 5 or lines[0] != f"railyard-environment {FORMAT} {tag}" or lines[-2:] != ["end", ""]:
        return None
    node, program, *said = (line.partition(" ") for line in lines[1:-2])
    if (node[0], program[0]) != ("node", "program") or any(kind not in _KINDS for kind, _, _ in said):
        return None
    pairs = (rest.partition(" ") for kind, _, rest in said if kind == "set")
    return RankEnvironment(
        node[2],
        one_line(program[2]),
        {name: one_line(value)[:_LONGEST] for name, _, value in pairs},
        tuple(path for kind, _, path in said if kind == "library") if ("maps", "", "") in said else None,
    )


def parse_all(texts: Iterable[str], tag: str) -> tuple[RankEnvironment, ...]:
    """Return what nodes wrote in the run with this tag; a text that ``parse`` refuses is left out."""
    return tuple(found for text in texts if (found := parse(text, tag)) is not None)


@dataclass(frozen=True, slots=True)
class SetVariable:
    """A variable of a benchmark's process on a node; ``value`` None: it is not set. ``expected``: by the plan."""

    name: str
    value: str | None
    program: str
    node: str
    expected: str | None = None


@dataclass(frozen=True, slots=True)
class OtherLibrary:
    """Libraries that a process loaded from elsewhere: of the family ``title``, expected in ``places``.

    ``of_system``: the operating system's are right, too.
    """

    program: str
    node: str
    paths: tuple[str, ...]
    title: str
    places: tuple[str, ...]
    of_system: bool


@dataclass(frozen=True, slots=True)
class UnprovenLibraries:
    """What is not proven of libraries: nodes whose process was not read, and paths that may be anything, by family."""

    unread: tuple[str, ...]
    paths: Mapping[str, tuple[str, ...]]


def why_other(found: Iterable[RankEnvironment], launch: Launch) -> SetVariable | None:
    """Return the first variable that differs from the plan in a benchmark's process.

    For the variable that gives one rail per rank, any name of the planned list is right.
    """
    for each in found:
        for name, value in planned_variables(launch).items():
            has = each.variables.get(name)
            of_its_own = name == launch.settings.rank_variable and has in value.split(",")
            if has == value[:_LONGEST] or of_its_own:
                continue
            return SetVariable(name, has, each.program, each.node, value)
    return None


def why_whole(found: Iterable[RankEnvironment]) -> SetVariable | None:
    """Return the first variable by which a process does not split its messages over rails; None without."""
    variables = (
        SetVariable(name, each.variables[name], each.program, each.node)
        for each in found
        for name in KEEPS_WHOLE
        if name in each.variables
    )
    return next(variables, None)


def nodes_without_benchmark(found: Iterable[RankEnvironment], launch: Launch) -> tuple[str, ...]:
    """Return the nodes where the benchmark was not seen: it had ended already, or the node shows no /proc."""
    seen = {label(each.node) for each in found}
    return tuple(node for node in launch.nodes if label(node) not in seen)


def find_unplanned(found: Iterable[RankEnvironment], launch: Launch) -> tuple[SetVariable, ...]:
    """Return each variable of the stack's table that is set and was not planned, once, by its name."""
    told = planned_variables(launch)
    first: dict[str, SetVariable] = {}
    for each in found:
        for name, value in each.variables.items():
            if name not in told and name not in launch.env:
                first.setdefault(name, SetVariable(name, value, each.program, each.node))
    return tuple(first[name] for name in sorted(first))


def pattern() -> str:
    """Return the expression with which ``grep -oE`` finds the path of these libraries in a line of /proc/PID/maps."""
    files = "|".join(each for family in FAMILIES for each in family.files)
    return f"/.*/({files})[^/]*$"


def why_other_libraries(found: Iterable[RankEnvironment], places: Places) -> OtherLibrary | None:
    """Return the first libraries of a process that are others than intended; None if none are."""
    for each in found:
        for family, paths in _by_family(each.libraries or ()):
            expected = _expected_places(family, places)
            outside = expected.find_outside(paths)
            if outside and expected.is_stated:
                locked = [f"{each.short} in {each.prefix}" for each in places.lock.packages_of(family)]
                own = (*places.prefixes, *locked, *places.named)
                return OtherLibrary(each.program, each.node, tuple(outside), family.title, own, expected.system)
    return None


def doubts(found: Sequence[RankEnvironment], places: Places, nodes: Sequence[str]) -> UnprovenLibraries:
    """Return what is not proven: nodes whose process was not read, libraries that may be from anywhere.

    ``nodes`` are those of the run.
    """
    read = {label(each.node) for each in found if _is_read(each, places)}
    unread = tuple(node for node in nodes if label(node) not in read)
    anywhere: dict[str, tuple[str, ...]] = {}
    for each in found:
        for family, paths in _by_family(each.libraries or ()):
            expected = _expected_places(family, places)
            if not expected.is_stated and (outside := expected.find_outside(paths)):
                anywhere.setdefault(family.title, tuple(outside))
    return UnprovenLibraries(unread, anywhere)


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
    real = places.files.real
    own = dict.fromkeys([*prefixes, *map(real, prefixes)])
    # A prefix may consist of links, as that of a distribution's MPI or a view of Spack's.
    mpis = [file for path in prefixes for file in _copies(path, FAMILIES[0].main, places.files)]
    own |= dict.fromkeys(real(file).parent for file in mpis)
    copies = [file for folder in own for file in _copies(folder, family.main, places.files)]
    locked = [Path(each.prefix) for each in places.lock.packages_of(family)]
    # Without a lock the name of a prefix must do: it is the site's own installation by Spack.
    stores = [] if places.lock.packages else [path.parent for path in prefixes if _OF_SPACK.search(path.name)]
    folders = [*own, *(real(file).parent for file in copies), *stores]
    folders += [path for each in locked if str(each) not in OF_THE_SYSTEM for path in (each, real(each))]
    folders += [path for text in places.named for path in (Path(text), real(Path(text)))]
    if is_mpi:  # without a prefix, a module decides
        return _ExpectedPlace(tuple(folders) or (Path("/"),), False, True)
    if locked:
        return _ExpectedPlace(tuple(folders), any(str(each) in OF_THE_SYSTEM for each in locked), True)
    if copies:
        return _ExpectedPlace(tuple(folders), False, True)
    if places.lock.is_whole:
        return _ExpectedPlace(tuple(folders), family.of_system, True)
    is_stated = bool(places.named) or (family.of_system and bool(prefixes))
    return _ExpectedPlace(tuple(folders), family.of_system or not places.named, is_stated)


def _copies(folder: Path, names: Sequence[str], files: FileView) -> list[Path]:
    """Return the files of these names in a prefix, or in a folder of libraries."""
    return files.find(folder, [where + name for name in names for where in _BELOW])
