"""Outputs that pass and should not: each input is judged as `railyard judge --sizes` does, against a link.

The rule is: never a pass that the whole output does not have. A judgement that passes has a curve of the whole output.
Where lines of another output were put among its own, that is more than a text can show: rows of two runs below one
heading look like one run's. There the rule is that an output does not pass (each judgement does) with

- a value that no output prints for this metric and size: one of another column, unit or sign;
- a curve of which no value is printed for this benchmark: a whole table of another one, under a wrong name.

A latency at a size that no floor of a link bounds is shown and not judged, so that it may be any.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fuzzing.mutations import SEEN
from fuzzing.reading import sample_of
from fuzzing.samples import EVERY, Sample, Samples
from railyard.base.errors import RailyardError
from railyard.benchmarks import metrics
from railyard.benchmarks.model import LATENCY
from railyard.hardware import limits
from railyard.hardware.links import LINKS
from railyard.parsers import PARSERS
from railyard.parsers.parsed import Parsed, ParseError
from railyard.parsers.wrong_lines import with_wrong_lines
from railyard.verdict import asked
from railyard.verdict.stored.judge import Judgement, judge
from railyard.verdict.stored.target import of_link

#: Against what an output is judged: the first of these that it passes, so that there is a pass to lose.
JUDGED_BY = ("ib-edr", "ib-fdr", "ib-hdr", "ib-ndr", "slingshot-11", "ib-qdr", "eth-100", "ib-sdr")
_TARGETS = {link: of_link(link) for link in JUDGED_BY}
#: Of a table of fewer rows the first rows of any other may take the place.
LEAST_SIZES = 4

Pass = tuple[Any, ...]
#: A benchmark's key and the message sizes that are asked for, in bytes.
Sizes = tuple[tuple[str, tuple[int, ...]], ...]
#: A benchmark's key, a metric, a size and the value that was printed.
Point = tuple[str | None, str, int, float]


@dataclass(frozen=True)
class Standard:
    """What an output is judged by: the link, the sizes, and what passes of the whole output."""

    link: str
    sizes: Sizes
    passes: frozenset[Pass]


@dataclass(frozen=True)
class Judged:
    """The outputs that pass against some link, each with its standard, and all values that any of them prints."""

    samples: Samples
    standards: Mapping[tuple[str, str], Standard]
    printed: frozenset[Point]

    def mutated(self, dice: random.Random) -> tuple[Sample, str, tuple[str, ...]]:
        """Return a sample that passes, a text made of it, and the names of the mutations."""
        sample = sample_of(dice, self.samples)
        text, chosen = sample.text, dice.choices(SEEN, k=dice.choice((1, 1, 2)))
        for mutation in chosen:
            text = mutation(text, dice, self.samples.small)
        return sample, text, tuple(mutation.__name__ for mutation in chosen)

    def wrong(self, sample: Sample, text: str, how: tuple[str, ...]) -> str | None:
        """Say which judgement of a text passes that should not; None where none does."""
        standard = self.standards[sample.name, sample.text]
        passes, all_pass = passing(sample.tool, text, standard.link, standard.sizes)
        more = passes - standard.passes
        if more and {"mixed", "splice"} & {*how}:
            more = frozenset(one for one in more if all_pass and not self._is_of_outputs(one, standard.link))
        return f"passes with another curve: {min(map(str, more))[:200]}" if more else None

    def _is_of_outputs(self, curves: Pass, link: str) -> bool:
        """Return whether every value was printed for its metric and size, and one at least for this benchmark."""
        points = [point for point in _points(curves) if _is_bounded(point, link)]
        return self.figures.issuperset(point[1:] for point in points) and not self.printed.isdisjoint(points)

    @cached_property
    def figures(self) -> frozenset[tuple[Any, ...]]:
        """Return all that is printed, whatever the benchmark."""
        return frozenset(point[1:] for point in self.printed)


def judged_of(samples: Samples) -> Judged:
    """Return the samples that pass against some link, and what each is judged by."""
    standards = {}
    for sample in (*samples.small, *samples.long):
        standard = _standard_of(sample)
        if standard is not None:
            standards[sample.name, sample.text] = standard
    small, long = ([one for one in each if (one.name, one.text) in standards] for each in (samples.small, samples.long))
    # an output that passes and of which no part does stays as it is
    names = {sample.name for sample in small}
    small += [sample for sample in long if sample.name not in names]
    long = [sample for sample in long if sample.name in names]
    printed = frozenset(point for sample in (*small, *long) for point in _printed(sample.whole))
    return Judged(Samples(small, long), standards, printed)


def _standard_of(sample: Sample) -> Standard | None:
    """Return the first link that a sample passes, with its sizes and what passes; None where it passes none."""
    sizes = _sizes_of(sample)
    if sample.tool not in PARSERS or not sizes:
        return None
    found = ((link, passing(sample.tool, sample.text, link, sizes)[0]) for link in JUDGED_BY)
    return next((Standard(link, sizes, passes) for link, passes in found if passes), None)


def _sizes_of(sample: Sample) -> Sizes:
    """Return the message sizes of each benchmark of a sample whose tables all have the same."""
    found: dict[str, set[tuple[int, ...]]] = {}
    for table in sample.whole.tables:
        found.setdefault(metrics.key_of(table) or "", set()).add(asked.sizes_of(table))
    alone = ((key, sizes.pop()) for key, sizes in found.items() if key and len(sizes) == 1)
    return tuple((key, sizes) for key, sizes in alone if len(sizes) >= LEAST_SIZES)


def passing(tool: str, text: str, link: str, sizes: Sizes) -> tuple[frozenset[Pass], bool]:
    """Return the judgements of a text that pass, by benchmark and curves, and whether all do; none where refused."""
    try:
        parsed = with_wrong_lines(EVERY[tool](text), text)
    except ParseError:
        return frozenset(), False
    found = [one for key, asked_for in sizes for one in _judgements(parsed, link, key, asked_for)]
    return frozenset(_curves(one) for one in found if one.passed), all(one.passed for one in found)


def _judgements(parsed: Parsed, link: str, key: str | None, sizes: tuple[int, ...]) -> tuple[Judgement, ...]:
    try:  # a median of fewer passes is another curve: each table is judged alone
        return judge(parsed, _TARGETS[link], benchmark=key, sizes=sizes, passes=False)
    except RailyardError:
        return ()


def _curves(judgement: Judgement) -> Pass:
    curves = (each.curve for each in judgement.curves)
    return (judgement.benchmark, *((curve.metric, curve.sizes, curve.values) for curve in curves))


def _printed(whole: Parsed) -> Iterator[Point]:
    for judgement in _judgements(whole, JUDGED_BY[0], None, ()):
        yield from _points(_curves(judgement))


def _is_bounded(point: Point, link: str) -> bool:
    """Return whether a link bounds a value: all but latencies of larger messages."""
    ceiling = limits.day_one_latency(LINKS[link])
    most = 0 if isinstance(ceiling, str) else ceiling.up_to_bytes
    return point[1] != LATENCY or point[2] <= most


def _points(curves: Pass) -> Iterator[Point]:
    key, *metrics_of_it = curves
    for metric, sizes, values in metrics_of_it:
        for size, value in zip(sizes, values, strict=True):
            yield key, metric, size, value
