"""What a rehearsal puts in place of a system's nodes and benchmarks, from the folder that $RAILYARD_REHEARSAL names."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.base.paths import REHEARSAL_VARIABLE

#: In that folder: the rehearsal, as JSON (``railyard.provision.rehearsal.form``).
FILE = "rehearsal.json"


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """The system that is rehearsed, the nodes that stand, and the path of each stack's tools (stack: tool: path)."""

    system: str
    nodes: tuple[str, ...]
    programs: Mapping[str, Mapping[str, str]]


def rehearsed() -> Rehearsed | None:
    """Return what the rehearsal that this process belongs to puts in place; None outside of one.

    Raises SetupError where the folder holds no rehearsal.
    """
    folder = os.environ.get(REHEARSAL_VARIABLE)
    return _read(folder) if folder else None


@lru_cache(maxsize=2)
def _read(folder: str) -> Rehearsed:
    file = Path(folder, FILE)
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
        return Rehearsed(stored["system"], tuple(stored["nodes"]), stored["programs"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SetupError(
            f"{file}: found no rehearsal ({error}), though {REHEARSAL_VARIABLE} names its folder; "
            f"unset the variable, or type: railyard rehearse --system NAME"
        ) from None
