"""GPUs with their paths as parts of the search: what tests between two nodes with some of their GPUs have in common.

A pair of nodes has tests with one GPU of each node, with some, and with all. A good test shows that the paths that it
used are good with one another; they are in one part. A slow test shows that one of its paths crosses from one part to
another. So a sick GPU (or its *path*: NIC, slot, cable) is a part of one end, and a sick node is a part of all its
ends. A leaf switch with bad up-links is a part of many nodes' ends, good with one another and slow with all others. A
slow test between two ends of one part is the pair's own fault. Nothing is read here; values are already classified.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Literal, NamedTuple

from railyard.verdict.blame.search.parts import held_together

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
        found = Paths(sorted(held_together(ends, lambda end, left: beside[end] & left), key=min))
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
