"""The judgement of a stored output, and judgements as text for a terminal and as JSON values: both have all of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from railyard.base.bounds import without_names
from railyard.benchmarks.model import Curve
from railyard.hardware.limits import Limit
from railyard.parsers.output import Table
from railyard.results.record.headline import MOST, describe_finding, make_headline
from railyard.verdict.hints.causes import Likeness
from railyard.verdict.inputs import Target
from railyard.verdict.rule_model import RuleResult
from railyard.verdict.wording import Miss
from railyard.verdict.wording import not_judged as say_not_judged
from railyard.verdict.wording import stored_outputs as words
from railyard.verdict.wording.causes import say_evidence, with_first_cause
from railyard.verdict.wording.reference import brief_share

if TYPE_CHECKING:
    from railyard.verdict.gpu.run import GpuTarget

FORMAT = 1
#: States that are written differently for people.
WORDS = {"not-judged": "not judged"}

State = Literal["pass", "fail", "report-only", "not-judged"]


@dataclass(frozen=True, slots=True)
class CurveJudgement:
    """One metric in per cent: its worst ratio to the references (with the size), and its peak's ratio to the limit."""

    curve: Curve
    directions: int
    limit: Limit | None
    percent_of_reference: float | None
    percent_of_reference_size: int | None
    percent_of_limit: float | None
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict of a table or of several passes; ``lines`` are their headings'. ``benchmark`` is None if unknown.

    ``shown_line``: the heading of the one pass that is shown, since it does not pass; None: of several, their median.
    ``counted_as``: what several passes of it are called. ``cause``: what the output itself says of a fallback, if it
    fails. ``why_unjudged``: what the sentence says after "not judged: ", empty if it does not begin so.
    """

    benchmark: str | None
    lines: tuple[int, ...]
    state: State
    sentence: str
    rules: tuple[RuleResult, ...] = ()
    curves: tuple[CurveJudgement, ...] = ()
    causes: tuple[Likeness, ...] = ()
    remarks: tuple[str, ...] = ()
    shown_line: int | None = None
    counted_as: str = "passes"
    cause: str = ""
    why_unjudged: str = ""

    @property
    def reason(self) -> str:
        """The sentence, without the words that it was not judged."""
        return self.why_unjudged or self.sentence

    @property
    def failure(self) -> RuleResult | None:
        """The rule that it fails; None if it does not fail."""
        return next((rule for rule in self.rules if rule.state == "fail"), None)

    @property
    def headline(self) -> str:
        """Why it fails, in one line of at most 100 characters: its cause first; empty if it does not fail."""
        failure = self.failure
        if failure is None:
            return ""
        first = self.cause or self._share_with_cause or failure.brief or failure.sentence
        return make_headline((), first, failure.fault)

    @property
    def named_cause(self) -> Likeness | None:
        """The cause that the headline says already; None if it says none."""
        return self.causes[0] if self._share_with_cause else None

    @property
    def _share_with_cause(self) -> str:
        """The low value with what it looks like, as a headline; empty if something else says more."""
        failure = self.failure
        return (
            "" if self.cause or failure is None or failure.miss is None else _with_likeness(failure.miss, self.causes)
        )

    @property
    def is_pass(self) -> bool:
        """Whether it passes, or meets everything that can be checked on a system without references."""
        return self.state in ("pass", "report-only")


def not_judged_tables(benchmark: str | None, tables: Sequence[Table], why: str) -> Judgement:
    """Return that equal tables are not judged, and why."""
    lines = tuple(table.line for table in tables)
    return Judgement(benchmark, lines, "not-judged", say_not_judged(why), why_unjudged=why)


def _with_likeness(miss: Miss, causes: Sequence[Likeness]) -> str:
    """Return a low value with the first cause that it looks like, without figures; empty if that is no headline."""
    if not causes:
        return ""
    text = with_first_cause(brief_share(miss), causes[0].looks)
    return text if len(text) <= MOST else ""


def text(
    name: str, target: "Target | GpuTarget", judgements: Sequence[Judgement], *, why: bool = False, command: str = ""
) -> str:
    """Return the judgements as lines: one block each, then the verdict of the whole output.

    ``why``: a failure has the whole sentence of its rule, with the names of references and bounds. ``command``: what
    to type next if it fails, empty for nothing.
    """
    lines = [words.compared_with(name, target.description)]
    for judgement in judgements:
        lines += ["", _title(judgement), *(f"  {line}" for line in _verdict(judgement, why))]
        lines += [f"  {_curve(curve)}" for curve in judgement.curves]
        lines += [f"  {cause.sentence}" for cause in judgement.causes if cause != judgement.named_cause]
        is_short = judgement.state == "fail" and not why
        lines += [f"  {without_names(remark) if is_short else remark}" for remark in judgement.remarks]
    next_ = [f"type next: {command}"] if command and state_of(judgements) == "fail" else []
    return "\n".join([*lines, "", words.say_not_judged_here(), *next_, _last(judgements)])


def _verdict(judgement: Judgement, why: bool) -> list[str]:
    """Return the lines of a verdict: its word and sentence, or the headline of a failure, what was measured, and what
    to look at.
    """
    word, failure = WORDS.get(judgement.state, judgement.state).upper(), judgement.failure
    if judgement.state != "fail" or failure is None:
        return [f"{word}  {judgement.reason}"]
    found = describe_finding(judgement.headline, failure.sentence, failure.measured)
    # A sentence that is its own headline stays as it is, so that a search for its words finds them.
    first = judgement.headline if found else without_names(failure.sentence)
    lines = [f"{word}  {first}", *([found] if found else [])]
    if judgement.named_cause is not None:
        lines.append(say_evidence(judgement.named_cause.looks))
    lines += [words.look_at(failure.look_at)] if failure.look_at else []
    return [*lines, *([f"why: {judgement.sentence}"] if why else [])]


def state_of(judgements: Sequence[Judgement]) -> State:
    """Return the state of the whole output: the worst of its judgements; what was not judged is not a pass."""
    states = {judgement.state for judgement in judgements}
    worse: tuple[State, ...] = ("fail", "not-judged", "report-only")
    return next((state for state in worse if state in states), "pass")


def _last(judgements: Sequence[Judgement]) -> str:
    """Return ``fail: 1 benchmark``, or ``fail: 3 benchmarks: 1 fail, 2 pass`` if they differ."""
    counts = {WORDS.get(state, state): count for state, count in _counts(judgements).items()}
    state = state_of(judgements)
    all_ = words.counts(len(judgements), "benchmark", counts if len(counts) > 1 else {})
    return f"{WORDS.get(state, state)}: {all_}"


def as_json(name: str, target: "Target | GpuTarget", judgements: Sequence[Judgement]) -> dict[str, Any]:
    """Return the judgements as JSON values, ``format`` first; percentages and values are not rounded."""
    return {
        "format": FORMAT,
        "file": name,
        "against": _target_json(target) if isinstance(target, Target) else target.as_json,
        "state": state_of(judgements),
        "not_judged_here": words.not_judged_here(),
        "judgements": [_judgement(judgement) for judgement in judgements],
    }


def _target_json(target: Target) -> dict[str, Any]:
    return {
        "system": target.system or None,
        "link": target.fabric.link.name,
        "fabric": target.fabric_name if target.system else None,
        "stack": target.stack if target.system else None,
        "rails": target.rails,
        "policy": target.policy if target.system else None,
        "slot": target.fabric.slot,
    }


def _judgement(judgement: Judgement) -> dict[str, Any]:
    return {
        "benchmark": judgement.benchmark,
        "lines": list(judgement.lines),
        "shown_line": judgement.shown_line,
        "state": judgement.state,
        "sentence": judgement.sentence,
        "headline": judgement.headline,
        "rules": [
            {"rule": rule.rule, "name": rule.name, "state": rule.state, "sentence": rule.sentence}
            for rule in judgement.rules
        ],
        "curves": [_curve_json(curve) for curve in judgement.curves],
        "looks_like": [{"cause": cause.cause, "sentence": cause.sentence} for cause in judgement.causes],
        "remarks": list(judgement.remarks),
    }


def _curve_json(judged: CurveJudgement) -> dict[str, Any]:
    limit = judged.limit
    return {
        "metric": judged.curve.metric,
        "unit": judged.curve.unit,
        "directions": judged.directions,
        "sizes": list(judged.curve.sizes),
        "values": list(judged.curve.values),
        "limit": None if limit is None else {"value": limit.value_mb_s, "terms": limit.terms, "source": limit.source},
        "references": list(judged.references),
        "percent_of_reference": judged.percent_of_reference,
        "worst_size": judged.percent_of_reference_size,
        "percent_of_limit": judged.percent_of_limit,
    }


def _title(judgement: Judgement) -> str:
    return words.title(judgement.benchmark or "", judgement.lines, judgement.counted_as, judgement.shown_line)


def _curve(judged: CurveJudgement) -> str:
    curve, said = judged.curve, []
    if judged.percent_of_reference is not None and judged.percent_of_reference_size is not None:
        said.append(words.share_of_reference(judged.percent_of_reference, judged.percent_of_reference_size))
    if judged.percent_of_limit is not None and judged.limit is not None:
        said.append(words.share_of_limit(judged.percent_of_limit, judged.limit.value_mb_s))
    ends = [*zip(curve.sizes, curve.values, strict=True)]
    return words.curve(curve.metric, curve.unit, ends[0], ends[-1] if ends[1:] else None, said)


def _counts(judgements: Sequence[Judgement]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for judgement in judgements:
        counts[judgement.state] = counts.get(judgement.state, 0) + 1
    return counts
