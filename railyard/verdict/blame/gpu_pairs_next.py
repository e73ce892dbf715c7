"""What to measure after all pairs of nodes by nccl-tests: each suspect alone, then each GPU of a slow node.

Pairs that run at the same time may share one link of a healthy network with static routes (Hoefler et al. 2008). So
the pairs of a suspect are measured again, each alone, before it is named; the better value of a pair counts. Logs with
all GPUs of a node do not show which GPU's path is slow. So each GPU of a slow node is then measured alone with one good
partner, and the slow GPUs with a second one.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from railyard.site.topology import Leaves
from railyard.verdict.blame.gpu_pairs import PairsVerdict, RecordedTests, judge, order_pair
from railyard.verdict.blame.search.explanations import BlamedPart
from railyard.verdict.blame.search.paths import State, Test

#: A suspect is measured alone with this many partners, if it has them.
PARTNERS = 2
#: The GPUs of at most this many slow nodes are measured one by one; if more are slow, look at the network first.
MOST_NODES = 4


@dataclass(frozen=True, slots=True)
class Ask:
    """One pair to measure by itself: its nodes, and the number of the GPU on each; None: all of their GPUs."""

    first: str
    second: str
    gpu: int | None = None

    @property
    def word(self) -> str:
        """The pair as a step of a job reads it: ``gpu1,gpu2,all`` or ``gpu1,gpu2,3``."""
        return f"{self.first},{self.second},{'all' if self.gpu is None else self.gpu}"


@dataclass(frozen=True, slots=True)
class RepeatJudgement:
    """The judgement of all logs if the better value of each pair counts, and which pairs were measured alone."""

    judged: PairsVerdict
    alone: frozenset[tuple[str, str]]

    def is_confirmed(self, one: BlamedPart) -> bool:
        """Return whether a suspect is also bad when measured alone: with two partners, or with all that it has."""
        pairs = {test.pair for test in one.tests}
        return len(pairs & self.alone) >= min(PARTNERS, len(pairs))


def judged_again(found: RecordedTests, at_once: Collection[str], leaf_of: Leaves | None = None) -> RepeatJudgement:
    """Return the judgement of logs. ``at_once``: the logs of pairs that ran at the same time as others."""
    alone = frozenset(test.pair for test in found.tests if test.log not in at_once)
    return RepeatJudgement(judge(settle_pairs(found, at_once), leaf_of), alone)


def settle_pairs(found: RecordedTests, at_once: Collection[str]) -> RecordedTests:
    """Return the logs with the better value of each pair that was measured both alone and at once with others.

    A test without a result, or with wrong data, always counts: other traffic on the network does not cause that.
    """
    best: dict[tuple[object, ...], float] = {}
    for test in found.tests:
        if test.value is not None:
            best[_of(test)] = max(test.value, best.get(_of(test), 0.0))
    both = {_of(test) for test in found.tests if test.log in at_once}
    both &= {_of(test) for test in found.tests if test.log not in at_once}
    kept = [
        test
        for test in found.tests
        if test.value is None or test.wrong or _of(test) not in both or test.value == best[_of(test)]
    ]
    return replace(found, tests=tuple(kept))


def next_pairs(again: RepeatJudgement) -> tuple[Ask, ...]:
    """Return what to measure next, each pair by itself; nothing if more measurements would not help."""
    return _ask_unconfirmed(again) or tuple(dict.fromkeys(_gpus(again.judged)))


def _of(test: Test) -> tuple[object, ...]:
    return test.layer, frozenset(zip(test.nodes, test.gpus, strict=True))


def _ask_unconfirmed(again: RepeatJudgement) -> tuple[Ask, ...]:
    """Return the suspects' pairs that only ran at once with others, as few as are needed to confirm each suspect."""
    asked: dict[tuple[str, str], None] = {}
    for one in again.judged.blamed:
        if again.is_confirmed(one):
            continue
        own = [test for test in one.tests if test.pair not in again.alone]
        pairs = list(dict.fromkeys(test.pair for test in _good_partners_first(own, one)))
        asked |= dict.fromkeys(pairs[:PARTNERS])
    return tuple(Ask(*pair) for pair in asked)


def _good_partners_first(tests: Iterable[Test], one: BlamedPart) -> list[Test]:
    return sorted(tests, key=lambda test: not set(test.nodes) - set(one.nodes) <= set(one.partners))


def _gpus(found: PairsVerdict) -> Iterator[Ask]:
    """Yield the GPUs of slow nodes to measure alone: with the first good partner, then the bad ones with a second."""
    states = _of_one_gpu(found.recorded.tests, found.states)
    of_nodes: dict[str, BlamedPart] = {}
    for one in found.named_parts:
        begun = one.kind == "gpu" and any(one.nodes[0] in pair for pair, _ in states)
        if (one.kind == "node" or begun) and len(one.partners) >= PARTNERS:
            of_nodes.setdefault(one.nodes[0], one)
    for node, one in list(of_nodes.items())[:MOST_NODES]:
        # If some of its GPUs were measured with a partner, this partner stays the first one.
        met = Counter(other for pair, _ in states for other in pair if node in pair and other != node)
        first, second = sorted(one.partners, key=lambda name: -met[name])[:PARTNERS]
        gpus = sorted(int(gpu) for at, gpu in found.recorded.names if at == node and gpu.isdigit())
        if len(gpus) < 2:
            continue
        # Two more pairs make it possible to compare the tests with one GPU with one another.
        asked = [Ask(*order_pair(node, first), gpu) for gpu in gpus]
        asked += [Ask(*order_pair(a, b), gpus[0]) for a, b in ((node, second), (first, second))]
        bad = [gpu for gpu in gpus if states.get((order_pair(node, first), gpu)) in ("slow", "none")]
        asked += [Ask(*order_pair(a, b), gpu) for gpu in bad for a, b in ((node, second), (first, second))]
        yield from (ask for ask in asked if ((ask.first, ask.second), ask.gpu) not in states)


def _of_one_gpu(tests: Sequence[Test], states: Mapping[Test, State]) -> dict[tuple[tuple[str, str], int], State]:
    """Return the state of each pair and GPU number, from the tests that use the same single GPU on both nodes."""
    return {
        (test.pair, int(test.gpus[0][0])): states[test]
        for test in tests
        if test.layer.gpus == 1 and test.gpus[0] == test.gpus[1] and test.gpus[0][0].isdigit()
    }
