"""Answers for a run of all pairs of nodes or of a sample: whether each is possible, who is named, the record.

Which pairs of a system were measured over some days: each stored run of pairs, and all of them together.

A run of a sample of all pairs and what its screening found: who is named, what it covered, what it promises.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from railyard.base.errors import InputError
from railyard.base.hostlist import label
from railyard.base.paths import runs_folder
from railyard.base.values import utc_time
from railyard.base.wording import listing
from railyard.benchmarks import node_pairs
from railyard.benchmarks.model import BANDWIDTH
from railyard.benchmarks.table.micro import find, metric
from railyard.benchmarks.table.network import PAIRS
from railyard.job.counters import NodeCounters
from railyard.parsers.output import ParsedOutput, ParseError, Table
from railyard.parsers.pairs import SAMPLE
from railyard.results.record import pair_rows
from railyard.results.record.form import Record, Suspect
from railyard.results.record.pair_rows import (
    MOST_DENSE,
    ExercisedCount,
    NodesNotMeasured,
    PairAgain,
    PairsRecord,
    PairsSample,
    PromiseRecord,
    RecordedPairs,
    Row,
    leaf_names,
    of_rows,
)
from railyard.site.site import Site
from railyard.site.test_id import TestId
from railyard.site.topology import Leaves, Places
from railyard.verdict.assess import Assessment
from railyard.verdict.blame import node_pair_sample
from railyard.verdict.blame.node_pair_sample import network_of
from railyard.verdict.blame.screening.model import Budget, BudgetError, Coverage, Network, ScreeningVerdict, Share
from railyard.verdict.blame.search.model import Pair, PairsError, Step
from railyard.verdict.blame.suspects import Findings
from railyard.verdict.findings import with_remark, with_suspects
from railyard.verdict.path import proof
from railyard.verdict.path import traffic as path_traffic
from railyard.verdict.rule_model import BandLike, DeclaredMetric, MeasuredMetric, MetricInput, PathProof, fail_rule
from railyard.verdict.sizes import Sizes
from railyard.verdict.wording import pair_search
from railyard.verdict.wording import screening as words
from railyard.verdict.wording.path import look_at
from railyard.verdict.wording.screening import MOST_TOLD, more_named

if TYPE_CHECKING:
    from railyard.job.case import Case

#: A node whose own pair is below this share of the nodes' median is named, even if not judged. The day-one floor has
#: the same share.
SLOW_NODE = 0.85
NO_LEAVES: Leaves = {}


def least_bandwidth(site: Site, test: TestId, size: int) -> float | None:
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
    suspects = tuple(
        Suspect("node", pair_search.slow_node_of_pairs(pair.slower_mb_s, least), pair.first) for pair in slow
    )
    verdict = replace(
        found.verdict,
        fault="node",
        look_at=pair_search.look_at_memory([pair.first for pair in slow]),
        suspects=(*found.verdict.suspects, *suspects),
    )
    return replace(found, inputs=replace(found.inputs, suspects=suspects), verdict=verdict)


def record_of(assessment: "Assessment", leaf_of: Leaves = NO_LEAVES) -> RecordedPairs | None:
    """Return the pairs of a run as they are stored; None for any other run, or if they could not be read.

    All pairs of up to ``MOST_DENSE`` nodes are a matrix in the record. Rows of more nodes, and those of each sample,
    are in a file. ``leaf_of`` has each node's leaf switch, if known.
    """
    tables = node_pairs.all_rail_tables(assessment.pair_tables)
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
        again = node_pairs.all_rail_tables(again)
        try:
            return [node_pairs.take_better_values(node_pairs.add_later_steps(table, again), again) for table in tables]
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
            pair_search.fastest_pair(BANDWIDTH),
            curve.unit,
            "bandwidth",
            limited=True,
            reported_only=pair_search.only_limit_counts(),
        )
        return (MetricInput(declared, MeasuredMetric(curve.unit, curve.sizes, curve.values), limit=limit),)

    def remarks(self, case: "Case", tables: Sequence[Table], again: Sequence[Table]) -> tuple[str, ...]:
        """Return what a reader should know about a run that passed: pairs slow at first, nodes slower than others."""
        if not tables:
            return ()
        try:
            if find(case.benchmark).within_node:
                slow = node_pairs.slow_nodes(tables[0], SLOW_NODE)
                return (pair_search.slow_within([each[:2] for each in slow], slow[0][2]),) if slow else ()
            again = node_pairs.all_rail_tables(again)
            every = node_pairs.add_later_steps(tables[0], again)
            better = node_pairs.take_better_values(every, again)
            faster = [
                (before, after)
                for before, after in zip(node_pairs.pairs_of(every), node_pairs.pairs_of(better), strict=True)
                if after.slower_mb_s > before.slower_mb_s
            ]
        except ValueError:
            return ()
        faster.sort(key=lambda both: both[0].slower_mb_s)
        both = [(f"{b.first}-{b.second}", b.slower_mb_s, a.slower_mb_s) for b, a in faster]
        return (pair_search.measured_again(both),) if both else ()

    def path(
        self, case: "Case", tables: Sequence[Table], readings: Mapping[str, NodeCounters], plan: path_traffic.Plan
    ) -> PathProof:
        """Return the path proof: each node in a pair moved what its rows say, or nothing if the ranks share a node.

        ``plan`` has the intended rails and the policy; this adds its traffic.
        """
        moved = _of_nodes(case.launch.nodes, _moved_bytes(tables))
        if find(case.benchmark).within_node:
            return proof.judge_within_node(
                readings, {node: least for node, (least, _) in moved.items()}, case.launch.nodes
            )
        # All messages have one size: all bytes are split over the rails, or none are.
        size = tables[0].context.get("size") if tables else None
        is_split = isinstance(size, int) and size >= (case.launch.settings.threshold_bytes or 0)
        traffic = {
            node: path_traffic.NodeTraffic(least, least, least * is_split, least * is_split, most, most)
            for node, (least, most) in moved.items()
        }
        return proof.judge(readings, replace(plan, traffic=traffic))


ASSESSOR = NodePairs()


@dataclass(frozen=True, slots=True)
class Night:
    """One stored run of pairs: its nodes, and the pairs that gave a result, as places in its nodes.

    ``kind`` is the kind of its sample, or ``all pairs``.
    """

    run: str
    time: str
    kind: str
    nodes: tuple[str, ...]
    pairs: frozenset[Pair]

    def by_name(self) -> Iterator[tuple[str, str]]:
        """Yield its pairs by the nodes' first labels, the lower one first."""
        names = [label(node) for node in self.nodes]
        for a, b in self.pairs:
            one, other = sorted((names[a], names[b]))
            yield one, other


