"""What explains tests between GPUs of two nodes that are slow or gave no result: parts of one end, or the pair.

The fewest nodes that explain all slow tests are chosen, and of these nodes the GPUs that all slow tests have in common.
A part is only named if nothing else explains its tests, and if their partners are good without doubt. What is left is
the pair's own fault.

GPUs with their paths as parts of the search: what tests between two nodes with some of their GPUs have in common.

A pair of nodes has tests with one GPU of each node, with some, and with all. A good test shows that the paths that it
used are good with one another; they are in one part. A slow test shows that one of its paths crosses from one part to
another. So a sick GPU (or its *path*: NIC, slot, cable) is a part of one end, and a sick node is a part of all its
ends. A leaf switch with bad up-links is a part of many nodes' ends, good with one another and slow with all others. A
slow test between two ends of one part is the pair's own fault. Nothing is read here; values are already classified.

How few recorded logs would have been enough: the search asks for one after another until no log says more.

Each log is chosen only by what the logs before it have shown, as if it were measured then. A log says more if it uses
two ends that may be in one part but are not known to be. It says nothing new if all its ends are in one part, or if it
must be slow: it contains every path by which two tests of other pairs were slow.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import product
from typing import Literal, NamedTuple

from railyard.verdict.blame.search.matrix import connected_parts
from railyard.verdict.blame.search.model import rounds

#: A GPU of a node: (node, place), where the place is its number among the node's GPUs, or its bus address.
End = tuple[str, str]
Flow = tuple[End, End]
State = Literal["good", "slow", "none", "unjudged"]


class Layer(NamedTuple):
    """Tests that are compared with one another: the same program, GPUs of each node, and largest message."""

    benchmark: str
    gpus: int
    size_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class Test:
    """One collective between two nodes: its log, the GPUs of each node in the order of their ranks, and MB/s.

    ``value`` is None if it gave no result, and ``why`` says why; ``failed``: its log says that it failed. ``wrong``: it
    moved wrong data. ``first`` and ``last`` are the values at its smallest and largest message, ``lowest`` is the
    lowest of the messages that ``value`` is of.
    """

    log: str
    layer: Layer
    nodes: tuple[str, str]
    gpus: tuple[tuple[str, ...], tuple[str, ...]]
    value: float | None
    why: str = ""
    wrong: bool = False
    first: float = 0.0
    last: float = 0.0
    lowest: float | None = None
    failed: bool = False

    @property
    def pair(self) -> tuple[str, str]:
        """Return both nodes in the order of their names."""
        a, b = sorted(self.nodes)
        return a, b

    def ends(self) -> tuple[tuple[End, ...], tuple[End, ...]]:
        """Return the GPUs that took part, of the first node and of the second."""
        a, b = (tuple((node, gpu) for gpu in own) for node, own in zip(self.nodes, self.gpus, strict=True))
        return a, b


@dataclass(slots=True)
class Paths:
    """The parts that good tests hold together, and which part each end is in."""

    parts: list[set[End]]
    place: dict[End, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.place = {end: number for number, part in enumerate(self.parts) for end in part}

    def flows_between(self, flows: Iterable[Flow]) -> list[Flow]:
        """Return the flows between two parts."""
        return [(a, b) for a, b in flows if self.place[a] != self.place[b]]


def paths(tests: Sequence[Test], states: Mapping[Test, State]) -> Paths:
    """Return the parts that good tests hold together.

    A good test joins two ends that it surely used with each other: one GPU of each node, or the same GPU of both, since
    NCCL sends to a GPU of another node from the local GPU that shares its rail (PXN) or from each GPU to each. If only
    one end is sure, it is joined to the possible other ends as soon as these are in one part.
    Source: NCCL 2.12 release notes and NCCL_PXN_DISABLE of its documentation.
    """
    ends = {end for test in tests for own in test.ends() for end in own}
    beside: dict[End, set[End]] = {end: set() for end in ends}
    good = [test for test in tests if states[test] == "good"]
    before = -1
    found = Paths([{end} for end in ends])
    while len(found.parts) != before:
        before = len(found.parts)
        for test in good:
            for a, b in joins(test, found):
                beside[a].add(b)
                beside[b].add(a)
        # sorted, since the order of a set changes from one start of Python to the next
        found = Paths(sorted(connected_parts(ends, lambda end, left: beside[end] & left), key=min))
    return found


def joins(test: Test, found: Paths) -> list[Flow]:
    """Return the flows that a test shows to be good, if it is good itself."""
    sure, vague = _used_flows(test)
    return [*sure, *((end, others[0]) for end, others in vague if len({found.place[other] for other in others}) == 1)]


def _used_flows(test: Test) -> tuple[list[Flow], list[tuple[End, tuple[End, ...]]]]:
    """Return the flows that a test surely had, and ends that it used with one of several others."""
    first, second = test.ends()
    if len(first) == len(second) == 1:
        return [(first[0], second[0])], []
    if is_ring(test):
        return [], [(target, senders) for target, senders in _ring(test)]
    common = set(test.gpus[0]) & set(test.gpus[1])
    sure = [((test.nodes[0], gpu), (test.nodes[1], gpu)) for gpu in sorted(common)]
    vague = [(end, second) for end in first if end[1] not in common]
    vague += [(end, first) for end in second if end[1] not in common]
    return sure, vague


def is_ring(test: Test) -> bool:
    """Return whether each rank only sends to the next one, as in sendrecv_perf (sendrecv.cu of nccl-tests)."""
    return test.layer.benchmark.startswith("sendrecv")


def _ring(test: Test) -> list[tuple[End, tuple[End, ...]]]:
    """Return the ends that receive from the other node, each with the ends that may have sent.

    The last rank of a node sends to the first one of the other, from its own NIC or from that of the target's rail.
    """
    found = []
    for sends, receives in (test.ends(), test.ends()[::-1]):
        target = receives[0]
        rail = (sends[0][0], target[1])
        found.append((target, tuple(dict.fromkeys((sends[-1], rail if rail in sends else sends[-1])))))
    return found


def candidates(test: Test, found: Paths) -> list[Flow]:
    """Return the flows between two parts that can have made a test slow: on one rail, or from a GPU without one."""
    first, second = test.ends()
    if is_ring(test):
        return found.flows_between((sender, target) for target, senders in _ring(test) for sender in senders)
    common = set(test.gpus[0]) & set(test.gpus[1])
    rails = [((test.nodes[0], gpu), (test.nodes[1], gpu)) for gpu in sorted(common)]
    mixed = [(a, b) for a, b in product(first, second) if a[1] not in common or b[1] not in common]
    return found.flows_between([*rails, *mixed])


Sure = Literal["shown", "likely", "open"]
#: Tests without a result are a suspect's if they are this share of the tests that cross its border in one layer.
FAILS_TOO = 0.25
#: A part is dead if this share of all tests that use it gave no result.
DEAD = 0.75
#: If nothing else explains more than this share of the pairs, the whole network was disturbed: no pair is named.
TOO_MANY_PAIRS = 0.2
#: If the same GPU of at least this many nodes is slow, it is one fault of what they share, not several faults.
SAME_GPU = 3


@dataclass(frozen=True, slots=True)
class BlamedPart:
    """A part that explains slow tests: some nodes, and which of their GPUs.

    ``gpus`` has groups: at least one GPU of each group is at fault, and all GPUs of a group explain the same tests.
    ``tests`` are the tests that it explains; ``partners`` are the good nodes at their other end. ``chance`` is the
    decimal logarithm of the probability that the same number of slow tests, scattered by chance, would include all of
    its own.
    """

    kind: Literal["node", "gpu", "part", "pair"]
    nodes: tuple[str, ...]
    gpus: tuple[tuple[str, ...], ...]
    tests: tuple[Test, ...]
    inside: tuple[Test, ...]
    partners: tuple[str, ...]
    sure: Sure
    chance: float


@dataclass(slots=True)
class _Group:
    """Parts of the same nodes that explain the same tests: one of them is at fault, but it is open which one.

    ``firm`` are the tests that no other chosen nodes explain. ``together``: good tests hold its nodes together.
    ``rivals``: a part of other nodes explains as much.
    """

    nodes: frozenset[str]
    gpus: list[str]
    tests: frozenset[Test]
    firm: frozenset[Test] = frozenset()
    together: bool = True
    rivals: bool = False


def find_blamed(tests: Sequence[Test], states: Mapping[Test, State]) -> tuple[BlamedPart, ...]:
    """Return the fewest parts that explain what is slow or gave no result, then the pairs that are left."""
    found = paths(tests, states)
    bad = {state: [test for test in tests if states[test] == state] for state in ("slow", "none")}
    chosen = _choose_groups(_groups(bad["slow"], found), bad["slow"])
    slow = _merge_groups(chosen, tests, states, found)
    doubted = _nodes(slow)
    made = [_blame(groups, tests, states, found, doubted) for groups in slow]
    explained = {test for one in made for test in one.tests}
    gone = [test for test in bad["none"] if test not in explained]
    dead = _choose_groups([group for group in _groups(gone, found) if _is_dead(group, tests, states)], gone)
    silent = _merge_groups(dead, tests, states, found)
    doubted = _nodes([*slow, *silent])
    made += [_blame(groups, tests, states, found, doubted) for groups in silent]
    explained = {test for one in made for test in one.tests}
    left = [test for each in bad.values() for test in each if test not in explained]
    return (*made, *_pairs(left, tests, states, found))


def _groups(bad: Sequence[Test], found: Paths) -> list[_Group]:
    """Return what can explain bad tests: each part; parts of the same nodes that explain the same tests are one.

    A part of most nodes does not explain anything, unless other GPUs of all these nodes are in the larger part beyond.
    """
    every = len({node for node, _ in found.place})
    spans = [{node for node, _ in part} for part in found.parts]
    cover: dict[int, set[Test]] = {}
    for test in bad:
        for flow in candidates(test, found):
            for own, other in (flow, flow[::-1]):
                place, beyond = found.place[own], found.place[other]
                smaller = len(found.parts[place]) < len(found.parts[beyond]) and spans[place] <= spans[beyond]
                if 2 * len(spans[place]) <= every or smaller:
                    cover.setdefault(place, set()).add(test)
    groups: dict[tuple[frozenset[str], frozenset[Test]], _Group] = {}
    for place, explains in cover.items():
        part = found.parts[place]
        nodes = frozenset(node for node, _ in part)
        group = groups.setdefault((nodes, frozenset(explains)), _Group(nodes, [], frozenset(explains)))
        group.gpus += sorted({gpu for _, gpu in part} - set(group.gpus))
    return list(groups.values())


def _is_dead(group: _Group, tests: Sequence[Test], states: Mapping[Test, State]) -> bool:
    """Return whether nearly all tests that use the group's GPUs with other nodes gave no result."""
    own = [test for test in tests if _uses(test, group.nodes, group.gpus)]
    return bool(own) and sum(states[test] == "none" for test in own) >= DEAD * len(own)


