"""What a run was meant to do, and what it left: all that is judged."""

from dataclasses import dataclass

from railyard.benchmarks.moved_bytes import Repetitions
from railyard.job.environment import Found as Environment
from railyard.job.gpu_pair_steps import Ended as EndedStep
from railyard.job.launch import Launch
from railyard.job.node_facts import NodeFacts
from railyard.parsers.slurm.jobs import Ended
from railyard.provision.replay.form import Played
from railyard.site.site import Site
from railyard.site.test_id import TestId


@dataclass(frozen=True, slots=True)
class Case:
    """What a run was meant to do.

    ``repetitions`` is what a tool that prints none was told. ``node_pairs``: the disjoint pairs of nodes over which a
    benchmark sums. ``pairs``: of ranks, or of a client and a server, between two nodes. ``validates``: the benchmark
    was told to check the data that it moves. ``hops``: switches between its two nodes, where they are known.
    ``remarks`` are added to the sentence: what a check chose, and why. ``threads``: of each rank, of a benchmark that
    prints how many it had; 0 for any other. ``threads_told``: how many each rank was given. ``sizes``: the message
    sizes that it was told, in bytes; none where the tool goes through its own.
    """

    test: TestId
    site: Site
    launch: Launch
    ranks_per_node: int = 1
    window: int = 1
    repetitions: Repetitions | None = None
    passes: int = 1
    time_limit_s: float | None = None
    node_pairs: int = 1
    pairs: int = 1
    validates: bool = False
    hops: int | None = None
    remarks: tuple[str, ...] = ()
    threads: int = 0
    threads_told: int = 1
    sizes: tuple[int, ...] = ()

    @property
    def fabric(self) -> str:
        """The test's fabric."""
        return self.test.fabric

    @property
    def stack(self) -> str:
        """The test's stack."""
        return self.test.stack

    @property
    def rails(self) -> int:
        """The test's number of rails."""
        return self.test.rails

    @property
    def benchmark(self) -> str:
        """The test's benchmark, ``tool/test``."""
        return self.test.benchmark


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a run left. ``counters`` holds the text of each counters file, ``tag`` what they must be marked with.

    ``linked`` is what ``ldd`` said of the benchmark in the job's own environment; None where it was not asked.
    ``ended`` is the scheduler's word on a job that did not run to its end. ``unplaced`` is why its processes were
    not near its rails, or far from them, as they were told to be, or had no rail of their own each.
    ``played`` is what a replayed run was given in place of a measurement, None for a real one. ``again`` is what pairs
    of nodes gave when they were measured again, a text a step. ``facts`` is what each node said of itself in the job.
    ``job_id`` is the scheduler's. ``rehearsed``: a stand-in ran in place of the benchmark. It is linked to nothing and
    names no library, so that one proof is not asked of it: that it is linked to its stack's MPI, and ran with it.
    ``changed``: which of the site's own programs and libraries are others than in the run before. ``too_long`` is why
    an output was read in part alone; None where it was read whole.
    ``cut`` is why the job was ended for what it printed.
    ``launcher`` is what the launcher said of itself, empty where the stack has none of its own here. ``environment`` is
    what the benchmark's own process of each node had of the variables that matter; None where it was not asked.
    ``steps`` are those of a job whose one process starts the benchmark in many steps, in their order.
    """

    stdout: str
    stderr: str = ""
    exit_code: int | None = None
    timed_out: bool = False
    counters: tuple[str, ...] = ()
    tag: str = ""
    linked: str | None = None
    scheduler_error: str | None = None
    unplaced: str | None = None
    ended: Ended | None = None
    played: Played | None = None
    again: tuple[str, ...] = ()
    facts: tuple[NodeFacts, ...] = ()
    job_id: object = None
    rehearsed: bool = False
    changed: tuple[str, ...] = ()
    too_long: str | None = None
    cut: str | None = None
    launcher: str = ""
    environment: tuple[Environment, ...] | None = None
    steps: tuple[EndedStep, ...] = ()
