"""What Spack is to build for each stack of a system, and whether it is built: this needs no call of Spack."""

from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import RailyardError, SetupError, did_you_mean, note_remark
from railyard.provision.spack import locks, marker
from railyard.provision.spack.marker import Marker
from railyard.provision.spack.overlay import overlay_file
from railyard.provision.spack.program import program
from railyard.provision.spack.sources import Choices, Sources, gather
from railyard.site.references.load import references_of
from railyard.site.site import Site
from railyard.site.systems.load import load_systems
from railyard.site.systems.model import System
from railyard.stacks.ask import why_no_stack


@dataclass(frozen=True, slots=True)
class Request:
    """What is requested: the environment of a stack of a system, below ``root``, with these tools in it.

    ``processor`` is that of the nodes, if the system's file states it. ``scopes`` are those of Spack's local
    configuration that the site uses too.
    """

    home: Path
    system: str
    stack: str
    environment: str
    root: Path
    tools: tuple[str, ...]
    with_: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    processor: str | None = None
    scopes: tuple[str, ...] = ()

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
        """Return the files that it is made from. Raises InputError if something in them is wrong.

        Raises SetupError for a stack that does not exist for the processor that it is to be built for.
        """
        choices = Choices(self.with_, self.without, self.processor, self.scopes)
        found = gather(self.home, self.system, self.stack, self.environment, choices)
        why = why_no_stack(self.stack, found.target.name)
        if why is not None:
            raise SetupError(
                f"systems/{self.system}.yaml stacks.{self.stack}: {why}, and its target is {found.target.name} "
                f"({found.target.source}); leave the stack out of the file"
            )
        return found


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


def requests(home: Path, name: str, stacks: tuple[str, ...] = ()) -> tuple[Request, ...]:
    """Return a request for each of these stacks of a system; if none is named, for all that Spack can build.

    Raises RailyardError for an unknown system or stack, and for a stack that Spack does not build there.
    """
    systems = load_systems(home / "systems", asked_for_spack=True)
    if name not in systems and name not in systems.broken:
        raise RailyardError(f'--system: found "{name}", expected a file in systems/; {did_you_mean(name, systems)}')
    note_remark(systems.remark(but=name))
    system = systems[name]
    built = [stack for stack, entry in system.stacks.items() if entry.spack is not None]
    if not built:
        raise RailyardError(
            f"systems/{name}.yaml: found no stack with spack, expected at least one that Spack builds "
            "(docs/howto/spack.md)"
        )
    for stack in stacks:
        if stack not in built:
            raise RailyardError(
                f'--stack: found "{stack}", expected one that Spack builds on {name}; {did_you_mean(stack, built)}'
            )
    site = Site(home, system, references_of(home / "references", system))
    return tuple(request_of(site, stack) for stack in built if not stacks or stack in stacks)


def request_of(site: Site, stack: str) -> Request:
    """Return what Spack is to build for a stack of this site. Raises SetupError for a stack that it does not build."""
    entry = site.system.stacks[stack]
    if entry.spack is None:
        raise SetupError(
            f"systems/{site.system.system}.yaml stacks.{stack}: found no spack, expected what Spack is to build for it"
        )
    root = Path(site.system.spack.root.replace("{home}", str(site.home))).expanduser()
    return Request(
        home=site.home,
        system=_overlay_system(site),
        stack=stack,
        environment=entry.spack.environment or stack,
        root=root if root.is_absolute() else site.home / root,
        tools=entry.spack.benchmarks,
        with_=entry.spack.with_,
        without=entry.spack.without,
        processor=site.system.processor,
        scopes=site.system.spack.local_configuration,
    )


def _overlay_system(site: Site) -> str:
    """Return the system whose overlay, lock and builds count: the one in ``like``, unless this one has an overlay."""
    own, like = site.system.system, site.system.like
    return own if like is None or overlay_file(site.home, own).exists() else like


def source_errors(site: Site) -> tuple[RailyardError, ...]:
    """Return what is wrong with the files from which Spack is to build the stacks of a site, each mistake once.

    It calls no Spack. A NotHereError may be right on the host that builds.
    """
    found: dict[str, RailyardError] = {}
    for stack, entry in site.system.stacks.items():
        if entry.spack is not None:
            try:
                locks.read_committed(request_of(site, stack).sources())
            except RailyardError as error:
                found.setdefault(str(error), error)
    return tuple(found.values())


def offer(home: Path, system: System) -> str | None:
    """Return the line that says what else Spack could build, if a system's file has it and nobody asked for it."""
    offered = load_systems(home / "systems", asked_for_spack=True)[system.system]
    more = [name for name, entry in offered.stacks.items() if entry.spack and not system.stacks[name].spack]
    if not more:
        return None
    how = "" if program(home) else ", which gets Spack first"
    return f"Spack can build more benchmarks for {' and '.join(more)}: railyard run --spack{how}"
