"""A system that is like another: fields that its file leaves out come from the other's file, mapping by mapping.

``like: virtual`` in systems/virtual-slurm.yaml gives it the fabrics, stacks and nodes of systems/virtual.yaml. So the
same cluster under a scheduler is a file of ten lines, and its references are not copied either.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from railyard.base.errors import did_you_mean
from railyard.base.strict_yaml import Document, load
from railyard.base.values import show

#: Fields that are not inherited. If two systems had the same host names, nobody could tell them apart.
_OWN = ("system", "hostnames", "like")


def load_written_out(path: Path) -> Document:
    """Return a system's file with the fields that it leaves out. Raises InputError for what is wrong with that."""
    return written_out(load(path, f"{path.parent.name}/{path.name}"), path.parent)


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
