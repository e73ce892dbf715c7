"""A comparison as text for a terminal, and as JSON values."""

from collections.abc import Iterator
from typing import Any

from railyard.base.json_codec import encode
from railyard.base.terminal import fold_words
from railyard.base.wording import count_of, listing, number
from railyard.results.compare.comparison import ComparedTest, Comparison, FigureResult, Gate
from railyard.results.compare.shift import CONFIDENCE, KIND_WORDS
from railyard.results.conditions import HEADING

FORMAT = 1
_SGR = {"better": "32", "worse": "1;31", "different": "33", "none": "2", "cannot-tell": "35"}
_MOST_NAMED = 6
_COMPUTED = "computed, not published"


def text(
    of: Comparison, sides: tuple[str, str], gate: Gate | None = None, *, width: int = 100, colour: bool = False
) -> str:
    """Return the whole comparison; ``sides`` says what A and B are. Folded to ``width``, never cut."""
    parts = [_sides(of, sides, width)]
    parts.append("\n".join(_environment(of, width)))
    parts += ["\n".join(_test(test, width, colour)) for test in of.tests]
    parts.append("\n".join(_summary(of, gate, width)))
    return "\n\n".join(parts) + "\n"


def as_json(of: Comparison, sides: tuple[str, str], gate: Gate | None = None) -> dict[str, Any]:
    """Return the comparison as JSON values: ``tests`` with figures and curves, ``environment``, ``regressions``."""
    return {
        "format": FORMAT,
        "a": sides[0],
        "b": sides[1],
        "confidence": CONFIDENCE,
        "contrasts": [{"name": name, "a": a, "b": b} for name, a, b in of.pairing.contrasts],
        "environment": [encode(one) for one in of.environment],
        "attribution": of.attribution,
        "conditions": list(of.conditions),
        "tests": [_test_json(test) for test in of.tests],
        "only_a": list(of.pairing.only_a),
        "only_b": list(of.pairing.only_b),
        "left_out": list(of.pairing.left_out),
        "gate": None if gate is None else {**encode(gate), "passed": gate.is_pass, "sentence": gate.sentence},
    }


def _test_json(test: ComparedTest) -> dict[str, Any]:
    return {
        "name": test.name,
        "repeats": list(test.repeats),
        "figures": [
            {
                **{"name": each.name, "unit": each.unit, "a": each.a, "b": each.b, "better": each.better},
                "computed": list(each.computed),
                **{"shift": each.shift.value, "low": each.shift.low, "high": each.shift.high},
                **{
                    "method": each.shift.method,
                    "smallest": each.shift.smallest,
                    "percent": each.finding.percent,
                    "surely_percent": each.finding.surely,
                },
                **{
                    "smallest_percent": each.finding.smallest,
                    "kind": each.finding.kind,
                    "sentence": each.finding.sentence,
                },
            }
            for each in test.figures
        ],
        "curves": [encode(each) for each in test.curves],
        "refused": list(test.refused),
        "idle": list(test.idle),
    }


def _sides(of: Comparison, sides: tuple[str, str], width: int) -> str:
    lines = [fold_words(f"A: {sides[0]}", width, "   "), fold_words(f"B: {sides[1]}", width, "   ")]
    for name, a, b in of.pairing.contrasts:
        lines.append(fold_words(f"{name}: {a} on A, {b} on B", width, "   "))
    return "\n".join(lines)


def _environment(of: Comparison, width: int) -> Iterator[str]:
    yield "What differed around the tests"
    for one in of.environment:
        yield fold_words(one.words, width, "    ", "  ")
    if not of.environment:
        yield "  nothing recorded"
    if of.attribution:
        yield fold_words(of.attribution, width, "    ", "  ")
    if of.conditions:
        yield HEADING
    for sentence in of.conditions:
        yield fold_words(sentence, width, "    ", "  ")


def _test(test: ComparedTest, width: int, colour: bool) -> Iterator[str]:
    one, other = test.repeats
    yield fold_words(f"{test.name}: {count_of(one, 'repeat')} on A, {other} on B", width, "  ")
    for figure in test.figures:
        yield fold_words(_figure(figure, colour), width, "    ", "  ")
    for curve in test.curves:
        made = f", {len(curve.computed)} of them {_COMPUTED}" if curve.computed else ""
        yield fold_words(f"{curve.metric} along {len(curve.sizes)} sizes{made}: {curve.sentence}", width, "    ", "  ")
    for reason in test.refused:
        yield fold_words(f"not compared: {reason}", width, "    ", "  ")
    for idle in test.idle:
        yield fold_words(idle, width, "    ", "  ")


def _figure(figure: FigureResult, colour: bool) -> str:
    words = KIND_WORDS[figure.finding.kind]
    shown = f"\x1b[{_SGR[figure.finding.kind]}m{words}\x1b[0m" if colour else words
    a, b = (f" ({_COMPUTED})" if made else "" for made in figure.computed)
    values = f"{number(figure.a)}{a} on A, {number(figure.b)}{b} on B, {figure.unit}"
    # if there is no difference, or the repeats cannot tell, the sentence begins with these words
    told = figure.finding.sentence.removeprefix(words)
    if told != figure.finding.sentence:
        return f"{figure.name}: {values}: {shown}{told}"
    return f"{figure.name}: {values}: {shown}: {told}"


def _summary(of: Comparison, gate: Gate | None, width: int) -> Iterator[str]:
    for words, names in (("only on A", of.pairing.only_a), ("only on B", of.pairing.only_b)):
        if names:
            more = [f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
            yield fold_words(f"{words}, not compared: {listing([*names[:_MOST_NAMED], *more])}", width, "  ")
    for sentence in of.pairing.left_out:
        yield fold_words(sentence, width, "  ")
    yield from (fold_words(f"differs: {words}", width, "  ") for words in _repeat_differences(of))
    if gate is not None:
        for regression in gate.regressions:
            yield fold_words(f"regression: {regression}", width, "  ")
    kinds = [figure.finding.kind for figure in of.figures]
    told = ", ".join(f"{kinds.count(kind)} {words}" for kind, words in KIND_WORDS.items() if kind in kinds)
    tests = count_of(len(of.tests), "test")
    yield fold_words(f"{tests}, {count_of(len(kinds), 'figure')}: {told or 'none alike'}", width, "  ")
    judged = sum(kind != "cannot-tell" for kind in kinds)
    if judged:
        by_chance = judged * (1 - CONFIDENCE)
        yield fold_words(
            f"each has {100 * CONFIDENCE:g} % confidence: about {by_chance:.1f} of {judged} may differ by chance",
            width,
            "  ",
        )
    if gate is not None:
        yield fold_words(gate.sentence, width, "  ")


def _repeat_differences(of: Comparison) -> Iterator[str]:
    """Yield what differs by more than the noise again, since a long comparison is read from its end."""
    for test in of.tests:
        for figure in test.figures:
            if figure.finding.kind not in ("none", "cannot-tell"):
                yield f"{test.name}: {figure.name}: {figure.finding.sentence}"
        for curve in test.curves:
            if curve.stretches:
                yield f"{test.name}: {curve.metric}: {curve.sentence}"
