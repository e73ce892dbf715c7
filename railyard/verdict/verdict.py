"""The verdict of one run: five rules in order, and the sentence of the first that fails.

A run passes only if nothing fails. The verdict says what was not judged, and never turns it into a pass of the
reference: a run without a judged reference is *report-only* or a failure. A run that something else disturbed is
*disturbed*: it does not pass, and nobody is blamed. To add a rule, write one function in ``run_rules``,
and add its name to ``RULE_NAMES`` and the function to ``_RULES``.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from railyard.base.bounds import without_names
from railyard.results.record.form import FaultClass, State, Suspect
from railyard.results.record.headline import describe_finding, make_headline, repeats
from railyard.verdict import run_rules
from railyard.verdict import wording as words
from railyard.verdict.reference_rule import reference, worst_ratio
from railyard.verdict.rule_model import RULE_NAMES, Inputs, MetricInput, RuleResult
from railyard.verdict.wording import Miss

_RULES: tuple[Callable[[Inputs], RuleResult], ...] = (
    run_rules.complete,
    run_rules.metrics,
    run_rules.possible,
    run_rules.path,
    lambda inputs: _rule_5(inputs, reference(inputs)),
)


@dataclass(frozen=True, slots=True)
class CurveVerdict:
    """A metric compared with its references and its limit, in per cent; None if it has none.

    ``percent_of_reference`` is the worst ratio over the curve, below 100 if it is worse than the reference (for a
    latency too), at ``percent_of_reference_size`` bytes; ``percent_of_limit`` is the peak's.
    """

    metric: str
    percent_of_reference: float | None
    percent_of_reference_size: int | None
    percent_of_limit: float | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The state of one run, the rule that decided (None: none failed), all five rules, and suspects.

    ``sentence`` is only about what decided. ``remarks`` are further sentences: what was not judged, likely causes, what
    probes found. ``text`` is both. ``disturbed_by``: the remark that says what disturbed the run, empty if none does.
    """

    state: State
    sentence: str
    rule: int | None
    fault: FaultClass | None
    rules: tuple[RuleResult, ...]
    suspects: tuple[Suspect, ...]
    look_at: str | None
    curves: tuple[CurveVerdict, ...]
    references: tuple[str, ...]
    remarks: tuple[str, ...] = ()
    disturbed_by: str = ""

    @property
    def text(self) -> str:
        """The sentence, followed by all remarks."""
        return "; ".join((self.sentence, *self.remarks))

    @property
    def fails(self) -> bool:
        """Whether the test fails: its run failed, or was disturbed and could not be judged."""
        return self.state in ("fail", "disturbed")

    @property
    def misses_reference(self) -> bool:
        """Whether the run is sound but its values are low: rule 5 failed, and the cause is in the fabric."""
        return self.state == "fail" and self.rule == 5 and self.fault == "fabric"

    @property
    def headline(self) -> str:
        """Who or what is to blame, in one line of at most 100 characters; empty if nothing failed."""
        failure = self._failure
        if failure is None:
            return ""
        return make_headline(self.suspects, self.disturbed_by or failure.brief or self.sentence, self.fault)

    @property
    def measured_text(self) -> str:
        """What was measured and what it had to be, without names of references; empty if the sentence has none."""
        return "" if self._failure is None else self._failure.measured

    @property
    def miss(self) -> Miss | None:
        """The bound that is broken, if that is why the test fails."""
        return None if self._failure is None else self._failure.miss

    @property
    def _failure(self) -> RuleResult | None:
        """The rule that decided, if the test fails."""
        return next((rule for rule in self.rules if self.fails and rule.rule == self.rule), None)

    @property
    def line(self) -> str:
        """A failure as a line of its own, without names of references and bounds; only the text if nothing failed.

        It has the headline, what was measured with its bound, and what to look at next.
        """
        if not self.fails:
            return self.text
        measured = self.measured_text if self.miss is None else self.miss.words
        if not measured and repeats(self.headline, self.sentence):
            return words.with_look_at(without_names(self.sentence), self.look_at)
        found = describe_finding(self.headline, self.sentence, measured)
        parts = (self.headline, f"{found}{self._expectation}" if measured else found)
        return words.with_look_at("; ".join(filter(None, parts)), self.look_at)

    @property
    def _expectation(self) -> str:
        """What the sentence says of an expected failure after the rule's own; empty if it says nothing of one."""
        own = "" if self._failure is None else self._failure.sentence
        return self.sentence.removeprefix(own) if own else ""

    def is_decided_by(self, rule: RuleResult) -> bool:
        """Return whether this rule is the one that failed, so that the sentence is its own."""
        return rule.state == "fail" and self.rule == rule.rule and rule in self.rules

    def judge_again(self, inputs: Inputs) -> "Verdict":
        """Return the verdict of changed inputs, with the remarks of this one."""
        return replace(judge(inputs).with_remarks(*self.remarks), disturbed_by=self.disturbed_by)

    def with_remarks(self, *remarks: str) -> "Verdict":
        """Return the verdict with more remarks after those that it has."""
        return replace(self, remarks=(*self.remarks, *remarks))


