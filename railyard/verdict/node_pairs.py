"""What is asked of a run of pairs of nodes: steps merged, every pair possible, each node's bytes, the record."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from railyard.base.hostlist import label
from railyard.base.wording import listing, number
from railyard.benchmarks import node_pairs
from railyard.benchmarks.model import BANDWIDTH
from railyard.benchmarks.table.micro import find, metric
from railyard.job.counters.node import NodeCounters
from railyard.parsers.parsed import Parsed, ParseError, Table
from railyard.results.record.form import PairAgain, PairsRecord, Suspect
from railyard.site.site import Site
from railyard.site.test_id import TestId
from railyard.verdict.path import proof, within_node
from railyard.verdict.path import traffic as path_traffic
from railyard.verdict.rules.model import BandLike, Declared, Measured, MetricInput
from railyard.verdict.sizes import Sizes

if TYPE_CHECKING:
    from railyard.job.case import Case
    from railyard.verdict.assess import Assessment

#: A node whose own pair is below this share of the nodes' median is named, judged or not: the day-one floor's share.
SLOW_NODE = 0.85


def least_of(site: Site, test: TestId, size: int) -> float | None:
    """Return the least bandwidth that the references allow at a size, in MB/s; None where they set no bound."""
    limit = site.system.fabrics[test.fabric].limit(test.rails, 1, one_stream=True, policy=test.policy)
    one_way = metric(test.benchmark, BANDWIDTH)
    return _least(site.references.bands(test, one_way, None if limit is None else limit.value_mb_s), size)


def _least(bands: Iterable[BandLike], size: int) -> float | None:
    bounds = [band.bound_at(size) for band in bands]
    return max((bound.low for bound in bounds if bound is not None and bound.low is not None), default=None)


def steps(texts: Sequence[str], parse: Callable[[str], Parsed]) -> tuple[Table, ...]:
    """Return the tables of what was measured again, up to the first output that is not whole."""
    found: list[Table] = []
    for text in texts:
        try:
            tables = parse(text).tables
        except ParseError:
            break
        if len(tables) != 1 or not tables[0].complete or not node_pairs.is_again(tables[0]):
            break
        found.append(tables[0])
    return tuple(found)


def _moved(tables: Sequence[Table]) -> Mapping[str, tuple[int, int]]:
    try:
        return node_pairs.moved(tables[0]) if tables else {}
    except ValueError:  # a row without numbers: rule 2 says so
        return {}


def _host(node: str, known: Mapping[str, object]) -> str | None:
    """Return the host name under which a node is known: a name with a domain answers to its first label as well."""
    return next((host for host in known if label(host) == label(node)), None)


def with_slow_nodes(found: "Assessment") -> "Assessment":
    """Return the assessment of pairs within nodes that failed its reference, with the nodes below it to blame."""
    bandwidth = found.inputs.metrics[0]
    size = bandwidth.measured.sizes[0] if bandwidth.measured is not None else 0
    least = _least(bandwidth.bands, size)
    if least is None or not found.pair_tables:
        return found
    slow = [pair for pair in node_pairs.pairs_of(found.pair_tables[0]) if pair.slower_mb_s < least]
    suspects = tuple(
        Suspect("node", f"its own two ranks give {number(p.slower_mb_s)} of at least {number(least)} MB/s", p.first)
        for p in slow
    )
    names = listing([pair.first for pair in slow])
    verdict = replace(
        found.verdict,
        fault="node",
        look_at=f"memory, clock and NUMA placement of {names}: no network is involved",
        suspects=(*found.verdict.suspects, *suspects),
    )
    return replace(found, inputs=replace(found.inputs, suspects=suspects), verdict=verdict)


def record_of(assessment: "Assessment") -> PairsRecord | None:
    """Return the matrix of a run of pairs as it is stored, None for any other run or where it could not be read."""
    tables = assessment.pair_tables
    if not tables:
        return None
    table = tables[0]
    hosts, size = node_pairs.hosts_of(table), table.context.get("size")
    try:
        pairs = node_pairs.pairs_of(table)
        again = tuple(
            PairAgain(p.first, p.second, p.forward_mb_s, p.backward_mb_s)
            for t in node_pairs.over_all(tables[1:])
            for p in node_pairs.pairs_of(t)
        )
    except ValueError:
        return None
    if not isinstance(size, int) or not pairs:
        return None
    hosts = tuple(dict.fromkeys(hosts))
    bandwidth = next((metric for metric in assessment.inputs.metrics if metric.declared.name == BANDWIDTH), None)
    return PairsRecord(
        nodes=hosts,
        size=size,
        values=node_pairs.matrix(pairs, hosts),
        latency_us=node_pairs.latencies(pairs, hosts),
        again=again,
        expected=None if bandwidth is None else _least(bandwidth.bands, size),
    )


class NodePairs(Sizes):
    """Answers for a run whose rows are pairs of nodes."""

    has_shape = False

    def steps(self, texts: Sequence[str], parse: Callable[[str], Parsed]) -> tuple[Table, ...]:
        """Return the tables of what was measured again, up to the first output that is not whole."""
        return steps(texts, parse)

    def judged(self, tables: list[Table], again: Sequence[Table]) -> list[Table]:
        """Return the tables with the better value of each pair that was measured again, and all steps of a sample."""
        again = node_pairs.over_all(again)
        try:
            return [node_pairs.with_alone(node_pairs.with_more(table, again), again) for table in tables]
        except ValueError:  # a row without numbers: rule 2 says so
            return tables

    def kept(self, tables: list[Table], again: Sequence[Table]) -> tuple[Table, ...]:
        """Return the table of all pairs and that of each step after it."""
        return (*tables[:1], *again)

    def bounds(self, case: "Case", tables: Sequence[Table]) -> tuple[MetricInput, ...]:
        """Return the fastest pair, to be held against the link's limit; () where that is no question, or not read."""
        benchmark = find(case.benchmark)
        limit = case.site.system.fabrics[case.fabric].limit(case.rails, 1, policy=case.test.policy)
        if benchmark.within_node or not tables:
            return ()
        try:
            node_pairs.curves(tables[0], case.benchmark)
            curve = node_pairs.fastest(tables[0])
        except ValueError:
            return ()
        declared = Declared(
            f"{BANDWIDTH} of the fastest pair",
            curve.unit,
            "bandwidth",
            limited=True,
            reported_only="only its limit counts",
        )
        return (MetricInput(declared, Measured(curve.unit, curve.sizes, curve.values), limit=limit),)

    def remarks(self, case: "Case", tables: Sequence[Table], again: Sequence[Table]) -> tuple[str, ...]:
        """Return what a reader should know of a run that holds: pairs slow at first, nodes slower than others."""
        if not tables:
            return ()
        try:
            if find(case.benchmark).within_node:
                slow = node_pairs.slow_nodes(tables[0], SLOW_NODE)
                named = listing([f"{host} {number(value)}" for host, value, _ in slow])
                return (f"slow within the node: {named} of {number(slow[0][2])} MB/s (median)",) if slow else ()
            again = node_pairs.over_all(again)
            every = node_pairs.with_more(tables[0], again)
            better = node_pairs.with_alone(every, again)
            mended = [
                (before, after)
                for before, after in zip(node_pairs.pairs_of(every), node_pairs.pairs_of(better), strict=True)
                if after.slower_mb_s > before.slower_mb_s
            ]
        except ValueError:
            return ()
        mended.sort(key=lambda both: both[0].slower_mb_s)
        said = [f"{b.first}-{b.second} {number(b.slower_mb_s)} and then {number(a.slower_mb_s)}" for b, a in mended[:4]]
        more = f" and {len(mended) - 4} more" if len(mended) > 4 else ""
        return (f"measured again, alone: {listing(said)} MB/s{more}",) if said else ()

    def path(
        self, case: "Case", tables: Sequence[Table], readings: Mapping[str, NodeCounters], plan: path_traffic.Plan
    ) -> proof.PathProof:
        """Return the path proof: each node in a pair moved what its rows say, and nothing where the ranks share a node.

        ``plan`` has the meant rails and the policy; its traffic is given here.
        """
        by_host = _moved(tables)
        moved = {node: by_host[host] for node in case.launch.nodes if (host := _host(node, by_host)) is not None}
        if find(case.benchmark).within_node:
            return within_node.judge(readings, {node: least for node, (least, _) in moved.items()}, case.launch.nodes)
        # All messages have one size: all bytes are split over the rails, or none are.
        size = tables[0].context.get("size") if tables else None
        is_split = isinstance(size, int) and size >= (case.launch.settings.threshold_bytes or 0)
        traffic = {
            node: path_traffic.NodeTraffic(least, least, least * is_split, least * is_split, most, most)
            for node, (least, most) in moved.items()
        }
        return proof.judge(readings, replace(plan, traffic=traffic))


ASSESSOR = NodePairs()
