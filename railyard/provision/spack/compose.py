"""Writes the folder that Spack is given: a copy of an environment's sources, with the system's overlay first."""

import shutil
from pathlib import Path
from typing import Any

import yaml

from railyard.base.errors import SetupError
from railyard.provision.spack.sources import REPOSITORY, Sources, environments

OVERLAY = "overlay.yaml"
#: What spack_envs/common/definitions.yaml reads: groups to add, and benchmarks to leave out, comma-separated.
WITH_VARIABLE = "RAILYARD_SPACK_WITH"
WITHOUT_VARIABLE = "RAILYARD_SPACK_WITHOUT"


def write(sources: Sources, folder: Path, install_tree: Path) -> Path:
    """Write the environment's folder again and return the folder of its manifest.

    It is a copy: if you edit the clone while Spack builds, the build does not change. ``install_tree`` is used if
    neither the overlay nor the environment names one. Raises SetupError if the folder cannot be written.
    """
    try:
        return _write_sources(sources, folder, install_tree)
    except OSError as error:
        raise SetupError(
            f"{error.filename or folder}: {(error.strerror or str(error)).lower()}, expected to write there what "
            f"Spack is given; make room, or choose another folder in the system's file (spack: root)"
        ) from None


def _write_sources(sources: Sources, folder: Path, install_tree: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    place = folder / sources.environment
    place.mkdir(parents=True)
    top = environments(sources.home)
    for path, _ in sources.includes:
        copy = folder / path.relative_to(top)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    if (top / REPOSITORY).is_dir():
        shutil.copytree(top / REPOSITORY, folder / REPOSITORY, ignore=shutil.ignore_patterns("__pycache__"))
    _dump(_with_install_tree(sources, install_tree), folder / OVERLAY)
    body = dict(sources.manifest.data["spack"])
    body["include"] = [f"../{OVERLAY}", *(body.get("include") or ())]
    _dump({"spack": body}, place / "spack.yaml")
    if sources.lock is not None:
        shutil.copyfile(sources.lock, place / "spack.lock")
    return place


def variables(sources: Sources) -> dict[str, str]:
    """Return the variables that select the environment's specs."""
    return {WITH_VARIABLE: ",".join(sources.with_), WITHOUT_VARIABLE: ",".join(sources.without)}


def _with_install_tree(sources: Sources, install_tree: Path) -> dict[str, Any]:
    data = sources.overlay_data
    if sources.names_install_tree:
        return data
    return {**data, "config": {**(data.get("config") or {}), "install_tree": {"root": str(install_tree)}}}


def _dump(data: dict[str, Any], path: Path) -> None:
    path.write_text(yaml.safe_dump(data, sort_keys=False, width=120), encoding="utf-8")
