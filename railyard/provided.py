"""What a run needs to be there while it measures: the machine's measurement lock, and the virtual cluster."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from railyard.systems import System
from railyard.testbed import Testbed
from railyard.testbed.lock import measurement_lock
from railyard.testbed.processes import Process, process
from railyard.testbed.spec import spec_of

#: In the virtual cluster's folder: pid and start time of the run that brought it up.
OWNER_FILE = "owner"


@contextlib.contextmanager
def provided(home: Path, system: System, echo: Callable[[str], None]) -> Iterator[None]:
    """Hold the machine's measurement lock, and the virtual cluster where the system needs one."""
    if system.provider in ("nodes", "replay"):
        yield
        return
    with contextlib.ExitStack() as stack:
        stack.enter_context(measurement_lock(echo, home))
        if system.provider == "testbed":
            stack.enter_context(_cluster(Testbed(home, spec_of(system)), echo))
        yield


@contextlib.contextmanager
def _cluster(bed: Testbed, echo: Callable[[str], None]) -> Iterator[None]:
    """Hold the virtual cluster up; one that a killed run left is not taken for one that somebody brought up."""
    note = bed.folder / OWNER_FILE
    if bed.is_up() and _is_left_over(note):
        bed.down()
        echo("the virtual cluster of a run that was killed is taken down")
    found = bed.is_up()
    with bed:
        echo("the virtual cluster is up already: used as it is, and left up" if found else "virtual cluster up")
        if not found:
            us = process(os.getpid())
            note.write_text(f"{us.pid} {us.start}\n", encoding="ascii")
        try:
            yield
        finally:
            if not found:
                note.unlink(missing_ok=True)


def _is_left_over(note: Path) -> bool:
    """Return whether a run noted that the virtual cluster is its own and lives no more."""
    try:
        pid, start = note.read_text(encoding="ascii").split()
        return not Process(int(pid), int(start)).is_alive()
    except (FileNotFoundError, ValueError):
        return False
