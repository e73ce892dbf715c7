"""How many switches lie between the nodes of a fabric, as `railyard fabric --keep-hops` stored it for references.

A latency reference may hold for a number of hops alone: what a run's two nodes have between them decides whether it
is judged by it.
"""

# History of the format: 1 the first.

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from railyard.base.errors import InputError
from railyard.base.hostlist import label
from railyard.base.json_codec import FormError, decode, encode
from railyard.base.paths import state_folder

FORMAT = 1
_AGAIN = "measure it again: railyard fabric --keep-hops"


@dataclass(frozen=True, slots=True)
class Kept:
    """The distances of a fabric. ``places``: device, node: a place. ``hops``: place, place: switches between them."""

    format: int
    system: str
    fabric: str
    places: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    hops: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


def file_of(home: Path, system: str, fabric: str) -> Path:
    """Return where a fabric's distances are kept."""
    return state_folder(home) / "hops" / f"{system}.{fabric}.json"


def keep(home: Path, kept: Kept) -> Path:
    """Store a fabric's distances in place of older ones, and return the file."""
    file = file_of(home, kept.system, kept.fabric)
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(".partial")
    partial.write_text(f"{json.dumps(encode(kept), ensure_ascii=False)}\n", encoding="utf-8")
    partial.replace(file)
    return file


def hops_between(
    home: Path, system: str, fabric: str, nodes: Sequence[str], devices: Sequence[str], leaf_of: Mapping[str, str]
) -> int | None:
    """Return the switches between two nodes, where all these rails have as many; None where that is not known.

    Where no distances are kept, two nodes at one leaf switch by the system's file (``leaf_of``) have that one.
    Raises InputError for a file that is damaged or of another form.
    """
    if len(nodes) != 2:
        return None
    one, other = map(label, nodes)
    kept = kept_of(home, system, fabric)
    if kept is None:
        return 1 if one in leaf_of and leaf_of[one] == leaf_of.get(other) else None
    found = set()
    for device in devices:
        places = kept.places.get(device, {})
        found.add(kept.hops.get(places.get(one, ""), {}).get(places.get(other, "")))
    return found.pop() if len(found) == 1 else None


def kept_of(home: Path, system: str, fabric: str) -> Kept | None:
    """Return what is kept of a fabric, None where nothing is.

    Raises InputError for a file that is damaged or of another form.
    """
    file = file_of(home, system, fabric)
    if not file.is_file():
        return None
    try:
        kept = decode(Kept, json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, FormError) as error:
        raise InputError(str(file), f"no whole table ({error})", "what --keep-hops wrote", action=_AGAIN) from None
    if kept.format != FORMAT:
        raise InputError(str(file), f"format {kept.format}", f"format {FORMAT}", action=_AGAIN)
    return kept
