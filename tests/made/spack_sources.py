"""Two small git repositories in place of Spack's own and its packages', pinned at their first commits."""

import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from railyard.provision.spack import bootstrap


@dataclass(frozen=True)
class MadeSources:
    """A folder with ``spack`` and ``spack-packages``; the commits that are pinned."""

    folder: Path
    spack_commit: str
    packages_commit: str

    @property
    def spack(self) -> Path:
        return self.folder / "spack"

    @property
    def packages(self) -> Path:
        return self.folder / "spack-packages"


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=test", "-c", "user.email=test@example.org")
    return subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True, text=True).stdout


def _repository(folder: Path, *files: str, program: str = "echo pinned") -> str:
    """Make a repository of two commits and return the first one's name: what is pinned is not the newest."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet")
    for text in (program, "echo newer"):
        for file in files:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
            (folder / file).chmod(0o755)
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", text)
    return git(folder, "rev-parse", "HEAD~1").strip()


def make(folder: Path, *, program: str = "echo pinned") -> MadeSources:
    """Fill a folder with both; ``program`` is what the pinned Spack runs."""
    spack = _repository(folder / "spack", "bin/spack", "etc/spack/defaults/config.yaml", program=program)
    packages = _repository(folder / "spack-packages", "repos/spack_repo/builtin/repo.yaml")
    return MadeSources(folder, spack, packages)


def pin(monkeypatch: pytest.MonkeyPatch, made: MadeSources, official: str) -> None:
    """Make these the pinned commits, and ``official`` the place that they are taken from by default."""
    for name, commit in (("SPACK", made.spack_commit), ("PACKAGES", made.packages_commit)):
        was = getattr(bootstrap, name)
        monkeypatch.setattr(bootstrap, name, replace(was, source=f"{official}/{was.name}", commit=commit))
