"""How one test runs on its system: its nodes, ranks, processors, launch, and what runs it."""

import time
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any, TypeAlias

from railyard.base.errors import RailyardError
from railyard.base.hostlist import list_nodes
from railyard.base.wording import count_of, listing
from railyard.job.batch import Scheduling, span
from railyard.job.case import Case, Evidence
from railyard.job.launch import Launch, Ranks, plan_launch, runs_as_root
from railyard.job.node_facts import ProcessPlacement, side_of
from railyard.parsers import rail_parts
from railyard.parsers.output import ParsedOutput
from railyard.rfm.checks.groups import why_not_taken
from railyard.rfm.checks.runner import PlannedJob, RunOutputs
from railyard.site.matrix import DEFAULT, disabled_reason
from railyard.site.site import Site
from railyard.site.systems.measure import largest_allowed
from railyard.site.systems.model import System
from railyard.site.test_id import TestId
from railyard.stacks.containers import NEVER_RUN
from railyard.stacks.model import NIC_PER_RANK, STACKS
from railyard.verdict.assess import Assessment, assess

if TYPE_CHECKING:
    from railyard.rfm.checks.measured_run import MeasuredRun
    from railyard.rfm.checks.replayed_run import ReplayedRun

    Runner: TypeAlias = MeasuredRun | ReplayedRun


class UntestedCase(Exception):
    """A test that does not run here: the reason for its record, and what the run says about it."""

    def __init__(self, reason: str, said: str) -> None:
        super().__init__(said)
        self.reason = reason


def runner_of(site: Site, test: TestId, dry: bool = False) -> "Runner":
    """Return what makes the output of a test on this system; a ``dry`` run makes no output."""
    from railyard.rfm.checks.measured_run import MeasuredRun
    from railyard.rfm.checks.replayed_run import ReplayedRun

    return ReplayedRun(site, test) if site.system.provider == "replay" else MeasuredRun(site, test, dry)


