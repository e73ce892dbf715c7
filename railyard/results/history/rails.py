"""Which rail of which node a change of level belongs to, as far as the records before and after it show. Pure.

A change of a test over one rail belongs to that rail. Over several rails, the counters of the path proof show each
rail's share, and the probes of a failed verdict show which rail was slow alone. Both are read from the runs just before
and just after a change.
"""

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence

from railyard.base.wording import listing
from railyard.results.record.form import Record

#: Of (node, device).
_Rail = tuple[str, str]
#: In points. A share that moved by less does not point to a rail: if one of two equal rails loses 4 %, its share moves
#: by one.
_LEAST_POINTS = 1.0


def rail_words(before: Sequence[Record], after: Sequence[Record]) -> tuple[str, ...]:
    """Return the sentences on rails: over which the runs went, whose share moved, and which were suspects.

    A share has moved if its values before and after do not overlap and their medians are at least a point apart. Runs
    whose path is not recorded give no sentence.
    """
    ours, theirs = _shares(before), _shares(after)
    return (*_describe_rails(ours, theirs), *_changed_rails(ours, theirs), *_changed_suspects(before, after))


def _shares(records: Sequence[Record]) -> dict[_Rail, list[float]]:
    """Return the share of its node's bytes that each intended rail carried in each run, in per cent."""
    found: dict[_Rail, list[float]] = {}
    for record in records:
        for node in record.path_proof.each_node() if record.path_proof is not None else ():
            for rail in node.rails:
                if rail.meant and rail.share is not None:
                    found.setdefault((node.node, rail.device), []).append(100 * rail.share)
    return found


def _describe_rails(ours: dict[_Rail, list[float]], theirs: dict[_Rail, list[float]]) -> Iterator[str]:
    sides = [sorted({device for _, device in side}) for side in (ours, theirs)]
    if not all(sides):
        return
    before, after = map(listing, sides)
    yield f"over {before}" if before == after else f"over {before} before, {after} after"


def _changed_rails(ours: dict[_Rail, list[float]], theirs: dict[_Rail, list[float]]) -> Iterator[str]:
    for node, device in sorted(ours.keys() & theirs.keys()):
        old, new = ours[node, device], theirs[node, device]
        apart = max(old) < min(new) or max(new) < min(old)
        if apart and abs(statistics.median(new) - statistics.median(old)) >= _LEAST_POINTS:
            shares = f"{statistics.median(old):.1f} % of its bytes before, {statistics.median(new):.1f} % after"
            yield f"{device} of {node} carried {shares}"


def _changed_suspects(before: Sequence[Record], after: Sequence[Record]) -> Iterator[str]:
    ours, theirs = _suspects(before), _suspects(after)
    for (node, device), count in sorted(theirs.items()):
        if ours[node, device] < count:
            earlier = f"{ours[node, device]} of {len(before)}" if ours[node, device] else "none"
            yield f"{device} of {node} was a suspect in {count} of {len(after)} runs after, {earlier} before"


def _suspects(records: Sequence[Record]) -> Counter[_Rail]:
    """Return how many runs named each rail; each run counts at most once."""
    named = [
        {(one.node, one.rail) for one in record.verdict.suspects if one.node is not None and one.rail is not None}
        for record in records
    ]
    return Counter((str(node), str(rail)) for one in named for node, rail in one)
