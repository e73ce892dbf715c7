"""What a node's gate keeps for the next one, in one file per node, and the lock that allows one gate at a time."""

import contextlib
import fcntl
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from railyard.base.errors import SetupError
from railyard.base.files import write_whole

FORMAT = 1


class Busy(Exception):
    """Another gate of this node is running."""


@dataclass(frozen=True, slots=True)
class GateState:
    """The counters at the last gate, by rail, and the parts for which it drained the node.

    ``boot`` is the kernel's name for this start of the node: counters of an earlier start cannot be compared.
    """

    boot: str | None = None
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    drained: tuple[str, ...] = ()


@contextlib.contextmanager
def lock_node(folder: Path, node: str) -> Iterator[None]:
    """Hold the node's lock. Raises Busy if another gate has it, SetupError if the folder cannot be written."""
    path = folder / f"{node}.lock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = path.open("a", encoding="utf-8")
    except OSError as error:
        raise _cannot_write(path, error) from None
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy from None
        except OSError as error:
            raise _cannot_write(path, error) from None
        yield


def load(folder: Path, node: str) -> GateState:
    """Return what the last gate kept; nothing if there was none or its file has another form."""
    try:
        told = json.loads(_file(folder, node).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return GateState()
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        return GateState()
    return GateState(_text(told.get("boot")), _counts(told.get("counters")), tuple(_texts(told.get("drained"))))


def save(folder: Path, node: str, kept: GateState) -> None:
    """Replace the node's file in one step, so that no reader sees half of it. Raises SetupError if that fails."""
    path = _file(folder, node)
    told = {"format": FORMAT, "boot": kept.boot, "counters": kept.counts, "drained": kept.drained}
    try:
        write_whole(path, json.dumps(told, indent=1))
    except OSError as error:
        raise _cannot_write(path, error) from None


def _cannot_write(path: Path, error: OSError) -> SetupError:
    return SetupError(
        f"gate: {path} cannot be written ({error.strerror}); a gate keeps its lock and counters there: "
        "name a folder that this user may write to: --state DIR"
    )


def _file(folder: Path, node: str) -> Path:
    return folder / f"{node}.json"


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _counts(value: Any) -> dict[str, dict[str, int]]:
    rails = value if isinstance(value, dict) else {}
    return {
        rail: {name: count for name, count in counts.items() if isinstance(count, int)}
        for rail, counts in rails.items()
        if isinstance(counts, dict)
    }
