"""GPUs with their paths as parts of the search: what tests between two nodes with some of their GPUs have in common.

Of a pair of nodes there are tests with one GPU of each node, with some, and with all. A good test shows that the paths
which it used are good with one another; a slow one shows that one of its paths crosses from one such part to another.
So a sick GPU (or NIC, slot, cable: its *path*) is a part of one end, a sick node one of all its ends, and a leaf switch
with bad up-links a part of many nodes' ends, good with one another and slow with all others. A slow test between two
ends of one part is the pair's own. Nothing is read here; values come classified.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Literal, NamedTuple

from railyard.verdict.blame.search.parts import held_together

#: A GPU of a node, by its place among the GPUs of such a node, or by its bus address: (node, place).
End = tuple[str, str]
Flow = tuple[End, End]
State = Literal["good", "slow", "none", "unjudged"]
Sure = Literal["shown", "likely", "open"]
#: Of the tests that cross a suspect's border in one layer, so many must give no result for that to be the suspect's.
FAILS_TOO = 0.25
#: Of all tests that use what is dead, so many gave no result.
DEAD = 0.75
#: More pairs than this share that nothing else explains: the whole network was disturbed, and no pair is named.
TOO_MANY_PAIRS = 0.2
#: The same GPU of so many nodes is one fault of what they share, and not so many faults.
SAME_GPU = 3


class Layer(NamedTuple):
    """Tests that are compared with one another: the same program, GPUs of each node, and largest message."""

    benchmark: str
    gpus: int
    size_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class Test:
    """One collective between two nodes: of which log, the GPUs of each node in the order of their ranks, MB/s.

    ``value`` is None where it gave no result, for ``why``. ``wrong``: it moved wrong data. ``first`` and ``last`` are
    the values at its smallest and largest message.
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

    @property
    def pair(self) -> tuple[str, str]:
        """Return both nodes in the order of their names."""
        a, b = sorted(self.nodes)
        return a, b

    def ends(self) -> tuple[tuple[End, ...], tuple[End, ...]]:
        """Return the GPUs that took part, of the first node and of the second."""
        a, b = (tuple((node, gpu) for gpu in own) for node, own in zip(self.nodes, self.gpus, strict=True))
        return a, b


@dataclass(frozen=True, slots=True)
class Blamed:
    """A part that explains slow tests: some nodes, and which of their GPUs.

    ``gpus`` holds groups: of each group one GPU at least is at fault, and all of a group explain the same tests.
    ``tests`` are what it explains; ``partners`` the good nodes at the other end of these. ``chance`` is the decimal
    logarithm of the probability that so many slow tests, scattered over all by chance, would hold all of its own.
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
class Paths:
    """The parts that good tests hold together, and which part each end is in."""

    parts: list[set[End]]
    place: dict[End, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.place = {end: number for number, part in enumerate(self.parts) for end in part}

    def apart(self, flows: Iterable[Flow]) -> list[Flow]:
        """Return the flows between two parts."""
        return [(a, b) for a, b in flows if self.place[a] != self.place[b]]


def paths(tests: Sequence[Test], states: Mapping[Test, State]) -> Paths:
    """Return the parts that good tests hold together.

    A good test joins two ends that it surely used with each other: one GPU of each node, or the same GPU of both, since
    NCCL sends to a GPU of another node from the local GPU that shares its rail (PXN) or from each GPU to each. Where
    only one end is sure, it joins those among which the other must be, once these are of one part.
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
        found = Paths(held_together(ends, lambda end, left: beside[end] & left))
    return found


def joins(test: Test, found: Paths) -> list[Flow]:
    """Return the flows that a test shows to be good, if it is good itself."""
    sure, vague = _used(test)
    return [*sure, *((end, others[0]) for end, others in vague if len({found.place[other] for other in others}) == 1)]


def _used(test: Test) -> tuple[list[Flow], list[tuple[End, tuple[End, ...]]]]:
    """Return the flows that a test surely had, and ends that were used with one of some others."""
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
    """Return whether each rank sends to the next one alone, as sendrecv_perf does (sendrecv.cu of nccl-tests)."""
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
        return found.apart((sender, target) for target, senders in _ring(test) for sender in senders)
    common = set(test.gpus[0]) & set(test.gpus[1])
    rails = [((test.nodes[0], gpu), (test.nodes[1], gpu)) for gpu in sorted(common)]
    mixed = [(a, b) for a, b in product(first, second) if a[1] not in common or b[1] not in common]
    return found.apart([*rails, *mixed])


@dataclass(slots=True)
class _Group:
    """Parts of the same nodes that explain the same tests: one of them is at fault, and which one is open.

    ``together``: good tests hold its nodes together. ``rivals``: a part of other nodes explains as much.
    """

    nodes: frozenset[str]
    gpus: list[str]
    tests: frozenset[Test]
    together: bool = True
    rivals: bool = False


