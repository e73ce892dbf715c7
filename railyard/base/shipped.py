"""What comes with Railyard beside its package: checks, Spack environments, locks, and what a new site begins with.

In a clone these folders stand beside ``railyard/``; a wheel carries them inside it (pyproject.toml, force-include).
"""

from pathlib import Path

#: Where a wheel has them: inside the package, so that nothing else in site-packages can be overwritten.
PACKAGED = "_shipped"
CHECKS = "checks"


def shipped(package: Path = Path(__file__).parents[1]) -> Path:
    """Return the folder that holds what Railyard ships: that of the wheel, else the clone's own."""
    packaged = package / PACKAGED
    return packaged if packaged.is_dir() else package.parent


def part(home: Path, name: str) -> Path:
    """Return a site's own folder or file of that name, or Railyard's where the site has none of its own."""
    own = home / name
    return own if own.exists() else shipped() / name
