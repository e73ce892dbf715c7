"""Records like those of a run of the virtual matrix: two shaped rails of 400 Mbit/s, three stacks, some faults."""

import dataclasses
from collections.abc import Iterator

import pytest

from railyard.benchmarks.model import Figure
from railyard.results.record.form import (
    AttemptRecord,
    BandRecord,
    CurveRecord,
    FaultClass,
    LimitRecord,
    NodeTraffic,
    PathProofRecord,
    RailTraffic,
    Record,
    RuleRecord,
    RuleState,
    Suspect,
    VerdictRecord,
)
from railyard.site.matrix import Cell
from railyard.site.test_id import TestId
from tests.made.records import made_record

RULES = ("complete", "parsed", "possible", "path proof", "reference")
SIZES = tuple(4**n for n in range(12))
LATENCY_SIZES = (4, 64, 1024, 16384, 262144)
DATA_RATE_MB_S = {"hsn": 50.0, "eth": 25.0}
HEADERS = 1448 / 1538  # TCP/IPv4 with timestamps in an Ethernet frame of MTU 1500, including preamble and gap
STRIPING = {"openmpi": 65536, "mpich": 16384}
NO_IMB = "The packaged IMB binary needs libmpi.so.12 and does not run under Open MPI (libmpi.so.40)."
NO_NETPIPE = "Debian's NPmpich2 hangs at its end once in three runs."
NO_STRIPES = "Intel MPI 2021.18 over OFI tcp takes two interfaces and silently uses one."
NO_SECOND = "eth has 1 rail per node (eth0)"
IMB = ("imb/PingPong", "imb/Uniband", "imb/Biband", "imb/Allreduce")
NETPIPE = ("netpipe/pingpong", "netpipe/stream", "netpipe/bidirectional")


MPIS = {"openmpi": "Open MPI v4.1.4", "mpich": "MPICH 5.0.2", "intelmpi": "Intel MPI 2021.18"}


def cells() -> Iterator[Cell]:
    """The whole product of the virtual cluster, with the reasons of its gaps."""
    for fabric, rails in (("hsn", 1), ("hsn", 2), ("eth", 1), ("eth", 2)):
        for stack in ("openmpi", "mpich", "intelmpi"):
            for benchmark in IMB + NETPIPE:
                reason = NO_IMB if stack == "openmpi" and benchmark in IMB else None
                reason = NO_NETPIPE if stack != "openmpi" and benchmark in NETPIPE else reason
                reason = NO_STRIPES if stack == "intelmpi" and rails == 2 else reason
                reason = NO_SECOND if (fabric, rails) == ("eth", 2) else reason
                yield Cell(TestId(fabric, stack, rails, benchmark), reason)


def record_of(cell: Cell, jitter: float = 0.0) -> Record:
    """A healthy record of one cell; ``jitter`` moves the plateau by that fraction."""
    name = "".join(part.capitalize() for part in cell.test.benchmark.replace("imb", "Imb").split("/"))
    nodes = ("vn1", "vn2", "vn3", "vn4") if "Allreduce" in cell.test.benchmark else ("vn1", "vn2")
    collective = "Allreduce" in cell.test.benchmark
    curve = latency_curve() if collective else bandwidth_curve(cell, jitter)
    return made_record(
        run="20261121T060000Z-ab12",
        time="2026-11-21T06:00:12Z",
        elapsed_s=5.1,
        case=f"{name} %rails={cell.test.rails} @virtual:{cell.test.fabric}+{cell.test.stack}",
        hash="1a2b3c4d",
        check=name,
        system="virtual",
        fabric=cell.test.fabric,
        stack=cell.test.stack,
        rails=cell.test.rails,
        policy="striped" if cell.test.rails == 2 else "single",
        benchmark=cell.test.benchmark,
        nodes=nodes,
        state="report-only" if collective else "pass",
        verdict=verdict_of(curve, collective),
        figures=figures_of(curve, collective),
        curves=(curve,),
        path_proof=proof_of(cell, nodes),
        references=() if collective else (f"{cell.test.fabric}-{cell.test.rails}",),
        environment={
            "reframe": "4.10.4",
            "railyard": "0.1.0",
            "python": "3.11.2",
            "kernel": "6.18.5",
            "mpi": {"openmpi": "Open MPI v4.1.4", "mpich": "MPICH 5.0.2", "intelmpi": "Intel MPI 2021.18"}[
                cell.test.stack
            ],
        },
        command=("mpirun", "-np", str(len(nodes)), "-hosts", ",".join(nodes), cell.test.benchmark.split("/")[1]),
        output=f"reframe/output/virtual/{cell.test.fabric}/{cell.test.stack}/{name}/rfm_job.out",
        reframe={"result": "pass"},
    )


