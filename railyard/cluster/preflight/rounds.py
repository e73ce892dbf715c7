"""Each rail of a job's nodes in rounds of pairs, within the time that is left: what to measure next, and who is slow.

Nothing is started here. ``measure_rails`` gives launches, takes what they gave, and returns what was found; so the same
code measures real nodes and simulated ones. Its steps:

- the sample: over each rail, each node meets its two neighbours in the list of nodes and, if there is time, one node
  that is far away. Neighbours are mostly at one leaf switch, where streams do not collide, so a healthy node is fast
  with one of them at least, whatever the routes are. Rails are measured one after another or, if the time is too short
  for that, several at once.
- alone: a node whose best pair is slow meets two good nodes again, with few others sending. A pair of neighbours that
  is slow although both are good with others is measured again, too.
- silent: if no round over a rail ends, smaller groups of nodes are measured, until it is clear who answers nobody.

A disturbance or a collision only lowers a value, so the best value of a node counts.
"""

import math
import statistics
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from railyard.base.bounds import PREFLIGHT_SHARE
from railyard.base.hostlist import list_nodes
from railyard.base.wording import count_of, listing, number, percent
from railyard.verdict.blame.search.model import Pair, Round, Value, pack_rounds

#: Below this share of what other leaf switches give to nodes far away, the up-links of a leaf switch are in doubt.
LEAF_SHARE = 0.55
#: Suspects are measured again so often with each of two good partners, and so many pairs at once.
TIMES_ALONE, AT_ONCE_ALONE = 3, 4
#: A launch is ended after so many times the time that it should take to start, and that its rounds should take.
_START_TIMES, _ROUND_TIMES = 1.5, 5.0
#: A sample is planned as if its rounds took so many times as long as without collisions in the network.
_PLANNED_TIMES = 2.5
#: So many groups of nodes are started at once to find who answers nobody; groups of so many nodes, or one more, are not
#: divided.
_GROUPS, _SMALL = 16, 4
#: So many slow pairs of good nodes are measured again: pairs within a leaf switch, whose streams cannot collide, or
#: fewer pairs, each alone, if no leaf switch is known.
_MOST_PAIRS, _MOST_ALONE = 12, 4
#: After a sample that was cut, nodes of pairs below this share of the others are left out of the rounds that it lacks.
_HOLDS_UP = 1 / 3

Purpose = Literal["sample", "alone", "silent"]
Kind = Literal["rail", "pair", "all"]


class Costs(Protocol):
    """What a launch over so many nodes takes until its first round, and what a round takes, in seconds."""

    def launch_s(self, nodes: int) -> float: ...
    def round_s(self, nodes: int) -> float: ...


@dataclass(frozen=True, slots=True)
class RailLaunch:
    """One launch over one rail: its nodes by index, and rounds of pairs of them."""

    rail: str
    nodes: tuple[int, ...]
    rounds: tuple[Round, ...]


@dataclass(frozen=True, slots=True)
class Wave:
    """Launches at the same time, and after how many seconds they are ended."""

    purpose: Purpose
    launches: tuple[RailLaunch, ...]
    limit_s: float


