"""What a run asks of a scheduler before it begins: its estimate, its budget, and one allocation for all of it."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from railyard.base.errors import RailyardError
from railyard.base.paths import CHECKS, part
from railyard.base.wording import counted
from railyard.provision.testbed.slurm_texts import client_variables, slurm_folder
from railyard.rfm.run.allocation import INSIDE, Estimate, estimate, over_budget, salloc_words
from railyard.site.systems.jobs import is_slurm
from railyard.site.systems.model import System
from railyard.site.test_id import TestId


@dataclass(frozen=True, slots=True)
class Asked:
    """Words that stand before ReFrame's own, and variables for them; none of either for a run of single jobs."""

    front: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)


def ask(
    home: Path,
    system: System,
    promised: Sequence[TestId],
    *,
    one_allocation: bool,
    budget: float | None,
    echo: Callable[[str], None],
) -> Asked:
    """Say what a run under a scheduler takes at most, and return how ReFrame is started.

    In a job of Slurm the allocation is that job's own. Raises RailyardError where that is over the budget, where there
    is no Slurm to give an allocation, or where the job has fewer nodes than a test.
    """
    if one_allocation and not is_slurm(system.scheduler):
        raise RailyardError(
            f"--one-allocation: found the scheduler {system.scheduler} of {system.system}, expected Slurm; leave it out"
        )
    if system.provider == "replay" or not (is_slurm(system.scheduler) or budget is not None):
        return Asked()
    found = _estimated(home, system, promised)
    refused = over_budget(found, budget)
    if refused is not None:
        raise RailyardError(refused)
    echo(f"{found.words}{': steps of one allocation' if one_allocation else ''}")
    if not one_allocation:
        return Asked()
    there = os.environ.get("SLURM_JOB_NUM_NODES")
    if there is not None:
        return _inside(found, int(there))
    if system.provider != "testbed":
        return Asked(tuple(salloc_words(system, found)))
    path = os.environ.get("PATH", os.defpath)
    variables = {name: text.replace("$PATH", path) for name, text in client_variables(home).items()}
    return Asked(tuple(salloc_words(system, found, str(slurm_folder(home) / "bin" / "salloc"))), variables)


def _inside(found: Estimate, there: int) -> Asked:
    """Return how ReFrame is started in the allocation that is there. Raises RailyardError where it is too small."""
    if there < found.nodes:
        raise RailyardError(
            f"--one-allocation: found an allocation of {counted(there, 'node')} around this run, "
            f"expected {found.nodes} or more, as its largest test has; ask for more, or start it outside of any job"
        )
    return Asked(INSIDE)


def _estimated(home: Path, system: System, promised: Sequence[TestId]) -> Estimate:
    from railyard.rfm.checks.catalogue import needs

    asked = {need.check: need for need in needs(part(home, CHECKS))}
    return estimate(system, [case.check for case in promised], asked)
