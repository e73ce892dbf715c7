"""Which rail is slow: single rails between a few nodes are probed again, round by round, until it is clear.

In each round every pair of nodes is measured once over each rail alone, in another order. A pair is next to one that
shares no node with it, so whatever disturbs a suspect in these seconds also disturbs its controls. A disturbance only
lowers a value, so the best values count. Their spread shows how much better the rail might be (``reach``). The rate of
a pair is the rate of the slower of its two nodes' rails.
"""

import random
import statistics
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

from railyard.base.bounds import (
    PROBE_CHANCE,
    PROBE_DELAY_MARGIN,
    PROBE_MARGIN,
    PROBE_REACH,
    PROBE_ROUNDS_LEAST,
    PROBE_ROUNDS_MOST,
    PROBE_SLOW_SHARE,
    PROBE_STARVED_SHARE,
    PROBE_TIME,
    PROBE_WITNESSES,
)
from railyard.base.wording import count_of, listing, message_size, number, percent
from railyard.results.record.form import Evidence, Suspect
from railyard.verdict.blame.suspects import Findings, Probe, RailProbe, at_fault
from railyard.verdict.wording import NOBODY_BLAMED, WITH_EVERY

#: In units of the spread of the six best values.
_LEAST_REACH = 2.0
#: Joins the names of rails that are measured at once, where usually the name of one rail is.
TOGETHER = "+"
#: Two nodes between which a rail was measured.
_Pair = frozenset[str]
_Node = TypeVar("_Node", str, int)


def find(
    planned: Sequence[Probe],
    measure: Callable[[Probe, int], RailProbe | None],
    run_nodes: Sequence[str],
    clock: Callable[[], float],
    within_s: float = PROBE_TIME.value,
) -> Findings:
    """Return who is slow, from as many rounds of the planned probes as needed, within the bounds of rounds and time.

    ``measure`` gets a probe and its round, from 1, and returns None to stop measuring; ``clock`` gives seconds. A probe
    that never began does not count. A rail that is decided is not measured any more. A pair of nodes is only blamed if
    both are in ``run_nodes``.
    """
    end = clock() + within_s
    made: list[RailProbe] = []
    rails = tuple(dict.fromkeys(probe.rail for probe in planned))
    for turn in range(1, int(PROBE_ROUNDS_MOST.value) + 1):
        for probe in in_turn(planned, rails, turn):
            if made and clock() >= end:
                return findings(made, run_nodes)
            measured = measure(probe, turn)
            if measured is None:
                return findings(made, run_nodes)
            if not measured.never_began:
                made.append(measured)
        if not any(probe.value_mb_s for probe in made):
            break
        if turn >= PROBE_ROUNDS_LEAST.value:
            rails = tuple(one.rail for one in _rulings(made, run_nodes) if not one.is_decided)
        if not rails:
            break
    return findings(made, run_nodes)


def in_turn(planned: Sequence[Probe], rails: Collection[str], turn: int) -> list[Probe]:
    """Return the probes of one round over these rails: each round has its own order, which is always the same.

    Each pair is measured over all rails before the next pair.
    """
    pairs = list(dict.fromkeys((probe.node_a, probe.node_b) for probe in planned))
    random.Random(turn).shuffle(pairs)
    known = set(planned)
    made = [Probe(*pair, rail) for pair in alternate_pairs(pairs) for rail in list(rails)[:: 1 if turn % 2 else -1]]
    return [probe for probe in made if probe in known]


def alternate_pairs(pairs: Iterable[tuple[_Node, _Node]]) -> list[tuple[_Node, _Node]]:
    """Return the pairs in an order in which each follows one that shares no node with it, if there is such a pair.

    With four nodes, the pairs of a node and the pairs without it then alternate.
    """
    left = list(pairs)
    ordered: list[tuple[_Node, _Node]] = []
    while left:
        apart = (pair for pair in left if ordered and not set(pair) & set(ordered[-1]))
        ordered.append(next(apart, left[0]))
        left.remove(ordered[-1])
    return ordered


