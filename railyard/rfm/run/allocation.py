"""All tests of a run as steps of one allocation of Slurm: how ReFrame is started in it, and what a run may cost. Pure.

ReFrame runs under ``salloc``; its scheduler is then ``local`` and its launcher ``srunalloc``. Checks, their names and
hashes, and each test's own verdict and record stay what they are. What is saved is the waiting of each job.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from railyard.base.wording import counted
from railyard.site.matrix import Need
from railyard.site.systems.jobs import options
from railyard.site.systems.model import System

# In the allocation, where SLURM_JOB_NODELIST is set: its nodes, with commas, are what the tests choose theirs from.
_STEPS = 'RAILYARD_ALLOCATION=$(scontrol show hostnames | paste -sd, -) && export RAILYARD_ALLOCATION && exec "$@"'
#: Words that stand before ReFrame's own where the allocation is there already: a pipeline's job that Slurm runs.
INSIDE = ("sh", "-c", _STEPS, "railyard")


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run takes at most: ``node_minutes`` counts each test's nodes for the whole of its time limit.

    What it will take is far less where tests end before their limits. ``nodes`` is the most that one test has.
    """

    jobs: int
    node_minutes: float
    minutes: float
    nodes: int

    @property
    def words(self) -> str:
        """``12 jobs, at most 48 node-minutes``."""
        return f"{counted(self.jobs, 'job')}, at most {math.ceil(self.node_minutes)} node-minutes"


def estimate(system: System, checks: Sequence[str], asked: Mapping[str, Need]) -> Estimate:
    """Return what tests take at most; ``checks`` names the check of each test, ``asked`` what each check asks for.

    A check that is not among them counts as one of two nodes.
    """
    total, minutes, most = 0.0, 0.0, 0
    for name in checks:
        need = asked.get(name)
        nodes = 2 if need is None else max(need.nodes, system.nodes.number) if need.all_nodes else need.nodes
        limit_min = system.limit_s("micro" if need is None else need.check_class) / 60
        total += nodes * limit_min
        minutes += limit_min
        most = max(most, nodes)
    return Estimate(len(checks), total, minutes, most)


def over_budget(found: Estimate, budget: float | None) -> str | None:
    """Return why a run must not begin, None where it may; ``budget`` in node-minutes, None for any."""
    if budget is None or found.node_minutes <= budget:
        return None
    return (
        f"--budget: found {found.words}, expected at most {budget:g}: select fewer tests, or lower time_limits in the "
        f"system's file (jobs)"
    )


def shape(system: System, found: Estimate) -> list[str]:
    """Return the options of one allocation of Slurm for these tests: nodes and time, and the system's own.

    The allocation's time is the sum of all limits: it is given back when the last test has ended.
    """
    asked = [word for option in (*system.access, *options(system.scheduler, system.jobs)) for word in option.split()]
    own = [f"--nodes={found.nodes}", "--exclusive", f"--time={math.ceil(found.minutes) + 1}"]
    return [*own, *(word for word in asked if word != "--exclusive")]


def salloc_words(system: System, found: Estimate, salloc: str = "salloc") -> list[str]:
    """Return the words that stand before ReFrame's own to run it in one allocation of the nodes that its tests need."""
    return [salloc, "--job-name=railyard", *shape(system, found), *INSIDE]
