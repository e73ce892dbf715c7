"""Keeps up what a run needs while it measures: the machine's lock, one of our testbeds, and one of its schedulers.

The schedulers that can run on a testbed, by their names.
"""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.provision.testbed.boot import Process, process
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.flux import FLUX
from railyard.provision.testbed.guests import Guests
from railyard.provision.testbed.lock import measurement_lock
from railyard.provision.testbed.pbs import PBS
from railyard.provision.testbed.scheduler import BedScheduler
from railyard.provision.testbed.sge import SGE
from railyard.provision.testbed.slurm import SLURM
from railyard.provision.testbed.spec import spec_of
from railyard.site.systems.jobs import FAMILIES
from railyard.site.systems.model import System

ON_TESTBEDS: Mapping[str, BedScheduler] = {each.name: each for each in (SLURM, FLUX, PBS, SGE)}


def scheduler_of(scheduler: str) -> BedScheduler | None:
    """Return what runs a scheduler of a system's file on a testbed; None for local jobs."""
    return ON_TESTBEDS.get(FAMILIES.get(scheduler, ""))


def running_on(bed: Testbed) -> BedScheduler | None:
    """Return the scheduler whose controller runs on a testbed that is up; None if none does."""
    return next((each for each in ON_TESTBEDS.values() if each.has_controller(bed)), None)


def start_scheduler(bed: Testbed, scheduler: BedScheduler) -> bool:
    """Start a scheduler on a testbed that is up; return False if it already runs.

    Raises SetupError if another scheduler runs there: both would give the same nodes to jobs at once.
    """
    other = running_on(bed)
    if other is not None and other is not scheduler:
        raise SetupError(f"testbed: {other.title} is up on it: end it with 'railyard testbed down', then start again")
    return scheduler.start(bed)


#: In the virtual cluster's folder: pid and start time of the run that brought it up.
OWNER_FILE = "owner"


@contextlib.contextmanager
def provide_testbed(home: Path, system: System, echo: Callable[[str], None]) -> Iterator[None]:
    """Hold the machine's measurement lock, and keep up the testbed (with its scheduler) that the system needs."""
    if system.provider in ("nodes", "replay"):
        yield
        return
    with contextlib.ExitStack() as stack:
        stack.enter_context(measurement_lock(echo, home))
        if system.provider == "testbed":
            bed = Testbed(home, spec_of(system))
            stack.enter_context(_cluster(bed, echo))
            scheduler = scheduler_of(system.scheduler)
            if scheduler is not None:
                stack.enter_context(_scheduler(bed, scheduler, echo))
        elif system.provider == "guests":
            stack.enter_context(_guests(Guests(home, spec_of(system)), echo))
        yield


@contextlib.contextmanager
def _guests(guests: Guests, echo: Callable[[str], None]) -> Iterator[None]:
    """Keep the guests up, like the virtual cluster."""
    note = guests.folder / OWNER_FILE
    if guests.is_up() and is_left_over(note):
        guests.take_down()
        echo("an earlier run was killed: its guests are taken down")
    started = guests.bring_up(echo, lasting=False)
    echo("guests up" if started else "the guests are already up: they are used as they are and stay up")
    try:
        if started:
            sign(note)
        yield
    finally:
        if started:
            guests.take_down()
            note.unlink(missing_ok=True)


@contextlib.contextmanager
def _cluster(bed: Testbed, echo: Callable[[str], None]) -> Iterator[None]:
    """Keep the virtual cluster up; one that a killed run left does not count as one that somebody brought up."""
    note = bed.folder / OWNER_FILE
    if bed.is_up() and is_left_over(note):
        bed.take_down()
        echo("an earlier run was killed: its virtual cluster is taken down")
    found = bed.is_up()
    with bed:
        echo("the virtual cluster is already up: it is used as it is and stays up" if found else "virtual cluster up")
        if not found:
            sign(note)
        try:
            yield
        finally:
            if not found:
                note.unlink(missing_ok=True)


@contextlib.contextmanager
def _scheduler(bed: Testbed, scheduler: BedScheduler, echo: Callable[[str], None]) -> Iterator[None]:
    """Keep a scheduler up on the virtual cluster; if the cluster was up without it, it ends after the run."""
    started = start_scheduler(bed, scheduler)
    title = scheduler.title
    echo(f"{title} up" if started else f"{title} is already up: it is used as it is and stays up")
    try:
        yield
    finally:
        if started and bed.is_up():
            scheduler.stop(bed)


def sign(note: Path) -> None:
    """Note that the running testbed belongs to this process."""
    us = process(os.getpid())
    note.write_text(f"{us.pid} {us.start}\n", encoding="ascii")


def is_left_over(note: Path) -> bool:
    """Return whether a run noted that the testbed is its own, and that run has ended."""
    try:
        pid, start = note.read_text(encoding="ascii").split()
        return not Process(int(pid), int(start)).is_alive()
    except (FileNotFoundError, ValueError):
        return False


@contextlib.contextmanager
def interrupt_on_signal() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C, so everything comes down if a runner or a closed terminal ends the run."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # nohup leaves it ignored
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
