"""Which rail is slow: single rails between a few nodes are probed again, round by round, until it is clear.

In each round every pair of nodes is measured once over each rail alone, in another order. A pair is next to one that
shares no node with it, so whatever disturbs a suspect in these seconds also disturbs its controls. A disturbance only
lowers a value, so the best values count. Their spread shows how much better the rail might be (``reach``). The rate of
a pair is the rate of the slower of its two nodes' rails.

Who is to blame if it is not a single rail: a node that answers over no rail, or what the rails of a node share.

Single rails were measured before (``slow_rails``); here their findings become findings about what is behind them.
"""

import random
import statistics
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from railyard.base.wording import drop_clauses
from railyard.results.record.form import Evidence, Suspect
from railyard.verdict.blame.suspects import Findings, Probe, RailProbe, at_fault
from railyard.verdict.wording import blame as words

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
        return Findings((), words.not_measured())
    if not any(probe.value_mb_s for probe in probes):
        said_first = next((probe.said for probe in probes if probe.said), None)
        return Findings((), words.no_result_at_all(len(probes), said_first), probes)
    rulings = _rulings(probes, run_nodes)
    said = [one.sentence for one in rulings if one.sentence]
    if not said:
        size = next((probe.size_bytes for probe in probes if probe.size_bytes), None)
        return Findings((), words.none_slow(len(probes), size), probes, is_clear=True)
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
        return words.is_slow(self.size_bytes is not None)

    def format_value(self, value_mb_s: float) -> str:
        """Return a value in words: a rate, or the time of a small message."""
        if value_mb_s and self.size_bytes is not None:
            return words.delay(self.size_bytes / value_mb_s, self.size_bytes)
        return words.rate(value_mb_s)

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
        return _rule_uniform_rail(rail, made, others)
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
    control, elsewhere = words.control(TOGETHER in rail.name, _say_least(rail)), _good_words(rail)
    if not any(partners.values()):
        count = len(_probes_of(rail.probes, touching))
        reason = words.nothing_with_any(rail.name, node, count, list(partners), control)
        brief = words.brief_nothing_with_any(len(partners), elsewhere)
        return [Suspect("rail", reason, node, rail.name, brief=brief, evidence=evidence)]
    values = [words.with_partner(rail.format_value(value), partner) for partner, value in partners.items()]
    reason = words.slow_with_every(rail.name, node, rail.is_slow, values, control, _margin(rail, margin))
    best = rail.format_value(max(partners.values()))
    brief = words.brief_slow_with_every(rail.is_slow, best, len(partners), elsewhere)
    return [Suspect("rail", reason, node, rail.name, brief=brief, evidence=evidence)]


def _of_pair(rail: _Rail, pair: _Pair, run_nodes: Sequence[str]) -> _Ruling | None:
    """Return the ruling that a pair is slow although its nodes are good with others; None if that is not shown."""
    well = frozenset[str]().union(*rail.good)
    margin = rail.margin([pair], [pair], rail.good)
    if margin is None or not pair <= well:
        return None
    does = words.slow_pair(rail.is_slow, _pair_words(pair), rail.format_value(rail.pairs[pair]))
    if not rail.pairs[pair]:
        does = words.silent_pair(_pair_words(pair), len(_probes_of(rail.probes, [pair])))
    shown = _margin(rail, margin) if rail.pairs[pair] else ""
    reason = words.path_between(rail.name, does, _say_least(rail), shown)
    if pair <= set(run_nodes):
        evidence = rail.evidence([pair], rail.good)
        brief = words.brief_pair(does, _good_words(rail))
        suspect = Suspect("pair", reason, None, rail.name, brief=brief, evidence=evidence)
        return _Ruling(rail.name, (suspect,), reason, True)
    return _Ruling(rail.name, (), words.unused_pair(reason), True)


def _rule_uniform_rail(rail: _Rail, made: Sequence[RailProbe], others: Sequence[_Rail]) -> _Ruling:
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
    does = rail.is_slow if values[0] else words.no_result()
    at_best = words.below_expected(values[0], expected) if values[0] else words.none_of(len(rail.probes))
    best = f"{at_best}{words.bound_of_slow() if values[0] else ''}"
    if is_small:
        seen = words.too_few_partners(rail.name, does, _pair_words(next(iter(rail.pairs))), best)
        return _Ruling(rail.name, (), seen, True)
    controls = [f"{each.name} {_say_least(each)}" for each in sound]
    reason = words.slow_everywhere(rail.name, does, len(rail.pairs), best, controls)
    brief = words.brief_slow_everywhere(does, len(rail.pairs), at_best)
    evidence = tuple(chain(rail.evidence(rail.pairs), *(other.evidence((), other.pairs) for other in sound)))
    suspect = Suspect("switch", reason, None, rail.name, brief=brief, evidence=evidence)
    return _Ruling(rail.name, (suspect,), reason, True)


