"""From which share of a healthy curve on does a link's day-one band fail a slow one? Each bound is broken here once.

A healthy curve is made for each link and pattern, in Hockney's form with the magnitudes of published systems. Then all
its sizes from 64 KiB on, or from 1 MiB on, are slowed to a share. ``fails_from`` is the largest share that fails.
``python -m tests.slowed_curves`` prints docs/reference/day-one.md, which `make docs` writes again.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from railyard.base.bounds import RAILS_SHARE
from railyard.base.wording import number
from railyard.hardware import day_one
from railyard.parsers.output import ParsedOutput, Table
from railyard.verdict import own_fault
from railyard.verdict.inputs import Target
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.target import Nodes, of_link
from tests import slowed_collectives

SIZES = tuple(1 << power for power in range(23))  # 1 B to 4 MiB
#: Link, whether the buffers are in GPUs, half a round trip of an empty message (us), and the share of the limit that
#: long messages reach, one at a time and in a window.
HEALTHY: tuple[tuple[str, bool, float, float, float], ...] = (
    ("ib-sdr", False, 5.0, 0.88, 0.90),
    ("ib-qdr", False, 1.6, 0.95, 0.96),
    ("ib-fdr", False, 0.9, 0.94, 0.95),
    ("ib-edr", False, 1.1, 0.97, 0.98),
    ("ib-hdr", False, 1.2, 0.97, 0.98),
    ("ib-ndr", False, 1.3, 0.97, 0.98),
    ("opa-100", False, 1.3, 0.96, 0.98),
    ("slingshot-11", False, 2.5, 0.96, 0.96),
    ("roce-25", False, 1.6, 0.97, 0.98),
    ("roce-100", False, 1.6, 0.97, 0.98),
    ("roce-400", False, 2.5, 0.97, 0.97),
    ("efa-100", False, 17.0, 0.40, 0.94),
    ("eth-1", False, 50.0, 0.95, 0.95),
    ("eth-10", False, 25.0, 0.90, 0.93),
    ("eth-100", False, 20.0, 0.28, 0.30),
    ("ib-hdr", True, 3.5, 0.90, 0.92),
    ("slingshot-11", True, 3.5, 0.92, 0.95),
)
#: The share of a healthy curve below which a slow link must fail, from 1 MiB on, over RDMA between hosts.
GOAL = 0.60


@dataclass(frozen=True, slots=True)
class Link:
    """A link with what a healthy run shows on it; rates in MB/s one way, times in us."""

    name: str
    from_device: bool
    start_us: float
    one_mb_s: float
    window_mb_s: float
    target: Target

    def turn_us(self, size: int, starts: float = 1.0) -> float:
        """Return the time of so many starts and one message of a size, us."""
        return starts * self.start_us + min(size, 16 << 10) / 8000 + size / self.one_mb_s

    def window(self, size: int) -> float:
        """Return the bandwidth of a window of messages of a size, MB/s."""
        most = 10.0 if self.target.fabric.link.family == "ethernet" else 1.2
        return size / (min(0.3 * self.start_us, most) + size / self.window_mb_s)


def links() -> Iterator[Link]:
    """Yield each link of ``HEALTHY`` with its limit."""
    for name, from_device, start_us, one, window in HEALTHY:
        target = of_link(name)
        limit = target.limit(1)
        assert limit is not None
        yield Link(name, from_device, start_us, one * limit.value_mb_s, window * limit.value_mb_s, target)


def _latency(tool: str, benchmark: str, starts: float) -> Callable[[Link, Mapping[int, float]], Table]:
    def make_table(link: Link, shares: Mapping[int, float]) -> Table:
        rows = tuple((size, link.turn_us(size, starts) / shares[size]) for size in SIZES)
        device = {"device": "CUDA"} if link.from_device else {}
        return Table(tool, "5.9", benchmark, ("size", "latency"), ("B", "us"), rows, 1, True, device)

    return make_table


def _bandwidth(tool: str, benchmark: str, directions: int = 1, **context: int) -> Callable[..., Table]:
    def make_table(link: Link, shares: Mapping[int, float]) -> Table:
        both = 0.9 if directions == 2 else 1.0
        rows = tuple((size, directions * both * link.window(size) * shares[size]) for size in SIZES)
        device = {"device": "CUDA"} if link.from_device else {}
        return Table(tool, "5.9", benchmark, ("size", "bandwidth"), ("B", "MB/s"), rows, 1, True, {**device, **context})

    return make_table


def _imb(benchmark: str, starts: float, counted: int, sends: int = 1) -> Callable[[Link, Mapping[int, float]], Table]:
    def make_table(link: Link, shares: Mapping[int, float]) -> Table:
        times = {size: sends * link.turn_us(size, starts / sends) / shares[size] for size in SIZES}
        rows = tuple((size, 1000, time, counted * size / time) for size, time in times.items())
        columns, units = ("size", "repetitions", "time", "bandwidth"), ("B", None, "us", "MB/s")
        return Table("imb", "2021.7", benchmark, columns, units, rows, 1, True, {"ranks": 2}, ended=True)

    return make_table


def _perftest(benchmark: str, directions: int = 1) -> Callable[[Link, Mapping[int, float]], Table]:
    def make_table(link: Link, shares: Mapping[int, float]) -> Table:
        rows = tuple((size, 5000, directions * min(size / 0.4, link.window_mb_s) * shares[size]) for size in SIZES[1:])
        context = {"tx_depth": 128, **({"bidirectional": True} if directions == 2 else {})}
        columns, units = ("size", "iterations", "bandwidth"), ("B", None, "MB/s")
        return Table("perftest", None, benchmark, columns, units, rows, 1, True, context)

    return make_table


PATTERNS: Mapping[str, Callable[[Link, Mapping[int, float]], Table]] = {
    "half a round trip (osu_latency)": _latency("osu", "osu_latency", 1.0),
    "half a round trip (IMB PingPong)": _imb("PingPong", 1.0, 1),
    "one each way at once (IMB PingPing)": _imb("PingPing", 1.2, 1),
    "exchange of two (IMB Sendrecv)": _imb("Sendrecv", 1.2, 2),
    "exchange of four (IMB Exchange)": _imb("Exchange", 2.4, 4, sends=2),
    "put and wait (osu_put_latency)": _latency("osu", "osu_put_latency", 2.0),
    "window (osu_bw)": _bandwidth("osu", "osu_bw"),
    "window both ways (osu_bibw)": _bandwidth("osu", "osu_bibw", 2),
    "window of puts (osu_put_bw)": _bandwidth("osu", "osu_put_bw"),
    "many pairs (osu_mbw_mr)": _bandwidth("osu", "osu_mbw_mr", pairs=4, window=64),
    "window of a card (ib_write_bw)": _perftest("ib_write_bw"),
    "window of a card both ways (ib_write_bw -b)": _perftest("ib_write_bw", 2),
}
_OF_GPUS = ("osu_latency", "osu_bw", "osu_bibw")


def applies(link: Link, pattern: str) -> bool:
    """Return whether a pattern is measured over a link: cards have no TCP, few benchmarks use GPUs' memory."""
    benchmark = pattern.rpartition("(")[2].rstrip(")")
    if link.from_device:
        return benchmark in _OF_GPUS
    return not (benchmark.startswith("ib_") and link.target.fabric.link.family in ("ethernet", "efa"))


