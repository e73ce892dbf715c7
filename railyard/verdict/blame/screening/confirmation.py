"""How suspects are confirmed: nodes and pairs with good partners, then up-links, then the parts of named nodes.

The sample, and what is measured again: all nodes at once, then slow pairs in ever thinner rounds.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from railyard.base.numbers import quantile
from railyard.verdict.blame.screening import whole_leaves
from railyard.verdict.blame.screening.knowledge import Given, Knowledge
from railyard.verdict.blame.screening.model import Kind, Suspect
from railyard.verdict.blame.screening.plan import LEAST, Planner
from railyard.verdict.blame.screening.promise import OF_A_LEAF
from railyard.verdict.blame.screening.suspects import (
    AnyQuestion,
    able_of,
    answer,
    fit_rounds,
    keeps_apart,
    of_node,
    of_pair,
    pairs_beyond,
    questions_of,
    read_sample,
    slow_pairs,
    upper_of,
)
from railyard.verdict.blame.screening.values import Leaves, Rows, join_rows, levels_of, present_members, relative
from railyard.verdict.blame.screening.whole_leaves import Paths
from railyard.verdict.blame.search import sides, single_pairs
from railyard.verdict.blame.search.doubts import SLOWER_THAN_ITS_SIDE
from railyard.verdict.blame.search.model import Packing, Pair, Part, PartKind, Round, Step, StepName
from railyard.verdict.blame.search.single_pairs import Question, SinglePairs
from railyard.verdict.wording import screening as words

#: How many nodes of a leaf send at once when slow pairs are measured again, each time fewer.
AT_ONCE = (4, 1, 1)
#: At most this many pairs are not sifted again: they are measured alone.
FEW = 12

Steps = Generator[Step, Given, None]


def sample(known: Knowledge, first: Step | None) -> Steps:
    """Measure the first sample, and what follows it: whole leaves again, or single nodes where whole leaves collide."""
    there = len(known.gone)
    planner = Planner(known.leaves, present_members(known.leaves, known.gone), known.settings.seed)
    yield from _take_step(known, first or _first(known, planner))
    if first is None and known.seen is not None:
        if len(known.gone) > there:
            planner = Planner(known.leaves, present_members(known.leaves, known.gone), known.settings.seed + 1)
        step = _more_rounds(known, planner)
        if step.rounds:
            yield from _take_step(known, step)


def measure_slow_again(
    known: Knowledge, low: Sequence[tuple[float, Pair]], turns: Sequence[int] = AT_ONCE
) -> Generator[Step, Given, list[tuple[float, Pair]]]:
    """Measure slow pairs again, the slowest first and in thinner rounds each time, and return those that stay slow.

    The best value of a pair counts. Pairs for which there is no room are left out, and noted.
    """
    low = [one for one in low if not _of_named_leaf(known, *one)]
    room = min(known.plan.again, known.rest - known.reserve)
    for turn, at_once in enumerate(turns):
        if not low or room < 1 or (turn and len(low) <= FEW):
            break
        last = turn + 1 == len(turns)
        packing = Packing(most=room if last else max(1, room // 2), needs=_needs(known, at_once))
        placed = [one for one in low if packing.place((one[1],))]
        again_ = set(placed)
        known.left += [one for one in low if one not in again_]
        if not turn:
            known.sifted += [(*one, one in again_) for one in low]
        why = words.why_again(len(low), len(placed), at_once)
        step = Step("again", packing.rounds(), 1, why)
        room -= len(step.rounds)
        low = _remaining_slow_pairs(known, placed, (yield from known.ask(step)))
    return low


def _of_named_leaf(known: Knowledge, share: float, pair: Pair) -> bool:
    """Return whether a pair across leaves is not slower than a named leaf at one of its ends."""
    one, other = (known.leaves.names[int(known.leaves.of[node])] for node in pair)
    named = [each.share for each in known.answered.named if each.kind == "leaf" and {one, other} & set(each.leaves)]
    return one != other and bool(named) and share >= SLOWER_THAN_ITS_SIDE * min(named)


def _first(known: Knowledge, planner: Planner) -> Step:
    plan = known.plan
    if known.leaves.known:
        made = [*planner.home(plan.home - 1), *planner.full(plan.full), *planner.thin(plan.thin), *planner.home(1)]
    else:
        made = [*planner.home(plan.home + plan.full), *planner.thin(plan.thin)]
    return Step("sample", tuple(made), 1, words.why_sample(known.leaves.known))


def _more_rounds(known: Knowledge, planner: Planner) -> Step:
    """Return what follows the first sample: rounds as full as the first ones, if these hardly collided."""
    found, plan = known.sample_view, known.plan
    values = len(known.leaves.of) // 2
    count = min(plan.more, max(0, (known.settings.pairs_at_most - len(found.rows.a)) // max(1, values)))
    if keeps_apart(found):
        many = planner.full if known.leaves.known else planner.home
    else:
        many, count = planner.thin, plan.more
    made: list[Round] = list(many(count))
    if made and known.leaves.known:
        made = [*made[:-1], *planner.home(1)] or made
    return Step("sample", tuple(made), 1, words.why_more(keeps_apart(found)))


def _take_step(known: Knowledge, step: Step) -> Steps:
    """Measure a step of the sample, and look at the whole sample again."""
    known.rows.append((yield from known.ask(step)))
    known.drop(known.silent())
    rows = join_rows(known.rows)
    levels = levels_of(known.leaves, rows)
    if levels is None:
        known.seen = None
        return
    known.seen = read_sample(known.leaves, levels, rows, known.settings)
    known.speed = known.sample_view.speed


def _needs(known: Knowledge, at_once: int) -> Callable[[Pair], tuple[int, ...]]:
    """Return what a pair needs besides its nodes: one of so many places of each leaf, or of all where none is known."""
    if not known.leaves.known:
        places = max(1, len(known.leaves.of) // 32) * at_once
        return lambda pair: (len(known.leaves.of) + sum(pair) % places,)
    count = len(known.leaves.of)

    def needs(pair: Pair) -> tuple[int, ...]:
        # the other node decides the place, so that pairs that met are unlikely to meet again
        own = known.leaves.needs(pair)
        places = (pair[1] % at_once, pair[0] % at_once)
        return tuple(count + (need - count) * at_once + place for need, place in zip(own, places, strict=False))

    return needs


def _remaining_slow_pairs(
    known: Knowledge, pairs: Iterable[tuple[float, Pair]], rows: Rows
) -> list[tuple[float, Pair]]:
    """Return the pairs whose best value is slow still, the slowest first; those without a new value stay."""
    able = able_of(known.speed, rows)
    share = relative(known.leaves, known.levels, rows) / np.where(able > 0, able, np.inf)
    new: dict[Pair, float] = {}
    for a, b, one in zip(rows.a.tolist(), rows.b.tolist(), share.tolist(), strict=True):
        new[a, b] = max(one, new.get((a, b), 0.0))
    kept = []
    for old, pair in pairs:
        best = max(old, new.get(pair, 0.0))
        far = known.leaves.of[pair[0]] != known.leaves.of[pair[1]]
        if best < (known.sample_view.bounds.far if far else known.sample_view.bounds.near):
            kept.append((best, pair))
    return sorted(kept)


#: How often a suspect is measured while all other nodes rest, by how much room there is.
_ONE_BY_ONE = (5, 3)
#: This part of the rounds that are left is kept for that.
_PART_ALONE = 6
#: If nothing could be measured alone, more suspects than this, and than one for so many nodes, are hardly slow at once.
MOST_SUSPECTS, MOST_OF = 4, 8
#: What one rail alone gave, for each of them.
ByPart = Mapping[Part, tuple[SinglePairs, Mapping[Pair, Sequence[float]]]]


@dataclass(frozen=True, slots=True)
class PartAnswers:
    """The parts of a node that are slow with both partners, good with both, and those that are undecided."""

    slow: tuple[Part, ...]
    good: tuple[Part, ...]
    untold: tuple[Part, ...]


#: About how many rounds each rail and GPU path of the named nodes takes.
_ROUNDS_OF_A_PART = 15
#: The step in which parts of a kind are measured, and what a sentence calls them.
_STEP_OF: Mapping[PartKind, StepName] = {"rail": "rails", "gpu path": "gpu paths"}


def suspects(known: Knowledge, turns: int = 2) -> Steps:
    """Measure nodes and pairs in doubt with good partners; unclear ones once more, with other partners."""
    known.low = yield from measure_slow_again(known, slow_pairs(known.leaves, known.sample_view, known.speed))
    known.low = sorted([*pairs_beyond(known.leaves, known.sample_view), *known.low])
    open_nodes = list(known.sample_view.nodes) + _nodes_of_cleared_leaves(known)
    open_pairs = _clearest_first(known, [pair for _, pair in known.low])
    known.reserve = _for_parts(known, open_nodes)
    kept = (known.rest - known.reserve) // _PART_ALONE if known.leaves.known and known.rest >= LEAST else 0
    known.reserve += kept
    examined: set[Pair] = set()
    paths = Paths()
    checks = sides.checks(known.leaves.layout, known.levels, known.good().in_order(), known.settings.slow)
    for turn in range(turns):
        open_nodes = [node for node in open_nodes if node not in known.gone]
        open_pairs = [pair for pair in open_pairs if known.gone.keys().isdisjoint(pair)]
        good = known.good(node for pair in open_pairs for node in pair)
        asked: list[AnyQuestion] = [
            of_node(known.leaves, node, good, _used_partners(known, (node,))) for node in open_nodes
        ]
        chosen = _few_of_a_leaf(known, open_pairs)
        asked += [of_pair(known.leaves, pair, good, known.plan.neighbours) for pair in chosen]
        if turn == 0:
            asked = [*(question for check in checks for question in check.questions()), *asked]
        if not asked:
            break
        unclear = yield from _ask_questions(known, asked, paths, checks if turn == 0 else ())
        examined |= set(chosen)
        cleared = [one.members[0] for one in known.answered.cleared if one.kind == "node"]
        cleared = [node for node in cleared if known.speed[node] < 1]
        open_nodes = [one.members[0] for one in unclear if len(one.members) == 1]
        open_pairs = [pair for pair in open_pairs if pair not in examined]
        open_pairs += [one.members for one in unclear if len(one.members) == 2]
        if cleared:
            open_pairs += yield from _confirm_cleared(known, cleared, examined)
        settled = {leaf for key in paths.routes for leaf in key}
        ends = known.leaves.of
        open_pairs = [pair for pair in open_pairs if not {int(ends[node]) for node in pair} & settled]
        if not open_nodes and not open_pairs:
            break
    known.reserve -= kept
    yield from _measure_one_by_one(known, paths)
    yield from _up_links(known, paths, open_pairs)


def _measure_one_by_one(known: Knowledge, paths: Paths) -> Steps:
    """Measure the slow nodes, pairs and paths again while all other nodes rest; those that are good then are not named.

    Suspects were measured with others that share no leaf, or are of other groups. But if the leaves are not those of
    the network, or a route leads over a third group, their streams share links all the same in each repeat, and healthy
    ones look slow. Those for which there is no room are taken to be like the others: they are named unless one of the
    others was good, or none could be measured and they are many. Pairs between groups are not named then.
    """
    if not known.leaves.known:
        return  # Each of them was measured alone.
    known.answered.named = list(dict.fromkeys(known.answered.named))
    slowest = {key: min(routes, key=lambda each: each.share) for key, routes in paths.routes.items()}
    of_named = {one: _stream_of(known, one) for one in known.answered.named if one.kind in ("node", "pair")}
    streams = {route.pair: (route.share, route.expected) for route in slowest.values()}
    streams |= {pair: (one.share, one.expected) for one, pair in of_named.items() if pair is not None}
    slow = yield from _slow_alone(known, streams)
    known.answered.shared = sum(
        not slow.get(pair, True) and not known.leaves.are_between_groups(pair) for pair in streams
    )
    if known.answered.shared:
        doubtful = [one for one in known.answered.named if one.kind == "leaf"]
        known.answered.named = [one for one in known.answered.named if one not in doubtful]
        known.answered.unclear += [replace(one, reason=words.uncertain_leaf(one.reason)) for one in doubtful]
    are_like = all(slow.values()) if slow else len(streams) <= max(MOST_SUSPECTS, len(known.leaves.of) // MOST_OF)
    for one, pair in of_named.items():
        if pair is not None:
            between = known.leaves.are_between_groups(one.members)
            if not slow.get(pair, are_like and not between):
                known.answered.named.remove(one)
                say = words.not_one_by_one if between else words.not_alone
                known.answered.unclear.append(replace(one, reason=say(one.reason, pair in slow)))
    for key, route in slowest.items():
        # Slow paths between groups show no up-link of a leaf: the links between groups are there, too.
        between = known.leaves.are_between_groups(route.pair)
        if not between and slow.get(route.pair, are_like):
            continue
        for each in paths.routes.pop(key):
            why = words.slow_between_groups(each.words) if between else words.not_alone(each.words, route.pair in slow)
            open_ = Suspect("pair", each.pair, each.share, each.expected, why, values=each.values)
            known.answered.unclear.append(open_)


def _stream_of(known: Knowledge, one: Suspect) -> Pair | None:
    """Return the pair that shows alone whether a node or a pair is slow; None if a node has no good partner."""
    if len(one.members) == 2:
        return one.members[0], one.members[1]
    asked = known.answered.questions.get(one.members)
    partners = asked.partners if asked else of_node(known.leaves, one.members[0], known.good()).partners
    return (min(one.members[0], partners[0]), max(one.members[0], partners[0])) if partners else None


def _slow_alone(
    known: Knowledge, streams: Mapping[Pair, tuple[float, float]]
) -> Generator[Step, Given, dict[Pair, bool]]:
    """Measure streams one at a time, as many as there is room for, and return whether each is slow.

    Those that were alone in their rounds before are slow as they were then. Each stream has the share that it gave
    before, and what is expected. It is slow if it gives less than midway between both: one that shared a link gave half
    or less, and gives all of it alone.
    """
    room = known.rest - known.reserve
    room = max(room // 2, min(room, LEAST))
    before = dict.fromkeys(streams.keys() & known.answered.alone, True)
    asked = [pair for pair in streams if pair not in before]
    repeats = next((each for each in _ONE_BY_ONE if each * len(asked) <= room), _ONE_BY_ONE[-1])
    chosen = asked[: max(0, room // repeats)]
    if not chosen:
        return before
    step = Step("again", tuple((pair,) for pair in chosen), repeats, words.why_one_by_one(len(asked)))
    found = known.lists((yield from known.ask(step)))
    alone = {pair: quantile(sorted(values), upper_of(len(values))) for pair, values in found.items()}
    return before | {pair: value < (1 + streams[pair][0]) / 2 * streams[pair][1] for pair, value in alone.items()}


def parts_of_nodes(known: Knowledge) -> Steps:
    """Measure each rail of the named nodes alone, and if none is slow, each GPU's path."""
    known.answered.named = list(dict.fromkeys(known.answered.named))
    nodes = list({one.members: one for one in known.answered.named if one.kind == "node"}.values())
    network = known.network
    if not network.rails or len(network.rails) + len(network.gpus) < 2:
        return
    kinds: tuple[tuple[PartKind, tuple[str, ...]], ...] = (("rail", network.rails), ("gpu path", network.gpus))
    for kind, names in kinds:
        chosen = [one for one in nodes if one.members in known.answered.questions and one.share > 0]
        if not names or not chosen:
            return
        nodes = yield from _by_part(known, chosen, kind, names)


