"""Questions about a run besides its rules, answered for a benchmark by message sizes: only its bytes matter.

``assessor_of`` picks the class that the benchmark's entry names, once per run. Applications and pairs of nodes have
other answers, in modules of their own that no other run imports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from railyard.base.bounds import MESSAGE_OVERHEAD
from railyard.benchmarks import moved_bytes
from railyard.benchmarks.model import AssessedBy, Benchmark, Metric
from railyard.benchmarks.moved_bytes import is_mirrored, least_moved, parts_of_a_vector
from railyard.benchmarks.table import micro
from railyard.parsers.output import ParsedOutput, Table

if TYPE_CHECKING:
    from railyard.benchmarks.model import Curve, Figure
    from railyard.job.case import Case, Evidence
    from railyard.job.counters import NodeCounters
    from railyard.parsers.nccl_said import NcclOutput
    from railyard.verdict.blame.suspects import Findings
    from railyard.verdict.path import traffic
    from railyard.verdict.rule_model import (
        LimitLike,
        LogContradiction,
        MetricInput,
        OutputLine,
        PathProof,
        RuleResult,
    )
    from railyard.verdict.wording.possible import Ceiling


class Sizes:
    """Answers for a benchmark by message sizes. ``tables`` are those of the requested benchmark.

    ``has_shape``: its curves may look like a known cause.
    """

    has_shape = True

    def of(self, evidence: Evidence) -> Sizes:
        """Return the answers for one run, from its other files; most benchmarks need only its output."""
        return self

    def steps(self, texts: Sequence[str], parse: Callable[[str], ParsedOutput]) -> tuple[Table, ...]:
        """Return the tables of repeated measurements."""
        return ()

    def tables_to_judge(self, tables: list[Table], again: Sequence[Table]) -> list[Table]:
        """Return the tables to judge, with repeated measurements taken into account."""
        return tables

    def tables_to_keep(self, tables: list[Table], again: Sequence[Table]) -> tuple[Table, ...]:
        """Return the tables that the record needs in full."""
        return ()

    def bounds(self, case: Case, tables: Sequence[Table]) -> tuple[MetricInput, ...]:
        """Return values that must be possible too, but are not metrics of the benchmark."""
        return ()

    def limit(self, case: Case, tables: Sequence[Table]) -> LimitLike | None:
        """Return what bounds its bandwidth if a link alone does not; None if a link does, or if nothing is known."""
        return None

    def not_meant(self, case: Case, spoken: NcclOutput | None) -> LogContradiction | None:
        """Return why, by the library's own log, it took another path than intended, or None."""
        return None

    def log_remarks(self, case: Case, spoken: NcclOutput | None) -> tuple[str, ...]:
        """Return what a reader should know about the library's own log."""
        return ()

    def ceiling(self, case: Case, metric: Metric) -> Ceiling | None:
        """Return the most that the run's nodes could compute; None if this does not bound the metric."""
        return None

    def failures(self, case: Case, tables: Sequence[Table], played: bool) -> tuple[OutputLine, ...]:
        """Return what is wrong with the place where the run computed; ``played``: its output is from another launch."""
        return ()

    def idle(self, case: Case, tables: Sequence[Table], readings: Mapping[str, NodeCounters]) -> tuple[OutputLine, ...]:
        """Return the signs that most threads of a rank were idle."""
        return ()

    def find_other_results(self, key: str, tables: Sequence[Table]) -> tuple[OutputLine, ...]:
        """Return a line for each sign that it computed something else: another release, other physics."""
        return ()

    def findings(self, case: Case, tables: Sequence[Table]) -> Findings | None:
        """Return which part of the run is slower than the others; None if a run has no such parts."""
        return None

    def too_short(self, key: str, tables: Sequence[Table]) -> str | None:
        """Return why a run of a benchmark was too short to be judged, or None."""
        return None

    def floor(self, case: Case, tables: Sequence[Table]) -> RuleResult | None:
        """Return rule 5 of a system without references, if something else than its link sets the floor; else None."""
        return None

    def figures(self, case: Case, curves: Sequence[Curve], tables: Sequence[Table]) -> tuple[Figure, ...]:
        """Return the figures besides those of the curves."""
        return ()

    def remarks(self, case: Case, tables: Sequence[Table], again: Sequence[Table]) -> tuple[str, ...]:
        """Return what a reader should know besides the verdict."""
        return ()

    def path(
        self, case: Case, tables: Sequence[Table], readings: Mapping[str, NodeCounters], plan: traffic.Plan
    ) -> PathProof:
        """Return the path proof; ``plan`` has the intended rails and the policy; this adds its traffic."""
        from railyard.verdict.path import proof
        from railyard.verdict.wording import path as words

        benchmark = micro.find(case.benchmark)
        tool = micro.tool(benchmark.tool)
        plan = replace(plan, collective=benchmark.traffic is None)
        if tool.repetitions == "printed" or case.repetitions is not None:
            return proof.judge(readings, replace(plan, traffic=_traffic(case, tables)))
        reason = words.no_repetitions(tool.name)
        plan = replace(plan, unknown=reason)
        if tool.repetitions == "told":
            return proof.judge(readings, replace(plan, traffic=_traffic(case, tables)))
        from railyard.verdict.path import proof

        return proof.judge_by_counters(case, readings, plan, (), words.unknown_bytes(reason, ""))


ASSESSOR = Sizes()
_MODULES: Mapping[AssessedBy, str] = {
    "sizes": "sizes",
    "application": "applications",
    "node_pairs": "node_pairs",
    "gpus": "gpu.collectives",
    "gpu_pairs": "gpu.pairs",
}


def assessor_of(benchmark: Benchmark) -> Sizes:
    """Return the answers for runs of this benchmark."""
    found = import_module(f"railyard.verdict.{_MODULES[benchmark.assessed]}").ASSESSOR
    assert isinstance(found, Sizes)
    return found


def _traffic(case: Case, tables: Sequence[Table]) -> dict[str, traffic.NodeTraffic]:
    """Return what each node moved at least; an incomplete table counts with the rows that it has."""
    from railyard.verdict.path import traffic

    first = traffic.add_traffic([_first_node(case, table) for table in tables])
    nodes = case.launch.nodes
    return {
        name: first.mirror() if is_mirrored(case.benchmark, number, len(nodes)) else first
        for number, name in enumerate(nodes)
    }


def _first_node(case: Case, table: Table) -> traffic.NodeTraffic:
    from railyard.verdict.path import traffic

    told = (case.benchmark, case.window, case.repetitions)
    nodes = len(case.launch.nodes)
    least = least_moved(table, *told, nodes, case.ranks_per_node)
    threshold = (case.launch.settings.threshold_bytes or 0) * parts_of_a_vector(case.benchmark, nodes)
    large = replace(table, rows=tuple(row for row in table.rows if _size(table, row) >= threshold))
    split = least_moved(large, *told, nodes, case.ranks_per_node)
    both = moved_bytes.moved_by(table, *told, case.node_pairs, beside=int(MESSAGE_OVERHEAD.value))
    most = both[1] if both else None
    mosts = (None, None) if most is None else (most.tx, most.rx)
    return traffic.NodeTraffic(least.tx, least.rx, split.tx, split.rx, *mosts)


def _size(table: Table, row: tuple[object, ...]) -> int:
    size = row[table.columns.index("size")] if "size" in table.columns else 0
    return size if isinstance(size, int) else 0