def fails(link: Link, pattern: str, share: float, from_bytes: int) -> bool:
    """Return whether a curve fails whose sizes from ``from_bytes`` on have only this share of a healthy bandwidth."""
    shares = {size: share if size >= from_bytes else 1.0 for size in SIZES}
    (found,) = judge(ParsedOutput((PATTERNS[pattern](link, shares),)), link.target, nodes=Nodes(count=2, ranks_each=1))
    by_tcp = link.target.fabric.link.family == "ethernet"  # at the rate of 10 Gbit/s it is not judged
    assert found.state in ("pass", "fail") or (by_tcp and share < 1), found.sentence
    return found.state == "fail"


def fails_from(link: Link, pattern: str, from_bytes: int) -> float:
    """Return the largest share of a healthy bandwidth that fails, in steps of 1 %; 0 if even 1 % passes."""
    return next((percent / 100 for percent in range(99, 0, -1) if fails(link, pattern, percent / 100, from_bytes)), 0.0)


def page() -> str:
    """Return docs/reference/day-one.md."""
    introduction = _INTRODUCTION.replace("{OWN_SHAPES}", "\n".join([*_shape_lines(), ""]))
    return "\n".join([introduction, *_class_lines(), _SLOWED, *_share_lines(), _COLLECTIVES, *_collective_lines(), ""])


