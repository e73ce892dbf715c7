"""A screening of many nodes: what to measure next within a budget, and the verdict with its coverage."""

from collections.abc import Generator, Mapping, Sequence

from railyard.verdict.blame.screening import confirmation, sampling, whole_leaves
from railyard.verdict.blame.screening.knowledge import Given, Knowledge
from railyard.verdict.blame.screening.leaves import leaves_of
from railyard.verdict.blame.screening.model import Budget, BudgetError, Network, ScreeningVerdict, Settings
from railyard.verdict.blame.screening.plan import LEAST, shares
from railyard.verdict.blame.screening.summing import nothing, sum_up
from railyard.verdict.blame.search.model import Step
from railyard.verdict.blame.search.replay import replay_steps

_USUAL = Settings()
#: The most steps of a screening, besides one for each part of a node: two samples, the leaves, slow pairs again three
#: times, suspects twice with the pairs of cleared suspects after each time, and two traces of up-links.
STEPS = 12
_NOBODY: Mapping[int, str] = {}


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
