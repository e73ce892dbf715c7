"""What each node's counters must show of a run, from its tables: the plan that a path proof is judged by."""

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from railyard.benchmarks import moved_bytes
from railyard.benchmarks.moved_bytes import is_mirrored, least_moved, parts_of_a_vector
from railyard.benchmarks.table import micro
from railyard.job.case import Case
from railyard.job.counters import node as counters
from railyard.job.launch import bonded_ports, counters_can_prove, rates
from railyard.parsers.parsed import Table
from railyard.stacks import ask
from railyard.verdict import applications, node_pairs
from railyard.verdict.path import link_errors, proof, stack_log, traffic
from railyard.verdict.path.split import Policy


def judged_path(
    case: Case, tables: list[Table], readings: Mapping[str, counters.NodeCounters], log: str
) -> proof.PathProof:
    """Return the path proof of a run: what its counters show against what its tables say that it moved.

    ``log`` is all that the job printed: what the stack says there of its devices is held against the counters.
    """
    if not counters_can_prove(case.site, case.fabric):
        return proof.not_judged(f"the rails of {case.fabric} have no counters")
    told = case.launch.settings
    in_pairs = node_pairs.is_of_pairs(case.benchmark)
    collective = micro.find(case.benchmark).traffic is None and not in_pairs
    plan = traffic.Plan(
        rails=rates(case.site, case.fabric, case.launch.meant),
        policy=cast(Policy, told.policy),
        traffic={} if in_pairs else _traffic(case, tables),
        collective=collective,
        exclusive=case.site.system.nodes.exclusive,
        pairs=case.pairs,
        error_bounds=case.site.system.fabrics[case.fabric].proof.error_bounds,
        bonded=bonded_ports(case.site, case.fabric, case.launch.meant),
    )
    if applications.is_application(case.benchmark):
        path = applications.path(case, tables, readings, plan)
    else:
        path = node_pairs.path(case, tables, readings, plan) if in_pairs else proof.judge(readings, plan)
    clocks = {node: read.clock_khz for node, read in readings.items() if read.clock_khz is not None}
    resends = tuple(node for node, read in readings.items() if link_errors.loses(read))
    return replace(_with_log(case, path, log), clocks_khz=clocks, resends=resends)


def _with_log(case: Case, path: proof.PathProof, log: str) -> proof.PathProof:
    """Return the proof with what the stack's own log says of it, where the stack was told to say anything."""
    devices = (*case.launch.meant, *case.launch.watched)
    kind, policy = case.site.system.fabrics[case.fabric].kind, case.launch.settings.policy
    patterns = ask.device_patterns(case.stack, kind, policy, devices)
    return stack_log.compared(path, log, patterns, case.launch.meant)


def _traffic(case: Case, tables: list[Table]) -> dict[str, traffic.NodeTraffic]:
    """Return what each node moved at least; a table that is cut counts for the rows that it has."""
    first = _sum([_first_node(case, table) for table in tables])
    nodes = case.launch.nodes
    return {
        name: first.mirrored() if is_mirrored(case.benchmark, number, len(nodes)) else first
        for number, name in enumerate(nodes)
    }


def _sum(parts: list[traffic.NodeTraffic]) -> traffic.NodeTraffic:
    mosts = [part.most_bytes for part in parts]
    return traffic.NodeTraffic(
        sum(part.sent_bytes for part in parts),
        sum(part.received_bytes for part in parts),
        sum(part.sent_split_bytes for part in parts),
        sum(part.received_split_bytes for part in parts),
        None if not mosts or None in mosts else sum(most for most in mosts if most is not None),
    )


def _first_node(case: Case, table: Table) -> traffic.NodeTraffic:
    told = (case.benchmark, case.window, case.repetitions)
    nodes = len(case.launch.nodes)
    least = least_moved(table, *told, nodes, case.ranks_per_node)
    threshold = (case.launch.settings.threshold_bytes or 0) * parts_of_a_vector(case.benchmark, nodes)
    large = replace(table, rows=tuple(row for row in table.rows if _size(table, row) >= threshold))
    split = least_moved(large, *told, nodes, case.ranks_per_node)
    both = moved_bytes.moved_by(table, *told, case.node_pairs)
    most = both[1] if both else None
    return traffic.NodeTraffic(
        least.tx, least.rx, split.tx, split.rx, max(most.tx, most.rx) if most is not None else None
    )


def _size(table: Table, row: tuple[object, ...]) -> int:
    size = row[table.columns.index("size")] if "size" in table.columns else 0
    return size if isinstance(size, int) else 0