_INTRODUCTION = """\
# Day one: what a link alone bounds

On its first day a system has no references. Then each measured size is bounded by what healthy links of the same class
show: `railyard judge --link …`, a system that is report-only, and sizes that no reference of a system bounds. A value
inside the band may still be far from what *your* system should give. Only a reference says that, so capture one
([references of your own](../howto/write-references.md)).

The shape is Hockney's, t = t0 + n / B: a message starts, short ones are copied (at 2 GB/s or more, up to 16 KiB), and
the bytes cross the link at a share of its [limit](rates.md). In a window of messages only the time from one message to
the next counts in place of the start, and from 1 MiB on only the share does. `railyard/hardware/day_one.py` has the
formulas; `tests/hardware/test_day_one.py` compares them with the numbers that set them.

- A **bandwidth** and the times of a **collective** are decided at the largest size, a **latency** at its smallest. If
  nothing bounds that size, the output is *not judged*, and the exit code is 1. The verdict states the coverage in
  figures: "bounded: 21 of 24 sizes, 8 B to 4 MiB".
- A **short largest size** of a bandwidth has a weak bound, because the number of messages sets it. The judgement says
  so.
- **TCP** over a link of more than twice its rate that ends with what a slower Ethernet carries is *not judged*: 1.0 to
  1.25 GB/s (10 Gbit/s), or 92 to 101 % of the limit of a faster one, such as 2.85 to 3.13 GB/s (25 Gbit/s). A slower
  port cannot be told from a limit of its flows. Nor is one flow at 4.6 to 5.05 Gbit/s, which a cloud leaves to one
  flow (AWS, outside a cluster placement group), on 25 Gbit/s and more. It fails with several flows, and at other rates.
- **One flow of TCP** is asked 1000 MB/s at most, so one at 55 % of 25 Gbit/s passes, with a remark on what its bound is
  worth. A processor moves its bytes: healthy ones gave 7.9 Gbit/s with short calls on 25 and 100 Gbit/s (esnet/iperf,
  issue 1078) and 2.2 GB/s on 100 Gbit/s, and no number is known that every healthy host reaches. Several flows, RDMA or
  a reference of your system ask for more.
- **A slot that is slower than its link** (`--slot`, or a system's) bounds the run in place of the link, and a remark
  says so. Over RDMA a run is *not judged* where an earlier generation, or half of the lanes, carries as much: a
  ping-pong or a stream at 12.1 GB/s over HDR in PCIe Gen3 x16 may be a port at the rate of EDR.
- **Several rails**: one message at a time, and a window below 1 MiB, are bounded by one rail, since only the stack
  knows from which size on it uses the others. If one rail can carry what the largest size shows, nothing shows that
  the others work, and the output is *not judged*. A window of 1 MiB or more is bounded by all rails, and is *not
  judged* if all but one of them can carry it, which a healthy one excludes at 92 % of the limit (up to ten rails). Of a
  collective the bytes that cross a node's rails at least are what one rail must not be able to carry; a barrier has
  none. A pass that some of the rails can carry says how many could be idle.
- **Collectives** between hosts need the number of nodes and of ranks on each: `--nodes`, `--ranks-per-node`, if the
  output does not have them. Those that do not block have no bounds. A barrier has the bound of its rounds of messages;
  where it leaves room for TCP (12.7 us a round over the nodes), a barrier over RDMA that takes so long is *not judged*.
  A pass states how little of its rails' rate a run may have at the largest size: "has a bound of 28 % of what the rails
  carry". If that is under 15 %, the output is *not judged*, and the verdict says why and what would ask for more. With
  several ranks on each node, none over EFA is judged.
- **Within one node** (`--nodes 1`) the node's memory bounds, not the link.
- If other ranks of the job only waited (IMB without `-npmin`), the first ones may share a node. Such a table is not
  judged, unless each rank had a node of its own: `--ranks-per-node 1`.

A curve also judges itself (`railyard/verdict/own_fault.py`), with or without a link. It fails if it falls too far
from its highest value before, if one size is too far below both of its neighbours, if a message takes much longer than
a larger one, or if a step from one size to the next is much steeper than the sizes are. The finding names sizes and
factor.

{OWN_SHAPES}
Steps, dips and slower messages of GPUs' memory count from 64 KiB on, and those of collectives from 64 B.

## Classes of links

Shares are of the limit: one way, and both ways where a run loads both directions."""

_SLOWED = """
## From which share on a slow link fails

Each bound was broken once: a healthy curve, made with the magnitudes of published systems, with all its sizes from
64 KiB on (first figure) or from 1 MiB on (second figure) slowed to a share. The table has the largest share that fails,
in per cent of the healthy curve. One figure stands for both if they are equal."""

