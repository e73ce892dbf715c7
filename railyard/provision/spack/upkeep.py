"""What is built: where, how old and how large; the removal of what nothing uses; locks made again; folders to carry."""

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.provision.spack import build, calls, locks, marker, overlay
from railyard.provision.spack import sources as compose
from railyard.provision.spack.build import one_at_a_time
from railyard.provision.spack.calls import Spack
from railyard.provision.spack.marker import Marker
from railyard.provision.spack.request import Request, ready
from railyard.provision.spack.sources import lock_file

#: What to write into an overlay to use such a folder.
USE_SOURCES = 'mirrors: {{sources: {{url: "file://{folder}", binary: false}}}}'
USE_BINARIES = 'mirrors: {{binaries: {{url: "file://{folder}", source: false, signed: false}}}}'


@dataclass(frozen=True, slots=True)
class FreshLock:
    """A fresh lock: its text, its place, and how it differs from the present one (None: there is none)."""

    path: Path
    text: str
    changes: tuple[str, ...] | None


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
    ours = (package for package in found.packages if package.origin in (marker.BUILT, marker.CACHED))
    prefixes = {Path(package.prefix) for package in ours}
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


def relock(request: Request, say: Callable[[str], None], *, verbose: bool = False) -> FreshLock:
    """Return a fresh lock of an environment; nothing is written. Raises SpackError if nothing satisfies it."""
    # The committed lock is left out: otherwise Spack would keep its contents.
    sources = replace(request.sources(), lock=None)
    spack = calls.find(request.home, say, verbose, compose.variables(sources), scopes=sources.scopes)
    spack.version()
    with tempfile.TemporaryDirectory(prefix="railyard-lock-") as folder:
        place = compose.write(sources, Path(folder) / "environment", request.root / "opt")
        spack.run(["-e", str(place), "concretize"], Path(folder) / "spack.log")
        text = (place / "spack.lock").read_text(encoding="utf-8")
    path = lock_file(request.home, request.system, request.stack)
    if not path.is_file():
        return FreshLock(path, text, None)
    before = locks.parse(path.read_text(encoding="utf-8"), overlay.short_path(path))
    return FreshLock(path, text, locks.differences(before, locks.parse(text, "the fresh lock")))


def write(found: FreshLock) -> None:
    """Write the lock to its place in the site's folder, for you to commit."""
    found.path.parent.mkdir(parents=True, exist_ok=True)
    found.path.write_text(found.text, encoding="utf-8")


def create(request: Request, folder: Path, say: Callable[[str], None], *, verbose: bool = False) -> None:
    """Put the sources of everything that an environment builds into ``folder``. Raises SpackError."""
    sources = request.sources()
    spack = calls.find(request.home, say, verbose, compose.variables(sources), scopes=sources.scopes)
    spack.version()
    with one_at_a_time(request.place, say):
        place = request.place / sources.key()
        environment = place / request.environment
        if not (environment / "spack.lock").is_file():
            environment = compose.write(sources, place, request.root / "opt")
        log = place / build.LOG
        if sources.lock is None:
            spack.run(["-e", str(environment), "concretize"], log)
        spack.run(["-e", str(environment), "mirror", "create", "--directory", str(folder.resolve()), "--all"], log)


def push(request: Request, folder: Path, say: Callable[[str], None], *, verbose: bool = False) -> None:
    """Put what is built for an environment into ``folder`` as a build cache. Raises SetupError if nothing is built."""
    found = ready(request)
    if found is None:
        raise SetupError(
            f"{request.stack} on {request.system}: found no build, expected a build to push; type: {request.command}"
        )
    place = request.place / found.key
    spack = calls.find(request.home, say, verbose, compose.variables(request.sources()), scopes=request.scopes)
    spack.version()
    words = ["-e", str(place / request.environment), "buildcache", "push", "--unsigned", "--update-index"]
    spack.run([*words, str(folder.resolve())], place / build.LOG)
