"""Which environments to build for a system: one request per stack."""

from pathlib import Path

from railyard.base.errors import RailyardError, did_you_mean
from railyard.provision.installed_stack import request_of
from railyard.provision.spack.program import program
from railyard.provision.spack.request import Request
from railyard.site.references.load import references_of
from railyard.site.site import Site
from railyard.site.systems.load import load_systems
from railyard.site.systems.model import System


def requests(home: Path, name: str, stacks: tuple[str, ...] = ()) -> tuple[Request, ...]:
    """Return a request for each of these stacks of a system; if none is named, for all that Spack can build.

    Raises RailyardError for an unknown system or stack, and for a stack that Spack does not build there.
    """
    systems = load_systems(home / "systems", asked_for_spack=True)
    if name not in systems:
        raise RailyardError(f'--system: found "{name}", expected a file in systems/; {did_you_mean(name, systems)}')
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


def offer(home: Path, system: System) -> str | None:
    """Return the line that says what else Spack could build, if a system's file has it and nobody asked for it."""
    offered = load_systems(home / "systems", asked_for_spack=True)[system.system]
    more = [name for name, entry in offered.stacks.items() if entry.spack and not system.stacks[name].spack]
    if not more:
        return None
    how = "" if program(home) else ", which gets Spack first"
    return f"Spack can build more benchmarks for {' and '.join(more)}: make run SPACK=1, or railyard run --spack{how}"