_COLLECTIVES = f"""
## From which share on a slow collective fails

The same for collectives over {slowed_collectives.LINK}, by number of nodes and of ranks on each (8 x 32: 8 nodes with
32 ranks each), up to 1 MiB: all sizes were slowed (first figure), or those from 64 KiB on (second figure). In brackets:
a healthy run is not judged, since the bound asks less than {100 * RAILS_SHARE.value:.0f} % of what the rails carry.

The parts of a bound are in `railyard/hardware/collective_times.py`, with their evidence: the starts of messages in
rounds over nodes and over the ranks of a node, what must cross a node's rails, what its ranks copy or hand on within
it, and what they add up. With many ranks on each node the rails take little of the time of most collectives, so a slow
rail hardly shows. An alltoall loads them with any number of ranks. The others see them best with one rank on each
node, and reductions over fast links hardly at all, since processors add up their vectors."""


def _collective_lines() -> Iterator[str]:
    yield ""
    yield from slowed_collectives.table_lines()


def _shape_lines() -> Iterator[str]:
    yield "| kind of curve | falls to | one size at | a smaller message takes | a step |"
    yield "| --- | --- | --- | --- | --- |"
    kinds = {
        "a named link of RDMA, from QDR on": own_fault.OVER_RDMA,
        "a named link of another kind": own_fault.BETWEEN_HOSTS,
        "no named link, one way, a start that TCP does not reach": own_fault.UNLIKE_TCP,
        "no named link, any other curve": own_fault.UNNAMED_LINK,
        "the memory of GPUs": own_fault.FROM_GPUS,
        "within one node": own_fault.WITHIN_A_NODE,
        "collectives": own_fault.COLLECTIVE,
    }
    for kind, of in kinds.items():
        yield (
            f"| {kind} | {100 * of.falls_to:.0f} % | {100 * of.dips_to:.0f} % | {number(of.slower, 2)} times as long | "
            f"{number(of.step, 2)} times as steep |"
        )


def _class_lines() -> Iterator[str]:
    yield ""
    yield (
        "| class | start, us (without MPI; in a window without MPI) | one at a time | each of a window, us (from 32 "
        "KiB on; without MPI) | window | later steps | evidence |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    classes = (
        *(day_one.RDMA, day_one.RDMA_NOT_INFINIBAND, day_one.RDMA_OF_QDR, day_one.RDMA_OF_2003),
        *(day_one.RDMA_OF_GPUS, day_one.RDMA_OF_NEWER_GPUS),
        *(day_one.EFA, day_one.TCP, day_one.TCP_1G, day_one.TCP_OF_SDR),
        *(day_one.NODE, day_one.NODE_OF_GPUS),
    )
    for each in classes:
        late = f"{number(each.late_us, 3)} us from {each.late_from_bytes >> 10} KiB" if each.late_us else "–"
        flow = f", at most {number(each.flow_mb_s)} MB/s" if each.flow_mb_s else ""
        long = number(each.cost_of(day_one.LONG_FROM_BYTES), 2)
        yield (
            f"| {each.name} | {number(each.start_us, 3)} ({number(each.without_library().start_us, 3)}; "
            f"{number(each.window_start_us(verbs=True), 3)}) | "
            f"{_pair(each.shares)}{flow} | {number(each.cost_us, 2)} ({long}; "
            f"{number(each.verbs_cost_us, 2)}) | {_pair(each.stream_shares)}{flow} | {late} | {each.evidence} |"
        )


def _pair(shares: Mapping[int, float]) -> str:
    return f"{100 * shares[1]:.0f} %, both ways {100 * shares[2]:.0f} %"


def _share_lines() -> Iterator[str]:
    all_links = tuple(links())
    yield ""
    yield f"| pattern | {' | '.join(each.name + (', GPUs' if each.from_device else '') for each in all_links)} |"
    yield f"| --- |{' --- |' * len(all_links)}"
    for pattern in PATTERNS:
        yield f"| {pattern} | {' | '.join(_cell(each, pattern) for each in all_links)} |"


def _cell(link: Link, pattern: str) -> str:
    if not applies(link, pattern):
        return "–"
    early, late = (round(100 * fails_from(link, pattern, from_bytes)) for from_bytes in (64 << 10, 1 << 20))
    return f"{early}" if early == late else f"{early}, {late}"


if __name__ == "__main__":
    print(page(), end="")
