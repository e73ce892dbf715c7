"""Gets Spack and its package repository at pinned commits, from the official place or from one that the user gives."""

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml

from railyard.base.errors import SetupError


@dataclass(frozen=True, slots=True)
class Pin:
    """One repository at the commit that Railyard was run with."""

    name: str
    source: str
    commit: str
    what: str


SPACK = Pin(
    "spack", "https://github.com/spack/spack.git", "2932d76ece6e101d8e4b2d8477a875638de28ba4", "Spack 1.2.0.dev0"
)
PACKAGES = Pin(
    "spack-packages", "https://github.com/spack/spack-packages.git", "d4f7c711a6a42f1c4d551c8fd10fce9a11340a81",
    "its packages v2026.06.0",
)  # fmt: skip


def bootstrap(
    folder: Path, say: Callable[[str], None], *, spack: str | None = None, packages: str | None = None
) -> Path:
    """Make ``folder/spack`` and ``folder/spack-packages`` at the pinned commits; return the folder of `spack` itself.

    ``spack`` and ``packages`` are other sources for git: a folder, a mirror's URL. What is there at its commit is left
    alone. Raises SetupError where git is missing or a source has not the commit.
    """
    if shutil.which("git") is None:
        raise SetupError("git: found none on PATH, expected it to fetch Spack with; install git")
    folder.mkdir(parents=True, exist_ok=True)
    _fetch(SPACK, spack or SPACK.source, folder, say)
    _fetch(PACKAGES, packages or PACKAGES.source, folder, say)
    scope = folder / "spack" / "etc" / "spack" / "repos.yaml"
    # Spack's own default clones its packages again, at a branch that moves.
    place = folder.resolve() / "spack-packages" / "repos" / "spack_repo" / "builtin"
    scope.write_text(yaml.safe_dump({"repos": {"builtin": str(place)}}), encoding="utf-8")
    return folder / "spack" / "bin"


def _fetch(pin: Pin, source: str, folder: Path, say: Callable[[str], None]) -> None:
    place = folder / pin.name
    if (place / ".git").is_dir() and _git(place, "rev-parse", "HEAD").strip() == pin.commit:
        say(f"{pin.what}: in {place} already")
        return
    if place.exists() and not (place / ".git").is_dir():
        raise SetupError(f"{place}: found a folder that is no clone, expected none or a clone; remove it")
    say(f"fetching {pin.what} from {source} into {place}")
    place.mkdir(exist_ok=True)
    _git(place, "init", "--quiet")
    try:
        _git(place, "fetch", "--quiet", "--depth", "1", source, pin.commit)
    except SetupError as error:
        raise SetupError(
            f"{error}; without a network bring a clone of {pin.name} that has the commit {pin.commit} here and give "
            f"its folder: railyard spack bootstrap --{'spack' if pin is SPACK else 'packages'} FOLDER"
        ) from None
    _git(place, "checkout", "--quiet", "--force", pin.commit)


def _git(place: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(place), *words], capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or ["it said nothing"]
        raise SetupError(f"git {words[0]} in {place} failed: {lines[-1]}")
    return done.stdout