@dataclass(frozen=True, slots=True)
class NightCoverage:
    """All nights together: the coverage of a system's nodes, and when each node was last measured (UTC)."""

    nights: tuple[Night, ...]
    coverage: Coverage
    last: dict[str, str]

    @property
    def unmeasured_nodes(self) -> tuple[str, ...]:
        """The nodes that no night measured."""
        return tuple(one.node for one in self.coverage.not_measured)


def nights_of(records: Iterable[Record], stored: Path) -> tuple[tuple[Night, ...], tuple[str, ...]]:
    """Return the runs of pairs among records, the oldest first, and a sentence for each run whose rows cannot be read.

    ``stored`` is the folder of all runs.
    """
    found, problems = [], []
    for record in sorted(records, key=lambda one: one.made.time):
        if record.found.pairs is None or record.no_measurement:
            continue
        try:
            pairs = frozenset(_pairs(record, stored / record.made.run))
        except InputError as error:
            problems.append(str(error))
            continue
        kind = record.found.pairs.sample.kind if record.found.pairs.sample is not None else "all pairs"
        found.append(Night(record.made.run, record.made.time, kind, record.found.pairs.nodes, pairs))
    return tuple(found), tuple(problems)


def recent_nights(home: Path, system: str, fabric: str | None, days: int) -> tuple[tuple[Night, ...], tuple[str, ...]]:
    """Return a system's stored runs of pairs from the last days, and a sentence for each that cannot be read."""
    from railyard.results.store.query import RecordFilter, records

    since = utc_time(datetime.now(timezone.utc) - timedelta(days=days))
    found = records(home, RecordFilter(system=system, fabric=fabric, benchmark=PAIRS, since=since))
    return nights_of(found.records, runs_folder(home))


