"""A site's systems and references. Each process reads them once."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from railyard.base.errors import RailyardError
from railyard.site.references.load import References, references_of
from railyard.site.systems.load import BrokenSystem, Systems, load_system, load_systems
from railyard.site.systems.model import System


@dataclass(frozen=True, slots=True)
class Site:
    """One system of a site folder with its references."""

    home: Path
    system: System
    references: References


@lru_cache(maxsize=8)
def site_at(home: Path, name: str) -> Site:
    """Return a system and its references. Raises InputError for a mistake in either file."""
    system = load_system(home / "systems" / f"{name}.yaml")
    return Site(home, system, references_of(home / "references", system))


def load_site(home: Path) -> Systems:
    """Return the systems of a site folder; one with a mistake in its file or its references is among the broken ones.

    Raises InputError as ``load_systems`` does, and if the references of all systems have a mistake.
    """
    systems = load_systems(home / "systems")
    broken: dict[str, BrokenSystem] = {}
    for name, system in systems.items():
        try:
            references_of(home / "references", system)
        except RailyardError as error:
            broken[name] = BrokenSystem(error, system.hostnames)
    found = systems.leave_out(broken)
    if not found:
        # First the table itself: another system may be like this one, and share it.
        raise min(broken.items(), key=lambda each: systems[each[0]].like is not None)[1].error
    return found
