"""A screening of many nodes: what to measure next within a budget, and the verdict with its coverage."""

from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import replace

from railyard.base.wording import count_of, listing, number, percent
from railyard.verdict.blame.screening import confirmation, sampling, whole_leaves
from railyard.verdict.blame.screening.coverage import coverage
from railyard.verdict.blame.screening.knowledge import Given, Knowledge
from railyard.verdict.blame.screening.leaves import leaves_of
from railyard.verdict.blame.screening.model import (
    Budget,
    BudgetError,
    Coverage,
    Network,
    Promise,
    ScreeningVerdict,
    Settings,
    Share,
    Suspect,
)
from railyard.verdict.blame.screening.plan import LEAST, shares
from railyard.verdict.blame.screening.promise import MadeSteps, promises
from railyard.verdict.blame.search.model import Step
from railyard.verdict.blame.search.replay import replay_steps

_USUAL = Settings()
#: The most steps of a screening, besides one for each part of a node: two samples, the leaves, slow pairs again three
#: times, suspects twice with the pairs of cleared suspects after each time, and two traces of up-links.
STEPS = 12
_NOBODY: Mapping[int, str] = {}


#: How many are in the sentence; all are in the verdict.
_TOLD = 6

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
    steps = STEPS + (parts if parts > 1 else 0)
    rounds = budget.rounds(steps)
    if first is None and rounds < LEAST:
        raise BudgetError(_too_small(budget, steps))
    known = Knowledge(
        network, leaves, settings, shares(max(LEAST, rounds), settings.repeats, parts), rounds, dict(absent)
    )
    there = len(leaves.of) - len(known.gone)
    if there < 2:
        return nothing(known, f"{there} of {len(leaves.of)} nodes are there, but a pair needs two")
    yield from sampling.sample(known, first)
    if known.seen is None:
        return nothing(known, f"no pair of {there} nodes gave a result")
    yield from whole_leaves.confirm(known)
    yield from confirmation.suspects(known)
    yield from confirmation.parts_of_nodes(known)
    return sum_up(known)


def _too_small(budget: Budget, steps: int) -> str:
    least = LEAST * budget.round_s + steps * budget.step_s
    starts = f" besides the start of {steps} steps" if budget.step_s else ""
    return (
        f"a budget of {budget.seconds:g} s is {budget.rounds(steps)} rounds of {budget.round_s:g} s{starts}, expected "
        f"at least {LEAST} ({least:g} s): half of them for a sample in which each node meets neighbours and other "
        "leaves, the rest to measure a suspect three times with two good partners; give it more time"
    )


def sum_up(known: Knowledge) -> ScreeningVerdict:
    """Return the verdict of a screening that has nothing open."""
    away = [one for one in known.answered.named if _went_away(known, one)]
    named = _without_duplicates(
        one for one in known.answered.named if one not in away and not _one_up_link(one, known.answered.named)
    )
    known.answered.unclear = [one for one in known.answered.unclear if not _went_away(known, one)]
    known.answered.unclear += [replace(one, reason=f"{one.reason}; it went away later") for one in away]
    by_members = {one.members for one in named}
    cleared = _without_duplicates(one for one in known.answered.cleared if one.members not in by_members)
    settled = by_members | {one.members for one in cleared}
    unclear = _without_duplicates(one for one in known.answered.unclear if one.members not in settled)
    covered = coverage(known.network, known.leaves, known.every(), known.gone)
    promised = promises(known.network, known.leaves, known.sample_view, _steps_made(known), known.settings)
    not_seen = _not_looked_at(known)
    levels = known.levels.levels
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
        _sentence(known, named, cleared, unclear, covered, promised),
    )


