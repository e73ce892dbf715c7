"""Spack and its packages come at the pinned commits, from a folder of the user's as well."""

import subprocess
from pathlib import Path

import pytest
import yaml

from railyard.base.errors import SetupError
from railyard.provision.spack import bootstrap
from railyard.provision.spack.bootstrap import Pin


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=test", "-c", "user.email=test@example.org")
    return subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True, text=True).stdout


def repository(folder: Path, file: str) -> str:
    """Make a repository of two commits and return the first one's name: what is pinned is not the newest."""
    folder.mkdir()
    git(folder, "init", "--quiet")
    for text in ("pinned", "newer"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, encoding="utf-8")
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", text)
    return git(folder, "rev-parse", "HEAD~1").strip()


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Two small repositories in place of the official ones, pinned at their first commits."""
    spack = repository(tmp_path / "a", "etc/spack/marker")
    packages = repository(tmp_path / "b", "repos/spack_repo/builtin/repo.yaml")
    nowhere = str(tmp_path / "nowhere")
    monkeypatch.setattr(bootstrap, "SPACK", Pin("spack", nowhere, spack, "Spack 1.2"))
    monkeypatch.setattr(bootstrap, "PACKAGES", Pin("spack-packages", nowhere, packages, "its packages"))
    return str(tmp_path / "a"), str(tmp_path / "b")


def test_from_folders(tmp_path: Path, sources: tuple[str, str]) -> None:
    said: list[str] = []
    to = tmp_path / "to"
    assert bootstrap.bootstrap(to, said.append, spack=sources[0], packages=sources[1]) == to / "spack" / "bin"
    assert (to / "spack/etc/spack/marker").read_text(encoding="utf-8") == "pinned"
    assert (to / "spack-packages/repos/spack_repo/builtin/repo.yaml").read_text(encoding="utf-8") == "pinned"
    repos = yaml.safe_load((to / "spack/etc/spack/repos.yaml").read_text(encoding="utf-8"))
    assert repos == {"repos": {"builtin": f"{to}/spack-packages/repos/spack_repo/builtin"}}
    bootstrap.bootstrap(to, said.append)
    assert said == [
        f"fetching Spack 1.2 from {sources[0]} into {to}/spack",
        f"fetching its packages from {sources[1]} into {to}/spack-packages",
        f"Spack 1.2: in {to}/spack already",
        f"its packages: in {to}/spack-packages already",
    ]


def test_a_source_that_cannot_be_reached(tmp_path: Path, sources: tuple[str, str]) -> None:
    to = tmp_path / "to"
    with pytest.raises(SetupError) as error:
        bootstrap.bootstrap(to, print, spack=sources[0])
    assert str(error.value).startswith(f"git fetch in {to}/spack-packages failed: ")
    assert str(error.value).endswith(
        "; without a network bring a clone of spack-packages that has the commit "
        f"{bootstrap.PACKAGES.commit} here and give its folder: railyard spack bootstrap --packages FOLDER"
    )


def test_a_folder_that_is_no_clone(tmp_path: Path, sources: tuple[str, str]) -> None:
    (tmp_path / "to/spack").mkdir(parents=True)
    with pytest.raises(SetupError) as error:
        bootstrap.bootstrap(tmp_path / "to", print, spack=sources[0], packages=sources[1])
    assert str(error.value) == (
        f"{tmp_path}/to/spack: found a folder that is no clone, expected none or a clone; remove it"
    )


def test_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError) as error:
        bootstrap.bootstrap(tmp_path / "to", print)
    assert str(error.value) == "git: found none on PATH, expected it to fetch Spack with; install git"
