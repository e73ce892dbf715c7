"""What is found out after a run was assessed: rails measured alone, where its processes ran, what is to be said too."""

from dataclasses import replace

from railyard import verdict
from railyard.assess import Assessment
from railyard.linkerrors import look_at
from railyard.suspects import Findings
from railyard.wording import listing


def with_suspects(assessment: Assessment, findings: Findings) -> Assessment:
    """Return the assessment with what probes found: who is to blame, and the probes' own sentence."""
    inputs = replace(assessment.inputs, suspects=findings.suspects)
    judged = verdict.judge(inputs)
    # A run that hung is a matter of set-up only until a rail is found that passes nothing alone either.
    fault = "fabric" if findings.suspects else judged.fault
    said = replace(judged, sentence=f"{judged.sentence}; {findings.sentence}{_behind(assessment)}", fault=fault)
    return replace(assessment, inputs=inputs, verdict=said)


def _behind(assessment: Assessment) -> str:
    """Return the likely causes and remarks that were joined to the judged sentence, which alone is judged again."""
    return assessment.verdict.sentence.removeprefix(verdict.judge(assessment.inputs).sentence)


def with_losses(assessment: Assessment, findings: Findings) -> Assessment:
    """Return the assessment with who loses packets: a rail of a node fails the path, anything else is a remark."""
    lossy = tuple(suspect for suspect in findings.suspects if suspect.kind == "rail")
    if not lossy:
        return with_remark(assessment, findings.sentence)
    path = replace(
        assessment.path,
        state="failed",
        sentence=f"{findings.sentence}; {assessment.path.sentence}",
        fault="fabric",
        look_at=look_at(listing([f"{suspect.rail} of {suspect.node}" for suspect in lossy])),
        suspects=lossy,
    )
    # Who was slow by chance is cleared: what is lost explains it.
    inputs = replace(assessment.inputs, path=path, suspects=())
    judged = verdict.judge(inputs)
    said = replace(judged, sentence=f"{judged.sentence}{_behind(assessment)}")
    return replace(assessment, inputs=inputs, path=path, verdict=said)


def with_placement(assessment: Assessment, remarks: tuple[str, ...]) -> Assessment:
    """Return the assessment with what may have made its values low, where they failed: nothing of it decides."""
    is_low = assessment.verdict.state == "fail" and assessment.verdict.rule == 5
    return with_remark(assessment, "; ".join(remarks) or None) if is_low else assessment


def with_remark(assessment: Assessment, remark: str | None) -> Assessment:
    """Return the assessment with a remark behind its verdict's sentence; as it is where there is none."""
    if remark is None:
        return assessment
    judged = assessment.verdict
    return replace(assessment, verdict=replace(judged, sentence=f"{judged.sentence}; {remark}"))
