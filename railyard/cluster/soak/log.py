"""Writes and reads a soak's readings on disk, one line each as it is made, so that they survive whatever ends the soak.

Format 1: a head with the system's name and its streams, then one line per reading: seconds since the beginning, and all
counters by node and device. A last line that was cut is ignored.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from railyard.base.errors import InputError, SetupError
from railyard.cluster.soak.judge import Reading, Stream

FORMAT = 1


class Log:
    """A new file of readings. Raises SetupError if it cannot be written."""

    def __init__(self, path: Path, system: str, streams: Iterable[Stream]) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._append({"railyard_soak": FORMAT, "system": system, "streams": list(streams)})
        except OSError as error:
            raise SetupError(f"soak: {path} cannot be written ({error.strerror})") from None

    def keep(self, reading: Reading) -> None:
        """Append a reading."""
        counters: dict[str, dict[str, Any]] = {}
        for (node, device), values in reading.values.items():
            counters.setdefault(node, {})[device] = dict(values)
        self._append({"at_s": round(reading.at_s, 3), "counters": counters})

    def _append(self, line: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")


def read(path: Path) -> tuple[tuple[Reading, ...], tuple[Stream, ...]]:
    """Return the readings that a soak kept, and its streams. Raises InputError, with the line, for any other file."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError as error:
        found = f"nothing that can be read ({error.strerror})"
        raise InputError(str(path), found, "the readings of a soak") from None
    match _parse_line(lines[0]):
        case {"railyard_soak": 1, "streams": list() as streams} if all(map(_is_stream, streams)):
            return tuple(_readings(lines[1:], path)), tuple((sender, to, device) for sender, to, device in streams)
        case _:
            raise InputError(str(path), f'"{lines[0][:60]}"', f"the head of a soak of format {FORMAT}", line=1)


def _readings(lines: list[str], path: Path) -> Iterator[Reading]:
    for number, line in enumerate(lines[:-1], start=2):  # what follows the last newline was cut, or is nothing
        match _parse_line(line):
            case {"at_s": float() | int() as at_s, "counters": dict() as nodes} if all(map(_is_table, nodes.values())):
                yield Reading(at_s, {(node, dev): each for node, there in nodes.items() for dev, each in there.items()})
            case _:
                raise InputError(str(path), f'"{line[:60]}"', "a reading", line=number)


def _is_stream(stream: Any) -> bool:
    return isinstance(stream, list) and len(stream) == 3 and all(isinstance(word, str) for word in stream)


def _is_table(there: Any) -> bool:
    """Return whether it is a table of devices, each with a table of counters."""
    return isinstance(there, dict) and all(
        isinstance(counters, dict) and all(isinstance(count, int) for count in counters.values())
        for counters in there.values()
    )


def _parse_line(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