def blamed(tests: Sequence[Test], states: Mapping[Test, State]) -> tuple[Blamed, ...]:
    """Return the parts that explain what is slow or gave no result, fewest first, then the pairs that are left."""
    found = paths(tests, states)
    bad = {state: [test for test in tests if states[test] == state] for state in ("slow", "none")}
    chosen = _chosen(_groups(bad["slow"], found), bad["slow"])
    made = [_blamed(groups, tests, states, found) for groups in _merged(chosen, tests, states, found)]
    explained = {test for one in made for test in one.tests}
    gone = [test for test in bad["none"] if test not in explained]
    dead = _chosen([group for group in _groups(gone, found) if _is_dead(group, tests)], gone)
    made += [_blamed(groups, tests, states, found) for groups in _merged(dead, tests, states, found)]
    explained = {test for one in made for test in one.tests}
    left = [test for each in bad.values() for test in each if test not in explained]
    return (*made, *_pairs(left, tests, states, found))


def _groups(bad: Sequence[Test], found: Paths) -> list[_Group]:
    """Return what can explain bad tests: each part, those of the same nodes that explain the same tests as one.

    Of two parts that are slow to one another the one of most nodes is no explanation, unless it is the smaller one.
    """
    every = len({node for node, _ in found.place})
    spans = [len({node for node, _ in part}) for part in found.parts]
    cover: dict[int, set[Test]] = {}
    for test in bad:
        for flow in candidates(test, found):
            for own, other in (flow, flow[::-1]):
                place, beyond = found.place[own], found.place[other]
                if 2 * spans[place] <= every or len(found.parts[place]) < len(found.parts[beyond]):
                    cover.setdefault(place, set()).add(test)
    groups: dict[tuple[frozenset[str], frozenset[Test]], _Group] = {}
    for place, explains in cover.items():
        part = found.parts[place]
        own = frozenset(node for node, _ in part)
        group = groups.setdefault((own, frozenset(explains)), _Group(own, [], frozenset(explains)))
        group.gpus += sorted({gpu for _, gpu in part} - set(group.gpus))
    return list(groups.values())


def _is_dead(group: _Group, tests: Sequence[Test]) -> bool:
    """Return whether nearly all tests of a group's nodes with others that use its GPUs gave no result."""
    own = [test for test in tests if _uses(test, group.nodes, group.gpus)]
    return bool(own) and len(group.tests) >= DEAD * len(own)


def _uses(test: Test, nodes: Set[str], gpus: Iterable[str]) -> bool:
    """Return whether a test is of one of the nodes and another one, with one of these GPUs."""
    among = set(gpus)
    inner = [node in nodes for node in test.nodes]
    return sum(inner) == 1 and bool(among & set(test.gpus[inner.index(True)]))


def _chosen(groups: Sequence[_Group], bad: Sequence[Test]) -> list[_Group]:
    """Return groups that explain bad tests, each time the one that explains most of what is left for its nodes.

    So of two parts that are slow to one another the smaller one is chosen: a node and not all others.
    Source: the greedy weighted set cover, V. Chvatal, Mathematics of Operations Research 4 (1979).
    """
    left, chosen = set(bad), []

    def worth(group: _Group) -> tuple[float, int, list[str], list[str]]:
        return len(group.tests & left) / len(group.nodes), -len(group.gpus), sorted(group.nodes), group.gpus

    while left and groups:
        best = max(groups, key=worth)
        if not best.tests & left:
            break
        chosen.append(best)
        left -= best.tests
    needed: list[_Group] = []
    for at, group in enumerate(chosen):
        others = {test for other in (*needed, *chosen[at + 1 :]) for test in other.tests}
        own = group.tests & set(bad) - others
        if own:
            # what the others leave may be explained by other GPUs of these nodes as well
            alike = [other for other in groups if other.nodes == group.nodes and own <= other.tests]
            rivals = any(other.nodes != group.nodes and own <= other.tests for other in groups)
            needed.append(replace(group, gpus=sorted({gpu for one in alike for gpu in one.gpus}), rivals=rivals))
    return needed


def _merged(
    chosen: Sequence[_Group], tests: Sequence[Test], states: Mapping[Test, State], found: Paths
) -> list[list[_Group]]:
    """Return the groups of the same nodes together, and as one group those that can be the same GPU of several nodes.

    Several GPUs of one node at once are what these share. The same GPU in three nodes and more, no two of which are
    slow to one another, is what joins that GPU's rail of these nodes to the others.
    """
    one_gpu = [group for group in chosen if set(group.gpus) < {gpu for node, gpu in found.place if node in group.nodes}]
    counts = Counter(gpu for group in one_gpu for gpu in set(group.gpus))
    most = sorted(gpu for gpu in counts if counts[gpu] == max(counts.values()))
    same = [group for group in one_gpu if set(most) <= set(group.gpus)]
    nodes = frozenset(node for group in same for node in group.nodes)
    if len(same) > 1 and len(nodes) >= SAME_GPU and not _slow_inside(tests, states, nodes, most):
        explains = frozenset(test for group in same for test in group.tests)
        chosen = [_Group(nodes, most, explains, together=False), *(one for one in chosen if one not in same)]
    by_nodes: dict[frozenset[str], list[_Group]] = {}
    for group in chosen:
        by_nodes.setdefault(group.nodes, []).append(group)
    return list(by_nodes.values())


