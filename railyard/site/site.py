"""A site's systems and references. Each process reads them once."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from railyard.site.references.load import References, references_of
from railyard.site.systems.load import load_system
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
