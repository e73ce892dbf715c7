"""What a run asks of launcher and scheduler: its time limit, whether it may rerun, and nodes that can run a job."""

from collections.abc import Sequence
from dataclasses import dataclass

from railyard.base.values import seconds
from railyard.parsers import slurm as slurm_records
from railyard.parsers.slurm import NodeState
from railyard.site.systems.jobs import FAMILIES, NEVER_TWICE
from railyard.site.systems.model import System
from railyard.stacks.model import STACKS


@dataclass(frozen=True, slots=True)
class Scheduling:
    """How one run of a stack is scheduled on a system.

    ``check_class`` selects one of the system's time limits (``micro``, ``app``). ``asked_launcher`` is a launcher of
    ReFrame that replaces the system's; empty for none. ``lasting_s`` is how long the run was asked to last, in seconds.
    ``fabric`` is the run's; ``nodes`` is how many it has, ``slots`` the number of its processors, one for each thread
    of each rank.
    """

    system: System
    stack: str
    check_class: str = "micro"
    asked_launcher: str = ""
    lasting_s: int = 0
    fabric: str = ""
    nodes: int = 0
    slots: int = 0

    @property
    def limit_s(self) -> int:
        """How long the run may take, in seconds: the system's limit for this class of checks, or longer if asked."""
        return max(self.system.limit_s(self.check_class), self.lasting_s)

    @property
    def launcher(self) -> str:
        """ReFrame's name of the launcher; the system's own always starts a client and a server, whatever is asked."""
        own = self.system.launcher_of(self.fabric, self.stack) if self.fabric else self.system.launcher
        return own if STACKS[self.stack].pair else self.asked_launcher or own

    @property
    def other_launcher(self) -> str | None:
        """The launcher that replaces the partition's for this job; None if the job keeps the partition's."""
        of_fabric = self.system.fabrics[self.fabric].launcher if self.fabric else None
        return None if self.launcher == (of_fabric or self.system.launcher) else self.launcher

    @property
    def is_step(self) -> bool:
        """Whether it is a step of an allocation: ReFrame's own limit would then raise before there is a verdict."""
        return self.launcher == "srunalloc"

    def one_thread_a_core(self, ranks_a_node: int, threads: int) -> bool:
        """Return whether Slurm must give each process or thread its own core (--hint=nomultithread).

        Without this option Slurm counts each hardware thread of a core as a processor, and gives half of the cores. The
        option also binds a process to one core. So a stack without MPI does not get it: its one process on a node
        starts all the others there, and they would share that core.
        """
        if threads > 1:
            return True
        if STACKS[self.stack].pair or self.system.provider != "nodes":  # nodes of our testbeds share the host's cores
            return False
        hardware = self.system.nodes.hardware
        stated = None if hardware is None else hardware.threads_per_core
        # If the file says nothing, a core may have two threads. A single process has its whole core anyway.
        return ranks_a_node > 1 if stated is None else stated > 1

    @property
    def options(self) -> tuple[str, ...]:
        """The job's options beside the partition's.

        The job must not run twice: its output might be of one run and its counters of the other.
        """
        never_twice = NEVER_TWICE.get(FAMILIES.get(self.system.scheduler, ""))
        own = () if never_twice is None else (never_twice,)
        return (*own, *self.system.resource_options(self.nodes, self.slots))

    @property
    def longest_wait_s(self) -> int | None:
        """How long the job may wait for its nodes, in seconds; None if the system's file does not say."""
        most = self.system.jobs.max_pending
        return None if most is None else seconds(most)


@dataclass(frozen=True, slots=True)
class Span:
    """How many nodes a run has. ``remark`` says which nodes were left out; ``untested`` says why it cannot run."""

    nodes: int
    remark: str | None = None
    untested: str | None = None


def span(asked: int, states: Sequence[NodeState], *, least: int | None = None) -> Span:
    """Return how many nodes a run has, out of the ``asked`` ones: only those that can run a job.

    ``least`` is how many nodes a run over all nodes (``asked``) must have; None for a run that needs exactly ``asked``.
    Without ``states`` the scheduler was not asked or did not answer: it will say itself what is wrong.
    """
    if not states:
        return Span(asked)
    fit = sum(node.unfit is None for node in states)
    nodes, remark = asked, None
    if least is not None and fit >= least:
        nodes = min(asked, fit)
        remark = slurm_records.how_many(nodes, states, asked)
    if fit >= nodes:
        return Span(nodes, remark)
    why = slurm_records.describe_untested(states)
    return Span(nodes, remark, f"it needs {nodes} nodes and {fit} can run a job" + (f": {why}" if why else ""))
