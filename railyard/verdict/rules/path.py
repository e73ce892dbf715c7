"""Rule 4: the bytes went over the intended rails, in the expected split, and over no other network."""

from railyard.verdict.rules.model import RULE_NAMES, Inputs, RuleResult, failed, not_judged, passed


def judge(inputs: Inputs) -> RuleResult:
    """Return rule 4 from the path proof; what is not proven fails.

    It passes as not judged where the system accepts that, with its reason, where the benchmark moves no payload, and
    where an application used one of several rails and may have had to: such a run is report-only (``verdict``).
    """
    path = inputs.path
    if path.state == "proven":
        return passed(4, path.sentence)
    if path.state == "failed":
        return failed(4, path.sentence, path.fault or "set-up", path.look_at)
    if path.one_rail:
        return not_judged(4, path.sentence)
    if path.state == "not-judged" and inputs.replayed is not None:
        return RuleResult(4, RULE_NAMES[4], "not-judged", "not judged here: replay")
    if path.state == "not-proven" and inputs.no_payload is not None:
        return not_judged(4, inputs.no_payload)
    if inputs.accepts_unproven is not None:
        return not_judged(4, f"{path.sentence}; the system accepts this: {inputs.accepts_unproven}")
    return failed(4, path.sentence, "not-proven", path.look_at)