def findings(made: Iterable[RailProbe], run_nodes: Sequence[str]) -> Findings:
    """Return who is slow, from all probes in the order of time; nobody is blamed if the probes do not decide.

    A rail of a node is named if it is good with nobody, and slow with at least two partners that are good with others.
    A pair is named if both its nodes are good with others. A rail's switch or network is named if all pairs are alike
    and below the expected value.
    """
    probes = tuple(made)
    if not probes:
        return Findings((), f"no rail was measured alone, so {NOBODY_BLAMED}")
    if not any(probe.value_mb_s for probe in probes):
        said_first = next((f', the first printed "{probe.said}"' for probe in probes if probe.said), "")
        return Findings((), f"{_none_of(probes)} of single rails gave a result{said_first}: {NOBODY_BLAMED}", probes)
    rulings = _rulings(probes, run_nodes)
    said = [one.sentence for one in rulings if one.sentence]
    if not said:
        size = next((f" of {message_size(probe.size_bytes)}" for probe in probes if probe.size_bytes), "")
        sentence = f"no rail was slow alone in {len(probes)} probes{size}: {NOBODY_BLAMED}"
        return Findings((), sentence, probes, is_clear=True)
    return Findings(tuple(suspect for one in rulings for suspect in one.suspects), "; ".join(said), probes)


def chance(own: Sequence[float], controls: Sequence[float]) -> float:
    """Return how likely a disturbance lowered all of a suspect's values, at the rate at which it lowers its controls.

    A control above the suspect's best value, ``own[0]``, was not lowered as far as that. The result is 1 if most
    controls were lowered: such values show nothing. Source of the rate from a few values: H. Jeffreys, An invariant
    form for the prior probability in estimation problems, Proceedings of the Royal Society A 186 (1946).
    """
    rate = (sum(value <= own[0] for value in controls) + 0.5) / (len(controls) + 1)
    return float(rate ** len(own)) if rate <= 0.5 else 1.0


def reach(spread: float, chance: float) -> float:
    """Return how far above the best of values their upper end may be, if their six best have this spread.

    Values with an upper end r, and an even density there, leave gaps of independent exponential lengths below r. So r
    is more than t (x1 - x6) above the best one, x1, with a chance of (1 + t)^-5. That and the ``chance`` multiply to
    ``probe-reach``. Lowered values are not among the six best, or they make the reach wide. The reach is at least two
    spreads: with one, normal noise, which has no end, was named wrongly (``benchmarks/blame.py``). Source: D. Robson
    and J. Whitlock, Estimation of a truncation point, Biometrika 51 (1964), for two values; P. Cooke, Statistical
    inference for bounds of random variables, Biometrika 66 (1979).
    """
    gaps = PROBE_WITNESSES.value - 1
    return float(spread * max(_LEAST_REACH, (chance / PROBE_REACH.value) ** (1 / gaps) - 1))


def _spread(falling: Sequence[float]) -> float:
    """Return the distance from the best to the sixth best value."""
    return falling[0] - falling[: int(PROBE_WITNESSES.value)][-1]


@dataclass(frozen=True, slots=True)
class _Ruling:
    """What is known of a rail: who is blamed, and the sentence, empty for a good rail; undecided: more might help."""

    rail: str
    suspects: tuple[Suspect, ...]
    sentence: str
    is_decided: bool


