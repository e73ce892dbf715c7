"""Answers for a run of pairs of nodes: merged steps, whether each pair is possible, each node's bytes, the record."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from railyard.base.hostlist import label
from railyard.benchmarks import node_pairs
from railyard.benchmarks.model import BANDWIDTH
from railyard.benchmarks.table.micro import find, metric
from railyard.job.counters.node import NodeCounters
from railyard.parsers.output import ParsedOutput, ParseError, Table
from railyard.parsers.pairs import SAMPLE
from railyard.results.record.form import Suspect
from railyard.results.record.pair_rows import RecordedPairs, Row, leaf_names, of_rows
from railyard.results.record.pairs import MOST_DENSE, PairAgain, PairsRecord
from railyard.site.site import Site
from railyard.site.test_id import TestId
from railyard.site.topology import Leaves
from railyard.verdict.path import proof, within_node
from railyard.verdict.path import traffic as path_traffic
from railyard.verdict.path.result import PathProof
from railyard.verdict.rules.model import BandLike, DeclaredMetric, MeasuredMetric, MetricInput
from railyard.verdict.sizes import Sizes
from railyard.verdict.wording import node_pairs as words

if TYPE_CHECKING:
    from railyard.job.case import Case
    from railyard.verdict.assess import Assessment

#: A node whose own pair is below this share of the nodes' median is named, even if not judged. The day-one floor has
#: the same share.
SLOW_NODE = 0.85
NO_LEAVES: Leaves = {}


def least_of(site: Site, test: TestId, size: int) -> float | None:
    """Return the least bandwidth that the references allow at a size, in MB/s; None if they set no bound."""
    limit = site.system.fabrics[test.fabric].limit(test.rails, 1, one_stream=True, policy=test.policy)
    one_way = metric(test.benchmark, BANDWIDTH)
    return _least(site.references.bands(test, one_way, None if limit is None else limit.value_mb_s), size)


def _least(bands: Iterable[BandLike], size: int) -> float | None:
    bounds = [band.bound_at(size) for band in bands]
    return max((bound.low for bound in bounds if bound is not None and bound.low is not None), default=None)


def steps(texts: Sequence[str], parse: Callable[[str], ParsedOutput]) -> tuple[Table, ...]:
    """Return the tables of repeated measurements, up to the first output that is incomplete."""
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


def _moved_bytes(tables: Sequence[Table]) -> Mapping[str, tuple[int, int]]:
    try:
        return node_pairs.moved_bytes(tables[0]) if tables else {}
    except ValueError:  # a row without numbers: rule 2 says so
        return {}


def _of_nodes(nodes: Iterable[str], by_host: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """Return bytes by node from bytes by host: only the first label of a name counts, so a domain does not matter."""
    of_label: dict[str, tuple[int, int]] = {}
    for host, moved in by_host.items():
        of_label.setdefault(label(host), moved)
    return {node: of_label[label(node)] for node in nodes if label(node) in of_label}


def with_slow_nodes(found: "Assessment") -> "Assessment":
    """Return the assessment of pairs within nodes that missed its reference; the nodes below it are the suspects."""
    bandwidth = found.inputs.metrics[0]
    size = bandwidth.measured.sizes[0] if bandwidth.measured is not None else 0
    least = _least(bandwidth.bands, size)
    if least is None or not found.pair_tables:
        return found
    slow = [pair for pair in node_pairs.pairs_of(found.pair_tables[0]) if pair.slower_mb_s < least]
    suspects = tuple(Suspect("node", words.slow_node(pair.slower_mb_s, least), pair.first) for pair in slow)
    verdict = replace(
        found.verdict,
        fault="node",
        look_at=words.look_at_memory([pair.first for pair in slow]),
        suspects=(*found.verdict.suspects, *suspects),
    )
    return replace(found, inputs=replace(found.inputs, suspects=suspects), verdict=verdict)


def record_of(assessment: "Assessment", leaf_of: Leaves = NO_LEAVES) -> RecordedPairs | None:
    """Return the pairs of a run as they are stored; None for any other run, or if they could not be read.

    All pairs of up to ``MOST_DENSE`` nodes are a matrix in the record. Rows of more nodes, and those of each sample,
    are in a file. ``leaf_of`` has each node's leaf switch, if known.
    """
    tables = node_pairs.over_all(assessment.pair_tables)
    if not tables:
        return None
    hosts, size = tuple(dict.fromkeys(node_pairs.hosts_of(tables[0]))), tables[0].context.get("size")
    try:
        measured = [node_pairs.pairs_of(table) for table in tables]
    except ValueError:
        return None
    if not isinstance(size, int) or not measured[0]:
        return None
    bandwidth = next((metric for metric in assessment.inputs.metrics if metric.declared.name == BANDWIDTH), None)
    expected = None if bandwidth is None else _least(bandwidth.bands, size)
    leaves = leaf_names(hosts, leaf_of)
    if len(hosts) > MOST_DENSE or assessment.sample is not None:
        names = [SAMPLE if node_pairs.is_sample(table) else str(table.benchmark) for table in tables]
        rows = _rows(measured, hosts)
        return of_rows(
            hosts, rows, names, size=size, leaves=leaves, expected=expected, sample=assessment.sample
        )  # fmt: skip
    return RecordedPairs(
        PairsRecord(
            nodes=hosts,
            size=size,
            values=node_pairs.matrix(measured[0], hosts),
            latency_us=node_pairs.latencies(measured[0], hosts),
            again=tuple(
                PairAgain(p.first, p.second, p.forward_mb_s, p.backward_mb_s) for pairs in measured[1:] for p in pairs
            ),
            expected=expected,
            leaves=leaves,
        )
    )


def _rows(measured: Sequence[Sequence[node_pairs.Pair]], hosts: Sequence[str]) -> tuple[Row, ...]:
    places = {host: place for place, host in enumerate(hosts)}
    return tuple(
        Row(step, p.round, places[p.first], places[p.second], p.forward_mb_s, p.backward_mb_s, p.latency_us)
        for step, pairs in enumerate(measured)
        for p in pairs
        if p.first in places and p.second in places
    )


class NodePairs(Sizes):
    """Answers for a run with pairs of nodes as its rows."""

    has_shape = False

    def steps(self, texts: Sequence[str], parse: Callable[[str], ParsedOutput]) -> tuple[Table, ...]:
        """Return the tables of repeated measurements, up to the first output that is incomplete."""
        return steps(texts, parse)

    def tables_to_judge(self, tables: list[Table], again: Sequence[Table]) -> list[Table]:
        """Return the tables with the better value of each repeated pair, and with all steps of a sample."""
        again = node_pairs.over_all(again)
        try:
            return [node_pairs.with_alone(node_pairs.with_more(table, again), again) for table in tables]
        except ValueError:  # a row without numbers: rule 2 says so
            return tables

    def tables_to_keep(self, tables: list[Table], again: Sequence[Table]) -> tuple[Table, ...]:
        """Return the table of all pairs, and the table of each later step."""
        return (*tables[:1], *again)

    def bounds(self, case: "Case", tables: Sequence[Table]) -> tuple[MetricInput, ...]:
        """Return the fastest pair, which must not exceed the link's limit; () within nodes, or if it cannot be read."""
        benchmark = find(case.benchmark)
        limit = case.site.system.fabrics[case.fabric].limit(case.rails, 1, policy=case.test.policy)
        if benchmark.within_node or not tables:
            return ()
        try:
            node_pairs.curves(tables[0], case.benchmark)
            curve = node_pairs.fastest(tables[0])
        except ValueError:
            return ()
        declared = DeclaredMetric(
            words.fastest_pair(BANDWIDTH),
            curve.unit,
            "bandwidth",
            limited=True,
            reported_only=words.only_limit_counts(),
        )
        return (MetricInput(declared, MeasuredMetric(curve.unit, curve.sizes, curve.values), limit=limit),)

    def remarks(self, case: "Case", tables: Sequence[Table], again: Sequence[Table]) -> tuple[str, ...]:
        """Return what a reader should know about a run that passed: pairs slow at first, nodes slower than others."""
        if not tables:
            return ()
        try:
            if find(case.benchmark).within_node:
                slow = node_pairs.slow_nodes(tables[0], SLOW_NODE)
                return (words.slow_within([each[:2] for each in slow], slow[0][2]),) if slow else ()
            again = node_pairs.over_all(again)
            every = node_pairs.with_more(tables[0], again)
            better = node_pairs.with_alone(every, again)
            faster = [
                (before, after)
                for before, after in zip(node_pairs.pairs_of(every), node_pairs.pairs_of(better), strict=True)
                if after.slower_mb_s > before.slower_mb_s
            ]
        except ValueError:
            return ()
        faster.sort(key=lambda both: both[0].slower_mb_s)
        both = [(f"{b.first}-{b.second}", b.slower_mb_s, a.slower_mb_s) for b, a in faster]
        return (words.measured_again(both),) if both else ()

    def path(
        self, case: "Case", tables: Sequence[Table], readings: Mapping[str, NodeCounters], plan: path_traffic.Plan
    ) -> PathProof:
        """Return the path proof: each node in a pair moved what its rows say, or nothing if the ranks share a node.

        ``plan`` has the intended rails and the policy; this adds its traffic.
        """
        moved = _of_nodes(case.launch.nodes, _moved_bytes(tables))
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
