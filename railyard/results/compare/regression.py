"""Whether side B got worse by more than a bound, and how many figures could be compared with that bound."""

from dataclasses import dataclass

from railyard.base.wording import count_of
from railyard.results.compare.comparison import ComparedTest, Comparison, FigureResult


@dataclass(frozen=True, slots=True)
class Gate:
    """``regressions``: a sentence each. ``judged`` and ``unjudged``: figures that could, and could not, be compared."""

    percent: float
    regressions: tuple[str, ...]
    judged: int
    unjudged: int

    @property
    def is_pass(self) -> bool:
        """Return whether nothing got worse and something was judged: if no figure could be judged, the gate fails."""
        return not self.regressions and self.judged > 0

    @property
    def sentence(self) -> str:
        """Return the whole as one line."""
        bound = f"{self.percent:g} %"
        held = f"{self.judged} of {self.judged + self.unjudged} figures could be compared with {bound}"
        if self.regressions:
            many = len(self.regressions)
            return f"FAIL: {count_of(many, 'regression')} of {bound} or more; {held}."
        if not self.judged:
            return (
                f"FAIL: no figure could be compared with {bound}: repeats are too few or too far apart; take more runs."
            )
        return f"PASS: no regression of {bound} or more; {held}."


def gate(comparison: Comparison, percent: float) -> Gate:
    """Return what surely got worse by ``percent`` or more: key figures, and stretches of several sizes of a curve.

    Surely: the end of the interval that is nearer to zero is beyond the bound; over a stretch, the median of these ends
    is. With the estimate alone, every second comparison of 33 noisy tests with themselves would fail.

    A figure counts as judged if a change of that size would have been seen. A figure without a better direction (N½)
    does not count at all.
    """
    found: list[str] = []
    judged = unjudged = 0
    for test in comparison.tests:
        for figure in test.figures:
            if figure.better is None:
                continue
            worse = _is_worse(figure, percent)
            seen = worse or _could_see(figure, percent)
            judged, unjudged = judged + seen, unjudged + (not seen)
            found += [f"{test.name}: {figure.name}: {figure.finding.sentence}"] if worse else []
        found += _worse_stretches(test, percent)
    return Gate(percent, tuple(found), judged, unjudged)


def _is_worse(figure: FigureResult, percent: float) -> bool:
    return figure.finding.kind == "worse" and figure.finding.surely >= percent


def _could_see(figure: FigureResult, percent: float) -> bool:
    """Return whether a change of that size would have left zero outside the interval (or above the stated noise)."""
    return figure.finding.smallest is not None and figure.finding.smallest <= percent


def _worse_stretches(test: ComparedTest, percent: float) -> list[str]:
    found = []
    for curve in test.curves:
        for stretch in curve.stretches:
            worse = curve.better is not None and (stretch.percent > 0) == (curve.better == "lower")
            if worse and stretch.sizes > 1 and stretch.sure >= percent:
                found.append(f"{test.name}: {curve.metric}: {curve.sentence}")
                break
    return found