@dataclass(frozen=True, slots=True)
class Plan:
    """How one test runs. ``check`` declares it (``Declaration``), with nodes and ranks as they were chosen.

    ``nodes_remark`` says how many of the system's nodes are left out, and which.
    """

    check: Any
    site: Site
    test: TestId
    runner: "Runner"
    scheduling: Scheduling
    placing: ProcessPlacement
    ranks: Ranks
    launch: Launch
    nodes_remark: str | None = None

    def tag(self) -> str:
        """Return a word that marks one run of this test; each call returns another."""
        return f"{self.test.hash}-{time.time_ns():x}"

    def job(self, tag: str) -> PlannedJob:
        """Return the job, which ReFrame submits."""
        return self.runner.job(self.check, self.launch, self.scheduling, self.placing, tag)

    @property
    def wait(self) -> tuple[str, float | None]:
        """What is waited for while the job is there, and its most seconds; None if nothing ends its wait in a queue."""
        nodes = list_nodes(self.launch.nodes) or count_of(self.check.num_nodes, "node")
        what = f"{self.test.benchmark} with {self.test.stack} over {listing(self.launch.meant)} on {nodes}"
        queue_s = 0 if self.site.system.scheduler == "local" else self.scheduling.longest_wait_s
        if queue_s is None:
            return f"{what}: its time limit of {self.scheduling.limit_s} s begins with its job", None
        return what, queue_s + self.scheduling.limit_s

    def launch_alone(self, rail: str, nodes: tuple[str, ...], per_node: int) -> Launch:
        """Return how a run over one rail alone is launched, by the stack's own policy, with so many ranks per node."""
        # Only the rail is measured, from the host's memory.
        ranks = replace(self.ranks, total=len(nodes) * per_node, per_node=per_node, policy=None, memory=None)
        as_root = runs_as_root(self.site.system)
        return plan_launch(self.site, self.test.fabric, self.test.stack, (rail,), nodes, ranks, as_root)

    def launch_again(self, nodes: tuple[str, ...]) -> Launch:
        """Return how the run itself is launched on as many other nodes, over the same rails."""
        as_root, rails = runs_as_root(self.site.system), self.launch.meant
        return plan_launch(self.site, self.test.fabric, self.test.stack, rails, nodes, self.ranks, as_root)

    def read_rails(self, text: str) -> ParsedOutput:
        """Return what the tool's parser finds; if one client per rail printed, in all of them together."""
        return rail_parts.parse(text, self.check.parse, worst=self.check.in_turn)

    def judge_run(self, left: RunOutputs) -> tuple[Assessment, Evidence]:
        """Return the assessment of the run that was made, and what it left."""
        launch = self.runner.fill_nodes(self.launch, left)
        evidence = self.runner.evidence(self.check, left, launch, self.placing)
        return assess(self._case(launch), evidence, self.read_rails, date.today()), evidence

    def _untried_parts(self) -> tuple[str, ...]:
        """Return remarks about what nobody but the site tried: an MPI that its file declares, a kind of container."""
        mpi, image = self.site.system.declared_words(self.test.stack), self.launch.image
        said = [] if mpi is None else [f"the MPI is {mpi}: Railyard's authors never ran it"]
        if image is not None and image.table.version == NEVER_RUN:
            said.append(f"the programs ran in {image}: Railyard's authors never ran {image.table.title}")
        return tuple(said)

    def _case(self, launch: Launch) -> Case:
        check = self.check
        return Case(
            test=replace(self.test, policy=launch.settings.policy_name),
            site=self.site,
            launch=launch,
            # A single host has all ranks of a run between nodes.
            ranks_per_node=self.ranks.per_node,
            window=check.window,
            repetitions=check.fixed_repetitions,
            passes=check.passes,
            node_pairs=max(1, check.num_nodes // 2),
            pairs=check.pairs,
            validates=check.validates,
            hops=self.runner.hops(launch),
            time_limit_s=self.scheduling.limit_s,
            remarks=(
                *(*check.remarks, *self.runner.remarks(check)),
                *(*self.placing.remarks(launch), *self._untried_parts()),
            ),
            sizes=check.asked_sizes,
            threads=check.threads_a_rank if check.outputs.has_threads else 0,
            threads_told=check.threads_a_rank,
            predicted_s=check.predicted_s,
        )


def plan_check(check: Any, site: Site, test: TestId, dry: bool) -> Plan:
    """Return how a check runs here, once it has its nodes and ranks.

    Raises Untested if it does not run, and RailyardError if the stack cannot use these rails or is not there.
    """
    system, fabric = site.system, site.system.fabrics[test.fabric]
    check.runner = runner = runner_of(site, test, dry)
    reason = disabled_reason(system, test, site.references.has_number)
    if reason is not None:
        raise UntestedCase(reason, f"disabled by the site: {reason}")
    check.largest = largest_allowed(check.largest, system.measure, check.num_nodes, check.rails)
    check.passes = min(check.passes, system.measure.passes or check.passes)
    asked = max(check.num_nodes, system.nodes.number) if check.all_nodes else check.num_nodes
    there = span(asked, runner.node_states(), least=check.num_nodes if check.all_nodes else None)
    if there.untested is not None:
        raise UntestedCase(there.untested, f"not tested: {there.untested}")
    check.num_nodes = there.nodes
    runner.choose_ranks(check.shape)
    unlike = why_not_taken(check)
    if unlike is not None:
        raise RailyardError(unlike)
    if check.layout.pair_per_rail and test.policy == NIC_PER_RANK:
        check.ranks_per_node = max(check.ranks_per_node, check.rails)
    total, threads = check.num_nodes * check.ranks_per_node, check.threads_a_rank
    # An application computes on all cores of its nodes: near one rail it would have only those of one socket.
    side = side_of(check.placement, None if check.start.time_limit == "app" else fabric.placement)
    scheduling = Scheduling(
        system,
        test.stack,
        check.start.time_limit,
        check.use_launcher,
        check.lasting_s,
        test.fabric,
        check.num_nodes,
        total * threads,
    )
    # The nodes of our testbeds, and of a single host, share processors.
    own_cores = threads if system.provider == "nodes" else 1
    own_nics = _has_own_nics(check, system, test)
    dealt = own_nics and check.start.time_limit == "app" and side is None
    nic_ranks = check.ranks_per_node if own_nics and check.start.time_limit != "app" else 0
    if nic_ranks and side is None and not check.placement:
        side = "near"
    placing = ProcessPlacement(None if check.layout.within_node else side, check.placement, own_cores, nic_ranks, dealt)
    ranks = Ranks(
        total=total,
        per_node=total if system.provider == "host" else check.ranks_per_node,
        threads=threads,
        policy=None if check.policy == DEFAULT else check.policy,
        within_node=bool(check.layout.within_node),
        launcher=scheduling.launcher,
        variables=check.told_ranks,
        memory=check.memory,
        stage=check.stagedir,
    )
    devices = tuple(rail.name for rail in fabric.used_rails(check.rails, test.policy))
    nodes = runner.node_names(check.num_nodes)
    launch = plan_launch(site, test.fabric, test.stack, devices, nodes, ranks, runs_as_root(system))
    check.choose_amounts(runner.pace(), system.measure.amounts_of(test.benchmark))
    return Plan(check, site, test, runner, scheduling, placing, ranks, launch, there.remark)


def _has_own_nics(check: Any, system: System, test: TestId) -> bool:
    """Return whether each rank is given its own rail.

    A stack without MPI has a pair of processes for each rail instead, and nodes that share one host have no processors
    near a rail.
    """
    has_ranks = test.policy == NIC_PER_RANK and not STACKS[test.stack].pair
    return has_ranks and system.provider == "nodes" and not check.layout.within_node
