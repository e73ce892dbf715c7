"""Summarises rows of pairs: by leaf switch and by node, with the worst pairs; and makes the record of it. Pure.

numpy is imported only where it is used: a page or a list of runs does not need it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from railyard.base.hostlist import label
from railyard.results.record.pair_rows import PackedRows, Row, pack_rows
from railyard.results.record.pairs import PairAgain, PairsRecord, PairsSample, PairsSummary

if TYPE_CHECKING:
    from collections.abc import Mapping

#: With more groups than this, nobody can tell the fields of the map apart, and the record has megabytes.
MOST_GROUPS = 256
#: If leaves are unknown or too many, neighbouring nodes share groups, this many of them.
BLOCKS = 128
WORST_PAIRS = 50
#: For a node at no known leaf switch.
NO_LEAF = "no known leaf"


@dataclass(frozen=True, slots=True)
class RecordedPairs:
    """Pairs as a record has them, and the file of their rows, if there is one: write the file before the record."""

    record: PairsRecord
    file: PackedRows | None = None


def of_rows(
    nodes: Sequence[str],
    rows: Sequence[Row],
    steps: Sequence[str],
    *,
    size: int,
    leaves: Sequence[str] = (),
    expected: float | None = None,
    sample: PairsSample | None = None,
) -> RecordedPairs:
    """Return the record of pairs whose rows are in a file, and that file.

    ``rows`` have indices into ``nodes`` and ``steps``; ``leaves`` has the leaf switch of each node, () if unknown.
    ``expected`` is the bandwidth that a pair must reach, MB/s; ``size`` is the message size, bytes.
    """
    file = pack_rows(len(nodes), rows, steps)
    again = sorted((row for row in rows if row.step), key=_slower)
    return RecordedPairs(
        PairsRecord(
            nodes=tuple(nodes),
            size=size,
            again=tuple(_measured_again(row, nodes) for row in again[:WORST_PAIRS] if _is_whole(row)),
            expected=expected,
            leaves=tuple(leaves),
            rows=file.told,
            summary=summary(nodes, rows, leaves),
            sample=sample,
        ),
        file,
    )


def leaf_names(nodes: Sequence[str], leaf_of: "Mapping[str, str]") -> tuple[str, ...]:
    """Return the leaf switch of each node (``site.topology.Leaves``), () if none is known."""
    return tuple(leaf_of.get(label(node), NO_LEAF) for node in nodes) if leaf_of else ()


def groups_of(nodes: Sequence[str], leaves: Sequence[str]) -> tuple[tuple[str, ...], tuple[int, ...], bool]:
    """Return the groups' names, each node's group, and whether groups are leaf switches, not blocks of neighbours."""
    names = tuple(dict.fromkeys(leaves))
    if names and len(names) <= MOST_GROUPS:
        places = {name: place for place, name in enumerate(names)}
        return names, tuple(places[leaf] for leaf in leaves), True
    each = -(-len(nodes) // BLOCKS)
    starts = range(0, len(nodes), each)
    blocks = tuple(
        nodes[at] if each == 1 else f"{nodes[at]} to {nodes[min(at + each, len(nodes)) - 1]}" for at in starts
    )
    return blocks, tuple(place // each for place in range(len(nodes))), False


def rows_of_matrix(values: Sequence[Sequence[float | None]]) -> tuple[Row, ...]:
    """Return the rows of a record's matrix, one per pair; pairs within a node have no row."""
    return tuple(
        Row(0, 1, first, second, values[first][second], values[second][first], None)
        for first in range(len(values))
        for second in range(first + 1, len(values))
        if values[first][second] is not None or values[second][first] is not None
    )