def _undecided_sentence(rail: _Rail, pairs: Sequence[_Pair]) -> str:
    """Return the sentence for pairs that are shown neither to be good nor to be slow."""
    best = [f"{rail.format_value(rail.pairs[pair])} {_pair_words(pair)}" for pair in pairs]
    others = rail.format_value(rail.level) if rail.good - set(pairs) else None
    rounds = max(Counter(_pair(probe) for probe in rail.probes).values())
    return words.say_undecided(rail.name, len(rail.probes), rounds, best, others, rail.starved)


def _say_least(rail: _Rail) -> str:
    """Return what all good pairs of a rail reached, and which pairs these are."""
    good = [(min(pair), max(pair)) for pair in rail.pairs if pair in rail.good]
    return words.say_reached(rail.size_bytes is not None, rail.format_value(rail.least), good)


def _good_words(rail: _Rail) -> str:
    """Return what the rail's good pairs reached, without their names."""
    return words.say_elsewhere(rail.size_bytes is not None, rail.format_value(rail.least))


def _pair_words(pair: _Pair) -> str:
    return words.say_between(sorted(pair))


def _probes_of(probes: Sequence[RailProbe], pairs: Collection[_Pair]) -> list[RailProbe]:
    return [probe for probe in probes if _pair(probe) in pairs]


def _margin(rail: _Rail, margin: float) -> str:
    return words.margin(margin, rail.bound.name)


def silent_nodes(found: Findings, rails: Sequence[str]) -> tuple[str, ...]:
    """Return the nodes that gave no result over any of these rails, if each of these rails is a suspect of the node."""
    named: dict[str, set[str]] = {}
    for one in found.suspects:
        if one.kind == "rail" and one.node is not None and one.rail is not None:
            named.setdefault(one.node, set()).add(one.rail)
    answered = {name for probe in found.probes if probe.value_mb_s for name in (probe.node_a, probe.node_b)}
    return tuple(node for node, each in named.items() if each == set(rails) and node not in answered)


def with_silent_nodes(found: Findings, rails: Sequence[str], starts: Mapping[str, bool]) -> Findings:
    """Return the findings with a node named instead of its rails, if it gave no result over any of them.

    ``starts`` says for each node that was tried whether a process starts on it. A node with a single rail on which
    processes start stays as it is: the rail may be at fault.
    """
    for node in silent_nodes(found, rails):
        if starts.get(node) is False:
            reason = words.dead_node(node, list(rails))
        elif len(rails) > 1:
            reason = words.silent_node(node, list(rails), node in starts)
        else:
            continue
        own = [one for one in found.suspects if one.kind == "rail" and one.node == node]
        kept = tuple(one for one in found.suspects if one not in own)
        sentence = drop_clauses(found.sentence, [one.reason for one in own])
        found = replace(
            found,
            suspects=(Suspect("node", reason, node), *kept),
            sentence="; ".join(filter(None, (reason, sentence))),
            fault=found.fault if kept else "node",
            look_at=words.look_at_node(node),
        )
    return found


def shared_part(alone: Findings, together: Findings, rails: Sequence[str]) -> Findings:
    """Return who is slow with all rails at once, although each is good alone: what a node's rails share.

    ``alone`` are the findings for each rail, which cleared them all; ``together`` are those for all rails at once.
    """
    both = list(rails)
    slow = [one for one in together.suspects if one.kind == "rail" and one.node is not None]
    probes = (*alone.probes, *together.probes)
    if not slow:
        measured = words.none_slow_together(both) if together.is_clear else ""
        return replace(alone, sentence=f"{alone.sentence}{measured}", probes=probes)
    named = []
    for one in slow:
        reason = words.shared_part(both, one.reason, str(one.node))
        named.append(Suspect("node", reason, one.node, evidence=one.evidence))
    look = words.look_at_shared(both, [str(one.node) for one in slow])
    return Findings(tuple(named), "; ".join(one.reason for one in named), probes, fault="fabric", look_at=look)


def direction(node: str, partner: str, sent: Sequence[float | None], received: Sequence[float | None]) -> str:
    """Return in which direction a rail is slow, by the best stream of each direction, in MB/s.

    ``sent`` went from the node to its good partner, ``received`` the other way; None is no result. If both directions
    are equally slow, the sentence says so.
    """
    out, back = (max((value or 0.0 for value in values), default=0.0) for values in (sent, received))
    return words.both_ways(node, partner, out, back, PROBE_SLOW_SHARE.value) if max(out, back) else ""


def good_partner(found: Findings, suspect: Suspect) -> str | None:
    """Return a node that was probed with a suspect and is not a suspect itself: the fastest one with others."""
    named = {one.node for one in found.suspects}
    best: dict[str, float] = {}
    for probe in found.probes:
        if probe.rail == suspect.rail and suspect.node not in (probe.node_a, probe.node_b):
            for name in (probe.node_a, probe.node_b):
                best[name] = max(best.get(name, 0.0), probe.value_mb_s or 0.0)
    known = {name: value for name, value in best.items() if name not in named and value}
    return max(known, key=lambda name: known[name], default=None)


def label_of(rails: Sequence[str]) -> str:
    """Return the name of rails that are measured at once, used like the name of one rail."""
    return TOGETHER.join(rails)
