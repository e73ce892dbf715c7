"""systems/*.yaml, one file per cluster: finds the files, reads them strictly, and returns models.

A system may be like another: fields that its file leaves out come from the other's file, mapping by mapping. ``like:
virtual`` in systems/virtual-slurm.yaml gives it the fabrics, stacks and nodes of systems/virtual.yaml. So the same
cluster under a scheduler is a file of ten lines, and its references are not copied either.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from railyard.base.errors import InputError, did_you_mean
from railyard.base.fields import show
from railyard.base.paths import ALLOCATION_VARIABLE, REPLAY_VARIABLE, SPACK_VARIABLE
from railyard.base.strict_yaml import Document, load, validate
from railyard.site.systems.checks import check_prices, check_system
from railyard.site.systems.declared_mpi import declare_stacks
from railyard.site.systems.jobs import is_slurm
from railyard.site.systems.model import (
    System,
)
from railyard.site.systems.rehearsed_system import current_rehearsal


def load_system(path: Path) -> System:
    """Return the system of one file. Raises InputError for any mistake in it, also in its name."""
    system, document = _read(path)
    _check_file_name(path, system, document)
    return system


def load_systems(folder: Path, *, asked_for_spack: bool | None = None) -> dict[str, System]:
    """Return all systems of a folder by name; if ``asked_for_spack`` is None, RAILYARD_SPACK decides.

    Raises InputError for a broken file, and for two systems with one name.
    """
    if not folder.is_dir():
        raise InputError(str(folder), "no such folder", "the folder of systems/*.yaml")
    other = next(iter(sorted(folder.glob("*.yml"))), None)
    if other is not None:
        raise InputError(
            _short_path(other), 'a file that ends in ".yml"', '".yaml"', action=f"rename it to {other.stem}.yaml"
        )
    paths = sorted(folder.glob("*.yaml"))
    if not paths:
        raise InputError(str(folder), "no system", "at least one *.yaml file", action='add one, or copy "local.yaml"')
    documents = {path: load(path, _short_path(path)) for path in paths}
    # A mistake in a file is reported for that file, not for one that is like it and comes before it in the alphabet.
    in_turn = sorted(paths, key=lambda path: "like" in documents[path].data)
    systems = {path: _read(path, asked_for_spack, documents[path]) for path in in_turn}
    read = [(path, *systems[path]) for path in paths]
    files: dict[str, Path] = {}
    for path, system, document in read:
        first = files.setdefault(system.system, path)
        if first != path:
            found = f"the system {show(system.system)} for the second time"
            raise document.error(
                ("system",), found, f"one file per system ({_short_path(first)} has that name)", "rename one"
            )
    for path, system, document in read:
        _check_file_name(path, system, document)
    return {system.system: system for _, system, _ in read}


def find_system(folder: Path, name: str) -> System:
    """Return one system of a folder by name. Raises InputError for an unknown name, offering the nearest known one."""
    systems = load_systems(folder)
    if name not in systems:
        raise InputError(
            f"{folder.name}/", f"no system {show(name)}", "a system of that name", action=did_you_mean(name, systems)
        )
    return systems[name]


def replays_all() -> bool:
    """Return whether RAILYARD_REPLAY tells Railyard to replay every system's outputs, except those of a single host."""
    return _asked_for(REPLAY_VARIABLE)


def _short_path(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def _read(path: Path, asked_for_spack: bool | None = None, own: Document | None = None) -> tuple[System, Document]:
    document = written_out(load(path, _short_path(path)) if own is None else own, path.parent)
    system = validate(System, document)
    declare_stacks(system.stacks, document)
    check_system(system, document)
    check_prices(system, document)
    if asked_for_spack is None:
        asked_for_spack = _asked_for(SPACK_VARIABLE)
    system = system.using_spack(asked_for_spack)
    # A single host has no rails whose outputs could replace a run, so it is not replayed.
    if system.provider == "replay" or (system.provider != "host" and replays_all()):
        system = system.as_replay()
    elif (standing := current_rehearsal()) is not None and standing.system == system.system:
        system = standing.of(system)
    elif is_slurm(system.scheduler) and _asked_for(ALLOCATION_VARIABLE):
        system = system.as_allocation(tuple(os.environ[ALLOCATION_VARIABLE].split(",")))
    return system, document


def _asked_for(variable: str) -> bool:
    return os.environ.get(variable, "0") not in ("", "0")


def _check_file_name(path: Path, system: System, document: Document) -> None:
    if path.stem != system.system:
        expected = f'"{path.stem}", the name of the file'
        raise document.error(("system",), show(system.system), expected, f"rename the file to {system.system}.yaml")


#: Fields that are not inherited. If two systems had the same host names, nobody could tell them apart.
_OWN = ("system", "hostnames", "like")


def written_out(document: Document, folder: Path) -> Document:
    """Return the document, with missing fields from the system that it is like; unchanged if it is like none.

    If both have a field that is a mapping, its entries are merged, and its own win. A list is not merged: its own
    replaces the other's. Raises InputError if ``like`` names no file of the folder, the system itself, or a system that
    is like another. A mistake in the other's file is reported when that file is read.
    """
    name = document.data.get("like")
    if not isinstance(name, str):  # none, or a value that the model refuses
        return document
    known = sorted(path.stem for path in folder.glob("*.yaml") if path.stem != document.data.get("system"))
    if name not in known:
        raise document.error(("like",), show(name), "another file of the folder", did_you_mean(name, known))
    other = load(folder / f"{name}.yaml", f"{folder.name}/{name}.yaml").data
    if "like" in other:
        found = f"{show(name)}, which is itself like {show(other['like'])}"
        raise document.error(("like",), found, "a system that is not like another")
    inherited = {key: value for key, value in other.items() if key not in _OWN}
    return Document(document.file, _merge(inherited, document.data), document.root)


def _merge(other: Mapping[Any, Any], own: Mapping[Any, Any]) -> dict[Any, Any]:
    merged = dict(other)
    for key, value in own.items():
        before = other.get(key)
        both = isinstance(before, Mapping) and isinstance(value, Mapping)
        merged[key] = _merge(before, value) if both and isinstance(before, Mapping) else value
    return merged
