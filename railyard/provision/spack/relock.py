"""Makes the lock of an environment again, and says what changes before it is written."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from railyard.provision.spack import calls, compose, locks, overlay
from railyard.provision.spack.request import Request
from railyard.provision.spack.sources import lock_file


@dataclass(frozen=True, slots=True)
class FreshLock:
    """A fresh lock: its text, its place, and how it differs from the present one (None: there is none)."""

    path: Path
    text: str
    changes: tuple[str, ...] | None


def relock(request: Request, say: Callable[[str], None], *, verbose: bool = False) -> FreshLock:
    """Return a fresh lock of an environment; nothing is written. Raises SpackError if nothing satisfies it."""
    # The committed lock is left out: otherwise Spack would keep its contents.
    sources = replace(request.sources(), lock=None)
    spack = calls.find(request.home, say, verbose, compose.variables(sources))
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
