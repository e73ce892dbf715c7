"""A screening of many nodes: what to measure next within a budget, and the verdict with its coverage."""

from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import replace

from railyard.verdict.blame.screening import confirmation, whole_leaves
from railyard.verdict.blame.screening.knowledge import Given, Knowledge
from railyard.verdict.blame.screening.model import (
    Budget,
    BudgetError,
    Coverage,
    Network,
    Promise,
    ScreeningVerdict,
    Settings,
    Suspect,
)
from railyard.verdict.blame.screening.plan import LEAST, shares
from railyard.verdict.blame.screening.promise import MadeSteps, coverage, promises
from railyard.verdict.blame.screening.values import leaves_of
from railyard.verdict.blame.search.model import Step
from railyard.verdict.blame.search.search import replay_steps
from railyard.verdict.wording import screening as words

_USUAL = Settings()
#: The most steps of a screening, besides one for each part of a node: two samples, the leaves, slow pairs again three
#: times, suspects twice with the pairs of cleared suspects after each time, suspects one by one, and two traces of
#: up-links. If groups are known, one more measures leaves within their group.
STEPS = 13
_NOBODY: Mapping[int, str] = {}


#: An up-link at half its rate makes a leaf of six or more up-links no slower than this: a third of its pairs use it.
_BY_ONE = 0.75

#: Pairs of a suspect with two partners, which have to be measured one after another.
_ROUNDS_OF_A_SUSPECT = 3


def advance(
    network: Network,
    budget: Budget,
    results: Sequence[Given] = (),
    settings: Settings = _USUAL,
    first: Step | None = None,
    absent: Mapping[int, str] = _NOBODY,
) -> Step | ScreeningVerdict:
    """Return the next step to measure, or the verdict, from the results of all steps so far, in their order.

    Nothing is kept between calls, so the same call judges a stored run. The arguments are those of ``screen``. Raises
    BudgetError, PairsError for values of pairs that were not asked for or that are not bandwidths, and ValueError for
    more results than steps.
    """
    return replay_steps(screen(network, budget, settings, first, absent), results, "screening")


def screen(
    network: Network,
    budget: Budget,
    settings: Settings = _USUAL,
    first: Step | None = None,
    absent: Mapping[int, str] = _NOBODY,
) -> Generator[Step, Given, ScreeningVerdict]:
    """Give the steps one after another, take what each gave (``send``), and return the verdict.

    ``first`` is a first sample that was planned elsewhere (a nightly one, or groups of nodes as they came free). It is
    then the whole sample, and its rounds count. ``absent`` has the nodes that are not there, each with the reason.
    Raises BudgetError if the budget is too small for a sample and one suspect.
    """
    leaves = leaves_of(network.layout)
    parts = len(network.rails) + len(network.gpus)
    steps = STEPS + bool(network.layout.groups) + (parts if parts > 1 else 0)
    rounds = budget.rounds(steps)
    if first is None and rounds < LEAST:
        raise BudgetError(_too_small(budget, steps))
    known = Knowledge(
        network, leaves, settings, shares(max(LEAST, rounds), settings.repeats, parts), rounds, dict(absent)
    )
    there = len(leaves.of) - len(known.gone)
    if there < 2:
        return empty_verdict(known, words.too_few_nodes(there, len(leaves.of)))
    yield from confirmation.sample(known, first)
    if known.seen is None:
        return empty_verdict(known, words.no_result(there))
    yield from whole_leaves.confirm(known)
    within = yield from whole_leaves.measure_within_groups(known)
    yield from confirmation.suspects(known)
    yield from confirmation.parts_of_nodes(known)
    known.answered.named = whole_leaves.in_place_of_leaves(known, within)
    whole_leaves.name_paths(known)
    return sum_up(known)


def _too_small(budget: Budget, steps: int) -> str:
    least = LEAST * budget.round_s + steps * budget.step_s
    rounds = budget.rounds(steps)
    return words.too_short_budget(budget.seconds, rounds, budget.round_s, steps, bool(budget.step_s), LEAST, least)


def sum_up(known: Knowledge) -> ScreeningVerdict:
    """Return the verdict of a screening that has nothing open."""
    away = [one for one in known.answered.named if _went_away(known, one)]
    named = _without_duplicates(
        one for one in known.answered.named if one not in away and not _one_up_link(one, known.answered.named)
    )
    known.answered.unclear = [one for one in known.answered.unclear if not _went_away(known, one)]
    known.answered.unclear += [replace(one, reason=words.went_away(one.reason)) for one in away]
    by_members = {one.members for one in named}
    cleared = _without_duplicates(one for one in known.answered.cleared if one.members not in by_members)
    settled = by_members | {one.members for one in cleared}
    unclear = _without_duplicates(one for one in known.answered.unclear if one.members not in settled)
    covered = coverage(known.network, known.leaves, known.every(), known.gone)
    promised = promises(known.network, known.leaves, known.sample_view, _steps_made(known), known.settings)
    not_seen = _not_looked_at(known)
    levels = known.levels.levels
    said = [one.reason for one in named[: words.MOST_TOLD]]
    said += [words.more_named(len(named) - words.MOST_TOLD)] if len(named) > words.MOST_TOLD else []
    undecided = words.say_undecided(_names(known, unclear), unclear[0].reason) if unclear else ""
    rest = _sentence_besides(known, named, cleared, covered, promised)
    return ScreeningVerdict(
        named,
        cleared,
        unclear,
        levels,
        tuple(known.steps),
        covered,
        promised,
        not_seen,
        known.spent,
        known.allowed,
        known.measurements,
        "; ".join(filter(None, [*said, undecided, rest])),
        rest,
        undecided,
        known.answered.shared,
    )