def summary(nodes: Sequence[str], rows: Sequence[Row], leaves: Sequence[str] = ()) -> PairsSummary:
    """Return the summary of rows. If a step repeats a pair, the median counts; of several steps, the best counts."""
    import numpy as np

    count = len(nodes)
    groups, group_of, are_leaves = groups_of(nodes, leaves)
    sender, receiver, value = _select_directions(rows, count)
    of = np.array(group_of, dtype=np.int64)
    cells, worst, middle = _by_key(of[sender] * len(groups) + of[receiver], value)
    ends, low, median = _by_key(np.concatenate((sender, receiver)), np.concatenate((value, value)))
    met = np.unique(np.minimum(sender, receiver) * count + np.maximum(sender, receiver))
    partners = np.bincount(np.concatenate((met // count, met % count)), minlength=count) if count else met
    return PairsSummary(
        groups=groups,
        group_of=group_of,
        are_leaves=are_leaves,
        worst=_square(len(groups), cells, worst),
        median=_square(len(groups), cells, middle),
        node_worst=_line(count, ends, low),
        node_median=_line(count, ends, median),
        node_pairs=tuple(partners.tolist()),
        level=_round(float(np.median(value))) if len(value) else None,
        worst_pairs=_worst(nodes, sender, receiver, value),
    )


def _select_directions(rows: Sequence[Row], count: int) -> "tuple[Any, Any, Any]":
    """Return sender, receiver and MB/s of each measured direction, once, by the rule of ``summary``."""
    import numpy as np

    if not rows:
        return (np.zeros(0, dtype=np.int64),) * 2 + (np.zeros(0),)
    step, _, first, second, forward, backward, _ = zip(*rows, strict=True)
    a, b = np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)
    keys = np.concatenate((a * count + b, b * count + a))
    values = np.array((*forward, *backward), dtype=float)  # None becomes NaN
    steps = np.tile(np.array(step, dtype=np.int64), 2)
    known = np.isfinite(values)
    most = int(steps.max()) + 1
    of_step, _, medians = _by_key(keys[known] * most + steps[known], values[known])
    pairs = of_step // most
    starts = np.flatnonzero(np.diff(pairs, prepend=-1))
    best = np.maximum.reduceat(medians, starts) if len(starts) else medians
    return pairs[starts] // count, pairs[starts] % count, best


def _by_key(keys: Any, values: Any) -> "tuple[Any, Any, Any]":
    """Return each key once, in rising order, with the least and the median of its values."""
    import numpy as np

    order = np.lexsort((values, keys))
    keys, values = keys[order], values[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    counts = np.diff(starts, append=len(keys))
    middle = (values[starts + (counts - 1) // 2] + values[starts + counts // 2]) / 2
    return keys[starts], values[starts], middle


def _square(side: int, cells: Any, values: Any) -> tuple[tuple[float | None, ...], ...]:
    flat = _line(side * side, cells, values)
    return tuple(flat[at : at + side] for at in range(0, side * side, side))


def _line(count: int, places: Any, values: Any) -> tuple[float | None, ...]:
    found: list[float | None] = [None] * count
    for place, value in zip(places.tolist(), values.tolist(), strict=True):
        found[place] = _round(value)
    return tuple(found)


def _round(value: float) -> float:
    """Return a figure with six digits: that is enough for the colours of a map, and the rows have all digits."""
    return float(f"{value:.6g}")


def _worst(nodes: Sequence[str], sender: Any, receiver: Any, value: Any) -> tuple[PairAgain, ...]:
    import numpy as np

    there = dict(zip(zip(sender.tolist(), receiver.tolist(), strict=True), value.tolist(), strict=True))
    found: dict[tuple[int, int], PairAgain] = {}
    for at in np.argsort(value, kind="stable").tolist():
        pair = int(sender[at]), int(receiver[at])
        back = there.get(pair[::-1])
        if pair[::-1] not in found and back is not None:
            found[pair] = PairAgain(nodes[pair[0]], nodes[pair[1]], float(value[at]), back)
        if len(found) == WORST_PAIRS:
            break
    return tuple(found.values())


def _slower(row: Row) -> float:
    return min(row.forward or 0.0, row.backward or 0.0)


def _is_whole(row: Row) -> bool:
    return row.forward is not None and row.backward is not None


def _measured_again(row: Row, nodes: Sequence[str]) -> PairAgain:
    return PairAgain(nodes[row.first], nodes[row.second], row.forward or 0.0, row.backward or 0.0)
