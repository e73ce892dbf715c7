"""How few recorded logs would have been enough: the search asks for one after another until no log says more.

Each log is chosen only by what the logs before it have shown, as if it were measured then. A log says more if it uses
two ends that may be in one part but are not known to be. It says nothing new if all its ends are in one part, or if it
must be slow: it contains every path by which two tests of other pairs were slow.
"""

from collections.abc import Callable, Mapping, Sequence

from railyard.verdict.blame.search.paths import Paths, State, Test, candidates, joins, paths
from railyard.verdict.blame.search.rounds import rounds

#: This many tests of different pairs show that two parts are slow to one another.
WITNESSES = 2

Border = frozenset[int]
Classify = Callable[[Sequence[Test]], Mapping[Test, State]]


def fewest(logs: Mapping[str, Sequence[Test]], nodes: Sequence[str], classify: Classify) -> tuple[str, ...]:
    """Return the logs that the search asks for, in its order; ``classify`` gives tests their states by those known.

    A pair that is at fault by itself only shows in its own logs: it is only found if the search asks for one of them.
    """
    order = _order(nodes)
    waiting = sorted(logs, key=lambda log: (_place(logs[log], order), log))
    asked: list[str] = []
    known: list[Test] = []
    every = [test for own in logs.values() for test in own]
    while waiting:
        states = dict.fromkeys(every, "unjudged") | dict(classify(known))
        found = paths(every, states)  # type: ignore[arg-type]
        slow = [(test.pair, _borders(test, found)) for test in known if states[test] == "slow"]
        worth = {log: _worth(logs[log], found, slow) for log in waiting}
        best = max(waiting, key=lambda log: worth[log])  # of equal ones the first
        if worth[best] == 0:
            break
        waiting.remove(best)
        asked.append(best)
        known += logs[best]
    return tuple(asked)


def _order(nodes: Sequence[str]) -> Mapping[tuple[str, str], int]:
    """Return the place of each pair in the rounds by which all pairs are measured."""
    if len(nodes) < 2:
        return {}
    pairs = [pair for each in rounds(len(nodes)) for pair in each]
    return {(nodes[a], nodes[b]): place for place, (a, b) in enumerate(pairs)}


def _place(tests: Sequence[Test], order: Mapping[tuple[str, str], int]) -> int:
    return min((order.get(test.pair, len(order)) for test in tests), default=len(order))


def _borders(test: Test, found: Paths) -> frozenset[Border]:
    return frozenset(frozenset((found.place[a], found.place[b])) for a, b in candidates(test, found))


def _worth(tests: Sequence[Test], found: Paths, slow: Sequence[tuple[tuple[str, str], frozenset[Border]]]) -> int:
    """Return how many ends a log joins if it is good; 0 if it must be slow."""
    most = 0
    for test in tests:
        borders = _borders(test, found)
        pairs = {pair for pair, own in slow if own and own <= borders}
        if len(pairs) < WITNESSES:
            most = max(most, len(found.flows_between(joins(test, found))))
    return most
