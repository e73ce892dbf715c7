"""What an output of nccl-tests, rccl-tests, NCCL or RCCL says beside its tables: its jobs, their ranks, and its log."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple


class Rank(NamedTuple):
    """One rank as nccl-tests lists it: its GPU's number, bus address and name on its host.

    ``group`` is the communicator that it is in (NCCL_TESTS_SPLIT), 0 where the release prints none; ``pid`` is None
    in the releases before 2.0.
    """

    line: int
    rank: int
    group: int
    pid: int | None
    host: str
    device: int
    bus_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Job:
    """One start of a program of nccl-tests: where it begins, which lines its tables begin on, what it was told.

    ``settings`` has the printed words: ``min_bytes``, ``max_bytes``, ``step_factor`` or ``step_bytes``, ``iterations``,
    ``warm_up``, ``aggregated``, ``validation``, ``graph``, ``threads``, ``gpus`` (a process). ``tables`` are the lines
    of its tables. ``separate_from``: the line of the job in the same text that is the same test, started apart; a
    judge refuses both. ``avg_busbw_gb_s`` and ``out_of_bounds`` are as printed, None where they are not.
    """

    line: int
    benchmark: str | None
    version: str | None
    ranks: tuple[Rank, ...] = ()
    tables: tuple[int, ...] = ()
    settings: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    avg_busbw_gb_s: float | None = None
    out_of_bounds: int | None = None
    separate_from: int | None = None

    @property
    def hosts(self) -> tuple[str, ...]:
        """Return the hosts of its ranks, each once, in the order of the ranks."""
        return tuple(dict.fromkeys(rank.host for rank in self.ranks))


class Speaker(NamedTuple):
    """Who wrote a line of a log: host, process, and the GPU that was current, as NCCL counts it (``[0]``)."""

    host: str
    pid: int
    gpu: int


class Said(NamedTuple):
    """A sentence of a log, with its line; ``by`` is None where the line names nobody (``NCCL version …``)."""

    line: int
    by: Speaker | None
    text: str


class Nic(NamedTuple):
    """A network interface that NCCL uses: ``kind`` is IB, RoCE, Socket or what the log says; ``sharp``: with SHARP."""

    line: int
    by: Speaker
    number: int
    name: str
    port: int | None
    kind: str
    sharp: bool = False


class Link(NamedTuple):
    """One connection of a channel: from rank to rank, and by what.

    ``transport`` is the first word or two behind "via": NET/IB, NET/Socket, P2P/IPC, P2P/CUMEM, P2P/direct, SHM,
    COLLNET/SHARP … ``nic`` is the number of the interface, which a P2P or SHM link has not. ``gdr``: the NIC reads and
    writes the GPU's memory (GPU Direct RDMA). ``direction`` is send or receive, None where the log does not say.
    """

    line: int
    by: Speaker
    channel: int
    source: int
    target: int | None
    direction: str | None
    transport: str
    nic: int | None
    gdr: bool


class Member(NamedTuple):
    """One rank of a communicator as it is set up: ``Init COMPLETE`` (or START), with its GPU's bus address."""

    line: int
    by: Speaker
    rank: int
    ranks: int
    device: int
    bus_id: str | None
    complete: bool


class Ring(NamedTuple):
    """The ranks of a ring in its order; of a line "Ring 00 : 7 -> 0 -> 1" the three that it names."""

    line: int
    by: Speaker
    channel: int
    ranks: tuple[int, ...]


class Tree(NamedTuple):
    """One rank's place in a tree: its parent and its children, without the -1 of those that are not there."""

    line: int
    by: Speaker
    channel: int
    rank: int
    parent: int | None
    children: tuple[int, ...]


class Choice(NamedTuple):
    """What NCCL chose for a call (NCCL_DEBUG_SUBSYS=TUNING): algorithm, protocol and channels for so many bytes."""

    line: int
    by: Speaker
    collective: str
    size_bytes: int
    algorithm: str
    protocol: str
    channels: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Log:
    """What NCCL or RCCL says of itself (NCCL_DEBUG=INFO), each with its line; everything in the order of the text.

    ``networks`` has one entry a "Using network X". ``channels`` has the counts of "N coll channels, …" as they are
    printed. ``fallbacks`` are the sentences by which NCCL takes a slower way than it could: no InfiniBand device, GPU
    Direct RDMA off, peer access off, CollNet or NVLink SHARP not there. ``warnings`` are the lines "NCCL WARN".
    """

    versions: tuple[Said, ...] = ()
    networks: tuple[Said, ...] = ()
    nics: tuple[Nic, ...] = ()
    links: tuple[Link, ...] = ()
    members: tuple[Member, ...] = ()
    rings: tuple[Ring, ...] = ()
    trees: tuple[Tree, ...] = ()
    choices: tuple[Choice, ...] = ()
    channels: tuple[Said, ...] = ()
    settings: tuple[Said, ...] = ()
    fallbacks: tuple[Said, ...] = ()
    warnings: tuple[Said, ...] = ()
    facts: tuple[Said, ...] = ()


@dataclass(frozen=True, slots=True)
class Spoken:
    """All of it: the jobs of nccl-tests in the order of the text, and the log; None where no line of a log is there."""

    jobs: tuple[Job, ...] = ()
    log: Log | None = None