def _uses(test: Test, nodes: Set[str], gpus: Iterable[str]) -> bool:
    """Return whether a test is between one of the nodes and another node, with one of these GPUs."""
    among = set(gpus)
    inner = [node in nodes for node in test.nodes]
    return sum(inner) == 1 and bool(among & set(test.gpus[inner.index(True)]))


def _choose_groups(groups: Sequence[_Group], bad: Sequence[Test]) -> list[_Group]:
    """Return groups that explain bad tests: with the fewest nodes, and of these the fewest GPUs.

    One set of nodes is chosen after the other: always the set that explains the most remaining tests per node. So if
    two parts are slow to one another, the smaller one is chosen: one node, and not all others.
    Source: the greedy weighted set cover, V. Chvatal, Mathematics of Operations Research 4 (1979).
    """
    by_nodes: dict[frozenset[str], list[_Group]] = {}
    for group in groups:
        by_nodes.setdefault(group.nodes, []).append(group)
    explains = {nodes: {test for group in own for test in group.tests} for nodes, own in by_nodes.items()}
    left = set(bad)
    sets: list[frozenset[str]] = []
    while left and groups:
        best = max(groups, key=lambda one: (len(one.tests & left) / len(one.nodes), sorted(one.nodes), one.gpus))
        if not best.tests & left:
            break
        sets.append(best.nodes)
        left -= best.tests
    chosen: list[_Group] = []
    for nodes in list(dict.fromkeys(sets)):
        own = explains[nodes] & set(bad) - {test for other in sets if other != nodes for test in explains[other]}
        if own and (len(nodes) == 1 or len({test.pair for test in own}) > 1):
            chosen += _explain_within(by_nodes[nodes], own, [group for group in groups if group.nodes != nodes])
        elif not own:
            sets = [other for other in sets if other != nodes]
    return chosen


