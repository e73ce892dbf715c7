"""What a run needs from a scheduler before it starts: its estimate, its budget, and one allocation for all its tests.

ReFrame runs under ``salloc``; its scheduler is then ``local`` and its launcher ``srunalloc``. Checks, their names and
hashes, and each test's own verdict and record stay the same. Only the waiting of each job is saved.
"""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from railyard.base.errors import RailyardError
from railyard.base.wording import count_of
from railyard.provision.testbed.scheduler_clients import client_variables
from railyard.provision.testbed.slurm_texts import FOLDER, slurm_folder
from railyard.site.matrix import Need
from railyard.site.systems.jobs import is_slurm
from railyard.site.systems.model import System
from railyard.site.test_id import TestId

# In the allocation SLURM_JOB_NODELIST is set. The tests choose their nodes from this list, with commas.
_STEPS = 'RAILYARD_ALLOCATION=$(scontrol show hostnames | paste -sd, -) && export RAILYARD_ALLOCATION && exec "$@"'
#: Words before ReFrame's own if the allocation already exists: a pipeline's job that Slurm runs.
INSIDE = ("sh", "-c", _STEPS, "railyard")


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run takes at most: ``node_minutes`` counts each test's nodes for its whole time limit.

    It will take far less if tests end before their limits. ``nodes`` is the most that one test has.
    """

    jobs: int
    node_minutes: float
    minutes: float
    nodes: int

    @property
    def words(self) -> str:
        """``12 jobs, at most 48 node-minutes``."""
        return f"{count_of(self.jobs, 'job')}, at most {math.ceil(self.node_minutes)} node-minutes"


def estimate(system: System, checks: Sequence[str], asked: Mapping[str, Need]) -> Estimate:
    """Return what tests take at most; ``checks`` names the check of each test, ``asked`` has the needs of each check.

    A run counts for the limit that it has: a filled memory (HPL) or a large class (NPB) may have a longer one than the
    system's file. A check that is not among them counts as a check on two nodes.
    """
    total, minutes, most = 0.0, 0.0, 0
    for name in checks:
        need = asked.get(name)
        nodes = 2 if need is None else need.nodes_on(system)
        limit_min = (system.limit_s() if need is None else need.limit_s(system)) / 60
        total += nodes * limit_min
        minutes += limit_min
        most = max(most, nodes)
    return Estimate(len(checks), total, minutes, most)


def over_budget(found: Estimate, budget: float | None) -> str | None:
    """Return why a run must not begin; None if it may. ``budget`` is in node-minutes, None for any."""
    if budget is None or found.node_minutes <= budget:
        return None
    return (
        f"--budget: found {found.words}, expected at most {budget:g}: select fewer tests, or lower time_limits in the "
        f"system's file (jobs)"
    )


def shape(system: System, found: Estimate) -> list[str]:
    """Return the options of one allocation of Slurm for these tests: nodes and time, and the system's own.

    The allocation's time is the sum of all limits. The allocation is given back when the last test has ended.
    """
    asked = [word for word in system.step_words if word != "--exclusive"]
    own = [f"--nodes={found.nodes}", "--exclusive", f"--time={math.ceil(found.minutes) + 1}"]
    return [*own, *asked]


def salloc_words(system: System, found: Estimate, salloc: str = "salloc") -> list[str]:
    """Return the words before ReFrame's own that run it in one allocation of the nodes that its tests need."""
    return [salloc, "--job-name=railyard", *shape(system, found), *INSIDE]


@dataclass(frozen=True, slots=True)
class StartWords:
    """Words before ReFrame's own, and variables for them; a run of single jobs has neither."""

    front: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)


def ask(
    home: Path,
    system: System,
    promised: Sequence[TestId],
    *,
    needs: Callable[[], Sequence[Need]],
    one_allocation: bool,
    budget: float | None,
    echo: Callable[[str], None],
) -> StartWords:
    """Say what a run under a scheduler takes at most, and return how ReFrame is started.

    In a job of Slurm the allocation is that job's own. Raises RailyardError if the run is over the budget, if there is
    no Slurm to give an allocation, or if the job has fewer nodes than a test.
    """
    if one_allocation and not is_slurm(system.scheduler):
        raise RailyardError(
            f"--one-allocation: found the scheduler {system.scheduler} of {system.system}, expected Slurm; leave it out"
        )
    if system.provider == "replay" or not (is_slurm(system.scheduler) or budget is not None):
        return StartWords()
    found = estimate(system, [case.check for case in promised], {need.check: need for need in needs()})
    refused = over_budget(found, budget)
    if refused is not None:
        raise RailyardError(refused)
    echo(f"{found.words}{': steps of one allocation' if one_allocation else ''}")
    if not one_allocation:
        return StartWords()
    there = os.environ.get("SLURM_JOB_NUM_NODES")
    if there is not None:
        return _start_inside(found, int(there))
    if system.provider != "testbed":
        return StartWords(tuple(salloc_words(system, found)))
    path = os.environ.get("PATH", os.defpath)
    variables = {name: text.replace("$PATH", path) for name, text in client_variables(home, FOLDER).items()}
    return StartWords(tuple(salloc_words(system, found, str(slurm_folder(home) / "bin" / "salloc"))), variables)


def _start_inside(found: Estimate, there: int) -> StartWords:
    """Return how ReFrame is started in the allocation that is there. Raises RailyardError if it is too small."""
    if there < found.nodes:
        raise RailyardError(
            f"--one-allocation: found an allocation of {count_of(there, 'node')} around this run, "
            f"expected {found.nodes} or more for its largest test; request more, or start it outside of any job"
        )
    return StartWords(INSIDE)