def used_text(nights: Iterable[Night]) -> str:
    """Return the pairs of nights by name, one per line, the oldest night first, with a blank line between nights."""
    return "\n".join("".join(f"{one} {other}\n" for one, other in sorted(night.by_name())) for night in nights)


def parse_used_pairs(text: str, nodes: Sequence[str]) -> tuple[tuple[Pair, ...], ...]:
    """Return the pairs of such a text as places in ``nodes``; pairs with other nodes are left out."""
    places = {label(node): place for place, node in enumerate(nodes)}
    nights = []
    for night in text.split("\n\n"):
        pairs = [line.split() for line in night.splitlines()]
        known = [(places[a], places[b]) for a, b in (pair for pair in pairs if len(pair) == 2)
                 if a in places and b in places]  # fmt: skip
        nights.append(tuple((min(pair), max(pair)) for pair in known))
    return tuple(nights)


def cover_nights(
    nights: Sequence[Night],
    nodes: Sequence[str],
    leaf_of: Leaves,
    rails: Sequence[str] = (),
    up_links: int | None = None,
) -> NightCoverage:
    """Return how much of a system's nodes (two or more) these nights covered."""
    import numpy as np

    from railyard.verdict.blame.screening.promise import coverage
    from railyard.verdict.blame.screening.values import Rows, leaves_of

    network = network_of(nodes, Places(leaf_of), None, rails, up_links)
    places = {label(node): place for place, node in enumerate(nodes)}
    last: dict[str, str] = {}
    met: set[Pair] = set()
    for night in nights:
        for one, other in night.by_name():
            if one in places and other in places:
                first, second = sorted((places[one], places[other]))
                met.add((first, second))
                last[nodes[first]] = last[nodes[second]] = night.time
    pairs = np.array(sorted(met), dtype=np.int64).reshape(-1, 2)
    nothing = np.zeros(len(pairs), dtype=np.int64)
    rows = Rows(pairs[:, 0], pairs[:, 1], np.ones(len(pairs)), nothing, nothing)
    return NightCoverage(tuple(nights), coverage(network, leaves_of(network.layout), rows, {}), last)


def leaf_pairs(nights: Iterable[Night], leaf_of: Leaves) -> dict[frozenset[str], int]:
    """Return the number of nights in which each two leaf switches met, as far as the leaves of both nodes are known."""
    counts: dict[frozenset[str], int] = {}
    for night in nights:
        met = {frozenset((leaf_of.get(one, ""), leaf_of.get(other, ""))) for one, other in night.by_name()}
        for pair in met:
            if len(pair) == 2 and "" not in pair:
                counts[pair] = counts.get(pair, 0) + 1
    return counts


def _pairs(record: Record, folder: Path) -> Iterator[Pair]:
    """Yield the pairs of a record that gave a result. Raises InputError if its rows are not as they were written."""
    assert record.found.pairs is not None  # nights_of has checked this
    told = record.found.pairs
    if told.rows is not None:
        for row in pair_rows.read(folder, told.rows):
            if row.forward and row.backward:
                yield min(row.first, row.second), max(row.first, row.second)
        return
    for a, values in enumerate(told.values):
        for b, value in enumerate(values):
            if a < b and value:
                yield a, b


#: More steps than any screening has.
_MOST_STEPS = 20


