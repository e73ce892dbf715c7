"""What assess does otherwise for applications: ranks and peak held against what was given, and a path without sizes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from railyard.base.wording import listing, number
from railyard.benchmarks.apps import every_node, least_traffic, peak
from railyard.benchmarks.curve import Curve
from railyard.benchmarks.metrics import Figure
from railyard.benchmarks.model import Metric
from railyard.benchmarks.physics import Least, physics_of
from railyard.benchmarks.table.micro import find
from railyard.job.counters.node import NodeCounters
from railyard.parsers.parsed import Table
from railyard.verdict.path import proof, traffic, used_rails, within_node
from railyard.verdict.rules.model import OutputLine

if TYPE_CHECKING:
    from railyard.job.case import Case


def is_application(key: str) -> bool:
    """Return whether a benchmark is an application, which has no message sizes."""
    return find(key).is_application


def other_ranks(case: "Case", tables: Sequence[Table]) -> tuple[OutputLine, ...]:
    """Return a line for each table that ran on other processes, or threads, than the launch gave: each rank alone, say.

    A program that is not linked to the launcher's MPI starts as often as there are ranks, each with one process, and
    every one of them calls its result right. So does one that was compiled without OpenMP.
    """
    on_one_host = case.site.system.provider == "host"  # its processes stand in for nodes
    if not is_application(case.benchmark) or not case.launch.nodes or on_one_host:
        return ()
    given = len(case.launch.nodes) * case.ranks_per_node
    if case.threads:
        return _other_threads(case, tables, given)
    found = [(table, ran) for table in tables for ran in _processes(table) if ran != given]
    return tuple(
        OutputLine(table.line, f"{case.benchmark} ran on {ran} processes, the launch gave it {given}")
        for table, ran in found
    )


def _other_threads(case: "Case", tables: Sequence[Table], given: int) -> tuple[OutputLine, ...]:
    """Return a line for each table whose processes, and threads of all of them, are not those that the launch gave."""
    found: list[OutputLine] = []
    for table in tables:
        said = (table.context.get("processes"), table.context.get("threads"))
        if said != (given, given * case.threads):
            processes, threads = ("an unknown number of" if each is None else str(each) for each in said)
            found.append(
                OutputLine(
                    table.line,
                    f"{case.benchmark} ran on {processes} processes and {threads} threads in all, the launch gave it "
                    f"{given} and {given * case.threads}, {case.threads} each",
                )
            )
    return tuple(found)


def silent_nodes(case: "Case", tables: Sequence[Table]) -> tuple[OutputLine, ...]:
    """Return a line for the nodes that gave no result of their own, where every node was to give one."""
    found: list[OutputLine] = []
    for table in tables if find(case.benchmark).every_node else ():
        heard = {name.split(".")[0] for name in every_node.nodes_of(table)}
        silent = [node for node in case.launch.nodes if node.split(".")[0] not in heard]
        if silent:
            found.append(OutputLine(table.line, f"{table.tool} gave no result on {listing(silent)}"))
    return tuple(found)


def remarks(case: "Case", tables: Sequence[Table]) -> tuple[str, ...]:
    """Return which nodes are slower than the others, where every node was measured alone, judged or not.

    Of two ranks that shared a processor, what that cost; of MILC, which physics was held.
    """
    if not find(case.benchmark).every_node or not tables:
        return physics_of(find(case.benchmark)).remarks(case.benchmark, tables)
    unit = str(tables[0].units[0])
    slow = every_node.slow(tables[0])
    named = listing([f"{node} {number(value)}" for node, value, _ in slow])
    return (f"slow alone: {named} of {number(slow[0][2])} {unit} (median)",) if slow else ()


def _processes(table: Table) -> tuple[int, ...]:
    """Return the numbers of processes that a table names, each once."""
    printed = table.context.get("processes", table.context.get("ranks"))
    if isinstance(printed, int):
        return (printed,)
    if "commworldprocs" in table.columns:  # HPC Challenge
        return tuple(ran for ran in table.column("commworldprocs") if isinstance(ran, int))
    if {"P", "Q"} <= set(table.columns):
        pairs = zip(table.column("P"), table.column("Q"), strict=True)
        return tuple(dict.fromkeys(p * q for p, q in pairs if isinstance(p, int) and isinstance(q, int)))
    return ()


def most(case: "Case", metric: Metric) -> peak.Most | None:
    """Return what the run's nodes could compute at most, for HPL's own figure where the site states clock and cores."""
    if not metric.of_peak:
        return None
    source = f"nodes.hardware of systems/{case.site.system.system}.yaml"
    return peak.most(case.site.system.nodes.hardware, _nodes_together(case), source)


def figures(case: "Case", curves: Sequence[Curve], tables: Sequence[Table]) -> tuple[Figure, ...]:
    """Return HPL's share of the peak at the base clock, in per cent; () where it is not known or not measured.

    Of two ranks that shared a processor, how many times as long each way to wait made the other's work.
    """
    benchmark = find(case.benchmark)
    own = physics_of(benchmark).figures(tables)
    of_peak = [metric.name for metric in benchmark.metrics if metric.of_peak]
    if not of_peak or not case.launch.nodes:
        return own
    whole = peak.peak_gflop_s(case.site.system.nodes.hardware, _nodes_together(case))
    if whole is None:
        return own
    shares = [100 * curve.values[0] / whole for curve in curves if curve.metric in of_peak]
    return (*own, *(Figure("percent_of_peak", share, "%", None) for share in shares))


def _nodes_together(case: "Case") -> int:
    return 1 if find(case.benchmark).every_node else len(case.launch.nodes)


def no_payload(key: str) -> str | None:
    """Return why a counter cannot show the path of this benchmark, or None where it can."""
    benchmark = find(key)
    if not benchmark.payload:
        return f"{key} moves no payload"
    if benchmark.too_little:
        return f"{key} moves too little to tell from what the start of a job moves"
    return None


def path(
    case: "Case", tables: Sequence[Table], readings: Mapping[str, NodeCounters], plan: traffic.Plan
) -> proof.PathProof:
    """Return the path proof of an application's run.

    Where its algorithm says what each node must move at least, that is held against the meant rails, as for a
    collective. Whatever the meant rails carried beyond it is taken as the run's own, and no other network may have
    carried more than a hundredth of it. On one node no network may have carried anything.
    """
    nodes = case.launch.nodes
    if find(case.benchmark).within_node:
        alone = within_node.judge(readings, {}, nodes)
        said = f"no network of {listing(sorted(nodes))} carried more than the start of a job does"
        return replace(alone, sentence=said) if alone.state == "proven" else alone
    threshold = case.launch.settings.threshold_bytes or 0
    least = least_traffic.least(case.benchmark, tables, len(nodes), case.ranks_per_node, threshold)
    bounds = least or (Least(0, 0),) * len(nodes)
    moved = {node: _moved(readings.get(node), plan, bound) for node, bound in zip(nodes, bounds, strict=True)}
    found = proof.judge(readings, replace(plan, traffic=moved))
    if found.state == "proven":
        found = used_rails.held(case, readings, replace(plan, traffic=moved), found)
    if least:
        return replace(found, expected_bytes=sum(bound.sent_bytes + bound.received_bytes for bound in least))
    said = f"{found.sentence}; how much {case.benchmark} must move is not known"
    return replace(found, expected_bytes=None, sentence=said if found.state == "proven" else found.sentence)


def _moved(reading: NodeCounters | None, plan: traffic.Plan, least: Least) -> traffic.NodeTraffic:
    devices = [] if reading is None else [device for device in reading.devices if device.device in plan.rails]
    sent = sum(device.tx.delta_bytes or 0 for device in devices)
    received = sum(device.rx.delta_bytes or 0 for device in devices)
    return traffic.NodeTraffic(
        max(least.sent_bytes, sent), max(least.received_bytes, received), least.split_bytes, least.split_bytes
    )
