"""A screening of many nodes: what to measure next within a budget, and the verdict with what it covered."""

from collections.abc import Generator, Iterable, Sequence

from railyard.verdict.blame.screening.model import Budget, Network, Results, Screened, Settings
from railyard.verdict.blame.search.model import Step, Value

_USUAL = Settings()
#: What a step gave: values alone, or with the nodes that were absent.
Given = Results | Iterable[Value]


def advance(
    network: Network,
    budget: Budget,
    results: Sequence[Given] = (),
    settings: Settings = _USUAL,
    first: Step | None = None,
) -> Step | Screened:
    """Return the next step to measure, or the verdict, from what all steps made so far gave, in their order."""
    raise NotImplementedError


def screen(
    network: Network, budget: Budget, settings: Settings = _USUAL, first: Step | None = None
) -> Generator[Step, Given, Screened]:
    """Give the steps one after another, take what each gave (``send``), and return the verdict."""
    raise NotImplementedError
    yield  # type: ignore[unreachable]