def _explain_within(groups: Sequence[_Group], own: Set[Test], others: Sequence[_Group]) -> list[_Group]:
    """Return the fewest groups of the same nodes that explain what no other nodes do, each with all that fit too."""
    left = set(own)
    chosen: list[_Group] = []
    while left:
        best = max(groups, key=lambda group: (len(group.tests & left), group.gpus))
        firm = frozenset(best.tests & left)
        alike = [group for group in groups if firm <= group.tests]
        tests = frozenset(test for group in alike for test in group.tests)
        gpus = sorted({gpu for group in alike for gpu in group.gpus})
        rivals = any(firm <= other.tests for other in others)
        chosen.append(_Group(best.nodes, gpus, tests, firm, rivals=rivals))
        left -= firm
    several = [group for group in chosen if len({test.pair for test in group.firm}) > 1]
    single = {test.pair for group in chosen if group not in several for test in group.firm}
    # If several pairs show a fault, what only one other pair shows is the pair's own.
    return several if several and len(single) < 2 else chosen


def _merge_groups(
    chosen: Sequence[_Group], tests: Sequence[Test], states: Mapping[Test, State], found: Paths
) -> list[list[_Group]]:
    """Return the groups of the same nodes together, and as one group those that can be the same GPU of several nodes.

    If several GPUs of one node are slow at once, what they share is at fault. If the same GPU is slow in three or more
    nodes, no two of them slow to one another, the fault is what joins that GPU's rail of these nodes to the others.
    """
    one_gpu = [group for group in chosen if set(group.gpus) < {gpu for node, gpu in found.place if node in group.nodes}]
    counts = Counter(gpu for group in one_gpu for gpu in set(group.gpus))
    most = sorted(gpu for gpu in counts if counts[gpu] == max(counts.values()))
    # A group that may just as well be another GPU at fault in its node is not made part of this fault.
    other = {group.gpus[0] for group in one_gpu if len(group.gpus) == 1} - set(most)
    same = [group for group in one_gpu if set(most) <= set(group.gpus) and not other & set(group.gpus)]
    nodes = frozenset(node for group in same for node in group.nodes)
    every = {node for node, _ in found.place}
    if len(same) > 1 and SAME_GPU <= len(nodes) < len(every) and not _slow_inside(tests, states, nodes, most):
        explains = frozenset(test for group in same for test in group.tests)
        firm = frozenset(test for group in same for test in group.firm)
        one_fault = _Group(nodes, most, explains, firm, together=False)
        chosen = [one_fault, *(one for one in chosen if one not in same)]
    by_nodes: dict[frozenset[str], list[_Group]] = {}
    for group in chosen:
        by_nodes.setdefault(group.nodes, []).append(group)
    return list(by_nodes.values())