class _Rail:
    """All probes of one rail, in the order of time, and what follows from them.

    ``pairs`` has the best value of each pair in MB/s, 0 if it gave no result. ``level`` is what the rail gives where it
    is good: its second best value, since it was reached twice; else 0. ``good`` are the pairs within the least margin
    of that level. ``starved`` is the mean share of the probes' time in which their processes waited for a processor,
    None if unknown.
    """

    def __init__(self, name: str, probes: Sequence[RailProbe]) -> None:
        self.name, self.probes = name, tuple(probes)
        self.pairs: dict[_Pair, float] = {}
        for probe in self.probes:
            self.pairs[_pair(probe)] = max(self.pairs.get(_pair(probe), 0.0), probe.value_mb_s or 0.0)
        self.level = (*_best_first(self.probes), 0.0)[1]
        self.size_bytes = next((probe.size_bytes for probe in self.probes if probe.size_bytes), None)
        self.bound = PROBE_MARGIN if self.size_bytes is None else PROBE_DELAY_MARGIN
        enough = (1 - self.bound.value) * self.level
        self.good = {pair for pair, best in self.pairs.items() if self.level and best >= enough}
        known = [probe.starved for probe in self.probes if probe.starved is not None]
        self.starved = statistics.fmean(known) if known else None

    def best_first(self, pairs: Collection[_Pair]) -> list[float]:
        """Return the values of these pairs, best first."""
        return _best_first(probe for probe in self.probes if _pair(probe) in pairs)

    @property
    def is_slow(self) -> str:
        """What a bad rail is: slow, or delayed if its messages are small."""
        return "is slow" if self.size_bytes is None else "has a delay"

    def format_value(self, value_mb_s: float) -> str:
        """Return a value in words: a rate, or the time of a small message."""
        if value_mb_s and self.size_bytes is not None:
            return f"{number(self.size_bytes / value_mb_s)} us for {message_size(self.size_bytes)}"
        return format_rate(value_mb_s)

    def evidence(self, own: Collection[_Pair], controls: Collection[_Pair] = ()) -> tuple[Evidence, ...]:
        """Return the best value of each of a suspect's own pairs, then those of its controls."""
        return tuple(
            Evidence(pair, self.name, *self._figure(self.pairs[frozenset(pair)]), is_control)
            for is_control, pairs in ((False, own), (True, controls))
            for pair in sorted(tuple(sorted(each)) for each in pairs)
        )

    def _figure(self, value_mb_s: float) -> tuple[float | None, str]:
        """Return a value in the unit in which it is shown, and that unit; None for no result."""
        unit = "MB/s" if self.size_bytes is None else "us"
        if not value_mb_s:
            return None, unit
        return value_mb_s if self.size_bytes is None else self.size_bytes / value_mb_s, unit

    @property
    def least(self) -> float:
        """The lowest of the good pairs' best values in MB/s, 0 if no pair is good."""
        return min((self.pairs[pair] for pair in self.good), default=0.0)

    def margin(self, own: Collection[_Pair], touching: Collection[_Pair], controls: Collection[_Pair]) -> float | None:
        """Return the margin by which a suspect's pairs are slow, as a share of its controls; None if that is not shown.

        It is the reach of the pairs' values, or of the good ones', or the least margin. Enough of the suspect's probes
        must have a control beside them that is nearer to what all controls reached than to the suspect's best value.
        These probes may be of any pair ``touching`` the suspect; its values are only those of its ``own`` pairs with
        good partners.
        """
        values = self.best_first(own)
        best = max(values, default=0.0)
        least = min((self.pairs[pair] for pair in controls), default=0.0)
        if best >= (1 - self.bound.value) * least:
            return None
        beside = _neighbouring_probes(
            self.probes,
            lambda probe: _pair(probe) in touching,
            lambda probe: _pair(probe) in controls and (probe.value_mb_s or 0.0) > (best + least) / 2,
        )
        if min(len(beside), len(values)) < PROBE_WITNESSES.value:
            return None
        hit = chance(values, self.best_first(controls))
        if hit > PROBE_CHANCE.value:
            return None
        spread = max(_spread(values), _spread(self.best_first(self.good)))
        margin = max(self.bound.value, reach(spread, hit) / least)
        return margin if best <= (1 - margin) * least else None


def _neighbouring_probes(
    probes: Sequence[RailProbe], is_own: Callable[[RailProbe], bool], is_control: Callable[[RailProbe], bool]
) -> Sequence[RailProbe]:
    """Return the suspect's own probes that were made directly before or after such a control."""
    control = [is_control(probe) for probe in probes]
    near = zip(probes, [False, *control], [*control[1:], False], strict=False)
    return [probe for probe, before, after in near if is_own(probe) and (before or after)]


def _best_first(probes: Iterable[RailProbe]) -> list[float]:
    """Return the values, best first; no result counts as 0, since such a rail carries nothing."""
    return sorted((probe.value_mb_s or 0.0 for probe in probes), reverse=True)


def _pair(probe: RailProbe) -> _Pair:
    return frozenset((probe.node_a, probe.node_b))


def _rulings(made: Sequence[RailProbe], run_nodes: Sequence[str]) -> list[_Ruling]:
    names = dict.fromkeys(probe.rail for probe in made)
    rails = [_Rail(name, [probe for probe in made if probe.rail == name]) for name in names]
    return [_ruling(rail, made, [other for other in rails if other is not rail], run_nodes) for rail in rails]


