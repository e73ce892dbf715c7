"""What the sources of a run's references state about their conditions, and which nodes of the run had other ones.

It decides nothing: a difference is a remark of the verdict. In a replay or a rehearsal the nodes' conditions are those
of this machine, so nothing is compared.
"""

from collections.abc import Mapping, Sequence

from railyard.job.case import Case, Evidence
from railyard.job.mpi_identity import version_said
from railyard.results.record.form import ConditionRecord
from railyard.site import conditions
from railyard.site.condition_words import mpi_of
from railyard.site.conditions import NodeFactsShown
from railyard.site.references.model import Source


def conditions_of(case: Case, evidence: Evidence, used: Sequence[str]) -> tuple[ConditionRecord, ...]:
    """Return each condition that the sources of these entries state, with the nodes that had another one.

    ``used``: ids of the entries that judged the run.
    """
    stated: dict[tuple[str, str], list[str]] = {}
    for entry in case.site.references.entries:
        if entry.id in used:
            for name, text in stated_by(entry.source).items():
                stated.setdefault((name, text), []).append(entry.id)
    nodes = seen_nodes(case, evidence) if stated else {}
    return tuple(
        ConditionRecord(name, text, tuple(entries), _differing_nodes(name, text, nodes))
        for (name, text), entries in stated.items()
    )


def stated_by(source: Source) -> dict[str, str]:
    """Return what a source states, by name: its conditions, and those of its fields that are conditions too."""
    fields = {"firmware": source.firmware, "driver": source.driver, "mpi": source.mpi}
    hops = {} if source.hops is None else {"hops": str(source.hops)}
    return {**source.conditions, **{name: text for name, text in fields.items() if text is not None}, **hops}


def seen_nodes(case: Case, evidence: Evidence) -> dict[str, NodeFactsShown]:
    """Return what each node of a measurement shows; empty for a replay or a rehearsal."""
    if evidence.played is not None or evidence.rehearsed:
        return {}
    run = {"mpi": _mpi(case, evidence), "hops": None if case.hops is None else str(case.hops)}
    known = {name: text for name, text in run.items() if text is not None}
    return {
        each.node: NodeFactsShown(
            each.facts, [each.devices[rail] for rail in case.launch.meant if rail in each.devices], known
        )
        for each in evidence.facts
    }


def _mpi(case: Case, evidence: Evidence) -> str | None:
    """Return the library of the run with its version, if its prefix or its own launcher gives one."""
    meant = case.launch.mpi
    if meant is None:
        return None
    return mpi_of(meant.stack, meant.version or version_said(evidence.launcher, meant.stack))


def _differing_nodes(name: str, text: str, nodes: Mapping[str, NodeFactsShown]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for node, seen in nodes.items():
        for has in conditions.unlike_values(name, text, seen):
            found.setdefault(has, []).append(node)
    return {has: tuple(where) for has, where in found.items()}
