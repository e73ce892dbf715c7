"""What a healthy link shows on its first day, at every message size: the bound of a run that no reference bounds.

The shape is Hockney's, t = t0 + n / B, with the two steps that every library adds. In the time of one printed value
(``Turn``) a message starts so many times, one after another, and so many messages cross the rail in each direction:

    t(n) = starts x (t0 + late(n))  +  sends x min(n, 16 KiB) / 2 GB/s  +  sends x pairs x n / (share x limit)

``t0`` is half a round trip of an empty message. Short messages are copied into and out of a library's buffers (eager);
from 16 KiB on, a handshake (rendezvous) takes the place of the copy and costs about as much. ``late`` is a further step
that only some classes have: staging through buffers between a GPU and its card, windows of TCP. ``limit`` is what one
rail can carry. In a window of messages, only the time between two of them counts in place of t0:

    t(n) = cost + n / (share x limit)   below 1 MiB,   n / (share x limit)   from 1 MiB on

A card without a library in between works on the next message while the last one is on the wire: there, the larger of
the two counts.

The constants of a class are chosen so that every healthy system that is published or posted keeps the bound, with a
margin, while a link at 60 % of its rate does not (from 1 MiB, RDMA between hosts). Each has its evidence beside it. A
value inside the band may still be far from what the system should give: only a reference says that.

Source: R. W. Hockney, "The communication challenge for MPP", Parallel Computing 20 (1994) 389-398. The evidence is from
docs/reference/published.md, docs/reference/scoreboard.md and the published tables that they name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from railyard.base.bounds import LEAST_LATENCY, LEAST_OF_EFA, LEAST_OF_RDMA, LEAST_OF_TCP, JudgingBound
from railyard.hardware.limits import DAY_ONE_FROM_BYTES, Limit
from railyard.hardware.links import Link

#: What is copied at most before a library goes over to the rendezvous protocol, and how fast: two copies of at least
#: 4 GB/s each. Of EDR's half round trips, 2.8 us at 8 KiB and 5.1 us at 64 KiB are above start and rate (Open MPI with
#: UCX), of Slingshot 11's 4.6 and 5.2 us, of QDR's one-sided reads 9.7 us at 64 KiB.
EAGER_UP_TO_BYTES = 16 << 10
COPY_MB_S = 2000.0
#: From here on the card reads a message of a window where it lies.
LONG_FROM_BYTES = 32 << 10

Where = Literal["host", "device", "node"]
#: How the ranks of a collective exchange messages (``collective_times``); "root": a gather or scatter.
Pattern = Literal["allreduce", "reduce", "reduce_scatter", "broadcast", "barrier", "alltoall", "allgather", "root"]


@dataclass(frozen=True, slots=True)
class Turn:
    """What happens in the time of one printed value, when one message follows another.

    ``starts``: message starts that follow one another. ``sends``: messages that cross a rail in one direction.
    ``counted``: messages whose bytes a printed bandwidth counts. ``both_ways``: the rail is loaded in both directions
    at once. ``computes``: the target also computes with the data, at ``COPY_MB_S`` or more.
    """

    starts: int
    sends: int = 1
    counted: int = 1
    both_ways: bool = False
    computes: bool = False


HALF_ROUND_TRIP = Turn(1)
ROUND_TRIP = Turn(2)
#: A put or get and the call that waits for its end: a request, the data, an acknowledgement.
ONE_SIDED = Turn(3)
#: The same between two fences (IMB's EXT and RMA): each is a barrier of two ranks, with what it still has to bring.
FENCED = Turn(6)
FENCED_BOTH_WAYS = Turn(6, both_ways=True)
ONE_SIDED_SUM = Turn(3, computes=True)
#: Each side sends one message and receives one, at the same time: the printed bandwidth counts one, or both.
PING_PING = Turn(2, both_ways=True)
EXCHANGE_OF_2 = Turn(2, counted=2, both_ways=True)
#: Each side sends one message to both neighbours, and receives one from both; with two ranks both are the same.
EXCHANGE_OF_4 = Turn(4, sends=2, counted=4, both_ways=True)


@dataclass(frozen=True, slots=True)
class LinkClass:
    """What healthy links of a class show at least; ``name`` and ``evidence`` in words.

    ``start_us``: half a round trip of an empty message. ``late_us`` is added from ``late_from_bytes`` on. ``shares``:
    of the limit, one message at a time, by directions (1, and 2 if both are loaded). ``cost_us``: from one message of a
    window to the next, through a library; ``long_cost_us`` from 32 KiB on, where a library copies no more (None: the
    same); ``verbs_cost_us`` without a library. Without one, ``verbs_start_us`` is the start of one message at a time,
    and ``verbs_wait_us`` half a round trip that a window waits for (None: as ``start_us``).
    ``stream_shares``: of the limit, with a window of messages. ``flow_mb_s``: the most that is asked of one flow, which
    a processor handles; None if a card does. ``least``: half a round trip through a library never takes less.
    """

    name: str
    start_us: float
    shares: Mapping[int, float]
    cost_us: float
    verbs_cost_us: float
    stream_shares: Mapping[int, float]
    evidence: str
    late_us: float = 0.0
    late_from_bytes: int = 0
    flow_mb_s: float | None = None
    long_cost_us: float | None = None
    verbs_start_us: float | None = None
    verbs_wait_us: float | None = None
    least: JudgingBound = LEAST_LATENCY

    def cost_of(self, size_bytes: int) -> float:
        """Return the time from one message of a window to the next through a library, us."""
        is_long = self.long_cost_us is not None and size_bytes >= LONG_FROM_BYTES
        return self.long_cost_us if is_long and self.long_cost_us is not None else self.cost_us

    def window_cost_us(self, size_bytes: int, verbs: bool) -> float:
        """Return the time from one message of a window to the next, us; ``verbs``: without a library.

        A library makes no message cheaper. Without one, a message of 64 KiB over NDR took 1.34 us, all of it on the
        wire.
        """
        through_library = self.cost_of(size_bytes)
        return min(self.verbs_cost_us, through_library) if verbs else through_library

    def window_start_us(self, verbs: bool) -> float:
        """Return half a round trip that a window waits for, us; ``verbs``: without a library."""
        return self.verbs_wait_us if verbs and self.verbs_wait_us is not None else self.start_us

    def without_library(self) -> "LinkClass":
        """Return the class for one message at a time between two cards, without a library."""
        return self if self.verbs_start_us is None else replace(self, start_us=self.verbs_start_us)

    def start_of(self, size_bytes: int) -> float:
        """Return the start of a message of a size, us, with the further step if there is one."""
        late = self.late_from_bytes and size_bytes >= self.late_from_bytes
        return self.start_us + (self.late_us if late else 0.0)

    def within_flow(self, rate_mb_s: float) -> float:
        """Return a rate, MB/s, or what a processor handles of it."""
        return rate_mb_s if self.flow_mb_s is None else min(rate_mb_s, self.flow_mb_s)


def _shares(one_way: float, both_ways: float) -> Mapping[int, float]:
    return MappingProxyType({1: one_way, 2: both_ways})


#: InfiniBand from FDR on. ``verbs_start_us``: the highest healthy start of two cards that was posted is 2.66 us, by
#: ib_send_lat between virtual machines with EDR (Azure HC44, SR-IOV); back to back, NDR takes 1.27 us, and ib_read_lat
#: 1.99 us there and back (QDR). Half as much again leaves 1.3 us for further switches and cables; twice the highest
#: fails. UCX and libfabric keep the start of MPI: no healthy run of ucx_perftest or fi_pingpong over InfiniBand is
#: known that would set another.
RDMA = LinkClass(
    "RDMA",
    start_us=6.0,
    shares=_shares(0.70, 0.55),
    cost_us=3.0,
    verbs_cost_us=2.0,
    stream_shares=_shares(0.85, 0.75),
    evidence=(
        "published and posted healthy systems: half a round trip of a few bytes takes at most 3.4 us (Slingshot 11), "
        "4 MiB one at a time reach at least 91 % of the limit, a message in a window takes at most 1.3 us and 0.5 us "
        "without MPI; windows of long messages reach at least 92 % one way and 79 % both ways (FDR); a message of 32 "
        "KiB in a window takes at most 1.0 us more than its share of the limit (both ways over Slingshot 11), and half "
        "a round trip without MPI at most 2.7 us (EDR)"
    ),
    long_cost_us=1.5,
    verbs_start_us=4.0,
    verbs_wait_us=3.0,
    least=LEAST_OF_RDMA,
)
#: RoCE, Omni-Path and Slingshot. Without a library a message may start as late as through MPI: with RoCE, ib_send_lat
#: took 5.84 us over a bond in a data centre (openucx/ucx, issue 6242, whose author takes it for the network's own
#: figure), and ib_read_lat 7.04 us there and back between containers (spidernet-io/spiderpool, rdma-roce-zh_CN.md), but
#: 1.68 and 2.69 us elsewhere. Omni-Path's verbs run in the driver.
RDMA_NOT_INFINIBAND = replace(
    RDMA,
    name="RDMA of RoCE, Omni-Path, Slingshot",
    verbs_start_us=None,
    evidence="as RDMA; half a round trip without MPI takes at most 5.84 us (RoCE over a bond)",
)
#: InfiniBand QDR: many of its cards sit in a slot of PCIe Gen2 x8, which carries 92 % of what the link does. A card in
#: PCIe Gen3 does more; only a run that names its slot is bounded by the slot itself.
RDMA_OF_QDR = replace(
    RDMA,
    name="RDMA of QDR",
    shares=_shares(0.64, 0.50),
    stream_shares=_shares(0.78, 0.68),
    evidence="as RDMA, behind a slot of PCIe Gen2 x8 (3657 of 3975 MB/s)",
)
#: InfiniBand SDR and DDR: cards on PCI-X and PCIe Gen1.
RDMA_OF_2003 = replace(
    RDMA,
    name="RDMA before 2008",
    start_us=10.0,
    shares=_shares(0.55, 0.42),
    cost_us=6.0,
    verbs_cost_us=4.0,
    stream_shares=_shares(0.75, 0.60),
    evidence=(
        "published: half a round trip of a few bytes takes at most 7 us (InfiniBand 4X of 2003), 8 MiB one at a time "
        "reach at least 58 % of the limit of link and slot, windows of two ports at least 81 %"
    ),
    long_cost_us=None,
    verbs_start_us=None,
    verbs_wait_us=None,
)
#: Elastic Fabric Adapter: reliable datagrams of the cloud, in libfabric.
EFA = LinkClass(
    "EFA",
    start_us=30.0,
    shares=_shares(0.12, 0.10),
    cost_us=3.0,
    verbs_cost_us=3.0,
    stream_shares=_shares(0.55, 0.25),
    evidence=(
        "posted healthy runs: half a round trip of a few bytes takes 10 to 22 us, 4 MiB one at a time reach 16 to 36 % "
        "of the limit, a window one way 87 % at 64 KiB and 93 % from 1 MiB, over eight cards at once 58 % (p6-b200), "
        "both ways 32 % (Intel MPI)"
    ),
    late_us=60.0,
    late_from_bytes=64 << 10,
    least=LEAST_OF_EFA,
)
#: TCP, over Ethernet or InfiniBand: a processor moves the bytes of a flow. Both ways, 59 % of the limit passes, since
#: healthy runs show as little: 50 % in an osu_bibw (Open MPI 4.1.4, virtual cluster), 55 % in a Sendrecv and 60 % in an
#: Exchange (IMB over 1 Gbit/s, whose Allreduce has 13 % to spare at a share of 40 %, and fails at 48 %). No genuine
#: exchange over 10 Gbit/s and more is known that would ask for more. And iperf3 before 3.16 moves both directions of
#: --bidir in one thread: on one host they got 84.6 and 8.5 Gbit/s (esnet/iperf, issue 1374).
TCP = LinkClass(
    "TCP",
    start_us=120.0,
    shares=_shares(0.70, 0.40),
    cost_us=30.0,
    verbs_cost_us=30.0,
    stream_shares=_shares(0.70, 0.40),
    evidence=(
        "posted healthy runs: half a round trip of a few bytes takes 12.7 to 60 us from 10 Gbit/s on, 53 to 156 us at "
        "1 Gbit/s; a flow moves 96 % of 1 Gbit/s, and 2.2 to 6 GB/s over 100 Gbit/s and more; a message in a window "
        "takes at most 10 us; both ways, healthy runs have as little as 50 % of the limit (osu_bibw of Open MPI on the "
        "virtual cluster)"
    ),
    late_us=200.0,
    late_from_bytes=32 << 10,
    flow_mb_s=1000.0,
    least=LEAST_OF_TCP,
)
#: From so many flows on, a limit of one flow does not explain a low sum. One core may move them all (iperf3 before 3.16
#: has one thread), so two flows' rate is asked of them.
_MANY_FLOWS = 4
TCP_OF_MANY_FLOWS = replace(TCP, name=f"TCP in {_MANY_FLOWS} flows or more", flow_mb_s=2000.0)
#: Cards that collect interrupts, slow processors, and acknowledgements that wait: 53 us from node to node (NetPIPE),
#: 156 us between ARM boards, up to 590 us between virtual nodes that share two cores; a broadcast of 2 KiB took 1.2 ms.
TCP_1G = replace(TCP, name="TCP at 1 Gbit/s", start_us=600.0, late_us=400.0, late_from_bytes=1 << 10)
#: InfiniBand SDR: its data rate is below what a processor handles, and IP over it has a checksum and a copy of its own.
TCP_OF_SDR = replace(
    TCP,
    name="TCP over InfiniBand SDR",
    shares=_shares(0.55, 0.35),
    stream_shares=_shares(0.60, 0.35),
    evidence="as TCP; a posted healthy run moved 66 % of the limit of SDR over TCP, and 63 % over UDP (qperf)",
)
#: Between the memories of GPUs on two nodes, over RDMA.
RDMA_OF_GPUS = LinkClass(
    "RDMA from the memory of GPUs",
    start_us=30.0,
    shares=_shares(0.65, 0.40),
    cost_us=25.0,
    verbs_cost_us=5.0,
    stream_shares=_shares(0.65, 0.55),
    evidence=(
        "posted healthy runs: half a round trip of a few bytes takes at most 18 us (V100, EDR), 4 MiB one at a time "
        "reach 63 % of the limit there and 92 % on Slingshot 11; from 1 to 4 MiB the bytes cross at 76 % of the limit, "
        "after about 100 us (V100, EDR); a window reaches at least 75 % one way, and both ways 90 % on Slingshot 11"
    ),
    late_us=75.0,
    late_from_bytes=64 << 10,
    least=LEAST_OF_RDMA,
)
#: The same if link and slots carry more than PCIe Gen3 x16 does: then the GPU is in a slot of Gen4 or newer, or beside
#: its card. The V100 above is read at 9.5 GB/s at most, whatever the link. From newer ones, messages of 1 to 4 MiB take
#: at most 19 us more than at the limit of the link (five runs of Slingshot 11 with GH200: Open MPI, Cray MPICH), and a
#: few bytes 3.3 to 11.7 us.
RDMA_OF_NEWER_GPUS = replace(
    RDMA_OF_GPUS,
    name="RDMA from the memory of GPUs in PCIe Gen4 or newer",
    shares=_shares(0.80, 0.40),
    late_us=25.0,
    evidence=(
        "posted healthy runs: half a round trip of a few bytes takes 3.3 to 11.7 us, of 1 to 4 MiB at most 19 us more "
        "than at the limit, and 4 MiB reach 92 % of it (Slingshot 11); windows, and both ways, as from older GPUs"
    ),
)
PCIE_GEN3_MB_S = 15_754.0

#: Between ranks of one node, in its shared memory. ``NODE_MB_S`` takes the place of a link's limit.
NODE = LinkClass(
    "the memory of one node",
    start_us=15.0,
    shares=_shares(1.0, 0.5),
    cost_us=15.0,
    verbs_cost_us=15.0,
    stream_shares=_shares(1.0, 1.0),
    evidence=(
        "posted healthy runs: 0.2 to 3.2 us for a few bytes, 10 us at 4 KiB (a virtual machine), at least 4 GB/s for "
        "long messages (a virtual machine of 2011)"
    ),
)
NODE_MB_S = 1500.0
NODE_OF_GPUS = replace(NODE, name="the GPUs of one node", start_us=30.0, cost_us=30.0)

#: A loop through a card passes its slot and its port twice, and may get a half of what the port carries. Three logs of
#: superbench have 98 % of HDR: those loops turned round before the port.
LOOP_SHARE = 0.5

#: The family of a link that nobody named.
UNNAMED = "unnamed"
_RDMA_FAMILIES = frozenset({"infiniband", "omnipath", "slingshot", "roce"})
_OLDER_UP_TO_GBIT_S_PER_LANE = 4.0  # DDR
_QDR_UP_TO_GBIT_S_PER_LANE = 8.0


#: Why no class bounds a run over a link: nobody named it, no source knows it (from the memory of GPUs), or its rate is
#: not known.
NoClass = Literal["unnamed", "no-source", "no-source-from-gpus", "no-limit"]


def class_of(link: Link, where: Where = "host", over_tcp: bool = False, flows: int = 1) -> LinkClass | NoClass:
    """Return the class that bounds a run over a link, or why there is none.

    ``where``: the memory of the buffers. ``over_tcp``: the benchmark itself uses TCP or UDP, whatever the link.
    ``flows``: so many flows of TCP share the bytes.
    """
    if link.family == UNNAMED:
        return "unnamed"
    if over_tcp or link.family == "ethernet":
        if link.data_rate_gbit_s is None:
            return "no-source"
        if link.data_rate_gbit_s >= 10:
            return TCP if flows < _MANY_FLOWS else TCP_OF_MANY_FLOWS
        return TCP_OF_SDR if link.family == "infiniband" else TCP_1G
    if link.family in _RDMA_FAMILIES:
        lane = (link.data_rate_gbit_s or 0.0) / (link.lanes or 1)
        if where == "device":
            return RDMA_OF_GPUS
        if link.family != "infiniband":
            return RDMA_NOT_INFINIBAND
        if lane > _QDR_UP_TO_GBIT_S_PER_LANE:
            return RDMA
        return RDMA_OF_2003 if lane <= _OLDER_UP_TO_GBIT_S_PER_LANE else RDMA_OF_QDR
    if link.family == "efa":
        return EFA if where == "host" else "no-source-from-gpus"
    return "no-source"


@dataclass(frozen=True, slots=True)
class Rail:
    """A class, and what one rail (``one_mb_s``) and all rails of a run (``all_mb_s``) carry one way, MB/s.

    ``all_both_mb_s``: all rails in both directions together, which a shared bus makes less than twice one way.
    """

    of: LinkClass
    one_mb_s: float
    all_mb_s: float
    all_both_mb_s: float

    def times(self, share: float) -> "Rail":
        """Return a rail that carries a share of it."""
        return replace(
            self,
            one_mb_s=share * self.one_mb_s,
            all_mb_s=share * self.all_mb_s,
            all_both_mb_s=share * self.all_both_mb_s,
        )


def longest_us(rail: Rail, turn: Turn, size_bytes: int, pairs: int = 1) -> float:
    """Return the time of one turn with messages of a size, in us, that a healthy link does not exceed.

    ``pairs``: so many pairs of ranks share the rail. One message uses one rail at a time.
    """
    of = rail.of
    directions = 2 if turn.both_ways else 1
    rate = of.within_flow(of.shares[directions] * min(rail.one_mb_s, rail.all_both_mb_s / directions))
    copied = copied_us(size_bytes)
    summed = size_bytes / COPY_MB_S if turn.computes else 0.0
    return turn.starts * of.start_of(size_bytes) + turn.sends * (copied + summed + pairs * size_bytes / rate)


def copied_us(size_bytes: int) -> float:
    """Return what a library takes to copy a short message, us."""
    return min(size_bytes, EAGER_UP_TO_BYTES) / COPY_MB_S


def lowest_of_turn_mb_s(rail: Rail, turn: Turn, size_bytes: int, pairs: int = 1) -> float:
    """Return the bandwidth, in MB/s, that a healthy link reaches with one message after another."""
    return turn.counted * size_bytes / longest_us(rail, turn, size_bytes, pairs)


@dataclass(frozen=True, slots=True)
class Window:
    """A window of messages: ``directions`` that a printed value counts; ``loaded`` directions at once.

    ``verbs``: no library is in between. ``depth``: how many messages are in flight. ``repetitions``: messages of a run,
    at whose end one waits for the last; None if not known.
    """

    directions: int = 1
    loaded: int = 1
    verbs: bool = False
    depth: int | None = None
    repetitions: int | None = None


def lowest_of_stream_mb_s(rail: Rail, window: Window, size_bytes: int) -> float:
    """Return the bandwidth, in MB/s, that a healthy link reaches with a window of messages of a size.

    A window of a few messages waits for acknowledgements, and a run of a few messages for the last one.
    """
    of = rail.of
    rate = of.stream_shares[window.loaded] * (rail.all_mb_s if window.loaded == 1 else rail.all_both_mb_s / 2)
    if size_bytes < DAY_ONE_FROM_BYTES:  # only a stack knows from which size on it uses several rails
        rate = min(rate, of.stream_shares[window.loaded] * rail.one_mb_s)
    wire = size_bytes / of.within_flow(rate)
    if size_bytes >= DAY_ONE_FROM_BYTES:
        time = wire
    elif window.verbs:
        time = max(of.window_cost_us(size_bytes, window.verbs), wire)
    else:
        time = of.window_cost_us(size_bytes, window.verbs) + wire
    round_trip = 2 * of.window_start_us(window.verbs)
    if window.depth is not None:
        time = max(time, (round_trip + wire) / window.depth)
    if window.repetitions is not None:
        time += round_trip / window.repetitions
    return window.directions * size_bytes / time


def rail_of(of: LinkClass, one: Limit | None, all_rails: Limit | None, both_ways: Limit | None) -> Rail | None:
    """Return the rails of a run from their limits: of one rail one way, of all one way and both ways; None if one of
    them is not known. Only these limits show whether GPUs are in slots of PCIe Gen4 or newer.
    """
    if one is None or all_rails is None or both_ways is None:
        return None
    if of is RDMA_OF_GPUS and one.value_mb_s > PCIE_GEN3_MB_S:
        of = RDMA_OF_NEWER_GPUS
    return Rail(of, one.value_mb_s, all_rails.value_mb_s, both_ways.value_mb_s)


def stream_floor_mb_s(link: Link, limit: Limit | None) -> float | NoClass:
    """Return the bandwidth one way, MB/s, that a window of messages of 1 MiB and more reaches on a healthy link, or why
    it is not known.
    """
    found = class_of(link)
    rail = None if isinstance(found, str) else rail_of(found, limit, limit, limit)
    if isinstance(found, str) or rail is None:
        return found if isinstance(found, str) else "no-limit"
    return lowest_of_stream_mb_s(rail, Window(), DAY_ONE_FROM_BYTES)
