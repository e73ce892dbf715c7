"""Where a stack's launcher, variables and benchmarks are, in one form for what the site installed and Spack built."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from railyard.base.errors import SetupError
from railyard.provision import kept_files
from railyard.site.site import Site
from railyard.site.systems.stack_entry import Container
from railyard.stacks.containers import Image
from railyard.stacks.libraries import LockedLibraries

if TYPE_CHECKING:
    from railyard.provision.spack.marker import Marker


#: A tool of many programs -> what to do if one of them is not there. Other tools have all of theirs, or none.
_WITHOUT_PROGRAM: Mapping[str, str] = dict.fromkeys(
    ("npb", "npb-mz"), "; build it, or name the classes that are built (npb_classes in the system's file)"
)
#: The folder beside a job's script with links to programs that only the nodes or an image have.
LINKS = "programs"


@dataclass(frozen=True, slots=True)
class InstalledStack:
    """An installed stack. ``launcher`` is its mpirun, ``tools`` maps a tool to its executable or folder.

    ``prefix`` is the MPI library's, None if modules decide; ``built`` is the marker of what Spack built, if it built
    anything. ``inside`` is the image in which its programs run. Then ``prefix`` and ``tools`` are paths inside, and
    ``host_prefix`` is where the node itself has the MPI whose launcher starts them; None if that is on PATH.
    """

    launcher: str
    prefix: str | None
    environment: Mapping[str, str]
    tools: Mapping[str, str]
    built: "Marker | None" = None
    modules: tuple[str, ...] = field(default=())
    inside: Image | None = None
    host_prefix: str | None = None

    @property
    def start_prefix(self) -> str | None:
        """Where the node itself has the MPI's launcher; None if that is on PATH."""
        return self.prefix if self.inside is None else self.host_prefix

    @property
    def mpi_version(self) -> str | None:
        """The version of the MPI that Spack linked the benchmarks to; None if the site installed them."""
        return None if self.built is None else self.built.mpi.partition("@")[2] or None

    @property
    def lock(self) -> LockedLibraries:
        """The packages of Spack's lock that have libraries for messages; empty if the site installed the stack."""
        return LockedLibraries() if self.built is None else self.built.locked_libraries

    @property
    def mpi_standard(self) -> str | None:
        """The version of the MPI standard that the library's header states; None without a prefix or a header.

        Nobody reads a header in an image.
        """
        return None if self.prefix is None or self.inside is not None else _standard(self.prefix)

    def executable(self, tool: str, program: str = "", other: str = "") -> str:
        """Return the path of a tool's executable; ``program`` names one of a tool that is a folder of them.

        It is searched for below that folder: OSU has moved its programs between releases. ``other`` is its name in
        another release. A site may also name the program itself, if it needs no other program of the tool. Raises
        SetupError if the program is missing or is there twice, or if a tool of one program is a folder.
        Only the job sees the programs of an image. It makes a link to each (``in_image.sh``): this returns the link.
        """
        if self.inside is not None:
            return f"./{LINKS}/{program or Path(self.tools[tool]).name}"
        if not program and os.path.isdir(self.tools[tool]):
            raise SetupError(f"{self.tools[tool]}: found a folder, expected the executable of {tool}: name that")
        # Only the nodes may have it: then nobody can look for it here.
        if not program or (Path(self.tools[tool]).name == program and not os.path.isdir(self.tools[tool])):
            return self.tools[tool]
        names = f"{program} or {other}" if other else program
        if not os.path.exists(self.tools[tool]):
            raise SetupError(
                f"{self.tools[tool]}: found nothing there on this host, expected {names} of {tool} or a folder with "
                f"it; if only the nodes have it, name the path of {program} itself in the system's file"
            )
        for name in (program, other) if other else (program,):
            found = sorted(path for path in Path(self.tools[tool]).rglob(name) if path.is_file())
            if len(found) == 1:
                return str(found[0])
            if found:
                break
        raise SetupError(
            f"{self.tools[tool]}: found {len(found) or 'no'} {program if found else names} below it, "
            f"expected one executable of {tool}{'' if found else _WITHOUT_PROGRAM.get(tool, '')}"
        )


def find_stack(site: Site, stack: str) -> InstalledStack:
    """Return where a stack of this site is. Raises SetupError if it is not built or has changed since then."""
    entry = site.system.stacks[stack]
    environment = entry.environment(site.home)
    prefix = entry.path(entry.prefix, site.home) if entry.prefix else None
    if entry.spack is None:
        tools = {tool: entry.executable(tool, site.home) for tool in entry.benchmarks}
        for folder in () if entry.container else _listed_folders(prefix, tools):
            why = _why_changed(folder)
            if why is not None:
                raise SetupError(
                    f"{why}; nobody knows what would be measured: type: railyard stacks install {folder.name}"
                )
        own = InstalledStack(_launcher(prefix), prefix, environment, tools, modules=entry.modules)
        return own if entry.container is None else _in_image(site, own, entry.container)
    from railyard.provision.spack.request import ready, request_of

    request = request_of(site, stack)
    found = ready(request)
    if found is None:
        raise SetupError(
            f"{stack} on {site.system.system}: found no build of its benchmarks, expected the one of its sources; "
            f"type: {request.command}"
        )
    mpi = found.mpi_prefix or None
    return InstalledStack(_launcher(mpi), mpi, environment, found.tools, found, entry.modules)


