"""In which conditions two sides differ: by what a replay's sources state, and by what nodes showed.

Between two measurements, the facts of their nodes are compared (``surroundings``). A replay has no nodes: the
conditions that its sources state take their place. What is unknown on one side is not compared.
"""

from collections.abc import Iterable, Sequence

from railyard.results.compare.surroundings import Difference
from railyard.results.conditions import format_condition, seen_nodes, sentences
from railyard.results.record.form import Record
from railyard.site import conditions
from railyard.site.conditions import CONDITIONS


def find_differences(a: Sequence[Record], b: Sequence[Record]) -> tuple[Difference, ...]:
    """Return the conditions that are known on both sides and not alike, if a side is a replay; else ()."""
    if not any(record.replayed is not None for record in (*a, *b)):
        return ()
    ours, theirs = _values(a), _values(b)
    return tuple(
        Difference(f"condition {name}", tuple(ours[name]), tuple(theirs[name]))
        for name in CONDITIONS
        if ours.get(name) and theirs.get(name) and not _may_be_alike(name, ours[name], theirs[name])
    )


def from_references(a: Sequence[Record], b: Sequence[Record]) -> tuple[str, ...]:
    """Return the conditions in which each side's nodes differ from the sources of its references, each once."""
    ours, theirs = sentences(a), sentences(b)
    both = [sentence for sentence in ours if sentence in theirs]
    return (
        *(f"A and B: {sentence}" for sentence in both),
        *(f"A: {sentence}" for sentence in ours if sentence not in both),
        *(f"B: {sentence}" for sentence in theirs if sentence not in both),
    )


def _values(records: Iterable[Record]) -> dict[str, list[str]]:
    """Return the known values of each condition: stated by a replay's sources, or shown by a measurement's nodes."""
    found: dict[str, dict[str, None]] = {}
    for record in records:
        if record.replayed is not None:
            for each in record.conditions:
                found.setdefault(each.name.replace("_", "-"), {})[format_condition(each.name, each.stated)] = None
            continue
        for seen in seen_nodes(record):
            for name in CONDITIONS:
                found.setdefault(name, {}).update(dict.fromkeys(conditions.shown_values(name, seen)))
    return {name: list(values) for name, values in found.items()}


def _may_be_alike(name: str, a: Sequence[str], b: Sequence[str]) -> bool:
    """Return whether each value of one side may be a value of the other; an unreadable value may be any."""
    condition = CONDITIONS[name]
    ours, theirs = ([conditions.read(name, text) or (text,) for text in side] for side in (a, b))

    def fits(one: Sequence[str], other: Sequence[str]) -> bool:
        return any(condition.alike(mine, its) or condition.alike(its, mine) for mine in one for its in other)

    readable = all(conditions.read(name, text) for text in (*a, *b))
    return not readable or (
        all(any(fits(one, other) for other in theirs) for one in ours)
        and all(any(fits(one, other) for one in ours) for other in theirs)
    )
