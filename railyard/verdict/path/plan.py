"""The plan that a path proof is judged by, and what the stack's own log says beside the counters."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from railyard.job.case import Case
from railyard.job.counters import node as counters
from railyard.job.launch import bonded_ports, counters_can_prove, rates
from railyard.parsers.parsed import Table
from railyard.stacks import ask
from railyard.verdict.path import link_errors, proof, stack_log, traffic
from railyard.verdict.path.split import Policy

if TYPE_CHECKING:
    from railyard.verdict.sizes import Sizes


def judged_path(
    case: Case, assessor: "Sizes", tables: list[Table], readings: Mapping[str, counters.NodeCounters], log: str
) -> proof.PathProof:
    """Return the path proof of a run: what its counters show against what ``assessor`` says that it moved.

    ``log`` is all that the job printed: what the stack says there of its devices is held against the counters.
    """
    if not counters_can_prove(case.site, case.fabric):
        return proof.not_judged(f"the rails of {case.fabric} have no counters")
    told = case.launch.settings
    plan = traffic.Plan(
        rails=rates(case.site, case.fabric, case.launch.meant),
        policy=cast(Policy, told.policy),
        traffic={},
        exclusive=case.site.system.nodes.exclusive,
        pairs=case.pairs,
        error_bounds=case.site.system.fabrics[case.fabric].proof.error_bounds,
        bonded=bonded_ports(case.site, case.fabric, case.launch.meant),
    )
    path = assessor.path(case, tables, readings, plan)
    clocks = {node: read.clock_khz for node, read in readings.items() if read.clock_khz is not None}
    resends = tuple(node for node, read in readings.items() if link_errors.loses(read))
    return replace(_with_log(case, path, log), clocks_khz=clocks, resends=resends)


def _with_log(case: Case, path: proof.PathProof, log: str) -> proof.PathProof:
    """Return the proof with what the stack's own log says of it, where the stack was told to say anything."""
    devices = (*case.launch.meant, *case.launch.watched)
    kind, policy = case.site.system.fabrics[case.fabric].kind, case.launch.settings.policy
    patterns = ask.device_patterns(case.stack, kind, policy, devices)
    return stack_log.compared(path, log, patterns, case.launch.meant)