def _slow_inside(tests: Sequence[Test], states: Mapping[Test, State], nodes: Set[str], gpus: Sequence[str]) -> bool:
    """Return whether a slow test between two of the nodes used the same GPUs on both, including these."""
    return any(
        states[test] == "slow" and set(test.nodes) <= nodes and set(gpus) <= set(test.gpus[0]) == set(test.gpus[1])
        for test in tests
    )


def _nodes(suspects: Iterable[Sequence[_Group]]) -> Set[str]:
    return {node for groups in suspects for group in groups for node in group.nodes}


def _blame(
    groups: Sequence[_Group],
    tests: Sequence[Test],
    states: Mapping[Test, State],
    found: Paths,
    doubted: Set[str],
) -> BlamedPart:
    """Return groups of the same nodes as blamed, including the tests without a result that are also theirs."""
    nodes = groups[0].nodes
    own = {test for group in groups for test in group.tests}
    groups = [group for group in groups if not group.rivals] or groups
    among = {gpu for group in groups for gpu in group.gpus}
    crossing = [test for test in tests if states[test] == "none" and _crosses(test, nodes, among, found)]
    for layer in {test.layer for test in crossing}:
        gone = [test for test in crossing if test.layer == layer]
        if len(gone) >= FAILS_TOO * len(set(gone).union(test for test in own if test.layer == layer)):
            own |= set(gone)
    inside = tuple(
        test
        for test in tests
        if states[test] == "good" and set(test.nodes) <= nodes and all(among & set(each) for each in test.gpus)
    )
    firm = {test for group in groups for test in group.firm}
    partners = tuple(sorted({node for test in firm for node in _proven_end(test, nodes, among, found, doubted)}))
    judged = [test for test in tests if states[test] in ("good", "slow")]
    chance = _chance(
        len(judged),
        sum(states[test] == "slow" for test in judged),
        sum(states[test] == "slow" for test in own),
    )
    enough = len(partners) > 1 and len({test.log for test in firm}) > 1 and not groups[0].rivals
    kind: Literal["node", "gpu", "part"] = "part"
    if len(nodes) == 1:
        known = {gpu for node, gpu in found.place if node in nodes}
        kind = "node" if len(groups) > 1 or (among == known and len(known) > 1) else "gpu"
    gpus = tuple(tuple(sorted(group.gpus)) for group in groups)
    sure: Sure = "open" if not enough else "shown" if groups[0].together else "likely"
    return BlamedPart(kind, tuple(sorted(nodes)), gpus, _order(own, tests), inside, partners, sure, chance)


