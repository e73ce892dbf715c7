"""What is checked in an application's run: ranks and peak compared with what was given, and a path without sizes.

The peak is what a run could compute at most: by clocks and cores, not by the network.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railyard.base.bounds import BUSY_SHARE
from railyard.base.hostlist import label
from railyard.benchmarks.apps import every_node, least_traffic
from railyard.benchmarks.apps.hpl import BYTES_A_NUMBER, LEAST_SHARE
from railyard.benchmarks.apps.npb import larger
from railyard.benchmarks.model import Curve, Figure, Metric, physics_of
from railyard.benchmarks.table.applications import nodes_of_key
from railyard.benchmarks.table.micro import find
from railyard.hardware.node import NodeHardware
from railyard.job.counters import NodeCounters
from railyard.parsers.output import Table
from railyard.results.record.form import Suspect
from railyard.site.gpu_shape import floor_within, lanes_seen, limit_within
from railyard.verdict.blame.suspects import Findings
from railyard.verdict.path import proof, traffic
from railyard.verdict.rule_model import DeclaredMetric, MeasuredMetric, MetricInput, OutputLine, PathProof
from railyard.verdict.sizes import Sizes
from railyard.verdict.wording import program
from railyard.verdict.wording.run_rules import Ceiling

if TYPE_CHECKING:
    from railyard.job.case import Case


def _other_ranks(case: "Case", tables: Sequence[Table]) -> tuple[OutputLine, ...]:
    """Return a line for each table that ran on other processes, or threads, than the launch gave: for example, each
    rank alone.

    A program that is not linked to the launcher's MPI starts once per rank, each time with one process, and each of
    them says that its result is right. A program that was compiled without OpenMP does the same.
    """
    on_one_host = case.site.system.provider == "host"  # its processes represent nodes
    if not case.launch.nodes or on_one_host:
        return ()
    given = len(case.launch.nodes) * case.ranks_per_node
    if case.threads:
        return _other_threads(case, tables, given)
    found = [(table, ran) for table in tables for ran in _processes(table) if ran != given]
    return tuple(OutputLine(table.line, program.other_ranks(case.benchmark, ran, given)) for table, ran in found)


def _other_threads(case: "Case", tables: Sequence[Table], given: int) -> tuple[OutputLine, ...]:
    """Return a line for each table whose number of processes, or of all their threads, is not that of the launch."""
    found: list[OutputLine] = []
    for table in tables:
        said = (table.context.get("processes"), table.context.get("threads"))
        if said != (given, given * case.threads):
            found.append(OutputLine(table.line, program.other_threads(case.benchmark, *said, given, case.threads)))
    return tuple(found)


def _silent_nodes(case: "Case", tables: Sequence[Table]) -> tuple[OutputLine, ...]:
    """Return a line for the nodes that gave no result of their own, if every node should give one."""
    found: list[OutputLine] = []
    for table in tables if find(case.benchmark).every_node else ():
        heard = {label(name) for name in every_node.nodes_of(table)}
        silent = [node for node in case.launch.nodes if label(node) not in heard]
        if silent:
            found.append(OutputLine(table.line, program.silent_nodes(table.tool, silent)))
    return tuple(found)


def _other_copies(case: "Case", table: Table) -> Iterator[tuple[str, str]]:
    """Yield each node whose GPUs are not those that the file states, and why: a missing GPU shows no slow copy.

    If it is not known that any two GPUs reach one another, only copies between a GPU and the processors show it.
    """
    gpus, within = case.site.system.gpus, find(case.benchmark).within
    if gpus is None or not within or (within == "gpu-link" and isinstance(floor_within(gpus, within), str)):
        return
    due = gpus.per_node * (1 if within == "slot" else gpus.per_node - 1)
    for node, made in zip(every_node.nodes_of(table), table.column("copies"), strict=True):
        if made is not None and made != due:
            yield node, program.other_copies(table.tool, node, made, due, gpus.per_node)


def _sick_gpus(case: "Case", tables: Sequence[Table]) -> tuple[Suspect, ...]:
    """Return the nodes whose GPUs are not all there, or whose slowest copy is below what healthy GPUs show."""
    gpus, within = case.site.system.gpus, find(case.benchmark).within
    if gpus is None or not within:
        return ()
    floor = floor_within(gpus, within)
    least = 0.0 if isinstance(floor, str) else floor.value_mb_s
    found = []
    for table in tables:
        missing = dict(_other_copies(case, table))
        beside = {node for node, _, _ in every_node.slow(table)}
        columns = (table.column(name) for name in ("bandwidth", "gpu"))
        for node, value, gpu in zip(every_node.nodes_of(table), *columns, strict=True):
            if node in missing:
                found.append(Suspect("node", missing[node], node))
            elif isinstance(value, float) and (value < least or node in beside):
                best = max(each for each in table.column("fastest") if isinstance(each, float))
                lanes = lanes_seen(gpus, value) if within == "slot" else ""
                found.append(Suspect("node", program.slow_copy(node, gpu, value, best, lanes), node))
    return tuple(found)


def _idle_threads(case: "Case", tables: Sequence[Table]) -> tuple[OutputLine, ...]:
    """Return a line for each table of nodes on which most threads were idle: for example, because of a BLAS without
    threads.

    On our testbeds the nodes share the host's cores, so a thread may have to wait for a core.
    """
    found: list[OutputLine] = []
    for table in tables if case.site.system.provider == "nodes" else ():
        idle = every_node.idle(table)
        if not idle:
            continue
        node, busy, threads = idle[0]
        where = program.node_and_more(node, len(idle))
        if busy is None or threads is None:
            found.append(OutputLine(table.line, program.unknown_threads(table.tool, where)))
            continue
        said = program.idle_threads(table.tool, where, busy, threads, BUSY_SHARE.value * threads)
        found.append(OutputLine(table.line, said))
    return tuple(found)


def _idle_in_ranks(
    case: "Case", tables: Sequence[Table], readings: Mapping[str, NodeCounters]
) -> tuple[OutputLine, ...]:
    """Return a line for each table during which most threads of a node's first rank were idle. All work of the rank's
    processors, including its start, counts for the time that the output states: more threads may seem busy than were,
    but never fewer. There is no such line for an output without a time of its own (HPC Challenge, whose parts mostly
    have no threads).
    """
    told = case.threads_told
    if told < 2 or case.site.system.provider != "nodes" or find(case.benchmark).every_node:
        return ()
    found: list[OutputLine] = []
    for table in tables if len(tables) == 1 else ():
        times = [value for value in table.column("time") if isinstance(value, float)] if "time" in table.columns else []
        if sum(times) <= 0:
            continue
        used = {node: readings[node].used_s if node in readings else None for node in case.launch.nodes}
        unknown = [node for node, seconds in used.items() if seconds is None]
        if unknown:
            found.append(OutputLine(table.line, program.unknown_threads_on(case.benchmark, unknown)))
            continue
        busy, node = min((seconds / sum(times), node) for node, seconds in used.items() if seconds is not None)
        if busy < BUSY_SHARE.value * told:
            said = program.idle_in_rank(case.benchmark, node, busy, told, BUSY_SHARE.value * told)
            found.append(OutputLine(table.line, said))
    return tuple(found)


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


def _nodes_together(case: "Case") -> int:
    return 1 if find(case.benchmark).every_node else len(case.launch.nodes)


class Application(Sizes):
    """Answers for a run of an application, which has no message sizes."""

    def ceiling(self, case: "Case", metric: Metric) -> Ceiling | None:
        """Return the most that the nodes can compute, for HPL's own figure, if the site states clock and cores."""
        if not metric.of_peak:
            return None
        source = program.stated_hardware(case.site.system.system)
        return ceiling_of_nodes(case.site.system.nodes.hardware, _nodes_together(case), source)

    def failures(self, case: "Case", tables: Sequence[Table], played: bool) -> tuple[OutputLine, ...]:
        """Return a line for each table with other processes than were given, idle threads, or silent nodes."""
        return (
            *(() if played else (*_other_ranks(case, tables), *_idle_threads(case, tables))),
            *_silent_nodes(case, tables),
            *(OutputLine(table.line, why) for table in tables for _, why in _other_copies(case, table)),
        )

    def too_short(self, key: str, tables: Sequence[Table]) -> str | None:
        """Return why a run of NPB was too short: it measured its start more than its computation. Of several passes
        the shortest counts, since each has a part in the median.
        """
        least_s = find(key).least_s
        timed = [table for table in tables if "time" in table.columns]
        times = [seconds for table in timed for seconds in table.column("time") if isinstance(seconds, float | int)]
        shortest, problem = min(times, default=least_s), nodes_of_key(key)[0].rpartition("/")[2]
        return None if shortest >= least_s else program.short_run(key, shortest, least_s, larger(problem))

    def findings(self, case: "Case", tables: Sequence[Table]) -> Findings | None:
        """Return the nodes whose own GPUs are at fault; the references decide, and the job's completeness."""
        suspects = _sick_gpus(case, tables)
        return Findings(suspects, "", is_clear=True) if suspects else None

    def idle(
        self, case: "Case", tables: Sequence[Table], readings: Mapping[str, NodeCounters]
    ) -> tuple[OutputLine, ...]:
        """Return a line for each table during which most threads of a node's first rank were idle."""
        return _idle_in_ranks(case, tables, readings)

    def find_other_results(self, key: str, tables: Sequence[Table]) -> tuple[OutputLine, ...]:
        """Return a line for each sign that it computed something else, by its own physics."""
        return tuple(OutputLine(line, why) for line, why in physics_of(find(key)).wrong(key, tables))

    def bounds(self, case: "Case", tables: Sequence[Table]) -> tuple[MetricInput, ...]:
        """Return the fastest copy between GPUs of a node: its path bounds it, as it does the slowest."""
        within = find(case.benchmark).within
        found = [value for table in tables if within for value in table.column("fastest") if isinstance(value, float)]
        if not found:
            return ()
        declared = DeclaredMetric("fastest", "MB/s", "bandwidth", True, False, program.only_a_limit(), sized=False)
        measured = MeasuredMetric("MB/s", (0,), (max(found),))
        return (MetricInput(declared, measured, limit=limit_within(case.site.system.gpus, within)),)

    def figures(self, case: "Case", curves: Sequence[Curve], tables: Sequence[Table]) -> tuple[Figure, ...]:
        """Return the size and time of HPL's problem, the time that was predicted, and its share of the peak if the
        matrix took most of the memory. For two ranks that shared a processor: for each way to wait, how many times
        longer the other's work took.
        """
        benchmark = find(case.benchmark)
        own = physics_of(benchmark).figures(case.benchmark, tables)
        predicted = () if case.predicted_s is None else (Figure("predicted_time", case.predicted_s, "s"),)
        solved = _best_solution(case, tables) if curves else None
        sized = () if solved is None else (
            Figure("memory_share", 100 * solved.memory_share, "%"), Figure("time", solved.seconds, "s"),
        )  # fmt: skip
        share = _share_of_peak(case, curves)
        fills = solved is not None and solved.memory_share >= LEAST_SHARE
        of_peak = (Figure("percent_of_peak", share, "%"),) if share is not None and fills else ()
        return (*own, *sized, *(predicted if curves else ()), *of_peak)

    def remarks(self, case: "Case", tables: Sequence[Table], again: Sequence[Table]) -> tuple[str, ...]:
        """Return which nodes are slower than the others, if every node was measured alone, judged or not. For two ranks
        that shared a processor: what that cost. For MILC: which physics held. For HPL with a small problem: which.
        """
        small = _of_small_problem(case, tables)
        if small:
            return small
        if not find(case.benchmark).every_node or not tables:
            return physics_of(find(case.benchmark)).remarks(case.benchmark, tables)
        unit = str(tables[0].units[0])
        if find(case.benchmark).within:
            values = [value for value in tables[0].column("bandwidth") if isinstance(value, float)]
            nodes = every_node.nodes_of(tables[0])
            return (program.slowest_node(nodes[values.index(min(values))]),) if len(values) == len(nodes) else ()
        slow = every_node.slow(tables[0])
        return (program.slow_alone([each[:2] for each in slow], slow[0][2], unit),) if slow else ()

    def path(
        self, case: "Case", tables: Sequence[Table], readings: Mapping[str, NodeCounters], plan: traffic.Plan
    ) -> PathProof:
        """Return the path proof of an application's run.

        If its algorithm gives the least that each node must move, that is compared with the intended rails, as for a
        collective; the rest is as in ``counted``. On one node no network may have carried anything.
        """
        nodes = case.launch.nodes
        if find(case.benchmark).within_node:
            alone = proof.judge_within_node(readings, {}, nodes)
            said = program.quiet_networks(sorted(nodes))
            return replace(alone, sentence=said) if alone.state == "proven" else alone
        threshold = case.launch.settings.threshold_bytes or 0
        least = least_traffic.least(case.benchmark, tables, len(nodes), case.ranks_per_node, threshold)
        return proof.judge_by_counters(case, readings, plan, least, program.unknown_traffic(case.benchmark))