def find_on_nodes(site: Site, stack: str) -> InstalledStack:
    """Return where a stack is, for a command that starts its programs in no image.

    Raises SetupError like ``find_stack``, and for a stack that is in an image.
    """
    there = find_stack(site, stack)
    if there.inside is not None:
        raise SetupError(
            f"systems/{site.system.system}.yaml stacks.{stack}.container: found {there.inside}, expected a stack on "
            "the nodes themselves: this command starts no programs in images; name another stack"
        )
    return there


def _in_image(site: Site, own: InstalledStack, container: Container) -> InstalledStack:
    """Return a stack whose programs run in an image."""
    there = container.host_prefix
    on_node = None if there is None else str(site.home / there.replace("{home}", str(site.home)))
    return replace(own, launcher=_launcher(on_node), inside=container.image_at(site.home), host_prefix=on_node)


def mpi_of(site: Site, stack: str) -> InstalledStack:
    """Return the MPI that starts a stack's programs: its own, that of its build, or the stack that its entry names.

    Raises SetupError like ``find_stack``.
    """
    there, starter = find_stack(site, stack), site.system.starter(stack)
    return there if starter == stack or there.built is not None else find_stack(site, starter)


def changed_files(site: Site, stack: str) -> tuple[str, ...]:
    """Return which programs and MPI libraries of the site's own installation have changed since the last run.

    Never those of a stack from Spack or a package: these must be as they were installed. Of an image, its file counts.
    """
    entry = site.system.stacks[stack]
    if entry.spack is not None or site.system.provider == "replay":
        return ()
    state = site.home / ".railyard/installed" / f"{site.system.system}-{stack}.json"
    if entry.container is not None:
        image = entry.container.image_at(site.home).file
        return () if image is None or not os.path.isfile(image) else _changed_files(state, (Path(image),))
    prefix = Path(entry.path(entry.prefix, site.home)) if entry.prefix else None
    tools = {tool: entry.executable(tool, site.home) for tool in entry.benchmarks}
    if any(_listed_folders(None if prefix is None else str(prefix), tools)):
        return ()
    libraries = () if prefix is None else (*prefix.glob("lib*/libmpi*.so*"), *prefix.glob("bin/mpirun"))
    programs = [each for tool in tools.values() for each in _programs(Path(tool))]
    return _changed_files(state, (*libraries, *programs))


def _programs(tool: Path) -> list[Path]:
    """Return a tool's executable, or those of its folder."""
    found = [tool] if os.path.isfile(tool) else tool.rglob("*") if os.path.isdir(tool) else []
    return [each for each in found if each.is_file() and os.access(each, os.X_OK)]


@lru_cache(maxsize=64)
def _changed_files(file: Path, paths: tuple[Path, ...]) -> tuple[str, ...]:
    # Asked once per process: all tests of a run have the same answer.
    return kept_files.changed_files(file, paths)


def _listed_folders(prefix: str | None, tools: Mapping[str, str]) -> list[Path]:
    """Return the folders of a prefix and of tools whose files were listed at their installation."""
    paths = [Path(path) for path in (prefix, *tools.values()) if path]
    found = {parent for path in paths for parent in (path, *path.parents) if os.path.isfile(parent / kept_files.FILE)}
    return sorted(found)


@lru_cache(maxsize=64)
def _why_changed(folder: Path) -> str | None:
    # Asked once per process: these are hundreds of files, and each test asks several times.
    return kept_files.find_changed(folder)


def _launcher(prefix: str | None) -> str:
    return f"{prefix}/bin/mpirun" if prefix else "mpirun"


# #define MPI_VERSION    5
_DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+MPI_(SUB)?VERSION[ \t]+\(?([0-9]{1,2})\)?[ \t]*$", re.MULTILINE)


@lru_cache(maxsize=16)
def _standard(prefix: str) -> str | None:
    try:
        text = Path(prefix, "include", "mpi.h").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = {sub: number for sub, number in _DEFINED.findall(text)}
    return f"{found['']}.{found['SUB']}" if len(found) == 2 else None


def has_text(executable: str, text: str) -> bool:
    """Return whether an executable's file has a text, such as the name of an option; False if it cannot be read.

    So a benchmark does not have to run to show which options its release has.
    """
    try:
        return text.encode() in Path(executable).read_bytes()
    except OSError:
        return False