@dataclass(frozen=True, slots=True)
class SampleOrigin:
    """How a sample was made: ``kind`` in one word, its budget, when (UTC, as in records), and which nodes were absent.

    ``planned_here``: by the screening itself (``node_pair_sample.next_step``). ``absent`` has nodes with the reason;
    they are not hosts in the tables.
    """

    kind: str
    budget: Budget
    planned_here: bool = True
    began: str | None = None
    ended: str | None = None
    absent: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class ScreeningProgress:
    """How far a screening came: its next step (None if there is none), and the verdict so far."""

    network: Network
    screened: ScreeningVerdict
    open_step: Step | None = None

    @property
    def not_measured(self) -> str:
        """What was left unmeasured, as a sentence; empty if no step is open."""
        if self.open_step is None:
            return ""
        return words.not_measured(self.open_step.why, bool(self.screened.named))


def screen_tables(
    tables: Sequence[Table],
    sampled: SampleOrigin,
    places: Places,
    expected_mb_s: float | None,
    rails: Sequence[str] = (),
    up_links: int | None = None,
) -> ScreeningProgress:
    """Return the result of the tables of a sample and its later steps.

    ``rails`` are the names of the rails that each value uses together. If a step is still missing, the verdict is the
    one without it: it names what the steps before it have shown. Raises ValueError or PairsError if tables are not
    those of these steps.
    """
    hosts = node_pair_sample.hosts_of_sample(tables)
    nodes = (*hosts, *(node for node, _ in sampled.absent))
    network = node_pair_sample.network_of(nodes, places, expected_mb_s, rails, up_links)
    absent = {len(hosts) + place: why for place, (_, why) in enumerate(sampled.absent)}
    open_step: Step | None = None
    for not_made in range(_MOST_STEPS):
        found = node_pair_sample.next_step(
            tables, network, sampled.budget, planned_here=sampled.planned_here, absent=absent, not_made=not_made
        )  # fmt: skip
        if isinstance(found, ScreeningVerdict):
            return ScreeningProgress(network, found, open_step)
        open_step = open_step or found
    raise PairsError(f"the screening still asks for a step after {_MOST_STEPS} steps, none of which was measured")


def with_screening(found: Assessment, sampled: SampleOrigin, places: Places, up_links: int | None = None) -> Assessment:
    """Return the assessment of a sample with what its screening says; unchanged if the sample is not complete.

    If anything is named, the run fails even if it meets its references: it was measured again with good partners.
    """
    meant = found.case.launch.meant
    try:
        came = screen_tables(
            found.pair_tables, sampled, places, _expected_rate(found), meant if len(meant) > 1 else (), up_links
        )  # fmt: skip
    except (ValueError, PairsError, BudgetError) as error:
        return with_remark(found, words.sample_not_judged(str(error))) if found.pair_tables else found
    findings = node_pair_sample.findings(came.screened, came.network, meant[0] if len(meant) == 1 else None)
    if came.open_step is not None:
        findings = replace(findings, sentence=f"{came.not_measured}; {findings.sentence}")
    found = replace(found, sample=record_of_sample(came.screened, sampled))
    if found.verdict.misses_reference:
        return with_suspects(found, findings)
    if found.verdict.fails:
        return with_remark(found, findings.sentence)
    return _fail(found, findings, came) if came.screened.named else _pass(found, came)


def record_of_sample(screened: ScreeningVerdict, sampled: SampleOrigin) -> PairsSample:
    """Return what a screening covered and promises, in the form of a record."""
    reasons: dict[str, list[str]] = {}
    for one in screened.coverage.not_measured:
        reasons.setdefault(one.reason, []).append(one.node)
    return PairsSample(
        kind=sampled.kind,
        covered=tuple(_coverage_counts(screened.coverage)),
        promises=tuple(PromiseRecord(one.kind, one.share, one.probability, one.basis) for one in screened.promises),
        not_measured=tuple(NodesNotMeasured(tuple(nodes), reason) for reason, nodes in reasons.items()),
        not_looked_at=screened.not_looked_at,
        partners=screened.coverage.partners,
        rounds=screened.rounds,
        rounds_allowed=screened.rounds_allowed,
        measurements=screened.measurements,
        budget_s=sampled.budget.seconds,
        began=sampled.began,
        ended=sampled.ended,
        sentence=screened.sentence,
    )


