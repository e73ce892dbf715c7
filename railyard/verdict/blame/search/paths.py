"""GPUs with their paths as parts of the search: what tests between two nodes with some of their GPUs have in common.

Of a pair of nodes there are tests with one GPU of each node, with some, and with all. A good test shows that the paths
which it used are good with one another; a slow one shows that one of its paths crosses from one such part to another.
So a sick GPU (or NIC, slot, cable: its *path*) is a part of one end, a sick node one of all its ends, and a leaf switch
with bad up-links a part of many nodes' ends, good with one another and slow with all others. A slow test between two
ends of one part is the pair's own. Nothing is read here; values come classified.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Literal, NamedTuple

from railyard.verdict.blame.search.parts import held_together

#: A GPU of a node, by its place among the GPUs of such a node, or by its bus address: (node, place).
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
        # in an order of their own: a set's changes from one start of Python to the next
        found = Paths(sorted(held_together(ends, lambda end, left: beside[end] & left), key=min))
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
