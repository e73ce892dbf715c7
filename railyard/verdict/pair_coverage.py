"""Which pairs of a system were measured over some days: each stored run of pairs, and all of them together."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from railyard.base.errors import InputError
from railyard.base.hostlist import label
from railyard.base.paths import runs_folder
from railyard.benchmarks.table.pairs import PAIRS
from railyard.results.record import pair_rows
from railyard.results.record.form import Record
from railyard.site.topology import Leaves, Places
from railyard.verdict.blame.node_pair_sample import network_of
from railyard.verdict.blame.screening.model import Coverage
from railyard.verdict.blame.search.model import Pair


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

    since = f"{datetime.now(timezone.utc) - timedelta(days=days):%Y-%m-%dT%H:%M:%SZ}"
    found = records(home, RecordFilter(system=system, fabric=fabric, benchmark=PAIRS, since=since))
    return nights_of(found.records, runs_folder(home))


def used_text(nights: Iterable[Night]) -> str:
    """Return the pairs of nights by name, one per line, the oldest night first, with a blank line between nights."""
    return "\n".join("".join(f"{one} {other}\n" for one, other in sorted(night.by_name())) for night in nights)


def used_of(text: str, nodes: Sequence[str]) -> tuple[tuple[Pair, ...], ...]:
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
