"""The install marker of a built environment. It is written last, so a killed build never counts as finished.

It says where each package comes from: built here, from a build cache, an upstream, or the site's own.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.base.json_codec import FormError, decode, encode
from railyard.provision.kept_files import KeptFile, read_kept
from railyard.stacks.libraries import LockedLibraries, LockedPackage, carries_messages

# History of the format:
#   1  the first: key, specs, MPI, tools with the executables' size and change time, linked libraries, lock's hash.
#   2  the libraries' real files and sizes: shows an external that was updated.
#   3  hash and times of executables and libraries: shows one that was replaced by another of the same size.
#   4  where each package comes from, and the site's own configuration of Spack that was used.
FORMAT = 4
#: Where a package comes from; an upstream's has its name after it.
BUILT, CACHED, EXTERNAL, UPSTREAM = "built here", "from a build cache", "external", "of the upstream"
FILE = "railyard.json"
#: What Spack has in each install tree, and in the prefix of each package that it took from a build cache
#: (spack.database and spack.binary_distribution of 1.2).
DATABASE = Path(".spack-db", "index.json")
OF_A_CACHE = Path(".spack", "binary_distribution")


@dataclass(frozen=True, slots=True)
class Package:
    """One package of the environment as it was built or found. ``root``: the environment asks for it by name.

    ``origin`` says where it comes from: ``built here``, ``from a build cache``, ``external``, ``of the upstream NAME``.
    """

    name: str
    version: str
    hash: str
    prefix: str
    compiler: str | None = None
    external: bool = False
    root: bool = False
    origin: str = BUILT

    @property
    def short(self) -> str:
        """The package as a person reads it: ``ucx@1.20.1 /abc1234``."""
        return f"{self.name}@{self.version} /{self.hash[:7]}"

    @property
    def is_reused(self) -> bool:
        """Whether somebody else built it: in an upstream, or for a build cache."""
        return self.origin == CACHED or self.origin.startswith(UPSTREAM)


@dataclass(frozen=True, slots=True)
class Executable:
    """One benchmark executable: the file as built, and its MPI and network libraries."""

    file: KeptFile
    linked: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """Where it is."""
        return self.file.path

    @property
    def size(self) -> int:
        """Its size as built, in bytes."""
        return self.file.size


@dataclass(frozen=True, slots=True)
class Library:
    """One linked library: where the loader finds it, and the real file (with a version in its name), as it was."""

    path: str
    real: KeptFile


@dataclass(frozen=True, slots=True)
class Marker:
    """What is in an environment.

    ``tools`` maps a tool to its executable or folder, ``target`` is the processor it runs on.

    ``mpi`` and ``mpi_prefix`` are empty for a stack without MPI. ``configuration``: the site's own files of Spack's
    configuration that were used, each with its hash.
    """

    key: str
    system: str
    stack: str
    spack: str
    target: str
    mpi: str
    mpi_prefix: str
    packages: tuple[Package, ...]
    tools: Mapping[str, str]
    executables: tuple[Executable, ...]
    lock_sha256: str
    spack_calls: int
    seconds: float
    built: str
    libraries: tuple[Library, ...] = ()
    configuration: tuple[str, ...] = ()

    @property
    def carriers(self) -> tuple[Package, ...]:
        """The packages that decide over which network messages go: the MPI, and the libraries below it."""
        return _carriers(self.packages, self.mpi.partition("@")[0])

    @property
    def locked_libraries(self) -> LockedLibraries:
        """The packages of its lock that have libraries for messages."""
        return locked_libraries(self.packages, self.mpi.partition("@")[0])

    @property
    def contents(self) -> str:
        """Its benchmarks and the MPI that they are linked to, for a person: ``imb, osu for openmpi@4.1.4``."""
        return ", ".join(sorted(self.tools)) + (f" for {self.mpi}" if self.mpi else "")


def locked_libraries(packages: tuple[Package, ...], mpi: str) -> LockedLibraries:
    """Return the packages that have libraries for messages; ``mpi`` is the package of the MPI, empty without one."""
    return LockedLibraries(
        tuple(LockedPackage(each.name, each.short, each.prefix, each.origin) for each in _carriers(packages, mpi)),
        is_whole=not any(each.external for each in packages if each.name == mpi),
    )


def _carriers(packages: tuple[Package, ...], mpi: str) -> tuple[Package, ...]:
    return tuple(each for each in packages if each.name == mpi or carries_messages(each.name))


def read(folder: Path) -> Marker | None:
    """Return the marker of an environment's folder, None if it has none: it was never built, or not to the end.

    A marker of an older format counts as none: the build is proven again, without any compilation. Raises SetupError
    for a newer format, and for a file that is not a marker.
    """
    file = folder / FILE
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:
        raise SetupError(
            f"{file}: found text that is not JSON ({error}), expected an install marker; remove it"
        ) from None
    except OSError as error:
        raise SetupError(f"{file}: {(error.strerror or str(error)).lower()}, expected an install marker") from None
    number = data.pop("format", None) if isinstance(data, dict) else None
    if type(number) is not int:
        raise SetupError(f"{file}: found no format number, expected an install marker of format {FORMAT}; remove it")
    if number < FORMAT:
        return None
    if number > FORMAT:
        raise SetupError(
            f"{file}: found format {number}, expected at most {FORMAT}: a newer Railyard wrote it; use the newer one, "
            f"or remove the file and build again"
        )
    try:
        return decode(Marker, data)
    except FormError as error:
        raise SetupError(f"{file}: {error}; remove it and build again") from None


def write(folder: Path, marker: Marker) -> None:
    """Write the marker in one step: it is there as a whole, or not at all."""
    part = folder / f".{FILE}.part"
    with part.open("w", encoding="utf-8") as stream:
        json.dump({"format": FORMAT} | encode(marker), stream, indent=1)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(folder / FILE)


def library(path: str) -> Library:
    """Return what a linked library is at this moment. Raises OSError if it is not there."""
    real = Path(path).resolve(strict=True)
    return Library(path, read_kept(str(real), real))


def why_stale(marker: Marker) -> str | None:
    """Return what is not as it was built, or None.

    None means that each executable is there, may be run and is the recorded one, each external is there, and each
    linked library is exactly the same file.
    """
    for each in marker.executables:
        why = _why_another(each)
        if why is not None:
            return why
    for package in marker.packages:
        if (package.external or package.is_reused) and not os.path.isdir(package.prefix):
            title = f"the external {package.name}@{package.version}"
            return f"{package.prefix}: {title if package.external else f'{package.short} {package.origin}'} is gone"
    for one in marker.libraries:
        try:
            now = Path(one.path).resolve(strict=True)
        except OSError as error:
            return f"{one.path}: {(error.strerror or str(error)).lower()}; benchmarks were linked to it"
        why = f"then {one.real.path}, now {now}" if str(now) != one.real.path else one.real.why_changed(now)
        if why is not None:
            return f"{one.path}: has changed since the benchmarks were linked to it ({why})"
    return None


def _why_another(each: Executable) -> str | None:
    path = Path(each.path)
    try:
        path.stat()
    except OSError as error:
        return f"{path}: {(error.strerror or str(error)).lower()}; it was there after the build"
    if not os.access(path, os.X_OK):
        return f"{path}: is no longer executable"
    why = each.file.why_changed(path)
    return None if why is None else f"{path}: is not the file that was built ({why})"


def find_origin(prefix: str, external: bool, upstreams: Mapping[str, str], own: str | None) -> str:
    """Return where an installed package comes from, by its prefix.

    ``upstreams`` are the install trees of the site's upstreams by name, ``own`` is this environment's. A tree that no
    file names, such as one that Spack's own configuration has, is an upstream with the name of its folder. If ``own``
    is None, only named upstreams can be told apart.
    """
    if external:
        return EXTERNAL
    there = Path(os.path.realpath(prefix))
    for name, tree in upstreams.items():
        if there.is_relative_to(os.path.realpath(tree)):
            return f"{UPSTREAM} {name}"
    if own is not None and not there.is_relative_to(os.path.realpath(own)):
        tree = next((str(folder) for folder in there.parents if os.path.isfile(folder / DATABASE)), str(there.parent))
        return f"{UPSTREAM} {tree}"
    return CACHED if os.path.isfile(there / OF_A_CACHE) else BUILT
