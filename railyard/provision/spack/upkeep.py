"""What is built, where, how old and how large; and the removal of everything that no present environment needs."""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from railyard.provision.spack import marker
from railyard.provision.spack.build_lock import one_at_a_time
from railyard.provision.spack.calls import Spack
from railyard.provision.spack.marker import Marker
from railyard.provision.spack.request import Request

ENVIRONMENT_KEY = 16
"""Digits of an environment's folder name: Railyard may remove nothing else below a stack's folder."""


@dataclass(frozen=True, slots=True)
class BuiltEnvironment:
    """One environment's folder.

    ``marker`` is None for a build that did not finish; ``current``: it is built from the present sources.
    ``is_marked``: there is a marker, even one of an older format, which ``marker`` does not count. ``size_bytes`` is
    the packages' own size in the install tree, without what is external.
    """

    stack: str
    folder: Path
    current: bool
    marker: Marker | None
    stale: str | None
    size_bytes: int
    is_marked: bool = True


def status(request: Request) -> tuple[BuiltEnvironment, ...]:
    """Return every environment of a (system, stack), the present one first; none if nothing was ever built."""
    key = request.sources().key()
    if not request.place.is_dir():
        return ()
    folders = [path for path in request.place.iterdir() if path.is_dir() and len(path.name) == ENVIRONMENT_KEY]
    found = [_read_build(request.stack, path, path.name == key) for path in sorted(folders)]
    return tuple(sorted(found, key=lambda each: (not each.current, each.folder.name)))


def _read_build(stack: str, folder: Path, current: bool) -> BuiltEnvironment:
    found = marker.read(folder)
    if found is None:
        return BuiltEnvironment(stack, folder, current, None, None, 0, is_marked=(folder / marker.FILE).is_file())
    prefixes = {Path(package.prefix) for package in found.packages if not package.external}
    return BuiltEnvironment(stack, folder, current, found, marker.why_stale(found), sum(map(_size, prefixes)))


def _size(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            total += os.lstat(os.path.join(place, name)).st_size
    return total


def age(built: str, now: datetime) -> str:
    """Return how long ago a marker was written: ``3 days``, ``5 h``, ``12 min``."""
    then = datetime.strptime(built, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    seconds = max(0, int((now - then).total_seconds()))
    for unit, name in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds // unit} {name}"
    return f"{seconds} s"


def collect(requests: Sequence[Request], spack: Spack, say: Callable[[str], None], log: Path) -> int:
    """Remove environments that no source names now, then packages that none needs; return how many environments."""
    removed = 0
    for request in requests:
        if request.place.is_dir():
            with one_at_a_time(request.place, say):
                for each in status(request):
                    if not each.current:
                        say(f"removing {each.folder}")
                        shutil.rmtree(each.folder)
                        removed += 1
    if any(request.sources().names_install_tree for request in requests):
        # Others may install there: a package that none of our environments needs may be theirs.
        say("the site names the install tree, which may have packages of others: nothing in it is removed")
        return removed
    kept = _environments(requests[0].root)
    if kept:
        words = [word for place in kept for word in ("--except-environment", str(place))]
        # Run inside one of them, so that its install tree is cleaned.
        spack.run(["-e", str(kept[0]), "gc", "--yes-to-all", *words], log)
    return removed


def _environments(root: Path) -> list[Path]:
    """Return every environment below a root, of all systems that build there: they share the install tree."""
    folders = (path for path in root.glob("*/*/*") if path.is_dir() and len(path.name) == ENVIRONMENT_KEY)
    return sorted(lock.parent for folder in folders for lock in folder.glob("*/spack.lock"))