def empty_verdict(known: Knowledge, why: str) -> ScreeningVerdict:
    """Return the verdict if no pair gave a result, or fewer than two nodes are there: it names and promises nothing."""
    covered = coverage(known.network, known.leaves, known.every(), known.gone)
    steps = tuple(known.steps)
    sentence = f"{why}; {_coverage_words(known, covered)}"
    return ScreeningVerdict(
        (), (), (), (), steps, covered, (), (why,), known.spent, known.allowed, known.measurements, sentence, sentence
    )


def _steps_made(known: Knowledge) -> MadeSteps:
    """Return what the steps after the sample were, or would have been for one suspect."""
    plan = known.plan
    repeats = known.repeats or next(
        (each for each in plan.repeats if each * _ROUNDS_OF_A_SUSPECT <= known.rest), plan.repeats[-1]
    )
    needs = {
        "node": repeats * _ROUNDS_OF_A_SUSPECT,
        "pair": repeats * (2 * plan.neighbours + 4),
        "leaf": plan.leaf_rounds,
        "rail": len(known.network.rails) * _ROUNDS_OF_A_SUSPECT * 3,
        "gpu path": (len(known.network.rails) + len(known.network.gpus)) * _ROUNDS_OF_A_SUSPECT * 3,
    }
    return MadeSteps(
        repeats,
        known.part_repeats or 3,
        plan.neighbours,
        plan.leaf_rounds,
        known.sifted,
        known.asked,
        {kind: known.rest >= rounds for kind, rounds in needs.items()},
    )


def _without_duplicates(suspects: Iterable[Suspect]) -> tuple[Suspect, ...]:
    """Return suspects without duplicates, keeping the first."""
    found: dict[tuple[str, tuple[int, ...], str | None], Suspect] = {}
    for one in suspects:
        found.setdefault((one.kind, one.members, one.part), one)
    return tuple(found.values())


def _one_up_link(one: Suspect, named: Sequence[Suspect]) -> bool:
    """Return whether a named up-link of a leaf explains how slow the leaf is."""
    return (
        one.kind == "leaf"
        and one.share >= _BY_ONE
        and any(each.kind == "up-link" and each.leaves == one.leaves for each in named)
    )


def _went_away(known: Knowledge, one: Suspect) -> bool:
    return one.kind in ("node", "rail", "gpu path", "pair") and not known.gone.keys().isdisjoint(one.members)


def _not_looked_at(known: Knowledge) -> tuple[str, ...]:
    """Return what this screening could not see, one sentence for each."""
    said = [words.no_expected_level()] * (known.leaves.layout.expected is None)
    if not known.leaves.known:
        said.append(words.leaves_not_seen())
    else:
        said.append(words.avoided_up_links())
    if known.leaves.loose:
        names = [known.leaves.layout.nodes[node] for node in known.leaves.loose]
        said.append(words.loose_nodes(names))
    single = [
        name
        for name, nodes in zip(known.leaves.names, known.leaves.members, strict=True)
        if len(nodes) == 1 and known.leaves.known and int(nodes[0]) not in known.leaves.loose
    ]
    if single:
        said.append(words.single_nodes(single))
    if len(known.network.rails) < 2:
        said.append(words.rails_not_seen(bool(known.network.rails)))
    if not known.network.gpus:
        said.append(words.gpu_paths_not_seen())
    if known.left:
        low, high = min(share for share, _ in known.left), max(share for share, _ in known.left)
        said.append(words.pairs_left(len(known.left), low, high))
    return tuple(said)


def _sentence_besides(
    known: Knowledge,
    named: Sequence[Suspect],
    cleared: Sequence[Suspect],
    covered: Coverage,
    promised: Sequence[Promise],
) -> str:
    parts = []
    if not named:
        levels = [(one.value, one.hops) for one in known.levels.levels]
        parts.append(words.nobody_named(levels, known.leaves.layout.unit))
    if cleared:
        parts.append(words.say_cleared(_names(known, cleared)))
    if known.answered.shared:
        parts.append(words.shared_links(known.answered.shared))
    return "; ".join([*parts, _coverage_words(known, covered), *_promise_words(promised)])


def _coverage_words(known: Knowledge, covered: Coverage) -> str:
    text = words.say_covered(known.spent, covered.pairs.share, covered.leaf_pairs.share, covered.up_links.share)
    if covered.not_measured:
        reasons = Counter(one.reason for one in covered.not_measured)
        told = [(count, reason) for reason, count in reasons.most_common(3)]
        missing = words.not_judged(len(covered.not_measured), len(known.leaves.of), told, len(reasons) > 3)
        return f"{text}; {missing}"
    return text


def _promise_words(promised: Sequence[Promise]) -> list[str]:
    if not promised:
        return []
    said = []
    for one in promised:
        if one.probability is not None:
            said.append(words.promised_fault(one.kind, one.share, _bounded_probability(one.probability)))
    return [words.say_promised(said)] if said else []


def _bounded_probability(probability: float) -> float:
    """Return a probability as it is shown: nothing is certain."""
    return min(probability, 0.999)


def _names(known: Knowledge, suspects: Sequence[Suspect]) -> list[str]:
    nodes = known.leaves.layout.nodes
    return [
        words.listed_leaves(one.leaves) if one.leaves else "-".join(nodes[node] for node in one.members)
        for one in suspects
    ]