def bandwidth_curve(cell: Cell, jitter: float) -> CurveRecord:
    both = cell.test.benchmark in ("imb/Biband", "netpipe/bidirectional")
    limit = DATA_RATE_MB_S[cell.test.fabric] * HEADERS * cell.test.rails * (2 if both else 1)
    plateau = DATA_RATE_MB_S[cell.test.fabric] * 0.9565 * cell.test.rails * (2 if both else 1) * (1 + jitter)
    limit = max(limit, plateau / 0.985)
    single = plateau / cell.test.rails
    threshold = STRIPING.get(cell.test.stack, 0) if cell.test.rails == 2 else 0
    values = []
    for size in SIZES:
        top = single if size < threshold else plateau
        values.append(round(top * size / (size + 1500.0 * cell.test.rails), 4))
    low = tuple(round(plateau * 0.985, 2) if size >= 2**20 else None for size in SIZES)
    band = BandRecord(
        id=f"{cell.test.fabric}-{cell.test.rails}",
        kind="class",
        source=f"94 % of the shaped rate of {cell.test.fabric}, systems/virtual.yaml",
        sizes=SIZES,
        low=low,
        high=(None,) * len(SIZES),
    )
    terms = (
        f"{cell.test.rails} x {DATA_RATE_MB_S[cell.test.fabric] * 8:.0f} Mbit/s x 1448/1538 (TCP/IP headers, MTU 1500)"
    )
    terms = f"both directions, {terms}" if both else terms
    worst = min(value / floor for value, floor in zip(values, low, strict=True) if floor)
    return CurveRecord(
        metric="bandwidth",
        unit="MB/s",
        directions=2 if both else 1,
        sizes=SIZES,
        values=tuple(values),
        limit=LimitRecord(
            value=round(limit, 2),
            terms=terms,
            source="HTB class of railyard testbed",
        ),
        bands=(band,),
        percent_of_reference=round(100 * worst, 1),
        percent_of_reference_size=SIZES[-1],
        percent_of_limit=round(100 * max(values) / limit, 1),
    )


def latency_curve() -> CurveRecord:
    return CurveRecord("latency", "us", LATENCY_SIZES, (48.2, 55.1, 130.4, 1204.0, 17350.5))


def figures_of(curve: CurveRecord, collective: bool) -> tuple[Figure, ...]:
    if collective:
        return (Figure("small-message latency", 48.2, "us", 4),)
    return (
        Figure("peak", max(curve.values), curve.unit, curve.sizes[curve.values.index(max(curve.values))]),
        Figure("N½", 1500.0, "B"),
        Figure("small-message latency", 24.6, "us", 1),
        Figure("worst ratio to reference", (curve.percent_of_reference or 0.0) / 100, "1", SIZES[-1]),
    )


def verdict_of(curve: CurveRecord, collective: bool) -> VerdictRecord:
    if collective:
        sentence = "No reference is asserted for collectives here; every meant rail moved and no other did."
        return VerdictRecord(sentence, rules=rules("", not_judged=(3, 5)))
    peak = max(curve.values)
    sentence = f"All five rules hold: peak {peak:.1f} MB/s, {curve.percent_of_reference} % of the reference."
    return VerdictRecord(sentence, rules=rules(""))


def rules(sentence: str, failed: int | None = None, not_judged: tuple[int, ...] = ()) -> tuple[RuleRecord, ...]:
    held = (
        "exit code 0, all sizes printed",
        "12 values, finite, in MB/s",
        "the largest value is below the limit",
        "vn1, vn2: all bytes on the meant rails",
        "every size from 1 MiB is above its floor",
    )
    found = []
    for number, (name, words) in enumerate(zip(RULES, held, strict=True), start=1):
        state: RuleState = "fail" if number == failed else "not-judged" if number in not_judged else "pass"
        told = sentence if number == failed else "no limit or reference is known" if number in not_judged else words
        found.append(RuleRecord(number, name, state, told))
    return tuple(found)


