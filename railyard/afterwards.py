"""What is found out after a run was assessed: rails measured alone, who else had the host, what is to be said too."""

from dataclasses import replace

from railyard import verdict
from railyard.assess import Assessment
from railyard.bounds import OTHERS_SHARE
from railyard.linkerrors import look_at
from railyard.suspects import Findings
from railyard.wording import listing


def with_suspects(assessment: Assessment, findings: Findings) -> Assessment:
    """Return the assessment with what probes found: who is to blame, and their own sentence before all remarks."""
    inputs = replace(assessment.inputs, suspects=findings.suspects)
    judged = assessment.verdict
    said = replace(
        judged,
        suspects=verdict.suspects_of(inputs),
        remarks=(findings.sentence, *judged.remarks),
        # A run that hung is a matter of set-up only until a rail is found that passes nothing alone either.
        fault="fabric" if findings.suspects else judged.fault,
    )
    return replace(assessment, inputs=inputs, verdict=said)


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
    said = verdict.judge(inputs).with_remarks(*assessment.verdict.remarks)
    return replace(assessment, inputs=inputs, path=path, verdict=said)


def with_busy_host(assessment: Assessment, others: float | None) -> Assessment:
    """Return the assessment as *disturbed* where values were low, nobody was found slow, and others had the processors.

    ``others`` is the share of the host's processors that other processes took while the test ran, of the one host that
    all nodes of a virtual cluster share; None where it is not known, or each node has a host of its own.
    """
    judged = assessment.verdict
    is_low = judged.state == "fail" and judged.rule == 5 and judged.fault == "fabric"
    if others is None or others <= OTHERS_SHARE.value or not is_low or judged.suspects:
        return assessment
    remark = (
        f"disturbed: other processes took {100 * others:.0f} % of the processors of the host that "
        f"all nodes share (bound {100 * OTHERS_SHARE.value:.0f} %, {OTHERS_SHARE.name})"
    )
    look = "what else runs on this host (top); run it again when that has ended"
    said = replace(judged.with_remarks(remark), fault="disturbed", look_at=look)
    return replace(assessment, verdict=said)


def with_placement(assessment: Assessment, remarks: tuple[str, ...]) -> Assessment:
    """Return the assessment with what may have made its values low, where they failed: nothing of it decides."""
    is_low = assessment.verdict.state == "fail" and assessment.verdict.rule == 5
    return _remarked(assessment, *remarks) if is_low else assessment


def with_remark(assessment: Assessment, remark: str | None) -> Assessment:
    """Return the assessment with a remark behind those that it has; as it is where there is none."""
    return assessment if remark is None else _remarked(assessment, remark)


def _remarked(assessment: Assessment, *remarks: str) -> Assessment:
    return replace(assessment, verdict=assessment.verdict.with_remarks(*remarks))
