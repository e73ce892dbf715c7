"""Other ways to find sick nodes, from their published descriptions, over a simulated network.

Each line is our own; what they are told is what their authors tell them: whether a group's bandwidth is above a bound.

- Group screening: NVIDIA/cluster-readiness-engine, ADR-055 "Adaptive Fault Isolation for NCCL Diagnostics" and
  ``pkg/orchestration/diagnose.go`` (2026): each leaf as one group, then one node of each healthy leaf as one group,
  failed groups halved down to two nodes, and each suspect paired with a healthy node. Small groups get a healthy node
  more. Its authors: "If failures are pair-specific (node A fails only with node B), the screening stage may miss the
  fault".
- Binary splitting: F. K. Hwang, A method for detecting all defective members in a population by group testing, Journal
  of the American Statistical Association 67 (1972) 605-608: groups of about the size that holds one sick node, each
  failed one halved until its sick node is found. One test at a time.
- Two passes: GoogleCloudPlatform/cluster-health-scanner, ``src/health_runner/nccl_runner.py`` (2025): random pairs,
  then each node of a slow pair with a node that passed.
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.made.simulated_rails import RailNetwork

Groups = Sequence[Sequence[int]]
#: What a group gives below this share of healthy has failed. By the first bound a node at 90 % is seen, and so is each
#: stream that shares a link; by the second one neither is.
BOUNDS = (0.93, 0.45)


@dataclass(frozen=True, slots=True)
class PeerOutcome:
    """Whom a way names, how many groups it measured, and in how many rounds of groups at the same time."""

    nodes: frozenset[int]
    tests: int
    rounds: int


class _Tester:
    def __init__(self, network: RailNetwork, bound: float) -> None:
        self._network, self._bound = network, bound
        self.tests = self.rounds = 0

    def judge_groups(self, groups: Groups) -> list[bool]:
        """Return which of these groups, measured at the same time, have failed."""
        self.tests += len(groups)
        self.rounds += 1
        return [value is None or value < self._bound for value in self._network.rings(groups)]


def group_screening(network: RailNetwork, bound: float) -> PeerOutcome:
    """Return whom three stages name: screening by leaf and across leaves, halving, confirmation."""
    tester = _Tester(network, bound)
    there = [node for node in range(network.tree.nodes) if node not in network.sick.absent]
    by_leaf: dict[int, list[int]] = {}
    for node in there:
        by_leaf.setdefault(node // network.tree.leaf, []).append(node)
    leaves = list(by_leaf.values())
    bad = [leaf for leaf, failed in zip(leaves, tester.judge_groups(leaves), strict=True) if failed]
    healthy = [node for leaf in leaves if leaf not in bad for node in leaf]
    across = [leaf[0] for leaf in leaves if leaf not in bad]
    if len(across) > 1 and tester.judge_groups([across])[0]:
        bad.append(across)
        healthy = [node for node in healthy if node not in set(across)]
    suspects = _halve_groups(tester, bad, healthy)
    if not suspects or not healthy:
        return PeerOutcome(frozenset(suspects), tester.tests, tester.rounds)
    pairs = [(node, healthy[place % len(healthy)]) for place, node in enumerate(suspects)]
    named = [node for node, failed in zip(suspects, tester.judge_groups(pairs), strict=True) if failed]
    return PeerOutcome(frozenset(named), tester.tests, tester.rounds)


def binary_splitting(network: RailNetwork, bound: float, expected: int) -> PeerOutcome:
    """Return whom generalised binary splitting names where about ``expected`` nodes are sick."""
    tester = _Tester(network, bound)
    left = [node for node in range(network.tree.nodes) if node not in network.sick.absent]
    healthy: list[int] = []
    named: list[int] = []
    while left:
        defects = max(1, expected - len(named))
        size = 1 if len(left) <= 2 * defects - 2 else 1 << int(math.log2((len(left) - defects + 1) / defects))
        group = left[: min(size, len(left))]
        if not _fails(tester, group, healthy):
            healthy += group
            left = left[len(group) :]
            continue
        while len(group) > 1:
            half = group[: len(group) // 2]
            if _fails(tester, half, healthy):
                group = half
            else:
                healthy += half
                left = [node for node in left if node not in set(half)]
                group = group[len(half) :]
        named.append(group[0])
        left.remove(group[0])
    return PeerOutcome(frozenset(named), tester.tests, tester.rounds)


def two_passes(network: RailNetwork, bound: float, seed: int) -> PeerOutcome:
    """Return whom random pairs and a second pass with nodes that passed name."""
    tester, draw = _Tester(network, bound), random.Random(seed)
    there = [node for node in range(network.tree.nodes) if node not in network.sick.absent]
    draw.shuffle(there)
    pairs = list(zip(there[::2], there[1::2], strict=False))
    failed = tester.judge_groups(pairs)
    bad = [node for pair, is_bad in zip(pairs, failed, strict=True) if is_bad for node in pair]
    good = [node for pair, is_bad in zip(pairs, failed, strict=True) if not is_bad for node in pair]
    if not bad or not good:
        return PeerOutcome(frozenset(bad), tester.tests, tester.rounds)
    draw.shuffle(good)
    again = [(node, good[place % len(good)]) for place, node in enumerate(bad)]
    named = [node for node, is_bad in zip(bad, tester.judge_groups(again), strict=True) if is_bad]
    return PeerOutcome(frozenset(named), tester.tests, tester.rounds)


def _halve_groups(tester: _Tester, bad: list[list[int]], healthy: Sequence[int]) -> list[int]:
    """Return the nodes of failed groups, halved until two or fewer are left in each."""
    suspects: list[int] = []
    groups = bad
    while groups:
        halves: list[list[int]] = []
        for group in groups:
            if len(group) <= 2:
                suspects += group
            else:
                halves += [group[: len(group) // 2], group[len(group) // 2 :]]
        if not halves:
            break
        padded = [_pad_group(half, healthy, place) for place, half in enumerate(halves)]
        groups = [half for half, failed in zip(halves, tester.judge_groups(padded), strict=True) if failed]
    return list(dict.fromkeys(suspects))


def _pad_group(group: Sequence[int], healthy: Sequence[int], place: int) -> list[int]:
    return [*group, healthy[place % len(healthy)]] if len(group) < 3 and healthy else list(group)


def _fails(tester: _Tester, group: Sequence[int], healthy: Sequence[int]) -> bool:
    """Return whether a group fails; of one node, with a healthy one."""
    whole = list(group) if len(group) > 1 else [*group, *healthy[:1]]
    return len(whole) > 1 and tester.judge_groups([whole])[0]


#: The ways by name, given the network, the bound, how many are sick (which in practice nobody knows) and a seed.
WAYS: dict[str, Callable[[RailNetwork, float, int, int], PeerOutcome]] = {
    "group screening": lambda network, bound, _sick, _seed: group_screening(network, bound),
    "binary splitting": lambda network, bound, sick, _seed: binary_splitting(network, bound, sick),
    "two passes of pairs": lambda network, bound, _sick, seed: two_passes(network, bound, seed),
}
