"""Pairs of nodes in a record: the whole matrix for a few nodes; for many nodes or a sample, a summary of the rows.

A matrix of 5,120 nodes has 26 million fields. So above ``MOST_DENSE`` nodes, and for every sample, the rows are in a
file beside the records (``railyard.results.record.pair_rows``), and the record has a summary of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from railyard.base.json_codec import FormError

#: Up to this number of nodes, all pairs are in the record as a matrix.
MOST_DENSE = 512


@dataclass(frozen=True, slots=True)
class PairAgain:
    """A pair, MB/s (10^6 B/s) from first to second and back: measured again in a later step, or one of the worst."""

    first: str
    second: str
    forward: float
    backward: float
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class PairRows:
    """The file with one row per pair, beside the records: its name, SHA-256 and number of rows.

    ``steps`` are the names of the measurements; rows have their index from 0.
    """

    file: str
    sha256: str
    rows: int
    steps: tuple[str, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class PairsSummary:
    """The summary of the rows, by group and by node; MB/s, each pair with the best value of its steps.

    ``groups`` are the leaf switches, or blocks of neighbours (``are_leaves`` false) if those are unknown or too many;
    ``group_of`` has the index of each node's group. ``worst`` and ``median`` are by the sender's group (row) and the
    receiver's (column), None if no pair was measured. ``node_worst`` and ``node_median`` have one value per node, over
    both directions of its ``node_pairs`` pairs. ``level`` is the median of all values; ``worst_pairs`` come worst
    first.
    """

    groups: tuple[str, ...]
    group_of: tuple[int, ...]
    are_leaves: bool
    worst: tuple[tuple[float | None, ...], ...]
    median: tuple[tuple[float | None, ...], ...]
    node_worst: tuple[float | None, ...]
    node_median: tuple[float | None, ...]
    node_pairs: tuple[int, ...]
    level: float | None = None
    worst_pairs: tuple[PairAgain, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        nodes, groups = len(self.group_of), len(self.groups)
        for name in ("node_worst", "node_median", "node_pairs"):
            if len(getattr(self, name)) != nodes:
                raise FormError(name, f"{len(getattr(self, name))} values", f"{nodes}, one per node")
        for name in ("worst", "median"):
            if [len(row) for row in getattr(self, name)] != [groups] * groups:
                raise FormError(name, f"{len(getattr(self, name))} rows", f"{groups} rows of {groups} columns")
        if any(not 0 <= group < groups for group in self.group_of):
            raise FormError("group_of", "a group that does not exist", f"numbers from 0 to {groups - 1}")


@dataclass(frozen=True, slots=True)
class ExercisedCount:
    """How many things of a kind were exercised: ``used`` of ``all``; ``basis`` says how that is known.

    ``of`` is the kind: nodes, pairs, leaf_pairs, up_links or rails. ``all`` is None if unknown.
    """

    of: str
    used: float
    all: int | None
    basis: str
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class NodesNotMeasured:
    """Nodes without a value, with one reason: drained, vanished, busy all the time …"""

    nodes: tuple[str, ...]
    reason: str
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class PromiseRecord:
    """The probability that these steps would have named one fault of a class, if there had been one.

    ``share`` is what the fault leaves of the healthy rate. ``probability`` None: nothing of this class was looked at.
    ``basis`` says what it is based on, or why nothing was.
    """

    kind: str
    share: float
    probability: float | None
    basis: str
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class PairsSample:
    """What a sample of all pairs covered, and what it promises. ``kind`` is one word: budget, nightly, rolling …

    ``covered`` are the shares exercised, ``partners`` the median number of different partners a node had. ``rounds`` is
    how many ran, with repeats, of the ``rounds_allowed`` that ``budget_s`` seconds allow; ``measurements`` counts
    values. ``began`` and ``ended`` are UTC, as the record's time. ``not_looked_at`` has a sentence for each thing that
    this sample could not see; ``sentence`` is the whole verdict on the pairs.
    """

    kind: str
    covered: tuple[ExercisedCount, ...]
    promises: tuple[PromiseRecord, ...] = ()
    not_measured: tuple[NodesNotMeasured, ...] = ()
    not_looked_at: tuple[str, ...] = ()
    partners: float | None = None
    rounds: int = 0
    rounds_allowed: int | None = None
    measurements: int = 0
    budget_s: float | None = None
    began: str | None = None
    ended: str | None = None
    sentence: str = ""
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class PairsRecord:
    """Pairs of nodes: a matrix, or (``rows``, ``summary``) a file of rows and their summary.

    ``values`` are MB/s by sender (row) and receiver (column), None if nothing was measured; for pairs within nodes,
    only the diagonal is filled. ``latency_us`` is half a round trip, the same in both places. ``expected`` is the least
    that a pair must reach, in MB/s, None if there is none; ``size`` is the message size, in bytes. ``leaves`` has the
    leaf switch of each node, () if unknown. ``sample``: what was covered, None for all pairs.
    """

    nodes: tuple[str, ...]
    size: int
    values: tuple[tuple[float | None, ...], ...] = ()
    latency_us: tuple[tuple[float | None, ...], ...] = ()
    again: tuple[PairAgain, ...] = ()
    expected: float | None = None
    unit: str = "MB/s"
    leaves: tuple[str, ...] = ()
    rows: PairRows | None = None
    summary: PairsSummary | None = None
    sample: PairsSample | None = None
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        count = len(self.nodes)
        for name, rows in (("values", self.values), ("latency_us", self.latency_us)):
            is_due = bool(rows) or (name == "values" and self.summary is None)
            if is_due and [len(row) for row in rows] != [count] * count:
                raise FormError(name, f"{len(rows)} rows", f"{count} rows of {count} columns, one per node")
        if self.leaves and len(self.leaves) != count:
            raise FormError("leaves", f"{len(self.leaves)} names", f"{count}, one per node")
        if self.summary is not None and len(self.summary.group_of) != count:
            raise FormError("summary.group_of", f"{len(self.summary.group_of)} values", f"{count}, one per node")