def _coverage_counts(coverage: Coverage) -> list[ExercisedCount]:
    shares: list[tuple[str, Share]] = [
        ("nodes", coverage.nodes),
        ("pairs", coverage.pairs),
        ("leaf_pairs", coverage.leaf_pairs),
        ("up_links", coverage.up_links),
        ("rails", coverage.rails),
    ]
    return [ExercisedCount(of, share.used, share.all, share.basis) for of, share in shares]


def _fail(found: Assessment, findings: Findings, came: ScreeningProgress) -> Assessment:
    """Return the failed assessment of a run that met its references, while its screening names a suspect."""
    named = came.screened.named
    more = [more_named(len(named) - MOST_TOLD)] if len(named) > MOST_TOLD else []
    sentence = "; ".join([*(one.reason for one in named[:MOST_TOLD]), *more])
    next_look = look_at(listing(node_pair_sample.words_of(named[:MOST_TOLD], came.network)))
    rest = "; ".join(filter(None, [came.not_measured, came.screened.undecided, came.screened.rest]))
    return fail_fabric(found, sentence, findings.suspects, next_look, rest)


def lost_step(ran: Sequence[str], tables: Sequence[Table]) -> str:
    """Return the first of the later steps that ``ran`` whose launch left no whole table; empty if each left one.

    ``tables``: that of the first launch, then those of the later ones, up to the first that left none.
    """
    return next(iter(ran[max(0, len(tables) - 1) :]), "")


def with_lost_step(found: Assessment, ran: Sequence[str]) -> Assessment:
    """Return the assessment as failed if the launch of one of the steps that ``ran`` left no whole table.

    What it was to decide is not known then, and a job that ends its steps in time leaves no such output.
    """
    lost = lost_step(ran, found.pair_tables)
    if not lost:
        return found
    sentence = words.lost_step(lost)
    if found.verdict.fails:
        return with_remark(found, sentence)
    return fail_fabric(found, sentence, (), words.look_at_lost_step(lost), rule=2)


def _pass(found: Assessment, came: ScreeningProgress) -> Assessment:
    """Return the assessment of a run that met its references and names nobody; its sentence begins with who is open.

    A healthy network may leave suspects undecided: routes that collide, a budget that ends. So this fails no run.
    """
    open_ = "; ".join(filter(None, [came.screened.undecided, came.not_measured]))
    if open_:
        found = replace(found, verdict=replace(found.verdict, sentence=f"{open_}; {found.verdict.sentence}"))
    return with_remark(found, came.screened.rest)


def fail_fabric(
    found: Assessment, sentence: str, suspects: tuple[Suspect, ...], next_look: str, *remarks: str, rule: int = 5
) -> Assessment:
    """Return a run that met its references as failed by a rule, for what else its pairs of nodes show."""
    judged, number = found.verdict, rule
    own = fail_rule(number, sentence, "fabric", next_look)
    said = replace(
        judged,
        state="fail",
        sentence=sentence,
        rule=number,
        fault="fabric",
        rules=tuple(own if each.rule == number else each for each in judged.rules),
        suspects=suspects,
        look_at=next_look,
        remarks=(*remarks, words.by_references_alone(judged.sentence), *judged.remarks),
    )
    return replace(found, inputs=replace(found.inputs, suspects=suspects), verdict=said)


def _expected_rate(found: Assessment) -> float | None:

    size = found.pair_tables[0].context.get("size") if found.pair_tables else None
    return least_bandwidth(found.case.site, found.case.test, size) if isinstance(size, int) else None
