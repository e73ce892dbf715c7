"""The base class of the check of pairs of nodes by nccl-tests: rounds of disjoint pairs, each a step of one job."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from reframe.core.builtins import variable

from railyard.base.errors import RailyardError
from railyard.base.wording import count_of
from railyard.job import gpu_steps
from railyard.job.launch import Ranks, plan_launch, runs_as_root
from railyard.parsers import gpu_pairs as parser
from railyard.rfm.checks.groups import Start
from railyard.rfm.checks.nccl import NcclCheck
from railyard.site import topology

if TYPE_CHECKING:
    from railyard.job.command import Command
    from railyard.job.launch import Launch


class NcclPairsCheck(NcclCheck):
    """One collective between two nodes at a time, over all GPUs of both; then each suspect alone, and its GPUs."""

    start = Start(in_steps=True)
    all_nodes = True
    num_nodes = 3
    extended = True
    parse: Any = staticmethod(parser.parse)
    smallest = 32 << 20
    largest = 1 << 30
    #: The number of rounds; each node has a partner in each. 0: all rounds, so that every pair is measured.
    shifts = variable(int, value=0)
    #: How many seconds one pair may take; after that it is ended, and has no result.
    step_s = variable(int, value=60)

    def after(self) -> list[str]:
        return []

    @property
    def validates(self) -> bool:
        """No: the job's own output shows no checks of data. What each pair checked is in its log."""
        return False

    @property
    def asked_sizes(self) -> tuple[int, ...]:
        return ()  # the job's own output has no sizes

    @property
    def rounds(self) -> "tuple[tuple[tuple[int, int], ...], ...]":
        """The rounds of this many nodes, by their places. Raises RailyardError if they do not fit into the time."""
        from railyard.verdict.blame.search.rounds import rounds

        every = rounds(self.num_nodes)
        chosen = every[: int(self.shifts)] if self.shifts else every
        if self._limit_s < self.step_s:
            raise RailyardError(
                f"{type(self).__name__}: found {count_of(self._limit_s, 'second')} for pairs in the time limit, "
                f"expected at least step_s, {self.step_s}: give a longer time_limit, or -S "
                f"{type(self).__name__}.step_s="
            )
        return chosen

    @property
    def command(self) -> "Command":
        system = self.site.system
        scheduling = self._plan.scheduling
        return gpu_steps.PairSteps(
            self.program,
            self._limit_s,
            int(self.step_s),
            gpu_steps.lister(system.scheduler, scheduling.launcher, self._plan.launch.nodes),
            gpu_steps.next_command(["--switches", gpu_steps.SWITCHES] if self._leaves() else []),
        )

    @property
    def _limit_s(self) -> int:
        beside = gpu_steps.PAIR_END_S + gpu_steps.BESIDE_S
        return int(self._plan.scheduling.limit_s) - beside

    def _leaves(self) -> "topology.Leaves":
        """Return each node's leaf switch, if the system's file or the kept distances of the fabric say it."""
        system, fabric = self.site.system, self.current_partition.name
        devices = [rail.device for rail in system.fabrics[fabric].used_rails(self.rails, self.policy)]
        return topology.leaves(self.site.home, system.system, fabric, system.fabrics[fabric].leaf_switches, devices)

    def input_files(self) -> Mapping[str, str]:
        rounds = "".join(" ".join(f"{a},{b},all" for a, b in each) + "\n" for each in self.rounds)
        return {
            gpu_steps.SCRIPT: gpu_steps.script(),
            gpu_steps.ROUNDS: rounds,
            gpu_steps.SWITCHES: topology.text(self._leaves()),
            gpu_steps.ALL_GPUS: self._step(self._launch(self.ranks_per_node), self.ranks_per_node),
            # Every process sees all GPUs of its node, as in the other steps: so the numbers of GPUs are the same.
            gpu_steps.ONE_GPU: self._step(self._launch(1, {"NCCL_TESTS_DEVICE": gpu_steps.GPU}), 1),
        }

    def _launch(self, per_node: int, variables: Mapping[str, str] | None = None) -> "Launch":
        plan, system = self._plan, self.site.system
        ranks = Ranks(2 * per_node, per_node, policy=plan.ranks.policy, launcher=plan.scheduling.launcher,
                      variables=variables or {})  # fmt: skip
        return plan_launch(
            self.site, plan.test.fabric, plan.test.stack, plan.launch.meant, gpu_steps.NODES, ranks,
            runs_as_root(system),
        )  # fmt: skip

    def _step(self, launch: "Launch", per_node: int) -> str:
        plan = self._plan
        program = self.runner.program(self.tool, self.programs)
        words = [program, *self.arguments(self.message_sizes), *launch.settings.words]
        starter = self.site.system.starter(plan.test.stack)
        return gpu_steps.template(
            plan.scheduling.launcher, starter, launch, per_node, int(self.step_s), words, plan.launch.env
        )