def proof_of(cell: Cell, nodes: tuple[str, ...]) -> PathProofRecord:
    meant = ("hsn0", "hsn1")[: cell.test.rails] if cell.test.fabric == "hsn" else ("eth0",)
    moved = 168_000_000
    each = []
    for node in nodes:
        rails = []
        for device in ("hsn0", "hsn1", "eth0"):
            share = 1 / len(meant) if device in meant else 0.0
            count = int(moved * share) + 4_000
            rails.append(RailTraffic(device, device in meant, count, count // 70, round(share, 3)))
        each.append(NodeTraffic(node, tuple(rails)))
    words = " and ".join(f"{device} {100 // len(meant)} %" for device in meant)
    return PathProofRecord(
        "proven", f"{moved / 1e6:.0f} MB went over {words}, below 1 % elsewhere.", moved, tuple(each)
    )


def failed_record(record: Record, rule: int, kind: FaultClass, sentence: str, suspect: Suspect, look: str) -> Record:
    verdict = VerdictRecord(sentence, rule, kind, rules(sentence, rule), (suspect,), look)
    return record.with_fields(state="fail", verdict=verdict)


def slow_rail(record: Record) -> Record:
    """Rail hsn1 of vn2 runs at 10 %: the dual-rail plateau falls."""
    curve = record.found.curves[0]
    values = tuple(min(value, 76.5 + index * 0.01) for index, value in enumerate(curve.values))
    low = curve.bands[0].low[-1] or 1.0
    percent = round(100 * values[-1] / low, 1)
    slow = dataclasses.replace(
        curve, values=values, percent_of_reference=percent, percent_of_limit=round(100 * values[-1] / 97.1, 1)
    )
    figures = (Figure("peak", values[-1], "MB/s", SIZES[-1]), *record.found.figures[1:])
    sentence = (
        f"bandwidth at 4 MiB is {values[-1]:.1f} MB/s, below {low} MB/s, the floor of reference hsn-2 "
        "(94 % of the shaped rate of hsn, systems/virtual.yaml): 81 % of what it should be."
    )
    suspect = Suspect("rail", "it moved 4.9 MB/s while hsn0 moved 47.8 MB/s", "vn2", "hsn1")
    changed = record.with_fields(curves=(slow,), figures=figures)
    return failed_record(
        changed, 5, "fabric", sentence, suspect, "the rate of hsn1 on vn2: railyard testbed status, ethtool hsn1"
    )


def idle_rail(record: Record) -> Record:
    """The second rail of both nodes carried nothing, although the benchmark ran."""
    nodes = tuple(
        NodeTraffic(
            node,
            (
                RailTraffic("hsn0", True, 168_004_000, 2_400_000, 0.999),
                RailTraffic("hsn1", True, 4_000, 60, 0.0),
                RailTraffic("eth0", False, 21_000, 18_000, 0.001),
            ),
        )
        for node in ("vn1", "vn2")
    )
    sentence = (
        "hsn1 of vn1 carried 0.0 of 168 MB, below 45 %, the split of policy striped (50/50 ± 5 points): the second "
        "rail was idle."
    )
    proof = PathProofRecord("failed", sentence, 168_000_000, nodes)
    suspect = Suspect("stack", "it was told two devices and opened one")
    changed = record.with_fields(path_proof=proof)
    return failed_record(
        changed, 4, "set-up", sentence, suspect, "UCX_NET_DEVICES and UCX_MAX_RNDV_RAILS in the job's environment"
    )


def not_tested(record: Record, sentence: str) -> Record:
    return record.with_fields(
        state="not-tested",
        verdict=VerdictRecord(sentence),
        figures=(),
        curves=(),
        path_proof=None,
        elapsed_s=None,
        references=(),
        command=(),
        output=None,
    )


def build_failed(record: Record) -> Record:
    sentence = "vn3 did not answer within 20 s, so nothing was started on it."
    suspect = Suspect("node", "no answer on eth0", "vn3")
    bare = record.with_fields(figures=(), curves=(), path_proof=None)
    verdict = VerdictRecord(
        sentence, 1, "scheduler", rules(sentence, 1, (2, 3, 4, 5)), (suspect,), "railyard testbed status"
    )
    return bare.with_fields(state="fail", verdict=verdict)


def healthy() -> list[Record]:
    """The records of a run in which nothing failed."""
    run = [cell for cell in cells() if cell.reason is None]
    return [record_of(cell, jitter=((index * 7) % 5 - 2) / 1000) for index, cell in enumerate(run)]


def with_faults() -> list[Record]:
    """The same run with a slow rail, an idle rail, a missing node, an expected failure, and an untested cell."""
    records = []
    for record in healthy():
        place = (record.where.fabric, record.test.stack, record.test.rails, record.test.benchmark)
        if place == ("hsn", "mpich", 2, "imb/Uniband"):
            record = slow_rail(record)
        elif place == ("hsn", "openmpi", 2, "netpipe/stream"):
            record = idle_rail(record)
        elif place == ("eth", "mpich", 1, "imb/Allreduce"):
            record = build_failed(record)
        elif place == ("eth", "intelmpi", 1, "imb/Biband"):
            record = not_tested(record, "Ctrl-C came before this test was started.")
        elif place == ("hsn", "openmpi", 1, "netpipe/bidirectional"):
            sentence = (
                "Open MPI 4.1 shows no gain in both directions with one TCP link a pair; expected until 2027-03-01."
            )
            record = record.with_fields(state="xfail", verdict=VerdictRecord(sentence, 5, "set-up"))
        records.append(record)
    return records


@pytest.fixture
def faulty_run() -> list[Record]:
    """A run with one of each kind of fault."""
    return with_faults()


@pytest.fixture
def healthy_run() -> list[Record]:
    """A run in which nothing failed."""
    return healthy()


@pytest.fixture
def disturbed_run() -> list[Record]:
    """A healthy run, except its first test, which stayed disturbed, and its second, which was measured again."""
    first, second, *rest = healthy()
    remark = "disturbed: its processes waited for a processor 12 % of the time (bound 2 %, starved-share)"
    verdict = VerdictRecord(
        "bandwidth is low", 5, "disturbed", first.found.verdict.rules, (), "what else runs", (remark,)
    )
    earlier = AttemptRecord(f"bandwidth is lower; {remark}", 5, 4.2, 0.12, "2026-11-21T05:59:50Z")
    again = dataclasses.replace(second.found.verdict, remarks=("measured again: 1 earlier measurement was disturbed",))
    return [
        first.with_fields(state="disturbed", verdict=verdict, starved=0.12),
        second.with_fields(verdict=again, attempts=(earlier,), starved=0.004),
        *rest,
    ]


@pytest.fixture
def all_cells() -> list[Cell]:
    """The matrix of both runs."""
    return list(cells())


@pytest.fixture
def hostile() -> Record:
    """A record in which every text tries to break out of HTML, of XML, or of a terminal's line."""
    evil = "<script>alert(1)</script>]]>&\x1b[31mred\x1b]0;title\x07\x00\u202e'\"\nnext line"
    record = slow_rail(healthy()[0])
    verdict = VerdictRecord(
        evil, 5, "fabric", (RuleRecord(5, evil, "fail", evil),), (Suspect("rail", evil, evil, evil),), evil
    )
    limit = LimitRecord(50.0, evil, evil)
    band = BandRecord(evil, evil, evil, (1, 4), (None, 1.0), (None, None))
    traffic = PathProofRecord("failed", evil, 1, (NodeTraffic(evil, (RailTraffic(evil, True, 1, 1, 1.0),)),))
    return record.with_fields(
        run=evil,
        case=evil,
        check=evil,
        system=evil,
        fabric=evil,
        stack=evil,
        benchmark=evil,
        policy=evil,
        output=evil,
        verdict=verdict,
        nodes=(evil,),
        figures=(Figure(evil, 1.0, evil),),
        curves=(CurveRecord(evil, evil, (1, 4), (0.5, 2.0), 1, limit, (band,)),),
        path_proof=traffic,
        environment={evil: evil},
        command=(evil,),
        hash=evil,
    )
