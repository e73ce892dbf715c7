"""Finds outputs that pass and should not: each input is judged as `railyard judge --sizes` does, against a link.

The rule is: never a pass that the whole output does not have. A judgement that passes must have a curve of the whole
output. If lines of another output are among its own, no text can show that: rows of two runs below one heading look
like one run's. Then the rule is that an output does not pass (as a whole) with

- a value that no output prints for this metric and size: from another column, unit or sign;
- a curve without any value that is printed for this benchmark: a whole table of another one under a wrong name.

Nor can a text show it if a whole table of another output, with its heading, is all that is in it, or is below a banner
whose own table was cut away, and the banner's benchmark prints the same columns. Then neither a second banner, nor a
second heading, nor a cut banner is there, and no rule is broken (``_shows_two``). A table without a banner has the name
that `--benchmark` gives it.

A latency at a size that no link's floor bounds is shown and not judged, so it may have any value.
"""

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fuzzing.mutations import SEEN, mix_outputs, splice
from fuzzing.reading import sample_of
from fuzzing.samples import EVERY, Sample, Samples
from railyard.base.errors import RailyardError
from railyard.benchmarks import metrics
from railyard.benchmarks.model import LATENCY
from railyard.hardware.day_one import class_of
from railyard.hardware.links import LINKS
from railyard.parsers import PARSERS
from railyard.parsers.output import ParsedOutput, ParseError
from railyard.parsers.wrong_lines import with_wrong_lines
from railyard.verdict.sizes import sizes_of
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.target import of_link

#: An output is judged against the first of these links that it passes, so there is a pass to lose.
JUDGED_BY = ("ib-edr", "ib-fdr", "ib-hdr", "ib-ndr", "slingshot-11", "ib-qdr", "eth-100", "ib-sdr")
_TARGETS = {link: of_link(link) for link in JUDGED_BY}
#: In a table with fewer rows, the first rows of any other table may take their place.
LEAST_SIZES = 4
#: Mutations that bring lines of another output.
_MIXING = {mutation.__name__ for mutation in (mix_outputs, splice)}

#: The banner of a table, whole or cut, and its heading.
_BANNER = re.compile(
    r"^(?:#\s{0,20}(?:OSU|OMB)\b.*|# Benchmarking .*|\s{0,60}[A-Z][\w -]{2,60} Test\s{0,9})$", re.MULTILINE
)
_WHOLE_BANNER = re.compile(r"\bTest\b|# Benchmarking \w")
_HEADING = re.compile(r"^\s{0,9}#?\s{0,20}(?:size|#?bytes)\b", re.MULTILINE | re.IGNORECASE)

Pass = tuple[Any, ...]
#: A benchmark's key and the requested message sizes in bytes.
Sizes = tuple[tuple[str, tuple[int, ...]], ...]
#: A benchmark's key, a metric, a size and the printed value.
Point = tuple[str | None, str, int, float]


@dataclass(frozen=True)
class Standard:
    """How an output is judged: the link, the sizes, and which judgements of the whole output pass."""

    link: str
    sizes: Sizes
    passes: frozenset[Pass]


@dataclass(frozen=True)
class PassingOutputs:
    """The outputs that pass against some link, each with its standard, and all values that they print."""

    samples: Samples
    standards: Mapping[tuple[str, str], Standard]
    printed: frozenset[Point]

    def mutate(self, dice: random.Random) -> tuple[Sample, str, tuple[str, ...]]:
        """Return a sample that passes, a text made from it, and the names of the mutations."""
        sample = sample_of(dice, self.samples)
        text, chosen = sample.text, dice.choices(SEEN, k=dice.choice((1, 1, 2)))
        for mutation in chosen:
            text = mutation(text, dice, self.samples.small)
        return sample, text, tuple(mutation.__name__ for mutation in chosen)

    def wrong(self, sample: Sample, text: str, how: tuple[str, ...]) -> str | None:
        """Return which judgement of a text passes but should not; None if none does."""
        standard = self.standards[sample.name, sample.text]
        passes, all_pass = passing(sample.tool, text, standard.link, standard.sizes)
        more = passes - standard.passes
        if more and _MIXING & {*how}:
            shown = _shows_two(text)
            more = frozenset(one for one in more if all_pass and not self._is_of_outputs(one, standard.link, shown))
        return f"passes with another curve: {min(map(str, more))[:200]}" if more else None

    def _is_of_outputs(self, curves: Pass, link: str, shown: bool) -> bool:
        """Return whether every value was printed for its metric and size, and at least one for this benchmark, or for
        any if the text does not show that it is of two outputs.
        """
        points = [point for point in _points(curves) if _is_bounded(point, link)]
        own = not self.printed.isdisjoint(points) or not shown
        return self.figures.issuperset(point[1:] for point in points) and own

    @cached_property
    def figures(self) -> frozenset[tuple[Any, ...]]:
        """Return all printed values, of any benchmark."""
        return frozenset(point[1:] for point in self.printed)