def _confirm_cleared(
    known: Knowledge, cleared: Sequence[int], examined: Set[Pair]
) -> Generator[Step, Given, list[Pair]]:
    """Return the pairs of cleared nodes that stay slow: their node no longer explains them."""
    known.clear(cleared)
    found = slow_pairs(known.leaves, known.sample_view, known.speed)
    own = [one for one in found if set(one[1]) & set(cleared) and one[1] not in examined]
    low = yield from measure_slow_again(known, own, AT_ONCE[-1:])
    known.low += low
    return [pair for _, pair in low]


def _nodes_of_cleared_leaves(known: Knowledge) -> list[int]:
    """Return the slow nodes of leaves that were in doubt but are not named: the leaf does not explain them."""
    named = {name for one in known.answered.named if one.kind == "leaf" for name in one.leaves}
    found = []
    for leaf in known.sample_view.leaves:
        if known.leaves.names[leaf] not in named:
            nodes = known.leaves.members[leaf]
            found += [int(node) for node in nodes[known.speed[nodes] < 1] if node not in known.sample_view.nodes]
    return [node for node in found if node not in known.gone]


def _clearest_first(known: Knowledge, pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs: first those of nodes that are slow beyond their leaf, last those of nodes in doubt."""
    beyond = set(known.sample_view.beyond)
    return sorted(pairs, key=lambda pair: (bool((known.speed[list(pair)] < 1).any()), not beyond & set(pair)))


def _used_partners(known: Knowledge, members: tuple[int, ...]) -> frozenset[int]:
    """Return the partners that a suspect already had."""
    before = known.answered.questions.get(members)
    return frozenset(before.partners) if before else frozenset()


def _few_of_a_leaf(known: Knowledge, pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs to ask about: only some of each leaf's pairs across leaves."""
    taken: dict[int, int] = {}
    chosen = []
    for pair in pairs:
        ends = {int(known.leaves.of[node]) for node in pair}
        if len(ends) == 2 and any(taken.get(leaf, 0) >= OF_A_LEAF for leaf in ends):
            continue
        for leaf in ends:
            taken[leaf] = taken.get(leaf, 0) + 1
        chosen.append(pair)
    return chosen


def _ask_questions(
    known: Knowledge, asked: Sequence[AnyQuestion], paths: Paths, checks: Sequence[sides.Check]
) -> Generator[Step, Given, list[Suspect]]:
    """Measure what is asked and answer it; return what is unclear."""
    room = known.rest - known.reserve
    rounds, repeats, fit, left = fit_rounds(known.leaves, asked, known.plan.repeats, room)
    _note_asked(known, asked, fit)
    known.answered.unclear += [_excluded_suspect(known, one.members) for one in left if one.members]
    if not rounds:
        return []
    known.repeats = repeats
    count = sum(bool(one.members) for one in fit)
    known.answered.alone |= {pair for each in rounds if len(each) == 1 for pair in each}
    rows = yield from known.ask(Step("suspects", rounds, repeats, words.why_suspects(count)))
    values = known.lists(rows)
    found = _measure_alone(known, fit, values, repeats)
    _check_classes(known, checks, found, values)
    # Pairs of a class that are all slower than healthy ones in the sample, as between two groups whose link is slow,
    # would clear each other. Something else may have disturbed them all, so they name nobody either.
    by_sample = replace(found, controls={hops: share for hops, share in found.controls.items() if share >= found.bound})
    sound = frozenset(np.flatnonzero(known.sample_view.home >= known.sample_view.bounds.home).tolist())
    unclear: list[Suspect] = []
    for one in fit:
        if not one.members:
            continue
        state, suspects_, slow_routes = answer(known.leaves, one, found, values, sound)
        if state == "cleared":
            other, slow, _ = answer(known.leaves, one, by_sample, values, sound)
            if other != "cleared":
                state, suspects_ = "unclear", slow
        paths.add(slow_routes)
        if isinstance(one, Question) and len(one.members) == 1:
            known.answered.questions[one.members] = one
        if not slow_routes:
            known.answered.add(state, suspects_)
            unclear += suspects_ if state == "unclear" else ()
    return unclear


def _note_asked(known: Knowledge, asked: Sequence[AnyQuestion], fit: Sequence[AnyQuestion]) -> None:
    """Note who was asked about, and for whom there was room."""
    fitting_ = {one.members for one in fit}
    shares = {pair: share for share, pair in known.low}
    for one in asked:
        if len(one.members) == 1:
            known.count("node", [(float(known.speed[one.members[0]]), one.members in fitting_)])
        elif one.members:
            pair = (one.members[0], one.members[1])
            known.count("pair", [(shares.get(pair, 1.0), one.members in fitting_)])


def _check_classes(
    known: Knowledge,
    checks: Sequence[sides.Check],
    found: single_pairs.SinglePairs,
    values: Mapping[Pair, Sequence[float]],
) -> None:
    """Name all pairs of a class if good ones alone are below the expected value."""
    for check in checks:
        if all(pair in values for pair in check.pairs):
            below = sides.whole_class_below(known.leaves.layout, found, check, known.settings.slow)
            if below is not None:
                known.answered.named.append(Suspect("all", below.members, below.share, below.expected, below.reason))


def _for_parts(known: Knowledge, nodes: Sequence[int]) -> int:
    """Return the rounds that are kept for the parts of nodes that may be named."""
    count = len(known.network.rails) + len(known.network.gpus)
    return min(3 * known.rest // 5, _ROUNDS_OF_A_PART * count) if count > 1 and nodes else 0


def _excluded_suspect(known: Knowledge, members: tuple[int, ...]) -> Suspect:
    names = "-".join(known.leaves.layout.nodes[node] for node in members)
    reason = words.no_room_for_partners(names)
    level = known.levels.level(known.leaves.layout, members[0], members[-1]).value
    if len(members) == 1:
        return Suspect("node", members, float(known.speed[members[0]]), level, reason)
    share = next((share for share, pair in known.low if pair == members), 1.0)
    return Suspect("pair", members, share, level, reason)


def _up_links(known: Knowledge, paths: Paths, rest: Sequence[Pair]) -> Steps:
    """Decide at which leaf each slow path's up-link is, and name it; it explains slow pairs of these leaves."""
    paths.by_routes(known.network, known.leaves, known.sample_view)
    paths.by_nodes(known.sample_view.beyond)
    paths.by_company(known.leaves, known.low)
    open_ = paths.open()
    if open_:
        good = known.good(node for pair in rest for node in pair)
        without = {int(known.leaves.of[node]) for _, pair in known.low for node in pair}
        room = known.rest - known.reserve
        made, rounds = whole_leaves.traces(known.leaves, open_, good, tuple(without), known.network.up_links, room)
        if made:
            why = words.why_traced(len(made))
            rows = yield from known.ask(Step("trace", rounds, 1, why))
            slow = _slow_streams(known, rows)
            slow = yield from _measure_again(known, slow, known.rest - known.reserve)
            whole_leaves.settle(paths, made, slow)
    named = whole_leaves.suspects_of_leaves(known.network, known.leaves, paths)
    known.answered.named += named
    explained = {pair for pair in rest if whole_leaves.of_leaf(known.leaves, named, pair)}
    known.answered.unclear += [_excluded_suspect(known, pair) for pair in rest if pair not in explained]
    known.answered.unclear = [
        one
        for one in known.answered.unclear
        if one.kind != "pair" or not whole_leaves.of_leaf(known.leaves, named, (one.members[0], one.members[1]))
    ]


def _slow_streams(known: Knowledge, rows: Rows) -> dict[Pair, bool]:
    bound, layout = known.sample_view.bounds.far, known.leaves.layout
    return {
        pair: max(values) < bound * known.levels.level(layout, *pair).value
        for pair, values in known.lists(rows).items()
    }


def _measure_again(known: Knowledge, slow: dict[Pair, bool], room: int) -> Generator[Step, Given, dict[Pair, bool]]:
    """Measure slow streams again: a stream that is good once is good."""
    pairs = [pair for pair, is_slow in slow.items() if is_slow]
    rounds, repeats, fit, _ = fit_rounds(known.leaves, [Question(pair, ()) for pair in pairs], (3, 1), room)
    if not fit:
        return slow
    rows = yield from known.ask(Step("trace", rounds, repeats, words.why_streams_again(len(pairs))))
    return slow | _slow_streams(known, rows)


def _by_part(
    known: Knowledge, nodes: Sequence[Suspect], kind: PartKind, names: Sequence[str]
) -> Generator[Step, Given, list[Suspect]]:
    """Measure each part alone, and replace nodes by their slow parts; return the nodes without a slow part."""
    asked = [one for one in (known.answered.questions[node.members] for node in nodes) if len(one.partners) == 2]
    steps_left = len(names) + (len(known.network.gpus) if kind == "rail" else 0)
    rounds, repeats, fit, left = fit_rounds(known.leaves, asked, (5, 3), known.rest // steps_left)
    by_members = {one.members: one for one in nodes}
    placed = {one.members for one in fit}
    known.count(kind, [(by_members[one.members].share, one.members in placed) for one in asked])
    what = words.rails_or_paths(kind == "gpu path")
    for one in left:
        node = by_members[one.members]
        why = words.no_room_for_parts(node.reason, what)
        _put(known, node, (replace(node, reason=why),))
    if not fit:
        return []
    known.part_repeats = repeats
    measured: dict[Part, tuple[single_pairs.SinglePairs, Mapping[Pair, Sequence[float]]]] = {}
    for name in names:
        step = Step(_STEP_OF[kind], rounds, repeats, words.why_parts(what, len(fit)), Part(kind, name))
        values = known.lists((yield from known.ask(step)))
        measured[Part(kind, name)] = (_measure_alone(known, fit, values, repeats), values)
    unexplained: list[Suspect] = []
    for one in fit:
        node = by_members[one.members]
        blamed = in_place_of(known.leaves, node, one, measured, names)
        _put(known, node, blamed)
        if len(read_parts(one, measured).good) == len(names):
            unexplained += blamed
    return unexplained


def _measure_alone(
    known: Knowledge, asked: Sequence[AnyQuestion], values: Mapping[Pair, Sequence[float]], repeats: int
) -> single_pairs.SinglePairs:
    return single_pairs.measure_alone(
        known.leaves.layout, known.levels, questions_of(asked), values, known.settings.slow, upper_of(repeats)
    )


def _put(known: Knowledge, node: Suspect, blamed: Sequence[Suspect]) -> None:
    """Replace a named node by suspects."""
    place = known.answered.named.index(node)
    known.answered.named[place : place + 1] = blamed


def read_parts(question: Question, measured: ByPart) -> PartAnswers:
    """Return what each part of a node showed alone; the partners must be good with one another over it."""
    found: dict[str, list[Part]] = {"slow": [], "good": [], "untold": []}
    for part, (alone, values) in measured.items():
        found[_state(question, alone, values)].append(part)
    return PartAnswers(tuple(found["slow"]), tuple(found["good"]), tuple(found["untold"]))


def in_place_of(
    leaves: Leaves, node: Suspect, question: Question, measured: ByPart, every: Sequence[str]
) -> tuple[Suspect, ...]:
    """Return the slow parts instead of their node; the node itself, with what was seen, if none or most are slow.

    If most parts are slow, what they share is at fault, and the measurement may have missed it in one of them.
    """
    found = read_parts(question, measured)
    kind = next(iter(measured)).kind if measured else "rail"
    what = words.rail_or_path(kind != "rail")
    open_ = len(found.slow) + len(found.untold)
    if found.untold and len(found.good) < open_:
        return (replace(node, reason=words.undecided_part(node.reason, what)),)
    if not found.slow:
        return (replace(node, reason=words.no_slow_part(node.reason, what, not found.untold)),)
    if kind == "rail" and len(every) == 1:
        return (replace(node, reason=words.slow_from_host(node.reason, every[0])),)
    if 2 * len(found.slow) > len(every) > 1:
        return (replace(node, reason=words.slow_parts(node.reason, len(found.slow), len(every), what)),)
    return tuple(_of(leaves, node, question, part, measured[part][0]) for part in found.slow)


def _state(question: Question, alone: SinglePairs, values: Mapping[Pair, Sequence[float]]) -> str:
    node = question.members[0]
    if len(question.partners) < 2 or any(pair not in values for pair in question.pairs()):
        return "untold"
    slow = {alone.slow(node, partner) for partner in question.partners}
    if len(slow) > 1 or alone.slow(*question.partners):
        return "untold"
    return "slow" if slow.pop() else "good"


def _of(leaves: Leaves, node: Suspect, question: Question, part: Part, alone: SinglePairs) -> Suspect:
    name, layout = node.members[0], leaves.layout
    kind: Kind = part.kind
    values = [(alone.value(name, partner), layout.nodes[partner]) for partner in question.partners]
    share = max(alone.share(name, partner) for partner in question.partners)
    expected = alone.expected_mb_s(name, question.partners[0])
    reason = words.slow_part(part.name, layout.nodes[name], values, expected, layout.unit, share, part.kind != "rail")
    return Suspect(kind, node.members, share, expected, reason, part.name, (), node.values)