def nothing(known: Knowledge, why: str) -> ScreeningVerdict:
    """Return the verdict if no pair gave a result, or fewer than two nodes are there: it names and promises nothing."""
    covered = coverage(known.network, known.leaves, known.every(), known.gone)
    steps = tuple(known.steps)
    sentence = f"{why}; {_coverage_words(known, covered)}"
    return ScreeningVerdict(
        (), (), (), (), steps, covered, (), (why,), known.spent, known.allowed, known.measurements, sentence
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
    said = ["faults that all nodes share: no reference says what is expected"] * (known.leaves.layout.expected is None)
    if not known.leaves.known:
        said.append("leaves and up-links: it is not known which node is at which leaf switch")
    else:
        said.append(
            "a leaf that lost a few of its up-links and whose routes avoid them: each pair alone is good, and all "
            "together are less than 15 % slower"
        )
    if known.leaves.loose:
        names = [known.leaves.layout.nodes[node] for node in known.leaves.loose]
        said.append(
            f"the leaf of {count_of(len(names), 'node')} ({_some(names)}): it is not known, so each was judged as a "
            "leaf of its own"
        )
    single = [
        name
        for name, nodes in zip(known.leaves.names, known.leaves.members, strict=True)
        if len(nodes) == 1 and known.leaves.known and int(nodes[0]) not in known.leaves.loose
    ]
    if single:
        said.append(f"whether {_some(single)} or its only node is slow: only neighbours show which of the two it is")
    if len(known.network.rails) < 2:
        said.append("single rails: a value is from all rails of a node at once" if known.network.rails else "rails")
    if not known.network.gpus:
        said.append("GPU paths: all streams were from host memory")
    if known.left:
        low, high = min(share for share, _ in known.left), max(share for share, _ in known.left)
        said.append(
            f"{count_of(len(known.left), 'pair')} that gave {percent(low)} to {percent(high)} of healthy once: the "
            "budget had no room to measure them again"
        )
    return tuple(said)


def _sentence(
    known: Knowledge,
    named: Sequence[Suspect],
    cleared: Sequence[Suspect],
    unclear: Sequence[Suspect],
    covered: Coverage,
    promised: Sequence[Promise],
) -> str:
    parts = [one.reason for one in named[:_TOLD]]
    if len(named) > _TOLD:
        parts.append(f"{len(named) - _TOLD} more are named")
    if not named:
        levels = listing(
            [f"{number(one.value)} {known.leaves.layout.unit} ({one.hops})" for one in known.levels.levels]
        )
        parts.append(f"nobody that was measured is named as slow: healthy is {levels}")
    if cleared:
        parts.append(f"slow in the sample but good with good partners, so not named: {_some(_names(known, cleared))}")
    if unclear:
        parts.append(f"undecided: {_some(_names(known, unclear))}")
    return "; ".join([*parts, _coverage_words(known, covered), *_promise_words(promised)])


def _coverage_words(known: Knowledge, covered: Coverage) -> str:
    shares = [("pairs", covered.pairs), ("pairs of leaves", covered.leaf_pairs), ("up-links", covered.up_links)]
    said = [f"{_share(one)} of the {what}" for what, one in shares if one.share is not None]
    text = f"measured in {known.spent} rounds: {listing(said)}"
    if covered.not_measured:
        reasons = Counter(one.reason for one in covered.not_measured)
        told = [f"{count} {reason}" for reason, count in reasons.most_common(3)]
        of_all = f"{len(covered.not_measured):,} of {len(known.leaves.of):,} nodes"
        text += f"; not judged: {of_all} ({'; '.join(told)}{'; …' if len(reasons) > 3 else ''})"
    return text


def _share(one: Share) -> str:
    share = one.share or 0.0
    return percent(share) if share >= 0.001 or not share else f"{100 * share:.2g} %"


def _promise_words(promised: Sequence[Promise]) -> list[str]:
    if not promised:
        return []
    said = []
    for one in promised:
        if one.probability is not None:
            what = f"{'an' if one.kind == 'up-link' else 'a'} {'GPU path' if one.kind == 'gpu path' else one.kind}"
            at = " that is dead" if one.share == 0 else f" at {100 * one.share:.0f} %"
            at = " with half its up-links" if one.kind == "leaf" else at
            said.append(f"{what}{at} {percent(_bounded_probability(one.probability))}")
    return [f"if there had been one, it would have named: {', '.join(said)}"] if said else []


def _bounded_probability(probability: float) -> float:
    """Return a probability as it is shown: nothing is certain."""
    return min(probability, 0.999)


def _names(known: Knowledge, suspects: Sequence[Suspect]) -> list[str]:
    nodes = known.leaves.layout.nodes
    return [listing(one.leaves) if one.leaves else "-".join(nodes[node] for node in one.members) for one in suspects]


def _some(names: Sequence[str]) -> str:
    more = len(names) - _TOLD
    return f"{', '.join(names[:_TOLD])} and {more} more" if more > 0 else listing(names)
