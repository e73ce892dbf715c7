"""What a run was intended to do, and what it left behind: all that is judged.

What is kept of a run beside its output: its benchmark's words, and what each node's counters moved. Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from railyard.benchmarks.moved_bytes import Repetitions
from railyard.job import counters
from railyard.job.environment import RankEnvironment as Environment
from railyard.job.gpu_steps import EndedStep as EndedStep
from railyard.job.image import SeenImage as SeenImage
from railyard.job.launch import Launch
from railyard.job.node_facts import NodeFacts, RankNic
from railyard.parsers.job_end import JobEnd
from railyard.provision.replay.form import PlayedTest
from railyard.results.run_folder import DeviceMoved, KeptTest, NicOfRank, NodeMoved
from railyard.site.site import Site
from railyard.site.test_id import TestId


@dataclass(frozen=True, slots=True)
class Case:
    """What a run was intended to do.

    ``repetitions``: the number given to a tool that does not print it. ``node_pairs``: the disjoint pairs of nodes over
    which a benchmark sums. ``pairs``: pairs of ranks, or of a client and a server, between two nodes. ``validates``:
    the benchmark was set to check the data that it moves. ``hops``: switches between its two nodes, if they are known.
    ``remarks`` are added to the sentence: what a check chose, and why. ``threads``: the threads of each rank, for a
    benchmark that prints them; 0 for any other. ``threads_told``: how many threads each rank was given. ``sizes``: the
    message sizes that it was given, in bytes; empty if the tool uses its own. ``predicted_s``: how long an application
    should compute, by its operations, in seconds; None if nobody knows.
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
    predicted_s: float | None = None

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
    """What a run left. ``counters`` holds the text of each counters file, ``tag`` the mark that they must have.

    ``linked`` is what ``ldd`` printed about the benchmark in the job's own environment; None if ``ldd`` did not run.
    ``ended`` is the scheduler's word on a job that did not run to its end. ``unplaced`` is why its processes were not
    near its rails, or far from them, as requested, or did not each have a rail. ``played`` is what a replayed run was
    given instead of a measurement, None for a real one. ``again`` is what pairs of nodes gave when they were measured
    again, one text per step. ``facts`` is what each node reported about itself in the job. ``job_id`` is the
    scheduler's. ``rehearsed``: a stand-in ran instead of the benchmark. It is linked to nothing and names no library,
    so one proof is not required: that it is linked to its stack's MPI, and ran with it. ``changed``: which of the
    site's own programs and libraries have changed since the run before. ``too_long`` is why only a part of an output
    was read; None if it was read whole. ``cut`` is why the job was ended for printing too much. ``launcher`` is what
    the launcher printed about itself, empty if the stack has no own launcher here. ``environment`` has the variables
    that matter in the benchmark's own process on each node; None if they were not read. ``steps`` are the steps, in
    order, of a job whose one process starts the benchmark in many steps. ``image`` is what the run says about the image
    that its programs ran in; None if they ran in none.
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
    ended: JobEnd | None = None
    played: PlayedTest | None = None
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
    image: SeenImage | None = None


def kept_test(
    case: Case,
    evidence: Evidence,
    words: Sequence[str],
    files: Mapping[str, str],
    nics: Iterable[RankNic],
    time: str,
    readings: Mapping[str, counters.NodeCounters] | None = None,
) -> KeptTest:
    """Return what is kept of a run whose nodes read their counters.

    ``words`` are the benchmark's own, ``files`` its input files, ``nics`` what its ranks were given, ``time`` when.
    ``readings`` are the evidence's counters by node, where they were parsed already: of thousands that takes seconds.
    """
    found = readings_of(case, evidence) if readings is None else readings
    nodes = tuple(_node_moved(name, found.get(name)) for name in case.launch.nodes)
    ranks = tuple(NicOfRank(nic.node, nic.rank, nic.device) for nic in nics)
    return KeptTest(time, case.test.policy, case.ranks_per_node, tuple(words), dict(files), nodes, ranks)


def readings_of(case: Case, evidence: Evidence) -> dict[str, counters.NodeCounters]:
    """Return the counters of a run's nodes, by node."""
    drivers = case.site.system.counter_drivers
    read = [counters.parse(text, evidence.tag, drivers) for text in evidence.counters]
    return counters.by_node(read, case.launch.nodes)


def _node_moved(name: str, reading: counters.NodeCounters | None) -> NodeMoved:
    if reading is None:
        return NodeMoved(name, (), "no counters of it were read")
    devices = (_device(device) for device in reading.devices)
    kept = tuple(one for one in devices if one.meant or one.tx_bytes != 0 or one.rx_bytes != 0 or one.grown)
    return NodeMoved(name, kept, reading.problem)


def _device(device: counters.DeviceCounters) -> DeviceMoved:
    grown = {**device.errors, **device.signals}
    tx, rx = device.tx.delta_bytes, device.rx.delta_bytes
    return DeviceMoved(device.device, device.meant, tx, rx, grown, device.trouble)