@dataclass(frozen=True, slots=True)
class LaunchValues:
    """What a launch gave: the values of the rounds that ended, MB/s (10^6 B/s, the slower direction).

    ``why`` says why it did not run to its end; empty if it did.
    """

    values: tuple[Value, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class WaveResult:
    """What the launches of a wave gave, in their order, and how many seconds are left now."""

    measured: tuple[LaunchValues, ...]
    left_s: float


@dataclass(frozen=True, slots=True)
class SickPart:
    """What is slow or silent: a rail of one node, a pair, or a rail of all nodes; ``said`` has the figures.

    ``controlled``: good nodes were measured beside it at that time, so something that disturbs all is not the cause.
    """

    kind: Kind
    rail: str
    nodes: tuple[int, ...]
    said: str
    controlled: bool = True


@dataclass(slots=True)
class RailsFound:
    """What the rounds showed. ``doubts`` cannot be decided, ``unmeasured`` are rails with the reason.

    ``level`` is what a healthy node gives over each rail that was measured, MB/s. ``remarks`` decide nothing. Nodes
    that are ``silent`` over a rail are in no later launch: it would not end.
    """

    sick: list[SickPart] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    unmeasured: dict[str, str] = field(default_factory=dict)
    level: dict[str, float] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    silent: set[int] = field(default_factory=set)

    def note_doubt(self, said: str) -> None:
        """Note what cannot be decided, once."""
        if said not in self.doubts:
            self.doubts.append(said)


@dataclass(frozen=True, slots=True)
class Ground:
    """What is measured: the nodes' names, the rails, the costs, and the least that a rail must give, MB/s, if known.

    ``leaf_of`` has the leaf switch of each node, if all are known. ``reserve_s`` is kept for what follows the rails.
    """

    nodes: tuple[str, ...]
    rails: tuple[str, ...]
    costs: Costs
    least: Mapping[str, float | None] = field(default_factory=dict)
    leaf_of: tuple[str, ...] = ()
    reserve_s: float = 0.0

    def seconds(self, nodes: int, rounds: float) -> float:
        """Return what one launch over so many nodes takes with so many rounds."""
        return self.costs.launch_s(nodes) + rounds * self.costs.round_s(nodes)

    def limit_s(self, nodes: int, rounds: float) -> float:
        """Return after how many seconds such a launch is ended."""
        return _START_TIMES * self.costs.launch_s(nodes) + _ROUND_TIMES * rounds * self.costs.round_s(nodes)


@dataclass(frozen=True, slots=True)
class SamplePlan:
    """How many rails are measured at once, and whether nodes also meet far ones; 0 at once: there is no time.

    ``seconds``: what one such wave of launches takes.
    """

    at_once: int
    far: bool
    seconds: float


def plan_sample(ground: Ground, left_s: float) -> SamplePlan:
    """Return how the sample fits into the time that is left, with one wave for suspects after it.

    One rail after another is best, since rails of a node may share what they have. If nothing fits, all rails are
    measured at once while the time lasts, but only if a launch can end at all.
    """
    nodes, rails = len(ground.nodes), len(ground.rails)
    alone_s = ground.seconds(min(nodes, 3 * AT_ONCE_ALONE), 3 * TIMES_ALONE)
    room_s = left_s - ground.reserve_s - alone_s
    every = tuple(range(nodes))
    for at_once in range(1, rails + 1):
        for far in (True, False):
            seconds = ground.seconds(nodes, _PLANNED_TIMES * len(sample_rounds(every, far)))
            if math.ceil(rails / at_once) * seconds <= room_s:
                return SamplePlan(at_once, far, seconds)
    least_s = ground.seconds(nodes, len(sample_rounds(every, False)))
    return SamplePlan(rails if least_s <= left_s else 0, False, least_s)


def measure_rails(ground: Ground, left_s: float) -> Generator[Wave, WaveResult, RailsFound]:
    """Give what to measure, wave by wave, and return who is slow. ``left_s``: how many seconds there are.

    Raises ValueError for fewer than two nodes.
    """
    if len(ground.nodes) < 2:
        raise ValueError(f"{len(ground.nodes)} nodes: a pair needs two")
    found, plan = RailsFound(), plan_sample(ground, left_s)
    values: dict[str, list[Value]] = {}
    left = list(ground.rails)
    while left:
        if not plan.at_once or plan.seconds > left_s:
            for rail in left:
                found.unmeasured[rail] = f"no time: {max(0.0, left_s):.0f} s were left, {plan.seconds:.0f} s are needed"
            break
        now, left = left[: plan.at_once], left[plan.at_once :]
        left_s = yield from _take_sample(ground, now, plan.far, left_s, values, found)
    yield from _Suspects(ground, values, found).measure(left_s)
    return found


def _take_sample(
    ground: Ground, rails: Sequence[str], far: bool, left_s: float, values: dict[str, list[Value]], found: RailsFound
) -> Generator[Wave, WaveResult, float]:
    """Measure the sample over some rails at once, and return how many seconds are left.

    If no round over a rail ended, the nodes that answer are measured over it once more.
    """
    for again in (False, True):
        every = tuple(node for node in range(len(ground.nodes)) if node not in found.silent)
        made = sample_rounds(every, far and not again)
        if again and (len(every) < 2 or ground.seconds(len(every), len(made)) > left_s):
            for rail in rails:
                found.unmeasured[rail] = "no time was left for the nodes that answer"
            break
        limit_s = min(left_s, ground.limit_s(len(every), len(made)))
        result = yield Wave("sample", tuple(RailLaunch(rail, every, made) for rail in rails), limit_s)
        left_s, silent = result.left_s, []
        for rail, measured in zip(rails, result.measured, strict=True):
            if any(value is not None for _, _, value in measured.values):
                values[rail] = list(measured.values)
                if measured.why:
                    left_s = yield from _take_rest(ground, rail, made, measured, left_s, values[rail], found)
            elif again:
                found.note_doubt(f"{rail}: no round of pairs ended ({measured.why or 'no value'})")
            else:
                search = _Silent(ground, rail, every, measured.why, found)
                left_s = yield from search.search(left_s)
                silent += [rail] if search.is_settled else []
        rails = silent
        if not rails:
            break
    return left_s


def _take_rest(
    ground: Ground,
    rail: str,
    made: Sequence[Round],
    measured: LaunchValues,
    left_s: float,
    values: list[Value],
    found: RailsFound,
) -> Generator[Wave, WaveResult, float]:
    """Measure the rounds that a cut sample lacks, without the nodes that held it up; return the seconds left."""
    level = statistics.median_high([value or 0.0 for _, _, value in values])
    slow = {node for a, b, value in values if (value or 0.0) < _HOLDS_UP * level for node in (a, b)}
    there = {_order(a, b) for a, b, _ in values}
    rest = [tuple(pair for pair in each if pair not in there and not slow & set(pair)) for each in made]
    rounds = tuple(each for each in rest if each)
    nodes = tuple(sorted({node for each in rounds for pair in each for node in pair}))
    if not rounds or ground.seconds(len(nodes), len(rounds)) > left_s:
        found.remarks.append(f"{rail}: not all rounds were measured ({measured.why})")
        return left_s
    limit_s = min(left_s, ground.limit_s(len(nodes), len(rounds)))
    result = yield Wave("sample", (RailLaunch(rail, nodes, rounds),), limit_s)
    values += result.measured[0].values
    if result.measured[0].why:
        found.remarks.append(f"{rail}: not all rounds were measured ({result.measured[0].why})")
    return result.left_s


def sample_rounds(nodes: Sequence[int], far: bool) -> tuple[Round, ...]:
    """Return rounds in which each node meets the one before it and the one behind it, and with ``far`` one far away.

    Of two nodes there is one pair, of an odd number one more round, in which the last meets the first.
    """
    count = len(nodes)
    ring = [(nodes[place], nodes[(place + 1) % count]) for place in range(count if count > 2 else count - 1)]
    near = [ring[:-1:2], ring[1::2], ring[-1:]] if count % 2 else [ring[::2], ring[1::2]]
    half = count // 2
    away = [(nodes[place], nodes[place + half]) for place in range(half)] if far and count > 3 else []
    return tuple(tuple(_order(a, b) for a, b in each) for each in (*near, away) if each)


def best_of(values: Sequence[Value]) -> dict[int, float]:
    """Return the best value of each node in any of its pairs, MB/s; 0 if it has none."""
    found: dict[int, float] = {}
    for a, b, value in values:
        for node in (a, b):
            found[node] = max(value or 0.0, found.get(node, 0.0))
    return found


@dataclass(slots=True)
class _Rail:
    """What the sample says of one rail: each node's best value, what is healthy, and what is slow."""

    name: str
    values: list[Value]
    least: float | None
    near: frozenset[Pair]
    best: dict[int, float] = field(init=False)
    level: float = field(init=False)

    def __post_init__(self) -> None:
        self.best = best_of(self.values)
        self.level = statistics.median_high(self.best.values())

    @property
    def is_low(self) -> bool:
        """Whether most nodes are below the least that the rail must give."""
        return self.least is not None and self.level < self.least

    @property
    def bound(self) -> float:
        """Below this a node is slow: a share of what most nodes give, or the rail's least if that is more."""
        share = PREFLIGHT_SHARE.value * self.level
        return share if self.least is None or self.is_low else max(share, self.least)

    @property
    def slow(self) -> list[int]:
        """The nodes whose best value is below the bound, the slowest first."""
        return sorted((node for node, best in self.best.items() if best < self.bound), key=lambda node: self.best[node])

    @property
    def good(self) -> list[int]:
        """The other nodes, the fastest first."""
        return sorted((node for node in self.best if self.best[node] >= self.bound), key=lambda node: -self.best[node])

    @property
    def slow_pairs(self) -> list[Pair]:
        """Neighbours that are slow together and good with others, the slowest first."""
        well = set(self.good)
        slow = [(value or 0.0, _order(a, b)) for a, b, value in self.values if (value or 0.0) < self.bound]
        return [pair for _, pair in sorted(slow) if well.issuperset(pair) and pair in self.near]

    def stretch(self, nodes: Sequence[int]) -> float:
        """Return how many times longer a round with the slowest of these nodes takes."""
        worst = min((self.best[node] for node in nodes), default=self.level)
        return self.level / worst if worst > 0 else _ROUND_TIMES


@dataclass(slots=True)
class _Suspects:
    """Measures suspects of all rails again, each with good partners, and says who is slow."""

    ground: Ground
    values: Mapping[str, list[Value]]
    found: RailsFound

    def measure(self, left_s: float) -> Generator[Wave, WaveResult, None]:
        """Give the wave that measures suspects again, if there are any and the time is enough."""
        launches: list[RailLaunch] = []
        rails: list[_Rail] = []
        limit_s = 0.0
        for name, values in self.values.items():
            there = sorted({node for a, b, _ in values for node in (a, b)})
            near = frozenset(pair for each in sample_rounds(there, False) for pair in each)
            rail = _Rail(name, values, self.ground.least.get(name), near)
            self.found.level[name] = rail.level
            self._judge_leaves(rail)
            chosen, slow = self._choose(rail, left_s)
            if not chosen:
                continue
            nodes = tuple(sorted({node for each in chosen for pair in each for node in pair}))
            launches.append(RailLaunch(name, nodes, chosen))
            rails.append(rail)
            limit_s = max(limit_s, self.ground.limit_s(len(nodes), len(chosen) * max(1.0, rail.stretch(slow) / 5)))
        if not launches:
            return
        result = yield Wave("alone", tuple(launches), min(left_s, limit_s))
        for rail, measured in zip(rails, result.measured, strict=True):
            self._judge(rail, measured)

    def _pairs(self, rail: _Rail, slow: Sequence[int]) -> list[Pair]:
        """Return the pairs that show whether these nodes are slow: each with two good nodes, and those together."""
        if len(rail.best) == 2:
            return self._two_nodes(rail)
        if rail.is_low:
            return [(a, b) for a, b, _ in rail.values[:2]]
        good = rail.good
        if slow and len(good) < 2:
            names = self._names(slow)
            self.found.note_doubt(f"{rail.name}: {names} are slow, and no two good nodes are left to compare with")
            return []
        pairs: list[Pair] = []
        for node in slow:
            partners = sorted(good, key=lambda other: min(abs(other - node), len(rail.best) - abs(other - node)))[:2]
            pairs += [*(_order(node, partner) for partner in partners), _order(*partners)]
        return list(dict.fromkeys(pairs))

    def _two_nodes(self, rail: _Rail) -> list[Pair]:
        """Return the only pair if it is slow: by the least of its rail, or by the other rails of the same two nodes."""
        others = [max(best_of(values).values()) for name, values in self.values.items() if name != rail.name]
        if rail.least is None and others:
            rail.least = PREFLIGHT_SHARE.value * statistics.median_high(others)
        if rail.least is None:
            said = "two nodes, one rail and no reference: there is nothing to compare with"
            self.found.unmeasured[rail.name] = said
            return []
        return [rail.values[0][:2]] if rail.level < rail.least else []

    def _choose(self, rail: _Rail, left_s: float) -> tuple[tuple[Round, ...], list[int]]:
        """Return the rounds that measure again what fits into the time, and the nodes that are suspected in them.

        With little time, these are fewer: without slow pairs of good nodes, only the slowest nodes, or each only once.
        """
        every, single = rail.slow, self._single(rail)
        need_s, others = 0.0, self._pairs(rail, every)
        choices = [(every, TIMES_ALONE, single), *((every[:most], TIMES_ALONE, []) for most in (len(every), 8, 4, 2))]
        for slow, times, alone in [*choices, (every[:2], 1, [])]:
            others = self._pairs(rail, slow)
            # Pairs that collided have similar values: they are in different rounds now.
            count = math.ceil(len(alone) / AT_ONCE_ALONE)
            apart = tuple(tuple(alone[start::count]) for start in range(count))
            made = (
                *pack_rounds(others, AT_ONCE_ALONE),
                *(part for each in apart for part in pack_rounds(each)),
            ) * times
            nodes = {node for each in made for pair in each for node in pair}
            held = sum(any(node in pair for pair in each for node in slow) for each in made)
            need_s = self.ground.seconds(len(nodes), len(made) + held * (rail.stretch(slow) - 1))
            if made and need_s <= left_s:
                return made, slow
        if others:
            who = f"{self._names(every)} {_is(every)} slow" if every else "most nodes are slow"
            self.found.note_doubt(
                f"{rail.name}: {who}, but there was no time to measure again ({left_s:.0f} s were left, "
                f"{need_s:.0f} s are needed)"
            )
        elif single:
            names = self.ground.nodes
            said = ", ".join(f"{names[a]}-{names[b]}" for a, b in single)
            self.found.remarks.append(f"{rail.name}: {said} slow at first, and not measured again")
        return (), []

    def _single(self, rail: _Rail) -> list[Pair]:
        """Return the slow pairs of good nodes that are measured again, the slowest first."""
        leaf_of = self.ground.leaf_of
        within = [(a, b) for a, b in rail.slow_pairs if not leaf_of or leaf_of[a] == leaf_of[b]]
        return within[: _MOST_PAIRS if leaf_of else _MOST_ALONE]

    def _judge(self, rail: _Rail, measured: LaunchValues) -> None:
        best: dict[Pair, float] = {}
        for a, b, value in measured.values:
            best[_order(a, b)] = max(value or 0.0, best.get(_order(a, b), 0.0))
        if not best:
            what = f"{self._names(rail.slow)} {_is(rail.slow)}" if rail.slow else "most nodes are"
            if rail.slow or rail.is_low or len(rail.best) == 2:
                why = measured.why or "no value"
                self.found.note_doubt(f"{rail.name}: {what} slow in the sample; measured again: {why}")
        elif len(rail.best) == 2:
            self._judge_two(rail, max(best.values()))
        elif rail.is_low:
            self._judge_all(rail, max(best.values()))
        else:
            self._judge_nodes(rail, best)

    def _judge_two(self, rail: _Rail, value: float) -> None:
        least = rail.least or 0.0
        if value >= least:
            self._note_good(rail, "the only pair", value)
            return
        pair = tuple(rail.best)
        names = "-".join(self.ground.nodes[node] for node in pair)
        said = (
            f"{rail.name} between {names} gives at most {number(value)} MB/s, expected at least {number(least)}; "
            "with two nodes nothing tells which end is at fault"
        )
        self.found.sick.append(SickPart("pair", rail.name, pair, said, controlled=False))

    def _judge_all(self, rail: _Rail, alone: float) -> None:
        least = rail.least or 0.0
        of = f"{rail.name}: most nodes give at most {number(rail.level)} MB/s, expected at least {number(least)}"
        if alone >= least:
            said = f"{of}; two pairs alone give {number(alone)}, so the network between the nodes is too slow or shared"
            self.found.note_doubt(said)
            return
        said = f"{of}, and two pairs alone {number(alone)}: no single node, look at a setting or the network of all"
        self.found.sick.append(SickPart("all", rail.name, tuple(rail.best), said, controlled=False))

    def _judge_nodes(self, rail: _Rail, best: Mapping[Pair, float]) -> None:
        slow = set(rail.slow)
        controls = [value for pair, value in best.items() if not slow & set(pair) and pair not in rail.slow_pairs]
        if slow and max(controls, default=0.0) < rail.bound:
            who = self._names(rail.slow)
            self.found.note_doubt(f"{rail.name}: disturbed: {who} {_is(rail.slow)} slow, and good nodes were, too")
            return
        cleared: list[int] = []
        unknown: list[int] = []
        for node in rail.slow:
            own = {pair: value for pair, value in best.items() if node in pair}
            top = max(own.values(), default=0.0)
            if not own:
                unknown.append(node)
            elif top >= rail.bound:
                cleared.append(node)
            else:
                self._name(rail, node, top, own)
        if unknown:
            self.found.note_doubt(f"{rail.name}: {self._names(unknown)} {_is(unknown)} slow, and not measured again")
        for pair in self._single(rail):
            if best.get(pair, rail.level) < rail.bound:
                said = (
                    f"{rail.name} between {'-'.join(self.ground.nodes[node] for node in pair)} gives "
                    f"{number(best[pair])} MB/s alone; both nodes give {number(rail.level)} with others"
                )
                self.found.sick.append(SickPart("pair", rail.name, pair, said))
        if cleared:
            self._note_good(rail, self._names(cleared), max(rail.best[node] for node in cleared))

    def _name(self, rail: _Rail, node: int, top: float, own: Mapping[Pair, float]) -> None:
        partners = [self.ground.nodes[other] for pair in own for other in pair if other != node]
        of = f"{percent(top / rail.level)} of what other nodes give ({number(rail.level)})"
        said = (
            f"{rail.name} of {self.ground.nodes[node]} gives at most {number(top)} MB/s with {listing(partners)}, {of}"
        )
        self.found.sick.append(SickPart("rail", rail.name, (node,), said))

    def _judge_leaves(self, rail: _Rail) -> None:
        """Say which leaf switches give each other far less than other leaf switches do: their up-links are in doubt."""
        leaf_of, slow = self.ground.leaf_of, set(rail.slow)
        far: dict[tuple[str, ...], list[float]] = {}
        for a, b, value in rail.values if leaf_of else ():
            if leaf_of[a] != leaf_of[b] and not {a, b} & slow and _order(a, b) not in rail.near:
                far.setdefault(tuple(sorted((leaf_of[a], leaf_of[b]))), []).append(value or 0.0)
        means = {leaves: statistics.fmean(values) for leaves, values in far.items() if len(values) > 2}
        for leaves, mean in means.items() if len(means) > 1 else ():
            others = statistics.median_high(value for other, value in means.items() if other != leaves)
            if mean < LEAF_SHARE * others:
                self.found.note_doubt(
                    f"{rail.name}: nodes of {listing(leaves)} give each other {number(mean)} MB/s while all send, "
                    f"others {number(others)}: look at the up-links of both"
                )

    def _note_good(self, rail: _Rail, who: str, value: float) -> None:
        self.found.remarks.append(f"{rail.name}: {who} gave at most {number(value)} MB/s at first, and enough alone")

    def _names(self, nodes: Sequence[int]) -> str:
        return list_nodes([self.ground.nodes[node] for node in nodes])


@dataclass(slots=True)
class _Silent:
    """Finds the nodes that answer nobody over a rail: groups of nodes, then pairs, then each with a good node."""

    ground: Ground
    rail: str
    nodes: tuple[int, ...]
    why: str
    found: RailsFound
    good: list[int] = field(default_factory=list)
    bad: list[tuple[int, ...]] = field(default_factory=list)
    is_settled: bool = False

    def search(self, left_s: float) -> Generator[Wave, WaveResult, float]:
        """Give waves of ever smaller groups; note who is silent, or that it is not known. Return the seconds left."""
        groups = _split(self.nodes)
        if len(self.nodes) == 2:
            return self._give_up(left_s, "with two nodes nothing tells which end is at fault")
        while groups:
            limit_s = self.ground.limit_s(max(map(len, groups)), 1)
            if limit_s > left_s:
                return self._give_up(left_s, "there was no time to find out who is silent")
            launches = tuple(RailLaunch(self.rail, group, (_pairs_of(group),)) for group in groups)
            result = yield Wave("silent", launches, limit_s)
            left_s = result.left_s
            asked, groups = groups, ()
            for group, measured in zip(asked, result.measured, strict=True):
                if any(value is not None for _, _, value in measured.values):
                    self.good += group
                elif len(group) <= _SMALL + 1:
                    self.bad.append(group)
                else:
                    groups = (*groups, *_split(group))
        if not self.bad:
            # All nodes answer: something that is over by now ended the launch, such as a launcher that failed.
            self.is_settled = True
            self.found.remarks.append(f"{self.rail}: a launch gave nothing ({self.why or 'no value'}) and was repeated")
            return left_s
        if not self.good:
            return self._give_up(left_s, f"no pair of nodes answers ({self.why or 'no value'})")
        return (yield from self._each_with_good(left_s))

    def _each_with_good(self, left_s: float) -> Generator[Wave, WaveResult, float]:
        nodes = [node for group in self.bad for node in group]
        # One good partner is enough for one node at a time: two launches with one partner would disturb each other.
        launches = tuple(
            RailLaunch(self.rail, pair, ((pair,),))
            for pair in (_order(node, good) for node, good in zip(nodes, self.good, strict=False))
        )
        limit_s = self.ground.limit_s(2, 1)
        if limit_s > left_s or len(launches) < len(nodes):
            return self._give_up(left_s, f"one of {self._names(nodes)} is silent")
        result = yield Wave("silent", launches, limit_s)
        silent = [
            node
            for node, measured in zip(nodes, result.measured, strict=True)
            if not any(value is not None for _, _, value in measured.values)
        ]
        for node in silent:
            said = (
                f"{self.rail} of {self.ground.nodes[node]} carries nothing with any node within {limit_s:.0f} s; "
                f"{count_of(len(self.good), 'other node')} answer"
            )
            self.found.sick.append(SickPart("rail", self.rail, (node,), said))
            self.found.silent.add(node)
        if silent:
            self.is_settled = True
            return result.left_s
        return self._give_up(result.left_s, f"each of {self._names(nodes)} answers a good node")

    def _give_up(self, left_s: float, why: str) -> float:
        self.found.note_doubt(f"{self.rail}: no round of pairs ended ({self.why or 'no value'}), and {why}")
        return left_s

    def _names(self, nodes: Sequence[int]) -> str:
        return list_nodes([self.ground.nodes[node] for node in nodes])


def _split(nodes: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the nodes in at most sixteen groups of two or more."""
    size = max(2 if len(nodes) <= _SMALL else _SMALL, math.ceil(len(nodes) / _GROUPS))
    groups = [nodes[start : start + size] for start in range(0, len(nodes), size)]
    if len(groups) > 1 and len(groups[-1]) == 1:
        groups[-2:] = [(*groups[-2], *groups[-1])]
    return tuple(groups)


def _pairs_of(group: tuple[int, ...]) -> Round:
    """Return pairs that together have all nodes of a group but, of an odd number, the last one."""
    return tuple(zip(group[::2], group[1::2], strict=False))


def _order(a: int, b: int) -> Pair:
    return (a, b) if a < b else (b, a)


def _is(nodes: Sequence[int]) -> str:
    return "is" if len(nodes) == 1 else "are"