def _slow_inside(tests: Sequence[Test], states: Mapping[Test, State], nodes: Set[str], gpus: Sequence[str]) -> bool:
    """Return whether a slow test is between the same GPUs of two of the nodes, these among them."""
    return any(
        states[test] == "slow" and set(test.nodes) <= nodes and set(gpus) <= set(test.gpus[0]) == set(test.gpus[1])
        for test in tests
    )


def _blamed(groups: Sequence[_Group], tests: Sequence[Test], states: Mapping[Test, State], found: Paths) -> Blamed:
    """Return groups of the same nodes as blamed, with the tests without a result that are theirs too."""
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
    partners = tuple(sorted({node for test in own for node in _proven(test, nodes, among, found)}))
    judged = [test for test in tests if states[test] in ("good", "slow")]
    chance = _chance(
        len(judged),
        sum(states[test] == "slow" for test in judged),
        sum(states[test] == "slow" for test in own),
    )
    enough = len(partners) > 1 and len({test.log for test in own}) > 1 and not groups[0].rivals
    kind: Literal["node", "gpu", "part"] = "part"
    if len(nodes) == 1:
        known = {gpu for node, gpu in found.place if node in nodes}
        kind = "node" if len(groups) > 1 or (among == known and len(known) > 1) else "gpu"
    gpus = tuple(tuple(sorted(group.gpus)) for group in groups)
    sure: Sure = "open" if not enough else "shown" if groups[0].together else "likely"
    return Blamed(kind, tuple(sorted(nodes)), gpus, _ordered(own, tests), inside, partners, sure, chance)


def _proven(test: Test, nodes: Set[str], gpus: Set[str], found: Paths) -> set[str]:
    """Return the node at the other end of a blamed test, where that end is good without doubt.

    So it is where each path that can have made the test slow ends there in a part that spans half of all nodes.
    """
    every = {node for node, _ in found.place}
    others = [
        end
        for flow in candidates(test, found)
        for end, other in (flow, flow[::-1])
        if (other[0] in nodes and other[1] in gpus) and not (end[0] in nodes and end[1] in gpus)
    ]
    spans = [len({node for node, _ in found.parts[found.place[end]]}) for end in others]
    return {end[0] for end in others} if all(2 * span >= len(every) for span in spans) else set()


def _crosses(test: Test, nodes: Set[str], gpus: Set[str], found: Paths) -> bool:
    """Return whether a test may have used one of these GPUs of the nodes with what is of another part."""
    return any((a[0] in nodes and a[1] in gpus) != (b[0] in nodes and b[1] in gpus) for a, b in candidates(test, found))


def _ordered(own: Set[Test], tests: Sequence[Test]) -> tuple[Test, ...]:
    return tuple(test for test in tests if test in own)


def _chance(all_: int, slow: int, own: int) -> float:
    """Return log10 of the hypergeometric probability that ``slow`` of ``all_`` tests hold all ``own`` ones."""
    if own > slow:
        return 0.0
    ways = math.lgamma(all_ - own + 1) - math.lgamma(slow - own + 1) - math.lgamma(all_ + 1) + math.lgamma(slow + 1)
    return ways / math.log(10)


def _pairs(left: Sequence[Test], tests: Sequence[Test], states: Mapping[Test, State], found: Paths) -> list[Blamed]:
    """Return the pairs of tests that no part explains; a slow one between two parts may be a part's all the same."""
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
        said = any(test.why.startswith("failed") or test.wrong for test in own)
        sure: Sure = "open"
        if len(sound) > 1 or own[0].wrong:
            sure = "shown" if len(logs) > 1 and (was_slow or said) else "likely"
        if many or (unsteady and len(logs) < 2):
            sure = "open"
        chance = _chance(len(judged), slow, len(was_slow))
        made.append(Blamed("pair", pair, (), tuple(own), own_good, _others(pair, tests, states), sure, chance))
    return made


def _others(pair: tuple[str, str], tests: Sequence[Test], states: Mapping[Test, State]) -> tuple[str, ...]:
    """Return the nodes with which both nodes of a pair are good."""
    good = [set(test.nodes) for test in tests if states[test] == "good"]
    reach = [{node for nodes in good if member in nodes for node in nodes} - set(pair) for member in pair]
    return tuple(sorted(reach[0] & reach[1]))