def _ruling(rail: _Rail, made: Sequence[RailProbe], others: Sequence[_Rail], run_nodes: Sequence[str]) -> _Ruling:
    good = rail.good
    bad = [pair for pair in rail.pairs if pair not in good]
    if not bad or not good:
        return _of_all(rail, made, others)
    nodes = at_fault(bad, good)
    # Pairs that a node's fault does not explain must be better than the node, even if they are not good (disturbed).
    controls = [pair for pair in rail.pairs if not pair & set(nodes)]
    named = [suspect for node in nodes for suspect in _of_node(rail, node, controls)]
    rest = [pair for pair in bad if not pair & {suspect.node for suspect in named}]
    found = _of_pair(rail, rest[0], run_nodes) if len(bad) == 1 else None
    if found is not None:
        return found
    said = [suspect.reason for suspect in named] + ([_undecided_sentence(rail, rest)] if rest else [])
    return _Ruling(rail.name, tuple(named), "; ".join(said), not rest)


def _of_node(rail: _Rail, node: str, controls: Collection[_Pair]) -> list[Suspect]:
    """Return the node as a suspect if its pairs with good partners are slow, or give no result; else []."""
    well = frozenset[str]().union(*rail.good)
    touching = [pair for pair in rail.pairs if node in pair]
    margin = rail.margin([pair for pair in touching if pair - {node} <= well], touching, controls)
    if margin is None:
        return []
    partners = {partner: rail.pairs[pair] for pair in touching for partner in pair - {node}}
    evidence = rail.evidence(touching, rail.good)
    control = f"the same {_rails(rail)} {_at_least(rail)} in the same seconds"
    if not any(partners.values()):
        reason = f"{rail.name} of {node} gives no result with any partner: {_none_of(rail.probes, touching)} with "
        brief = f"gives no result with any of {count_of(len(partners), 'partner')}; {_good_words(rail)}"
        reason = f"{reason}{listing(list(partners))}; {control}"
        return [Suspect("rail", reason, node, rail.name, brief=brief, evidence=evidence)]
    values = listing([f"{rail.format_value(value)} with {partner}" for partner, value in partners.items()])
    control = f"{control} ({_margin(rail, margin)})"
    reason = f"{rail.name} of {node} {rail.is_slow} {WITH_EVERY}: at best {values}; {control}"
    best = rail.format_value(max(partners.values()))
    brief = f"{rail.is_slow}: at best {best} with {count_of(len(partners), 'partner')}; {_good_words(rail)}"
    return [Suspect("rail", reason, node, rail.name, brief=brief, evidence=evidence)]


def _of_pair(rail: _Rail, pair: _Pair, run_nodes: Sequence[str]) -> _Ruling | None:
    """Return the ruling that a pair is slow although its nodes are good with others; None if that is not shown."""
    well = frozenset[str]().union(*rail.good)
    margin = rail.margin([pair], [pair], rail.good)
    if margin is None or not pair <= well:
        return None
    does = f"{rail.is_slow} only {_pair_words(pair)}: at best {rail.format_value(rail.pairs[pair])}"
    if not rail.pairs[pair]:
        does = f"gives no result only {_pair_words(pair)}: {_none_of(rail.probes, [pair])}"
    reason = f"{rail.name} {does}, and {_at_least(rail)} in the same seconds"
    reason += f"{f' ({_margin(rail, margin)})' if rail.pairs[pair] else ''}: the path between them"
    if pair <= set(run_nodes):
        brief = f"{does}; {_good_words(rail)}"
        evidence = rail.evidence([pair], rail.good)
        suspect = Suspect("pair", reason, None, rail.name, brief=brief, evidence=evidence)
        return _Ruling(rail.name, (suspect,), reason, True)
    return _Ruling(rail.name, (), f"{reason}, which this run did not use: {NOBODY_BLAMED} for that", True)


