"""How much of its rails' rate the day-one bound of a collective asks at its largest size, and what would ask more."""

import math
from collections.abc import Sequence

from railyard.base.bounds import LEAST_OF_RDMA, RAILS_SHARE
from railyard.hardware.collective_times import CollectiveTime, Part, time_of
from railyard.verdict.day_one import bounded_by_class, ends_by_class
from railyard.verdict.inputs import Run
from railyard.verdict.rules.model import MetricInput, points
from railyard.verdict.wording import weak_figures as words

#: The least half round trip of posted runs of MPI through the kernel, us (``LEAST_OF_TCP`` of ``base.bounds``).
_TCP_ROUND_US = 12.7


def rails_remark(metric: MetricInput, of: Run) -> str | None:
    """Return what share of its rails' rate a collective may have and still pass.

    Return None if no such bound decides, or if it asks so little that the collective is not judged, also because one of
    several rails carries that much (``one_rail``).
    """
    found = _at_largest(metric, of)
    if found is None or found[1].rails_share < RAILS_SHARE.value:
        return None
    if of.target.rails > 1 and not of.target.system and of.target.rails * found[1].rails_share <= 1:
        return None
    size, time = found
    return words.passing_share(metric.declared.name, size, time.rails_share, *_longest_parts(time, size, of))


def weak_collective(judged: Sequence[MetricInput], of: Run) -> str | None:
    """Return that a collective is not judged, since its bound asks too little of its rails; None if it is."""
    for metric in judged:
        if (as_tcp := _barrier_as_tcp(metric, of)) is not None:
            return as_tcp
        found = _at_largest(metric, of)
        if found is not None and found[1].rails_share < RAILS_SHARE.value:
            size, time = found
            return words.weak_collective(size, time.rails_share, *_longest_parts(time, size, of))
    return None


def _longest_parts(time: CollectiveTime, size: int, of: Run) -> tuple[Part, Part]:
    """Return which part of a collective takes longest, and by which one more would be asked of the rails.

    A reduction with one rank on each node asks too little of fast rails as well: there its sums take longest.
    """
    longest = time.slowest_part
    rail, pattern, nodes = of.target.rail(of.benchmark, of.facts), of.benchmark.pattern, of.facts.nodes
    if longest != "memory" or isinstance(rail, str) or pattern is None or nodes is None:
        return longest, longest
    alone = time_of(rail, pattern, size, nodes, 1)
    return longest, longest if alone.rails_share >= RAILS_SHARE.value else "adding up"


def _barrier_as_tcp(metric: MetricInput, of: Run) -> str | None:
    """Return that a barrier over RDMA is not judged, since it takes as long as one over TCP may; None for others.

    With several ranks on each node, its bound leaves room for their rounds, and so for TCP between the nodes.
    """
    nodes, rail, found = of.facts.nodes, of.target.rail(of.benchmark, of.facts), points(metric)
    if of.benchmark.pattern != "barrier" or not ends_by_class(metric):
        return None
    if nodes is None or nodes < 2 or isinstance(rail, str) or rail.of.least is not LEAST_OF_RDMA:
        return None
    took_us, rounds = found[-1][1], math.ceil(math.log2(nodes))
    if took_us < rounds * _TCP_ROUND_US:
        return None
    return words.barrier_as_tcp(nodes, took_us, rounds, _TCP_ROUND_US)


def _at_largest(metric: MetricInput, of: Run) -> tuple[int, CollectiveTime] | None:
    """Return the largest size, B, with what a collective takes there at most.

    Return None if it has no bytes, or if not only the link's class bounds that size.
    """
    facts, pattern, found = of.facts, of.benchmark.pattern, points(metric)
    if pattern is None or pattern == "barrier" or not metric.declared.of_all or not found:
        return None
    size = found[-1][0]
    rail = of.target.rail(of.benchmark, facts)
    if size == 0 or not bounded_by_class(metric.bands, size) or isinstance(rail, str):
        return None
    if facts.nodes is None or facts.ranks_per_node is None:
        return None
    return size, time_of(rail, pattern, size, facts.nodes, facts.ranks_per_node)
