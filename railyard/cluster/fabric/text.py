"""A report of a fabric's state as lines of text, and as JSON."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from railyard.base.clean_text import one_line
from railyard.base.finding import tally
from railyard.base.wording import count_of
from railyard.cluster.fabric.model import ExpectedFabric, Finding, Report

FORMAT = 1


def report_lines(expected: ExpectedFabric, report: Report) -> list[str]:
    """Return the findings, one paragraph each, what was not seen, and the summary as the last line."""
    lines: list[str] = []
    for finding in report.findings:
        lines += _paragraph(finding)
    if report.unseen:
        more = "root on one node sees all of the subnet" if expected.subnet_manager else "FabricState asks every node"
        lines.append(
            f"not seen: {report.unseen} of {expected.count * len(expected.rails)} ports of rails; judged is what nodes "
            f"read of themselves ({more})"
        )
    lines += [f"note: {one_line(note)}" for note in report.notes]
    if report.hops:
        told = ", ".join(f"{hops}: {pairs}" for hops, pairs in report.hops.items())
        lines.append(f"switches between two nodes on a rail, and how many pairs: {told}")
    return [*lines, summary(expected, report)]


def summary(expected: ExpectedFabric, report: Report) -> str:
    """Return one line that says how much was looked at and what was found."""
    seen = f"{count_of(report.seen, 'port')} of {count_of(report.nodes, 'node')}"
    return f"{expected.fabric}: {seen} seen, {tally(report.findings)}"


def nothing_seen(expected: ExpectedFabric, report: Report) -> str:
    """Return the sentence for a fabric of which no port was read."""
    devices = ", ".join(f"{rail.device} port {rail.port}" for rail in expected.rails)
    why = f" ({one_line(report.notes[0])})" if report.notes else ""
    return (
        f"{expected.fabric}: found no port of its rails in any reading{why}, expected {devices}; run it on a node of "
        f"the fabric, with infiniband-diags and as root to see all of it, or read saved outputs: --from DIR"
    )


def verdict_sentence(expected: ExpectedFabric, report: Report) -> str:
    """Return the sentence for a record: the first problem and how many more there are, or what is as expected."""
    problems = report.problems
    if not problems:
        return f"{summary(expected, report)}: all as {expected.file} says"
    more = f" (and {count_of(len(problems) - 1, 'more problem')})" if len(problems) > 1 else ""
    return f"{one_line(problems[0].sentence)}{more}"


def to_json(expected: ExpectedFabric, report: Report) -> dict[str, Any]:
    """Return the report as JSON values."""
    return {
        "format": FORMAT,
        "fabric": expected.fabric,
        "ports": report.seen,
        "nodes": report.nodes,
        "unseen": report.unseen,
        "findings": [{**asdict(finding), "sentence": one_line(finding.sentence)} for finding in report.findings],
        "hops": _keys(report.hops),
        "notes": [one_line(note) for note in report.notes],
    }


def _keys(hops: Mapping[int, int]) -> dict[str, int]:
    return {str(number): pairs for number, pairs in hops.items()}


def _paragraph(finding: Finding) -> list[str]:
    head = "problem" if finding.weight == "problem" else "remark"
    return [
        f"{head}: {one_line(finding.place)}: {one_line(finding.found)}",
        f"    expected {one_line(finding.expected)}",
        f"    {one_line(finding.fix)}",
    ]