def _of_all(rail: _Rail, made: Sequence[RailProbe], others: Sequence[_Rail]) -> _Ruling:
    """Return what is known of a rail whose pairs are all alike: only the expected value separates good from slow.

    If there are several rails, another one is the control, beside each probe that counts. A single rail has no control:
    then it must be known that the probes did not wait.
    """
    expected = rail.probes[0].expected_mb_s
    bound = PROBE_SLOW_SHARE.value * expected
    values = rail.best_first(rail.pairs)
    if rail.good and values[0] >= bound:
        return _Ruling(rail.name, (), "", True)
    sound = [other for other in others if other.level and other.level >= bound]
    beside: Sequence[RailProbe] = rail.probes
    # Without controls, the waiting times of the processes decide instead.
    hit = PROBE_CHANCE.value
    if others:
        names = [other.name for other in sound]
        beside = _neighbouring_probes(
            made,
            lambda probe: probe.rail == rail.name,
            lambda probe: probe.rail in names and (probe.value_mb_s or 0.0) >= bound,
        )
        hit = chance(values, _best_first(probe for probe in made if probe.rail in names))
    is_seen = len(beside) >= PROBE_WITNESSES.value and hit <= PROBE_CHANCE.value
    is_low = is_seen and values[0] + reach(_spread(values), hit) < bound
    is_starved = not sound if rail.starved is None else rail.starved > PROBE_STARVED_SHARE.value
    is_small = len(rail.pairs) < 3 and values[0] < bound
    if not is_small and (not is_low or is_starved):
        return _Ruling(rail.name, (), _undecided_sentence(rail, list(rail.pairs)), False)
    does = rail.is_slow if values[0] else "gives no result"
    at_best = (
        f"at best {format_rate(values[0])}, expected {number(expected)} MB/s" if values[0] else _none_of(rail.probes)
    )
    bounded = f" (bound {percent(PROBE_SLOW_SHARE.value)}, {PROBE_SLOW_SHARE.name})" if values[0] else ""
    if is_small:
        seen = f"{rail.name} {does} {_pair_words(next(iter(rail.pairs)))}: {at_best}{bounded}"
        return _Ruling(rail.name, (), f"{seen}, but too few partners were measured to blame anybody", True)
    seen = f"{rail.name} {does} between all {len(rail.pairs)} pairs measured: {at_best}{bounded}"
    control = listing([f"{each.name} {_at_least(each)}" for each in sound])
    reason = f"{seen}{f'; {control} in the same seconds' if sound else ''}: its switch or its whole network"
    brief = f"{does} between all {len(rail.pairs)} pairs measured: {at_best}"
    evidence = tuple(chain(rail.evidence(rail.pairs), *(other.evidence((), other.pairs) for other in sound)))
    suspect = Suspect("switch", reason, None, rail.name, brief=brief, evidence=evidence)
    return _Ruling(rail.name, (suspect,), reason, True)


def _undecided_sentence(rail: _Rail, pairs: Sequence[_Pair]) -> str:
    """Return the sentence for pairs that are shown neither to be good nor to be slow."""
    best = listing([f"{rail.format_value(rail.pairs[pair])} {_pair_words(pair)}" for pair in pairs])
    reached = f", others {rail.format_value(rail.level)}" if rail.good - set(pairs) else ""
    waited = ""
    if rail.starved is not None:
        waited = f"; the probes' processes waited for a processor {100 * rail.starved:.0f} % of the time"
    rounds = max(Counter(_pair(probe) for probe in rail.probes).values())
    return (
        f"{rail.name} is undecided after {len(rail.probes)} probes in {count_of(rounds, 'round')}: at best "
        f"{best}{reached}; {NOBODY_BLAMED} for that{waited}"
    )


def _at_least(rail: _Rail) -> str:
    """Return what all good pairs of a rail reached, and which pairs these are."""
    good = [" and ".join(sorted(pair)) for pair in rail.pairs if pair in rail.good]
    did = "carried at least" if rail.size_bytes is None else "took at most"
    return f"{did} {rail.format_value(rail.least)} between {', '.join(good)}"


def _good_words(rail: _Rail) -> str:
    """Return what the rail's good pairs reached, without their names."""
    return f"elsewhere at {'least' if rail.size_bytes is None else 'most'} {rail.format_value(rail.least)}"


def _rails(rail: _Rail) -> str:
    return "rails" if TOGETHER in rail.name else "rail"


def _pair_words(pair: _Pair) -> str:
    return f"between {listing(sorted(pair))}"


def _none_of(probes: Sequence[RailProbe], pairs: Collection[_Pair] | None = None) -> str:
    chosen = [probe for probe in probes if pairs is None or _pair(probe) in pairs]
    return f"none of {count_of(len(chosen), 'probe')}"


def format_rate(value: float) -> str:
    """Return a rate in MB/s (10^6 B/s) in words; 0 stands for a probe without a result."""
    return f"{number(value)} MB/s" if value else "no result"


def _margin(rail: _Rail, margin: float) -> str:
    return f"margin {percent(margin)}, {rail.bound.name}"
