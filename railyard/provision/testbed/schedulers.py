"""The schedulers that can run on a testbed, by their names."""

from collections.abc import Mapping

from railyard.base.errors import SetupError
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.flux import FLUX
from railyard.provision.testbed.pbs import PBS
from railyard.provision.testbed.scheduler import BedScheduler
from railyard.provision.testbed.sge import SGE
from railyard.provision.testbed.slurm import SLURM
from railyard.site.systems.jobs import FAMILIES

ON_TESTBEDS: Mapping[str, BedScheduler] = {each.name: each for each in (SLURM, FLUX, PBS, SGE)}


def scheduler_of(scheduler: str) -> BedScheduler | None:
    """Return what runs a scheduler of a system's file on a testbed; None for local jobs."""
    return ON_TESTBEDS.get(FAMILIES.get(scheduler, ""))


def running_on(bed: Testbed) -> BedScheduler | None:
    """Return the scheduler whose controller runs on a testbed that is up; None if none does."""
    return next((each for each in ON_TESTBEDS.values() if each.has_controller(bed)), None)


def start(bed: Testbed, scheduler: BedScheduler) -> bool:
    """Start a scheduler on a testbed that is up; return False if it already runs.

    Raises SetupError if another scheduler runs there: both would give the same nodes to jobs at once.
    """
    other = running_on(bed)
    if other is not None and other is not scheduler:
        raise SetupError(f"testbed: {other.title} is up on it: end it with 'railyard testbed down', then start again")
    return scheduler.start(bed)
