"""What is checked of a run of nccl-tests besides its rules: which GPUs, NICs and groups took part, what each carried.

Bounds and bytes come from ``railyard.benchmarks.gpu``, for the GPUs in the system's file. The library's own log shows
the way that the bytes took, and ``log_reading`` compares it with the intended one. The NICs' counters prove it.

If each rail of a run in groups was measured with its GPU first, the slow rail is named, but not its node. The GPUs with
the same number on all nodes are a group with its own rail. The slowest node decides the group's figure. So the rail is
known, but not the node: pairs of nodes show that.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from railyard.benchmarks.gpu_collectives import ALGORITHMS, MostBusbw, least_carried, most_possible, shares_of
from railyard.benchmarks.table.nccl import collective_of, part_of
from railyard.hardware.gpu_nodes import Shape
from railyard.job.case import Case, Evidence
from railyard.job.counters import NodeCounters
from railyard.parsers import nccl
from railyard.parsers.nccl_said import NcclOutput
from railyard.parsers.nccl_words import GB
from railyard.parsers.output import ParseError, Table
from railyard.results.record.form import Suspect
from railyard.site.gpu_shape import shape_of_part
from railyard.verdict.blame.search.matrix import healthy
from railyard.verdict.blame.suspects import Findings
from railyard.verdict.gpu import log_reading
from railyard.verdict.gpu.rules import like_healthy, shows_dips, unlike_healthy
from railyard.verdict.gpu.run import HALVES, GpuRun, curve
from railyard.verdict.path import proof, traffic
from railyard.verdict.rule_model import LogContradiction, OutputLine, PathProof, RuleResult
from railyard.verdict.sizes import Sizes
from railyard.verdict.wording import gpu_runs as words

#: nccl-tests measures each size out of place and in place, even if it does not print both.
HALVES_MEASURED = 2
#: A rail is slow if it is this far below: as for pairs of nodes without known leaf switches (``blame.search.model``).
SLOW = 0.10
#: Rails are compared with one another if there are at least this many.
LEAST_RAILS = 3
_GPU = re.compile(r"^# railyard: rail of GPU ([0-9]{1,4})$", re.MULTILINE)


def shape_of_run(case: Case, tables: Sequence[Table] = ()) -> Shape | None:
    """Return which GPUs of which nodes take part in one collective of a run, and what connects them.

    For a run in groups this is one group, with its share of the NICs. For a replay, nodes and GPUs are those that its
    output (``tables``) names. None if the system's file has no GPUs, or fewer, or it is not known which took part.
    """
    nodes, used = len(case.launch.nodes), case.ranks_per_node
    if not nodes and tables:
        named = tables[0].context.get("nodes"), tables[0].context.get("ranks_per_node")
        nodes, used = (each if isinstance(each, int) else 0 for each in named)
    part = part_of(case.benchmark)
    nodes = 2 if part.pairs else nodes
    found = shape_of_part(case.site.system, case.fabric, case.rails, part, nodes, used)
    # Switches only reduce with a plugin: in a run that was set to load none, they only forward messages. The settings
    # of a replayed run are not known.
    if found is None or not case.launch.nodes or case.launch.settings.env.get("NCCL_NET_PLUGIN") != "none":
        return found
    return replace(found, node=replace(found.node, reduces=False))


class GpuCollectives(Sizes):
    """What the rules ask about a collective between GPUs."""

    has_shape = False

    def __init__(self, again: Sequence[str] = (), *, rehearsed: bool = False) -> None:
        self.again = tuple(again)
        self.rehearsed = rehearsed

    def of(self, evidence: Evidence) -> "GpuCollectives":
        """Return the answers for a run, with what was measured after it: each rail, if it is in groups."""
        return GpuCollectives(evidence.again, rehearsed=evidence.rehearsed)

    def findings(self, case: Case, tables: Sequence[Table]) -> Findings | None:
        """Return which rail is slow in a run in groups whose rails were measured one after the other."""
        return findings(case, first_gpu_busbw(self.again)) if part_of(case.benchmark).split else None

    def floor(self, case: Case, tables: Sequence[Table]) -> RuleResult | None:
        """Return whether the curve is one of healthy nodes, for a system without references and all GPUs in one group.

        None for any other run.
        """
        why, split = case.site.system.report_only, part_of(case.benchmark).split
        shape, collective = shape_of_run(case, tables), collective_of(case.benchmark)
        if why is None or split or self.rehearsed or shape is None or collective is None or shape.ranks < 2:
            return None
        run = GpuRun(collective, shape)
        each = [{half: own for half in HALVES if (own := curve(table, half))} for table in tables]
        wrong = next((found for curves in each if (found := unlike_healthy(run, curves)) is not None), None)
        if wrong is not None or not each:
            return wrong
        judged = [like_healthy(run, curves) for curves in each]
        worst = next((found for found in judged if found.state != "pass"), judged[0])
        return replace(worst, sentence=words.healthy_curve(why, worst.sentence, all(map(shows_dips, each))))

    def limit(self, case: Case, tables: Sequence[Table]) -> MostBusbw | None:
        """Return the highest busbw that any algorithm can reach over these NICs, links and slots of GPUs."""
        shape, collective = shape_of_run(case, tables), collective_of(case.benchmark)
        if shape is None or collective is None or shape.ranks < 2:
            return None
        told = None if case.repetitions is None else case.repetitions.measured
        each = [told if times is None else times for times in map(_times, tables)]
        known = [times for times in each if times is not None]
        return most_possible(collective, shape, min(known, default=1))

    def failures(self, case: Case, tables: Sequence[Table], played: bool) -> tuple[OutputLine, ...]:
        """Return a line for each table whose nodes, groups or iterations are not those that were asked for."""
        if played:
            return ()
        nodes = len(case.launch.nodes)
        asked = {"nodes": nodes} if nodes and case.site.system.provider != "host" else {}
        if case.repetitions is not None:
            asked["iterations"] = case.repetitions.measured
        if part_of(case.benchmark).split:
            asked |= {"groups": case.ranks_per_node, "ranks": nodes} if case.ranks_per_node > 1 else {}
        return tuple(
            OutputLine(table.line, words.other_context(case.benchmark, table.context.get(name), name, number))
            for table in tables
            for name, number in asked.items()
            if table.context.get(name) != number
        )

    def not_meant(self, case: Case, spoken: NcclOutput | None) -> LogContradiction | None:
        """Return what the library's own log contradicts: the network, the way within a node, and each GPU's NIC."""
        if spoken is None:
            return None
        other = log_reading.why_other_groups(spoken.jobs) if part_of(case.benchmark).split else None
        return other or (None if spoken.log is None else log_reading.why_other(spoken.log, intended_way(case)))

    def log_remarks(self, case: Case, spoken: NcclOutput | None) -> tuple[str, ...]:
        """Return that there is no log, or what it says that a reader should know."""
        log = None if spoken is None else spoken.log
        if log is None and case.site.system.provider == "replay":
            return ()  # published figures have no log
        if log is None:
            return (words.no_log_of_library(),)
        return log_reading.remarks(log, intended_way(case))

    def path(
        self, case: Case, tables: Sequence[Table], readings: Mapping[str, NodeCounters], plan: traffic.Plan
    ) -> PathProof:
        """Return the path proof: the counters show what the NICs of a node must carry, whatever the algorithm.

        If each group has a GPU of each node and the same number of NICs, all rails carry the same. In all other cases
        the library chooses how much each NIC carries, and each must have been used.
        """
        nodes, shape, part = case.launch.nodes, shape_of_run(case), part_of(case.benchmark)
        collective, moved = collective_of(case.benchmark), least_moved_bytes(tables)
        if part.within_node or (shape is not None and shape.domains == 1):
            link = None if shape is None else shape.node.gpu_link
            inside = dict.fromkeys(nodes, moved or 0)
            links = words.own_links() if link is None else link.word
            return proof.judge_within_node(readings, inside, nodes, words.group_of_gpus(), links)
        why = _why_unknown(case, shape, collective, moved)
        if why is not None or shape is None or collective is None or moved is None:
            return proof.judge_by_counters(case, readings, plan, (), words.unknown_traffic(why or ""))
        groups = case.ranks_per_node if part.split else 1
        each = of_nodes(collective, shape, groups, moved, most_moved_bytes(case, moved))
        even = part.split and _has_own_nics(case)
        return proof.judge(readings, replace(plan, collective=not even, traffic=dict(zip(nodes, each, strict=True))))


def _has_own_nics(case: Case) -> bool:
    """Return whether the system's file gives each GPU NICs of its own, and each NIC the same number of GPUs.

    If two GPUs are equally near to two NICs, the library chooses which GPU uses which NIC.
    """
    gpus = case.site.system.gpus
    if gpus is None:
        return False
    near = [gpus.nearest.get(name.partition(":")[0], ()) for name in case.launch.meant]
    each = [gpu for those in near for gpu in those]
    alone = len(each) == len(set(each)) or all(len(those) == 1 for those in near)
    even = len({each.count(gpu) for gpu in each}) == 1 and len({len(those) for those in near}) == 1
    return alone and even and set(each) == set(range(case.ranks_per_node))


def intended_way(case: Case) -> log_reading.MeantWay:
    """Return the intended way of the bytes of a run."""
    gpus, part = case.site.system.gpus, part_of(case.benchmark)
    link = None if gpus is None else gpus.link
    return log_reading.MeantWay(
        network=case.launch.settings.env.get("NCCL_NET", ""),
        within=part.within_node,
        over_nics=part.over_nics,
        own_nics=part.split,
        has_links=link is not None and not link.is_slot,
        nearest={} if gpus is None else gpus.nearest,
        rails=case.launch.meant,
    )


def _why_unknown(case: Case, shape: Shape | None, collective: str | None, moved: int | None) -> str | None:
    if collective is None:
        return words.no_formula_for(case.benchmark)
    if shape is None:
        return words.gpus_not_in_file(case.site.system.system)
    if moved is None:
        return words.unknown_iterations()
    if shape.gpus_a_domain > shape.gpus:
        return words.shared_domain()
    if part_of(case.benchmark).over_nics and case.rails < case.ranks_per_node:
        return words.shared_nics(case.ranks_per_node, case.rails)
    return None


def of_nodes(
    collective: str, shape: Shape, groups: int, moved: int, at_most: int | None
) -> list[traffic.NodeTraffic]:  # fmt: skip
    """Return what each node sends and receives at least and at most, for all groups together.

    It is not known which algorithm the library uses. So the least is what no algorithm can avoid, and the most is what
    the busiest one carries.
    """
    made = [shares_of(collective, name, shape) for name in ALGORITHMS]
    shares, all_shares = least_carried(collective, shape), [each for each in made if each is not None]
    domains = shape.gpus // shape.gpus_a_domain
    found = []
    for node in range(shape.nodes):
        own = slice(node * domains, (node + 1) * domains)
        sent = int(groups * moved * sum(share.sent for share in shares[own]))
        received = int(groups * moved * sum(share.received for share in shares[own]))
        most = [
            None if at_most is None else int(groups * at_most * max(each, default=0.0))
            for each in (
                [sum(share.sent for share in of[own]) for of in all_shares],
                [sum(share.received for share in of[own]) for of in all_shares],
            )
        ]
        found.append(traffic.NodeTraffic(sent, received, sent, received, *most))
    return found


def most_moved_bytes(case: Case, moved: int) -> int | None:
    """Return ``moved`` plus warm-ups, the run at the start of each half and the one that is checked; None if unknown.

    Source: common.cu of NVIDIA/nccl-tests, TimeTest and BenchTime.
    """
    told = case.repetitions
    if told is None or told.warm_up is None:
        return None
    return int(moved * (told.measured + told.warm_up + 2) / told.measured)


def _times(table: Table) -> int | None:
    """Return how often each size of a table was measured in each half; None if the table does not say."""
    iterations, aggregated = table.context.get("iterations"), table.context.get("aggregated", 1)
    if isinstance(iterations, int) and isinstance(aggregated, int):
        return iterations * aggregated
    return None


def least_moved_bytes(tables: Sequence[Table]) -> int | None:
    """Return the bytes of all rows: each size times how often it was measured at least, without warm-ups and checks.

    None if the output does not say how often.
    """
    total = 0
    for table in tables:
        times = _times(table)
        if times is None:
            return None
        total += HALVES_MEASURED * times * sum(size for size in table.column("size") if isinstance(size, int))
    return total


ASSESSOR = GpuCollectives()


def first_gpu_busbw(texts: Sequence[str]) -> Mapping[int, float]:
    """Return the busbw at the largest size in GB/s for each GPU that was first; without those that gave none."""
    found: dict[int, float] = {}
    for text in texts:
        said = _GPU.search(text)
        try:
            tables = nccl.parse(text).tables
        except ParseError:
            continue
        whole = [table for table in tables if table.complete]
        halves = [own for table in whole for half in HALVES if (own := curve(table, half))]
        if said is not None and len(whole) == 1 and halves:
            found[int(said[1])] = min(own[max(own)] for own in halves)
    return found


def groups_to_measure(tables: Sequence[Table], expected_mb_s: float) -> tuple[int, ...]:
    """Return the groups of a run that is slower than expected at its largest size, or has no value there."""
    found: list[int] = []
    for table in tables:
        groups = table.context.get("groups")
        halves = [own for half in HALVES if (own := curve(table, half))]
        rate = min((own[max(own)] for own in halves), default=0.0)
        if isinstance(groups, int) and rate * GB < expected_mb_s:
            found += range(groups)
    return tuple(dict.fromkeys(found))


def findings(case: Case, rates: Mapping[int, float]) -> Findings | None:
    """Return the rails that are slower than the others: None if too few were measured, nobody if all are alike."""
    if len(rates) < LEAST_RAILS:
        return None
    level, _ = healthy(list(rates.values()))
    slow = {gpu: rate for gpu, rate in rates.items() if rate < (1 - SLOW) * level}
    measured = sorted(rates.items())
    if not slow:
        return Findings((), words.alike_rails(measured), is_clear=True)
    suspects = tuple(
        Suspect("rail", words.slow_rail(rate, level, case.launch.nodes), None, _rail_of(gpu, case))
        for gpu, rate in sorted(slow.items())
    )
    rails = [(_rail_of(gpu, case), gpu) for gpu in sorted(slow)]
    return Findings(suspects, words.slow_rails(rails, measured), is_clear=True, look_at=words.look_at_pairs())


def _rail_of(gpu: int, case: Case) -> str:
    gpus = case.site.system.gpus
    near = {} if gpus is None else gpus.nearest
    own = [rail for rail in case.launch.meant if gpu in near.get(rail.partition(":")[0], ())]
    return words.one_of_rails(own, gpu)
