"""Where a stack's launcher, variables and benchmarks are: installed by the site or built by Spack, in one form."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from railyard.errors import SetupError
from railyard.site import Site

if TYPE_CHECKING:
    from railyard.spack.marker import Marker
    from railyard.spack.request import Request


@dataclass(frozen=True, slots=True)
class Installed:
    """A stack as it is there. ``launcher`` is its mpirun, ``tools`` maps a tool to its executable or folder.

    ``prefix`` is the MPI library's, None where modules decide; ``built`` is the marker of what Spack built, if it did.
    """

    launcher: str
    prefix: str | None
    environment: Mapping[str, str]
    tools: Mapping[str, str]
    built: "Marker | None" = None
    modules: tuple[str, ...] = field(default=())

    def executable(self, tool: str, program: str = "") -> str:
        """Return the path of a tool's executable; ``program`` names one of a tool that is a folder of them.

        It is sought below that folder: OSU has moved its programs between releases. Raises SetupError where it is not
        there, or there twice.
        """
        if not program:
            return self.tools[tool]
        found = sorted(path for path in Path(self.tools[tool]).rglob(program) if path.is_file())
        if len(found) != 1:
            raise SetupError(
                f"{self.tools[tool]}: found {len(found) or 'no'} {program} below it, expected one executable of {tool}"
            )
        return str(found[0])


def installed(site: Site, stack: str) -> Installed:
    """Return where a stack of this site is. Raises SetupError where Spack has not built it, or it is not as built."""
    entry = site.system.stacks[stack]
    environment = entry.environment(site.home)
    prefix = entry.path(entry.prefix, site.home) if entry.prefix else None
    if entry.spack is None:
        tools = {tool: entry.executable(tool, site.home) for tool in entry.benchmarks}
        return Installed(_launcher(prefix), prefix, environment, tools, modules=entry.modules)
    from railyard.spack.request import ready

    request = request_of(site, stack)
    found = ready(request)
    if found is None:
        raise SetupError(
            f"{stack} on {site.system.system}: found no build of its benchmarks, expected the one of its sources; "
            f"type: {request.command}"
        )
    return Installed(_launcher(found.mpi_prefix), found.mpi_prefix, environment, found.tools, found, entry.modules)


def request_of(site: Site, stack: str) -> "Request":
    """Return what Spack is to build for a stack of this site. Raises SetupError for a stack that it does not build."""
    from railyard.spack.request import Request

    entry = site.system.stacks[stack]
    if entry.spack is None:
        raise SetupError(
            f"systems/{site.system.system}.yaml stacks.{stack}: found no spack, expected what Spack is to build for it"
        )
    root = Path(site.system.spack.root.replace("{home}", str(site.home))).expanduser()
    return Request(
        home=site.home,
        system=site.system.system,
        stack=stack,
        environment=entry.spack.environment or stack,
        root=root if root.is_absolute() else site.home / root,
        tools=entry.spack.benchmarks,
        with_=entry.spack.with_,
        without=entry.spack.without,
    )


def _launcher(prefix: str | None) -> str:
    return f"{prefix}/bin/mpirun" if prefix else "mpirun"
