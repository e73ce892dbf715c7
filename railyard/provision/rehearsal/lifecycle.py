"""A rehearsal while it is up: its nodes and Slurm come up, the variables lead there, and all goes down again."""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.base.paths import REHEARSAL_VARIABLE
from railyard.base.variables import with_variables
from railyard.provision.rehearsal import bed
from railyard.provision.rehearsal.form import Rehearsal
from railyard.provision.testbed.entry import REHEARSAL, bed_folder, enter_script
from railyard.provision.testbed.lifecycle import OWNER_FILE, is_left_over, terminated_as_interrupted
from railyard.provision.testbed.lock import measurement_lock
from railyard.site.systems.model import System

#: The command that ends what `--keep` left up.
DOWN = "railyard rehearse --down"


@contextlib.contextmanager
def turn(home: Path, echo: Callable[[str], None]) -> Iterator[None]:
    """Take this machine for a rehearsal.

    It waits for a measurement, which it would disturb, and a measurement waits for it. Rehearsals of other site folders
    may run beside it. SIGTERM and a closed terminal end it as Ctrl-C does, so everything goes down.
    """
    with terminated_as_interrupted(), measurement_lock(echo, home, shared=True):
        yield


@contextlib.contextmanager
def standing(rehearsal: Rehearsal, system: System, keep: bool, echo: Callable[[str], None]) -> Iterator[None]:
    """Keep the nodes of a rehearsal up, with Slurm on them, and lead this process and its children there.

    Whatever happens inside, everything goes down afterwards, unless it is to ``keep`` it. Raises SetupError for what
    this machine lacks.
    """
    home = Path(rehearsal.home)
    bed.bring_up(rehearsal, system, keep=keep)
    try:
        with _led_by({REHEARSAL_VARIABLE: rehearsal.folder, **bed.client_variables(home)}):
            yield
    finally:
        if keep:
            echo(f"the nodes are left up; enter one: {enter_script(home, REHEARSAL)} {rehearsal.nodes[0]} -- sh")
            echo(f"take them down: {DOWN}")
        else:
            bed.take_down(home)


def take_down(home: Path) -> bool:
    """Take down what was kept, and return whether anything was up. Raises SetupError if its command still runs."""
    note = bed_folder(home, REHEARSAL) / OWNER_FILE
    if note.exists() and not is_left_over(note):
        raise SetupError("--down: found a rehearsal of this site folder that runs, expected one that was kept: end it")
    return bed.take_down(home)


@contextlib.contextmanager
def _led_by(variables: Mapping[str, str]) -> Iterator[None]:
    """Set these variables inside the block; ``$PATH`` in a value means the present one."""
    path = os.environ.get("PATH", os.defpath)
    with with_variables({name: value.replace("$PATH", path) for name, value in variables.items()}):
        yield