ASSESSOR = Application()


@dataclass(frozen=True, slots=True)
class _Solution:
    """HPL's best test: its N, the matrix's share of the memory of the run's nodes, and how long it took."""

    order: int
    memory_share: float
    seconds: float
    gflop_s: float


def _best_solution(case: "Case", tables: Sequence[Table]) -> _Solution | None:
    """Return HPL's best test; None for other benchmarks, or if the system's file states no memory."""
    hardware, nodes = case.site.system.nodes.hardware, _nodes_together(case)
    if hardware is None or not nodes:
        return None
    found = []
    for table in tables:
        if {"N", "P", "Q", "time", "performance"} <= set(table.columns):
            columns = (table.column(name) for name in ("N", "time", "performance"))
            found += [
                _Solution(order, BYTES_A_NUMBER * order**2 / (nodes * hardware.memory), seconds, rate)
                for order, seconds, rate in zip(*columns, strict=True)
                if isinstance(order, int) and isinstance(seconds, float | int) and isinstance(rate, float | int)
            ]
    return max(found, key=lambda each: each.gflop_s, default=None)


def _share_of_peak(case: "Case", curves: Sequence[Curve]) -> float | None:
    """Return the share of the peak at the base clock, per cent; None if the site states none, or nothing computed."""
    names = [metric.name for metric in find(case.benchmark).metrics if metric.of_peak]
    whole = peak_gflop_s(case.site.system.nodes.hardware, _nodes_together(case)) if case.launch.nodes else None
    return next((100 * curve.values[0] / whole for curve in curves if whole and curve.metric in names), None)


