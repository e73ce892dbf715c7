"""Which parts of a replay its source printed; the rest of the output was computed to complete it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from railyard.benchmarks.model import Curve, Figure
from railyard.benchmarks.table.micro import metric
from railyard.job.case import Case
from railyard.provision.replay.form import PlayedTest
from railyard.site.references.model import Entry
from railyard.site.test_id import TestId
from railyard.verdict.rules.model import RuleResult
from railyard.verdict.wording.verdict import say_computed

#: An output has few decimals, so a figure is its source's if it differs by no more than this share.
ROUNDED = 0.005
#: A floor of a link's class is nobody's measured figure.
_OURS = "class"


@dataclass(frozen=True, slots=True)
class ComputedSizes:
    """By metric, the message sizes at which no source printed the value; empty if the output was recorded.

    ``printed`` are the values at all others. ``invented`` are metrics that the source did not print, although it did
    print another metric of the same output: a time that follows only from a bandwidth has a start-up that nobody
    published, so it has no key figure.
    """

    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    printed: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    invented: frozenset[str] = frozenset()

    def without_invented(self, curves: Sequence[Curve]) -> tuple[Curve, ...]:
        """Return the curves that have key figures."""
        return tuple(curve for curve in curves if curve.metric not in self.invented)

    def mark(self, figures: Sequence[Figure], key: str) -> tuple[Figure, ...]:
        """Return the key figures of a benchmark; those that no source printed are marked.

        After a peak whose size is not printed, a curve is level, so its figure is read at the source's size. A figure
        that is not a value of the curve (N½) was computed from the whole curve.
        """
        return tuple(self._mark_figure(one, key) for one in figures) if self.sizes else tuple(figures)

    def say(self, rules: Sequence[RuleResult]) -> tuple[RuleResult, ...]:
        """Return the rules; the rule of physics names the best values, printed or computed, so its sentence says which
        they may be.
        """
        made = any(self.sizes.values())
        return tuple(
            replace(one, sentence=say_computed(one.sentence)) if made and one.rule == 3 and one.state == "pass" else one
            for one in rules
        )

    def _mark_figure(self, figure: Figure, key: str) -> Figure:
        same = [figure.name] if figure.name in self.sizes else []
        for name in same or [name for name in self.sizes if metric(key, name).unit == figure.unit]:
            for size, value in self.printed[name].items():
                if abs(value - figure.value) <= ROUNDED * value:
                    return figure if figure.size is None else replace(figure, size=size)
        return replace(figure, computed=True)


def find_computed(case: Case, played: PlayedTest, curves: Sequence[Curve]) -> ComputedSizes:
    """Return which parts of these curves of a replay no source printed: none if the output was recorded."""
    recording = played.recording
    if recording is None or recording.origin == "recorded":
        return ComputedSizes()
    entries = case.site.references.entries
    found = {
        curve.metric: tuple(
            size
            for size, value in zip(curve.sizes, curve.values, strict=True)
            if not is_printed(entries, case.test, curve.metric, size, value, case.hops)
        )
        for curve in curves
    }
    known = {
        curve.metric: {
            size: value
            for size, value in zip(curve.sizes, curve.values, strict=True)
            if size not in found[curve.metric]
        }
        for curve in curves
    }
    invented = {curve.metric for curve in curves if len(found[curve.metric]) == len(curve.sizes)}
    return ComputedSizes(found, known, frozenset(invented) if len(invented) < len(curves) else frozenset())


def is_printed(
    entries: Iterable[Entry], test: TestId, metric: str, size: int, value: float, hops: int | None = None
) -> bool:
    """Return whether an entry for this test has this value at a size in bytes (0 for a metric without sizes).

    That is a point of its curve, its value, its floor, or anything within its range, but never a value between points.
    ``hops`` are the switches between the two nodes, if they are known.
    """
    held = (_ends_at(one, size) for one in entries if one.matches(test, metric) and one.holds_at(hops))
    return any(low * (1 - ROUNDED) <= value <= high * (1 + ROUNDED) for low, high in filter(None, held))


def _ends_at(entry: Entry, size: int) -> tuple[float, float] | None:
    """Return both ends of what an entry has at a size (equal, except for a range); None if it has nothing there."""
    if entry.kind == _OURS:
        return None
    if entry.curve is not None:
        value = entry.curve.get(size)
        return None if value is None else (value, value)
    if not entry.sizes.covers(size):
        return None
    if entry.ends is not None:
        return entry.ends
    single = entry.value if entry.value is not None else entry.floor
    return (single, single) if isinstance(single, float) else None