def judge_samples(samples: Samples) -> PassingOutputs:
    """Return the samples that pass against some link, and how each is judged."""
    standards = {}
    for sample in (*samples.small, *samples.long):
        standard = _standard_of(sample)
        if standard is not None:
            standards[sample.name, sample.text] = standard
    small, long = ([one for one in each if (one.name, one.text) in standards] for each in (samples.small, samples.long))
    # if an output passes but none of its parts does, it is kept whole
    names = {sample.name for sample in small}
    small += [sample for sample in long if sample.name not in names]
    long = [sample for sample in long if sample.name in names]
    printed = frozenset(point for sample in (*small, *long) for point in _printed_points(sample.whole))
    return PassingOutputs(Samples(small, long), standards, printed)


def _standard_of(sample: Sample) -> Standard | None:
    """Return the first link that a sample passes, with its sizes and what passes; None if it passes none."""
    sizes = _sizes_of(sample)
    if sample.tool not in PARSERS or not sizes:
        return None
    found = ((link, passing(sample.tool, sample.text, link, sizes)[0]) for link in JUDGED_BY)
    return next((Standard(link, sizes, passes) for link, passes in found if passes), None)


def _shows_two(text: str) -> bool:
    """Return whether a text has two banners, two headings, or a banner that is cut."""
    banners = _BANNER.findall(text)
    whole = [each for each in banners if _WHOLE_BANNER.search(each)]
    return len(banners) > len(whole) or len(whole) > 1 or len(_HEADING.findall(text)) > 1


def _sizes_of(sample: Sample) -> Sizes:
    """Return the message sizes of each benchmark of a sample, if all its tables have the same."""
    found: dict[str, set[tuple[int, ...]]] = {}
    for table in sample.whole.tables:
        found.setdefault(metrics.key_of(table) or "", set()).add(sizes_of(table))
    alone = ((key, sizes.pop()) for key, sizes in found.items() if key and len(sizes) == 1)
    return tuple((key, sizes) for key, sizes in alone if len(sizes) >= LEAST_SIZES)


def passing(tool: str, text: str, link: str, sizes: Sizes) -> tuple[frozenset[Pass], bool]:
    """Return the judgements of a text that pass, by benchmark and curves, and whether all pass; none if refused."""
    try:
        parsed = with_wrong_lines(EVERY[tool](text), text)
    except ParseError:
        return frozenset(), False
    found = [one for key, asked_for in sizes for one in _judgements(parsed, link, key, asked_for)]
    return frozenset(_curves(one) for one in found if one.is_pass), all(one.is_pass for one in found)


def _judgements(parsed: ParsedOutput, link: str, key: str | None, sizes: tuple[int, ...]) -> tuple[Judgement, ...]:
    try:  # a median of fewer passes is another curve: judge each table by itself
        return judge(parsed, _TARGETS[link], benchmark=key, sizes=sizes, passes="apart")
    except RailyardError:
        return ()


def _curves(judgement: Judgement) -> Pass:
    curves = (each.curve for each in judgement.curves)
    return (judgement.benchmark, *((curve.metric, curve.sizes, curve.values) for curve in curves))


def _printed_points(whole: ParsedOutput) -> Iterator[Point]:
    for judgement in _judgements(whole, JUDGED_BY[0], None, ()):
        yield from _points(_curves(judgement))


def _is_bounded(point: Point, link: str) -> bool:
    """Return whether a link bounds a value: its day-one band has all sizes, if its class has one."""
    return point[1] != LATENCY or not isinstance(class_of(LINKS[link]), str)


def _points(curves: Pass) -> Iterator[Point]:
    key, *metrics_of_it = curves
    for metric, sizes, values in metrics_of_it:
        for size, value in zip(sizes, values, strict=True):
            yield key, metric, size, value