def _of_small_problem(case: "Case", tables: Sequence[Table]) -> tuple[str, ...]:
    """Return what HPL gave of the peak with a problem far smaller than the memory: not what the machine can do."""
    solved = _best_solution(case, tables)
    whole = peak_gflop_s(case.site.system.nodes.hardware, _nodes_together(case)) if case.launch.nodes else None
    if solved is None or not whole or solved.memory_share >= LEAST_SHARE:
        return ()
    share = 100 * solved.gflop_s / whole
    return (program.small_problem(share, solved.order, solved.memory_share),) if share <= 100 else ()


def ceiling_of_nodes(hardware: NodeHardware | None, nodes: int, source: str) -> Ceiling | None:
    """Return the bound of so many nodes at the highest clock, in Gflop/s; None if the site does not state it."""
    if hardware is None or hardware.turbo_ghz is None or hardware.flop_per_cycle is None:
        return None
    alone = hardware.peak_gflop_s(hardware.turbo_ghz)
    if alone is None:
        return None
    flop, clock = hardware.flop_per_cycle, hardware.turbo_ghz
    terms = program.peak_of(nodes, hardware.cores, flop, clock, hardware.accelerator_gflop_s or 0.0)
    return Ceiling(nodes * alone, "Gflop/s", terms, source)


def peak_gflop_s(hardware: NodeHardware | None, nodes: int) -> float | None:
    """Return the peak of so many nodes at the base clock, the one that defines a peak; None if it is unknown."""
    alone = None if hardware is None else hardware.peak_gflop_s(hardware.base_ghz)
    return None if alone is None else nodes * alone
