"""A system that is like another: what its file leaves out is taken from the other's, mapping by mapping.

``like: virtual`` in systems/virtual-slurm.yaml gives it the fabrics, stacks and nodes of systems/virtual.yaml, so that
the same cluster under a scheduler is a file of ten lines, and its references are not copied either.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from railyard.base.errors import did_you_mean
from railyard.base.fields import show
from railyard.base.strict_yaml import Document, load

#: What is each system's own: two of one host name could not be told apart.
_OWN = ("system", "hostnames", "like")


def written_out(document: Document, folder: Path) -> Document:
    """Return the document with what it leaves out taken from the system that it is like; itself where it is like none.

    Of a field that both have as a mapping the entries are put together, its own above the other's; a list is its own
    alone. Raises InputError where ``like`` names no file of the folder, itself, or a system that is like another.
    What is wrong in the other's file is said of that file, when that is read.
    """
    name = document.data.get("like")
    if not isinstance(name, str):  # none, or what the model refuses
        return document
    known = sorted(path.stem for path in folder.glob("*.yaml") if path.stem != document.data.get("system"))
    if name not in known:
        raise document.error(("like",), show(name), "another file of the folder", did_you_mean(name, known))
    other = load(folder / f"{name}.yaml", f"{folder.name}/{name}.yaml").data
    if "like" in other:
        found = f"{show(name)}, which is itself like {show(other['like'])}"
        raise document.error(("like",), found, "a system that has all its fields itself")
    inherited = {key: value for key, value in other.items() if key not in _OWN}
    return Document(document.file, _merged(inherited, document.data), document.root)


def _merged(other: Mapping[Any, Any], own: Mapping[Any, Any]) -> dict[Any, Any]:
    merged = dict(other)
    for key, value in own.items():
        before = other.get(key)
        both = isinstance(before, Mapping) and isinstance(value, Mapping)
        merged[key] = _merged(before, value) if both and isinstance(before, Mapping) else value
    return merged
