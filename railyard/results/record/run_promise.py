"""What a run promises at its start, beside its records: so a killed run is noticed, and what is missing."""

# Format 1: first.

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from railyard.base.files import read_regular
from railyard.base.wording import count_of

FORMAT = 1
PROMISED_FILE_NAME = "promised.json"
#: Empty if the run ended with an error, which was reported; else `WHOLE`: each promised test has a record.
ENDED_FILE_NAME = "ended"
WHOLE = "whole\n"


@dataclass(frozen=True, slots=True)
class RunPromise:
    """What a run promised: the names of its tests, when it began (UTC, as in records), and its state.

    ``killed``: it did not reach its end, and its process has ended, or there are no ``locks`` to check that. ``whole``:
    it ended with a record of each test; a run from before this format does not say.
    """

    system: str
    began: str
    tests: tuple[str, ...]
    state: Literal["ended", "running", "killed"]
    whole: bool = False
    locks: bool = True


@contextlib.contextmanager
def hold_promise(folder: Path, system: str, began: str, tests: Sequence[str]) -> Iterator[None]:
    """Write down what a run promises; the file is locked while the block runs, and after the block the run has ended.

    A block that ends has written a record of each test. A block that raises has ended too: its error was reported.
    Raises OSError if the folder cannot be written.
    """
    path = folder / PROMISED_FILE_NAME
    values: dict[str, object] = {"format": FORMAT, "system": system, "began": began, "tests": list(tests)}
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
    how = ""
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:  # a file system without locks: a running run looks like a killed one
            values["locks"] = False
        os.write(descriptor, json.dumps(values, ensure_ascii=False, indent=1).encode() + b"\n")
        try:
            yield
            how = WHOLE
        finally:
            with contextlib.suppress(OSError):  # a full disk, which was already reported
                (folder / ENDED_FILE_NAME).write_text(how, encoding="utf-8")
    finally:
        os.close(descriptor)  # this ends the lock


def read_promised(folder: Path) -> RunPromise | None:
    """Return what the run of a folder promised; None for a run from before this file, or if its file is cut."""
    path = folder / PROMISED_FILE_NAME
    try:
        values = json.loads(read_regular(path))
        tests = tuple(map(str, values["tests"]))
        system, began = str(values["system"]), str(values["began"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    with contextlib.suppress(OSError):
        how = read_regular(folder / ENDED_FILE_NAME).decode(errors="replace")
        return RunPromise(system, began, tests, "ended", whole=how == WHOLE)
    locks = values.get("locks") is not False
    return RunPromise(system, began, tests, "running" if _is_locked(path) else "killed", locks=locks)


def why_short(folder: Path, recorded: int) -> str | None:
    """Return the sentence on a run that was killed before its end, or that has fewer records than it ended with.

    None if it has all records, still runs, ended with a reported error, or promised nothing.
    """
    found = read_promised(folder)
    if found is None or recorded >= len(set(found.tests)) or not (found.state == "killed" or found.whole):
        return None
    head = f"{folder}: found {count_of(recorded, 'record')} of {count_of(len(found.tests), 'promised test')}"
    if found.whole:
        return f"{head}: the run ended with a record of each, so somebody removed the others"
    runs = "" if found.locks else " or still runs (its file system has no locks, so this is unknown)"
    return f"{head}: the run was killed before its end{runs}; run the missing tests again"


def _is_locked(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
