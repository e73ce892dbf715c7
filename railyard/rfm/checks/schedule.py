"""What a check does under a scheduler: asks for its job, keeps to nodes that can run one, and reads how it ended."""

from typing import TYPE_CHECKING, Any

from reframe.core.backends import getlauncher
from reframe.core.builtins import variable

from railyard.job.launch import limit_s, seconds
from railyard.rfm.checks.place import Placing
from railyard.rfm.guards import as_reframe_error
from railyard.rfm.launchers import KILL_AFTER_S
from railyard.site.systems.jobs import is_slurm
from railyard.stacks.table import STACKS

if TYPE_CHECKING:
    from railyard.parsers.slurm.jobs import Ended
    from railyard.parsers.slurm.nodes import NodeState


class Scheduled(Placing):
    """The scheduler's part of InterconnectCheck, which declares what is named here."""

    #: Which of the system's time limits holds: ``micro``, or ``app`` for an application.
    check_class = variable(str, value="micro")
    #: Another launcher of ReFrame than the system's (``-S use_launcher=mpirun``: the stack's own, inside the job).
    use_launcher = variable(str, value="", loggable=True)
    time_limit: Any
    max_pending_time: Any
    num_nodes: Any
    all_nodes: Any
    #: What is said beside the verdict: how many of the system's nodes were not tested, and which.
    nodes_remark: str | None = None

    @property
    def is_replayed(self) -> bool:
        """Whether a recording is played in place of the benchmark."""
        raise NotImplementedError

    def skip_untested(self, reason: str, said: str) -> None:
        """Store that this case was not tested, with the reason, and end it there as ReFrame's own skip."""
        raise NotImplementedError

    @property
    def limit_s(self) -> int:
        """How long the run may take, in seconds: the system's limit for this class of checks."""
        return limit_s(self.site.system, self.check_class)

    @property
    def launcher_name(self) -> str:
        """ReFrame's name of the launcher; a client and a server are started by the system's own whatever is asked."""
        own = self.site.system.launcher
        return own if STACKS[self.current_environ.name].pair else str(self.use_launcher or own)

    @property
    def has_slurm(self) -> bool:
        """Whether jobs go to a Slurm that can be asked: not in a replay, nor in a dry run."""
        return not self.is_replayed and not self.is_dry_run() and is_slurm(self.site.system.scheduler)

    def use_asked_launcher(self) -> None:
        """Give the job the launcher that was asked for in place of the partition's."""
        if self.launcher_name != self.site.system.launcher:
            self.job.launcher = getlauncher(self.launcher_name)()

    def ask_scheduler(self) -> None:
        """Give the job the options that are no partition's: it never runs twice, and waits only so long."""
        jobs = self.site.system.jobs
        if is_slurm(self.site.system.scheduler):
            # Of a job that ran twice the output may be of one run and the counters of the other.
            self.job.options = [*self.job.options, "--no-requeue"]
        if jobs.max_pending is not None:
            self.max_pending_time = f"{seconds(jobs.max_pending)}s"

    def bound_step(self, limit_s: int) -> bool:
        """End a step of an allocation by `timeout` after its time; return whether it is such a step.

        ReFrame's own limit of a local job raises before there is a verdict.
        """
        if self.launcher_name != "srunalloc":
            return False
        self.time_limit = None
        self.job.launcher.modifier = "timeout"
        self.job.launcher.modifier_options = ["-k", str(KILL_AFTER_S), str(limit_s)]
        return True

    def keep_to_fit_nodes(self, least: int) -> None:
        """Span the nodes that can run a job, of a check of all nodes; skip a check that needs more than there are.

        ``least`` is how many a check of all nodes must have. Those that cannot are named in ``nodes_remark``.
        """
        if not self.has_slurm:
            return
        from railyard.job.slurm import nodes_of
        from railyard.parsers.slurm import nodes as slurm_nodes

        with as_reframe_error():
            nodes: tuple[NodeState, ...] = nodes_of(self.site.system, self.site.home)
        if not nodes:  # no answer: what is wrong there, sbatch will say
            return
        fit = sum(node.unfit is None for node in nodes)
        if self.all_nodes and fit >= least:
            expected = self.site.system.nodes.number
            self.num_nodes = min(self.num_nodes, fit)
            self.nodes_remark = slurm_nodes.how_many(self.num_nodes, nodes, expected)
        if fit < self.num_nodes:
            why = slurm_nodes.untested(nodes)
            reason = f"it needs {self.num_nodes} nodes and {fit} can run a job" + (f": {why}" if why else "")
            self.skip_untested(reason, f"not tested: {reason}")

    def refuse_without_slurm(self) -> None:
        """Raise SetupError where the virtual cluster is up without the Slurm that jobs go to."""
        if not is_slurm(self.site.system.scheduler):
            return
        from railyard.base.errors import SetupError
        from railyard.provision.testbed import slurm
        from railyard.provision.testbed.cluster import Testbed

        if not slurm.has_controller(Testbed(self.site.home)):
            raise SetupError(f"testbed: {slurm.NOT_UP}")

    def how_it_ended(self, printed: str) -> "Ended | None":
        """Return what the scheduler says of a job that it ended, in its record or in the job's error output.

        None where it ran to its end.
        """
        if not self.has_slurm:
            return None
        from railyard.rfm.scheduler import ended

        return ended(self.job, printed)
