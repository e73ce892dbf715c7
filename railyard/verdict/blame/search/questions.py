"""The questions of a search: who is measured alone, with which partners, and what the answers leave open."""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace

from railyard.verdict.blame.search import network_faults, sides, single_pairs
from railyard.verdict.blame.search.doubts import Doubts
from railyard.verdict.blame.search.matrix import Shares, gather_repeats
from railyard.verdict.blame.search.model import Layout, Pair, Settings, Step, Suspect, Value
from railyard.verdict.blame.search.network_faults import Check, Crossing
from railyard.verdict.blame.search.sides import Route
from railyard.verdict.blame.search.single_pairs import Answer, Question, State
from railyard.verdict.wording import pair_search as words

#: At most this many suspected nodes are measured alone, the slowest first: more are not faults of single nodes.
NODES_AT_MOST = 64


@dataclass(slots=True)
class Search:
    """What a search knows at some point: what was seen, what is open, and what was answered."""

    layout: Layout
    settings: Settings
    seen: Shares
    doubts: Doubts
    speed: tuple[float, ...]
    steps: list[str]
    good: tuple[int, ...] = ()
    open: tuple[Question, ...] = ()
    routes: tuple[Route, ...] = ()
    crossings: tuple[Crossing, ...] = ()
    checks: tuple[Check, ...] = ()
    answers: dict[tuple[int, ...], Answer] = field(default_factory=dict)
    sides: list[tuple[State, Suspect]] = field(default_factory=list)
    unsettled: tuple[str, ...] = ()
    named: list[Suspect] = field(default_factory=list)
    left_out: list[tuple[int, ...]] = field(default_factory=list)
    examined: set[Pair] = field(default_factory=set)


def ask(search: Search, nodes: Sequence[int], low: Sequence[Pair]) -> None:
    """Open a question for each suspected node and pair, and for a sample of each route, part and level."""
    layout = search.layout
    search.good = _good(layout, search.doubts, low)
    search.crossings = network_faults.crossings(search.doubts.parts)
    search.checks = network_faults.checks(layout, search.seen, search.good, search.settings.slow)
    slowest = sorted(nodes, key=lambda node: search.speed[node])
    search.left_out += [(node,) for node in slowest[NODES_AT_MOST:]]
    for node in slowest[:NODES_AT_MOST]:
        _open(search, (node,))
    open_slow(search, low)
    for crossing in search.crossings:
        search.open += crossing.questions()
    for check in search.checks:
        search.open += check.questions()


def open_slow(search: Search, low: Iterable[Pair]) -> None:
    """Open questions for slow pairs: a sample of those that share a side, and each of the others.

    Pairs of a route that is already named belong to it.
    """
    left = list(low)
    for at, each in enumerate(search.routes):
        own = [pair for pair in left if sides.on_route(search.layout, each, pair)]
        search.routes = (*search.routes[:at], replace(each, pairs=each.pairs + tuple(own)), *search.routes[at + 1 :])
        search.examined |= set(own)
        left = [pair for pair in left if pair not in search.examined]
    found = sides.routes(search.layout, left)
    search.routes += found
    for each in found:
        search.examined |= set(each.pairs)
        for pair in each.sample:
            _open(search, pair)
    on_routes = {pair for each in found for pair in each.pairs}
    open_pairs(search, [pair for pair in left if pair not in on_routes])


def open_pairs(search: Search, pairs: Iterable[Pair]) -> None:
    """Open a question for each of these slow pairs, the slowest first, up to the number that may be measured alone."""
    slowest = sorted(pairs, key=lambda pair: search.seen.rows[pair[0]][pair[1]])
    search.examined |= set(slowest)
    most = search.settings.alone_at_most
    search.left_out += slowest[most:]
    for pair in slowest[:most]:
        _open(search, pair)


def measure(search: Search) -> Generator[Step, Iterable[Value], None]:
    """Measure alone what is open, and answer it; what is unclear for the first time is opened again."""
    asked = search.open
    suspects = [question for question in asked if question.members]
    step = single_pairs.plan(asked, search.settings, words.suspects_alone(len(suspects)))
    values = gather_repeats(search.layout, step, (yield step))
    search.steps.append(describe_step(step))
    found = single_pairs.measure_alone(search.layout, search.seen, asked, values, search.settings.slow)
    crossing = {pair for each in search.crossings for pair in each.pairs}
    search.open = ()
    for question in suspects:
        if question.members in crossing:
            continue
        answer = single_pairs.answer(question, found, search.doubts.sound)
        if answer.state == "unclear" and question.members not in search.answers and question.partners:
            _open(search, question.members, question.partners)
        search.answers[question.members] = answer
    settled = [
        *(network_faults.part(search.layout, found, each) for each in search.crossings),
        *(network_faults.below_expected(search.layout, found, each, search.settings.slow) for each in search.checks),
    ]
    search.named += [suspect for suspect in settled if suspect is not None]
    search.crossings, search.checks = (), ()


def open_routes(search: Search) -> None:
    """Open the other pairs of a route that its sample does not confirm: one of them may be slow by itself."""
    kept = []
    unclear = {question.members for question in search.open}
    for each in search.routes:
        if unclear.isdisjoint(each.sample) and named_route(search, each) is None:
            open_pairs(search, [pair for pair in each.pairs if pair not in each.sample])
        else:
            kept.append(each)
    search.routes = tuple(kept)


def named_route(search: Search, each: Route) -> Suspect | None:
    """Return a route as named if the answers to its sample confirm it."""
    answers = [search.answers[pair] for pair in each.sample]
    slow = [one for answer in answers if answer.state == "named" for one in answer.suspects if one.kind == "pair"]
    return sides.route(search.layout, each, slow)


def describe_step(step: Step) -> str:
    """Return a step in words: ``alone: 6 pairs in 6 rounds, 7 times each``."""
    count = sum(len(each) for each in step.rounds)
    return words.step(step.name, count, len(step.rounds), step.repeats)


def _open(search: Search, members: tuple[int, ...], used: Iterable[int] = ()) -> None:
    search.open += (Question(members, single_pairs.partners(search.layout, search.seen, members, search.good, used)),)


def _good(layout: Layout, found: Doubts, low: Iterable[Pair]) -> tuple[int, ...]:
    """Return the nodes that are not in doubt: those without a slow pair first, each side's first before any second."""
    busy = {node for pair in low for node in pair}
    place: dict[str, int] = {}
    order = []
    for node in range(len(layout.nodes)):
        side = layout.sides[node] if layout.sides else ""
        place[side] = place.get(side, -1) + 1
        if found.speed[node] == 1 and side not in found.sides:
            order.append((node in busy, place[side], node))
    return tuple(node for _, _, node in sorted(order))
