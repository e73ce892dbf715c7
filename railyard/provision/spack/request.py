"""What Spack is to build for a stack of a system, and whether it is built: this needs no call of Spack."""

from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.provision.spack import marker
from railyard.provision.spack.marker import Marker
from railyard.provision.spack.sources import Sources, gather


@dataclass(frozen=True, slots=True)
class Request:
    """What is requested: the environment of a stack of a system, below ``root``, with these tools in it."""

    home: Path
    system: str
    stack: str
    environment: str
    root: Path
    tools: tuple[str, ...]
    with_: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def place(self) -> Path:
        """The folder of all past and present environments of this (system, stack)."""
        return self.root / self.system / self.stack

    @property
    def install_tree(self) -> Path:
        """Where packages are installed, unless the overlay or the environment names another place."""
        return self.root / "opt"

    @property
    def command(self) -> str:
        """What a person types to build it."""
        return f"railyard spack install --system {self.system} --stack {self.stack}"

    def sources(self) -> Sources:
        """Return the files that it is made from. Raises InputError if something in them is wrong."""
        return gather(self.home, self.system, self.stack, self.environment, self.with_, self.without)


def ready(request: Request) -> Marker | None:
    """Return the marker of the environment if it is built and unchanged since, None if it must be built.

    Also None if it lacks a tool that the system's file names now. Raises InputError for broken sources, SetupError if
    what was built is gone or has changed.
    """
    found = marker.read(request.place / request.sources().key())
    if found is None or any(tool not in found.tools for tool in request.tools):
        return None
    stale = marker.why_stale(found)
    if stale is not None:
        raise SetupError(
            f"{stale}; the environment of {request.stack} on {request.system} is not what was built: "
            f"type {request.command} --again"
        )
    return found