def judge(inputs: Inputs) -> Verdict:
    """Return the verdict: every rule is judged, so that the record shows all five; the first failure says why."""
    rules = tuple(rule(inputs) for rule in _RULES)
    failure = next((rule for rule in rules if rule.state == "fail"), None)
    state, sentence = _pass(inputs, rules) if failure is None else _failure(inputs, failure, rules)
    return Verdict(
        state=state,
        sentence=sentence,
        rule=None if failure is None else failure.rule,
        fault=None if failure is None else failure.fault,
        rules=rules,
        suspects=() if failure is None or state == "disturbed" else suspects_of(inputs),
        look_at=None if failure is None else failure.look_at,
        curves=tuple(_curve(metric) for metric in inputs.metrics),
        references=tuple(dict.fromkeys(band.entry_id for metric in inputs.metrics for band in metric.cited_bands)),
        remarks=(*_unjudged_sentences(rules), *_shared_remarks(inputs)) if failure is None else (),
    )


def _rule_5(inputs: Inputs, judged: RuleResult) -> RuleResult:
    """Return rule 5: by the references, and by the parts of a run beside one another, where it has some."""
    return judged if judged.state == "fail" or inputs.beside is None else inputs.beside


def not_tested(reason: str) -> Verdict:
    """Return the verdict of a case that did not run, and why: neither a pass nor a failure."""
    sentence = words.not_tested(reason)
    rules = tuple(RuleResult(rule, name, "not-judged", sentence) for rule, name in RULE_NAMES.items())
    return Verdict("not-tested", sentence, None, None, rules, (), None, (), ())


def _pass(inputs: Inputs, rules: tuple[RuleResult, ...]) -> tuple[State, str]:
    last = rules[-1]
    expected = inputs.expected_failure
    sentence = last.sentence if expected is None else words.is_surprise(last.sentence, expected.reason)
    if inputs.report_only is not None or last.state == "not-judged" or inputs.path.one_rail:
        return "report-only", sentence
    return "pass", sentence


def _unjudged_sentences(rules: tuple[RuleResult, ...]) -> tuple[str, ...]:
    """Return the sentences of the rules before the last that were not judged."""
    unjudged = [rule for rule in rules[:-1] if rule.state == "not-judged"]
    return tuple(words.rule_not_judged(rule.rule, rule.name, rule.sentence) for rule in unjudged)


def _shared_remarks(inputs: Inputs) -> tuple[str, ...]:
    """Return the sentence about somebody else's traffic on the rails, if that did not fail the run."""
    return () if inputs.path.disturbance is None else (inputs.path.disturbance,)


def _failure(inputs: Inputs, failure: RuleResult, rules: tuple[RuleResult, ...]) -> tuple[State, str]:
    said = failure.sentence
    expected = inputs.expected_failure
    state: State = "disturbed" if failure.fault == "disturbed" else "fail"
    if expected is None:
        return state, said
    if inputs.today > expected.expires:
        return state, words.has_expired(said, expected.reason, expected.expires)
    # A missing reference is not a failure that can be expected of the hardware.
    if any(r.state == "fail" and (r.rule not in expected.rules or r.fault == "reference") for r in rules):
        return state, words.covers_only(said, expected.reason, expected.expires, expected.rules)
    failed = words.of_rule(failure.rule, failure.name, said)
    return "xfail", words.expected_failure(expected.reason, expected.expires, failed)


def suspects_of(inputs: Inputs) -> tuple[Suspect, ...]:
    """Return who may be to blame if the run failed: refused rails, what probes and the path proof found."""
    refused = [
        Suspect("node" if rail.rail is None else "rail", rail.sentence, rail.node, rail.rail)
        for rail in inputs.job.refused
    ]
    ended = inputs.job.ended
    if inputs.job.cut is not None:  # what was moved until then says nothing about any rail
        return tuple(refused)
    if ended is not None and ended.kind != "time":
        # What its nodes had moved by then says nothing about them: only a node that the scheduler names is a suspect.
        return tuple(Suspect("node", ended.sentence, node) for node in ended.nodes)
    return merge_suspects([*refused, *inputs.suspects, *inputs.path.suspects])


def merge_suspects(suspects: Iterable[Suspect]) -> tuple[Suspect, ...]:
    """Return each suspect once, at its first place, with all that speaks against it."""
    found: dict[tuple[str, str | None, str | None], list[Suspect]] = {}
    for one in suspects:
        found.setdefault((one.kind, one.node, one.rail), []).append(one)
    return tuple(
        replace(same[0], reason="; ".join(dict.fromkeys(each.reason for each in same))) for same in found.values()
    )


def _curve(metric: MetricInput) -> CurveVerdict:
    worst, of_limit = worst_ratio(metric), run_rules.percent_of_limit(metric)
    name = metric.declared.name
    of_limit = of_limit if of_limit is not None and math.isfinite(of_limit) else None
    # An absurd value overflows here; rule 3 has reported it, and a record cannot hold infinity.
    if worst is None or not math.isfinite(100 * worst.ratio):
        return CurveVerdict(name, None, None, of_limit)
    return CurveVerdict(name, 100 * worst.ratio, worst.size_bytes, of_limit)