def _proven_end(test: Test, nodes: Set[str], gpus: Set[str], found: Paths, doubted: Set[str]) -> set[str]:
    """Return the node at the other end of a blamed test, if that end is good without doubt.

    It is, if each path that can have made the test slow ends there in a part of more than half of all nodes. A part of
    exactly half counts if fewer nodes are suspects (``doubted``), or if the other half is blamed: that is one fault,
    whichever half is sick. In all other cases, neither of the two halves is known to be healthy.
    """
    every = {node for node, _ in found.place}
    others = [
        end
        for flow in candidates(test, found)
        for end, other in (flow, flow[::-1])
        if (other[0] in nodes and other[1] in gpus) and not (end[0] in nodes and end[1] in gpus)
    ]
    spans = [{node for node, _ in found.parts[found.place[end]]} for end in others]
    half = len(every) / 2
    sound = all(
        len(span) > half or (len(span) == half and (len(doubted) < half or every - span == nodes)) for span in spans
    )
    return {end[0] for end in others} if sound else set()


def _crosses(test: Test, nodes: Set[str], gpus: Set[str], found: Paths) -> bool:
    """Return whether a test may have used one of these GPUs of the nodes together with another part."""
    return any((a[0] in nodes and a[1] in gpus) != (b[0] in nodes and b[1] in gpus) for a, b in candidates(test, found))


def _order(own: Set[Test], tests: Sequence[Test]) -> tuple[Test, ...]:
    return tuple(test for test in tests if test in own)


def _chance(all_: int, slow: int, own: int) -> float:
    """Return log10 of the hypergeometric probability that ``slow`` of ``all_`` tests include all ``own`` ones."""
    if own > slow:
        return 0.0
    ways = math.lgamma(all_ - own + 1) - math.lgamma(slow - own + 1) - math.lgamma(all_ + 1) + math.lgamma(slow + 1)
    return ways / math.log(10)


def _pairs(left: Sequence[Test], tests: Sequence[Test], states: Mapping[Test, State], found: Paths) -> list[BlamedPart]:
    """Return the pairs of tests that no part explains; a slow test between two parts may still be a part's fault."""
    by_pair: dict[tuple[str, str], list[Test]] = {}
    for test in left:
        by_pair.setdefault(test.pair, []).append(test)
    every = {test.pair for test in tests}
    many = len(by_pair) > TOO_MANY_PAIRS * len(every) and len(by_pair) > 1
    judged = [test for test in tests if states[test] in ("good", "slow")]
    slow = sum(states[test] == "slow" for test in judged)
    made = []
    for pair, own in sorted(by_pair.items()):
        own_good = tuple(test for test in tests if test.pair == pair and states[test] == "good")
        same = {(test.layer, test.gpus) for test in own_good}
        unsteady = any((test.layer, test.gpus) in same for test in own)
        was_slow = [test for test in own if states[test] == "slow"]
        sound = [test for test in own if test not in was_slow or not candidates(test, found)]
        logs = {test.log for test in sound}
        said = any(test.failed or test.wrong for test in own)
        sure: Sure = "open"
        if len(sound) > 1 or own[0].wrong:
            sure = "shown" if len(logs) > 1 and (was_slow or said) else "likely"
        if many or (unsteady and len(logs) < 2):
            sure = "open"
        chance = _chance(len(judged), slow, len(was_slow))
        made.append(
            BlamedPart("pair", pair, (), tuple(own), own_good, _good_with_both(pair, tests, states), sure, chance)
        )
    return made


def _good_with_both(pair: tuple[str, str], tests: Sequence[Test], states: Mapping[Test, State]) -> tuple[str, ...]:
    """Return the nodes with which both nodes of a pair are good."""
    good = [set(test.nodes) for test in tests if states[test] == "good"]
    reach = [{node for nodes in good if member in nodes for node in nodes} - set(pair) for member in pair]
    return tuple(sorted(reach[0] & reach[1]))


#: This many tests of different pairs show that two parts are slow to one another.
WITNESSES = 2

Border = frozenset[int]
Classify = Callable[[Sequence[Test]], Mapping[Test, State]]


def fewest(logs: Mapping[str, Sequence[Test]], nodes: Sequence[str], classify: Classify) -> tuple[str, ...]:
    """Return the logs that the search asks for, in its order; ``classify`` gives tests their states by those known.

    A pair that is at fault by itself only shows in its own logs: it is only found if the search asks for one of them.
    """
    order = _order_of_logs(nodes)
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


def _order_of_logs(nodes: Sequence[str]) -> Mapping[tuple[str, str], int]:
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
