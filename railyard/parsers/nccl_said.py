"""What an output of nccl-tests, rccl-tests, NCCL or RCCL has besides its tables: jobs, their ranks, and the log."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple


class Rank(NamedTuple):
    """One rank as nccl-tests lists it: its GPU's number, bus address and name on its host.

    ``group`` is its communicator (NCCL_TESTS_SPLIT), 0 if the release prints none; ``pid`` is None in releases before
    2.0.
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
    """One start of a program of nccl-tests: where it begins, the lines of its tables, its settings.

    ``settings`` has the printed words: ``min_bytes``, ``max_bytes``, ``step_factor`` or ``step_bytes``, ``iterations``,
    ``warm_up``, ``aggregated``, ``validation``, ``graph``, ``threads``, ``gpus`` (per process). ``tables`` are the
    lines of its tables. ``separate_from``: the line of another job in the same text that is the same test, started
    separately; a judge refuses both. ``avg_busbw_gb_s`` and ``out_of_bounds`` are as printed, None if they are not
    printed.
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
        """Return the hosts of its ranks in the order of the ranks, each host once."""
        return tuple(dict.fromkeys(rank.host for rank in self.ranks))


class Speaker(NamedTuple):
    """Who wrote a line of a log: host, process, and the current GPU in NCCL's numbers (``[0]``)."""

    host: str
    pid: int
    gpu: int


class LogSentence(NamedTuple):
    """A sentence of a log, with its line; ``by`` is None if the line names nobody (``NCCL version …``)."""

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


class Speed(NamedTuple):
    """The rate that a NIC came up with, Mbit/s; ``port`` None if the log names only the device."""

    line: int
    by: Speaker
    name: str
    port: int | None
    mbit_s: float


class Link(NamedTuple):
    """One connection of a channel: from which rank to which, and over what.

    ``transport`` is the first word or two after "via": NET/IB, NET/Socket, P2P/IPC, P2P/CUMEM, P2P/direct, SHM,
    COLLNET/SHARP … ``nic`` is the number of the interface; a P2P or SHM link has none. ``gdr``: the NIC reads and
    writes the GPU's memory (GPU Direct RDMA). ``direction`` is send or receive, None if the log does not say.
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
    """One rank of a communicator at its setup: ``Init COMPLETE`` (or START), with its GPU's bus address."""

    line: int
    by: Speaker
    rank: int
    ranks: int
    device: int
    bus_id: str | None
    complete: bool


class Ring(NamedTuple):
    """The ranks of a ring in order; for a line "Ring 00 : 7 -> 0 -> 1" the three that it names."""

    line: int
    by: Speaker
    channel: int
    ranks: tuple[int, ...]


class Tree(NamedTuple):
    """One rank's place in a tree: its parent and its children, without -1 for missing ones."""

    line: int
    by: Speaker
    channel: int
    rank: int
    parent: int | None
    children: tuple[int, ...]


class Choice(NamedTuple):
    """What NCCL chose for a call (NCCL_DEBUG_SUBSYS=TUNING): algorithm, protocol and channels for a number of bytes.

    ``collective`` is "" if the line names none (2.20 to 2.22). ``size_bytes`` is as printed: of all_gather and
    reduce_scatter it is one rank's share since 2.24, which prints channels.
    """

    line: int
    by: Speaker
    collective: str
    size_bytes: int
    algorithm: str
    protocol: str
    channels: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Log:
    """What NCCL or RCCL says about itself (NCCL_DEBUG=INFO), each with its line, in the order of the text.

    ``networks`` has one entry per "Using network X". ``channels`` has the counts of "N coll channels, …" as printed.
    ``fallbacks`` are the sentences that say that NCCL uses a slower way than it could: no InfiniBand device, GPU Direct
    RDMA off, peer access off, no CollNet or NVLink SHARP. ``warnings`` are the lines "NCCL WARN".
    """

    versions: tuple[LogSentence, ...] = ()
    networks: tuple[LogSentence, ...] = ()
    nics: tuple[Nic, ...] = ()
    speeds: tuple[Speed, ...] = ()
    links: tuple[Link, ...] = ()
    members: tuple[Member, ...] = ()
    rings: tuple[Ring, ...] = ()
    trees: tuple[Tree, ...] = ()
    choices: tuple[Choice, ...] = ()
    channels: tuple[LogSentence, ...] = ()
    settings: tuple[LogSentence, ...] = ()
    fallbacks: tuple[LogSentence, ...] = ()
    warnings: tuple[LogSentence, ...] = ()
    facts: tuple[LogSentence, ...] = ()


@dataclass(frozen=True, slots=True)
class NcclOutput:
    """Both: the jobs of nccl-tests in the order of the text, and the log, None if there is no line of a log."""

    jobs: tuple[Job, ...] = ()
    log: Log | None = None
