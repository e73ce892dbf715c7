"""Which rail of which node a change of level belongs to, as far as the records on either side of it say. Pure.

A change on one rail is that rail's. Over several, the counters of the path proof say what share each carried, and the
probes of a failed verdict which rail was slow alone: both are read from the runs just before and just after a change.
"""

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence

from railyard.base.wording import listing
from railyard.results.record.form import Record

#: Of (node, device).
_Rail = tuple[str, str]
#: A share that moved by less, in points, is no sign of a rail: 4 % off one of two even rails move it by one.
_LEAST_POINTS = 1.0


def rail_words(before: Sequence[Record], after: Sequence[Record]) -> tuple[str, ...]:
    """Return what is to be said of rails: over which the runs went, whose share moved, and which were suspects.

    A share has moved where its values before and after do not overlap, and their medians lie a point or more apart.
    Nothing is said of runs whose path is not recorded.
    """
    ours, theirs = _shares(before), _shares(after)
    return (*_over(ours, theirs), *_moved(ours, theirs), *_named(before, after))


def _shares(records: Sequence[Record]) -> dict[_Rail, list[float]]:
    """Return what each rail that was meant carried of its node's bytes in each run, in per cent."""
    found: dict[_Rail, list[float]] = {}
    for record in records:
        for node in record.path_proof.each_node() if record.path_proof is not None else ():
            for rail in node.rails:
                if rail.meant and rail.share is not None:
                    found.setdefault((node.node, rail.device), []).append(100 * rail.share)
    return found


def _over(ours: dict[_Rail, list[float]], theirs: dict[_Rail, list[float]]) -> Iterator[str]:
    sides = [sorted({device for _, device in side}) for side in (ours, theirs)]
    if not all(sides):
        return
    before, after = map(listing, sides)
    yield f"over {before}" if before == after else f"over {before} before, {after} after"


def _moved(ours: dict[_Rail, list[float]], theirs: dict[_Rail, list[float]]) -> Iterator[str]:
    for node, device in sorted(ours.keys() & theirs.keys()):
        old, new = ours[node, device], theirs[node, device]
        apart = max(old) < min(new) or max(new) < min(old)
        if apart and abs(statistics.median(new) - statistics.median(old)) >= _LEAST_POINTS:
            shares = f"{statistics.median(old):.1f} % of its bytes before, {statistics.median(new):.1f} % after"
            yield f"{device} of {node} carried {shares}"


def _named(before: Sequence[Record], after: Sequence[Record]) -> Iterator[str]:
    ours, theirs = _suspects(before), _suspects(after)
    for (node, device), count in sorted(theirs.items()):
        if ours[node, device] < count:
            earlier = f"{ours[node, device]} of {len(before)}" if ours[node, device] else "none"
            yield f"{device} of {node} was a suspect of {count} of {len(after)} runs after, {earlier} before"


def _suspects(records: Sequence[Record]) -> Counter[_Rail]:
    """Return by how many runs each rail was named, which a run does once at most."""
    named = [
        {(one.node, one.rail) for one in record.verdict.suspects if one.node is not None and one.rail is not None}
        for record in records
    ]
    return Counter((str(node), str(rail)) for one in named for node, rail in one)
