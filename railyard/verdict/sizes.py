"""What is asked of a run besides its rules: here of a benchmark by message sizes, which has nothing but its bytes.

``assessor_of`` picks what the benchmark's entry names, once a run. An application and pairs of nodes answer otherwise,
in modules of their own that no other run imports.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module

from railyard.base.bounds import MESSAGE_OVERHEAD
from railyard.benchmarks import moved_bytes
from railyard.benchmarks.curve import Curve
from railyard.benchmarks.figure import Figure
from railyard.benchmarks.model import AssessedBy, Benchmark, Metric
from railyard.benchmarks.moved_bytes import is_mirrored, least_moved, parts_of_a_vector
from railyard.benchmarks.table import micro
from railyard.job.case import Case, Evidence
from railyard.job.counters.node import NodeCounters
from railyard.parsers.nccl_said import Spoken
from railyard.parsers.parsed import Parsed, Table
from railyard.verdict.blame.suspects import Findings
from railyard.verdict.path import counted, proof, traffic
from railyard.verdict.rules.model import LimitLike, MetricInput, MostLike, OtherWay, OutputLine


class Sizes:
    """Answers for a benchmark by message sizes. ``tables`` are those of the benchmark that was asked for.

    ``has_shape``: its curves may look like a known cause.
    """

    has_shape = True

    def of(self, evidence: Evidence) -> "Sizes":
        """Return what answers for one run by what else it left; most ask for nothing besides its output."""
        return self

    def steps(self, texts: Sequence[str], parse: Callable[[str], Parsed]) -> tuple[Table, ...]:
        """Return the tables of what was measured again."""
        return ()

    def judged(self, tables: list[Table], again: Sequence[Table]) -> list[Table]:
        """Return the tables that are judged, in the light of those that were measured again."""
        return tables

    def kept(self, tables: list[Table], again: Sequence[Table]) -> tuple[Table, ...]:
        """Return the tables that the record needs whole."""
        return ()

    def bounds(self, case: Case, tables: Sequence[Table]) -> tuple[MetricInput, ...]:
        """Return what must be possible too, and is no metric of the benchmark."""
        return ()

    def limit(self, case: Case, tables: Sequence[Table]) -> LimitLike | None:
        """Return what bounds its bandwidth where no link does alone; None for what a link bounds, or nothing known."""
        return None

    def not_meant(self, case: Case, spoken: Spoken | None) -> OtherWay | None:
        """Return why the library's own log says that another way was taken than was meant, or None."""
        return None

    def log_remarks(self, case: Case, spoken: Spoken | None) -> tuple[str, ...]:
        """Return what a reader should know of the library's own log."""
        return ()

    def most(self, case: Case, metric: Metric) -> MostLike | None:
        """Return what the run's nodes could compute at most; None where nothing bounds the metric so."""
        return None

    def failures(self, case: Case, tables: Sequence[Table], played: bool) -> tuple[OutputLine, ...]:
        """Return what is wrong with where the run computed; ``played``: its output is of another launch."""
        return ()

    def idle(self, case: Case, tables: Sequence[Table], readings: Mapping[str, NodeCounters]) -> tuple[OutputLine, ...]:
        """Return what says that most threads of a rank were idle."""
        return ()

    def otherwise(self, key: str, tables: Sequence[Table]) -> tuple[OutputLine, ...]:
        """Return a line for each sign that it computed something else: another release, other physics."""
        return ()

    def findings(self, case: Case, tables: Sequence[Table]) -> Findings | None:
        """Return who is slow beside the other parts of the run; None for a run that has no such parts."""
        return None

    def figures(self, case: Case, curves: Sequence[Curve], tables: Sequence[Table]) -> tuple[Figure, ...]:
        """Return the figures besides those that stand for the curves."""
        return ()

    def remarks(self, case: Case, tables: Sequence[Table], again: Sequence[Table]) -> tuple[str, ...]:
        """Return what a reader should know besides the verdict."""
        return ()

    def path(
        self, case: Case, tables: Sequence[Table], readings: Mapping[str, NodeCounters], plan: traffic.Plan
    ) -> proof.PathProof:
        """Return the path proof; ``plan`` has the meant rails and the policy, its traffic is given here."""
        benchmark = micro.find(case.benchmark)
        tool = micro.tool(benchmark.tool)
        plan = replace(plan, collective=benchmark.traffic is None)
        if tool.repetitions == "printed" or case.repetitions is not None:
            return proof.judge(readings, replace(plan, traffic=_traffic(case, tables)))
        plan = replace(plan, unknown=f"{tool.name} prints no repetitions and was told none")
        if tool.repetitions == "told":
            return proof.judge(readings, replace(plan, traffic=_traffic(case, tables)))
        return counted.judge(case, readings, plan, (), f"expected bytes unknown: {plan.unknown}")


ASSESSOR = Sizes()
_MODULES: Mapping[AssessedBy, str] = {
    "sizes": "sizes",
    "application": "applications",
    "node_pairs": "node_pairs",
    "gpus": "gpu.collectives",
    "gpu_pairs": "gpu.pairs",
}


def assessor_of(benchmark: Benchmark) -> Sizes:
    """Return what answers for the runs of this benchmark."""
    found = import_module(f"railyard.verdict.{_MODULES[benchmark.assessed]}").ASSESSOR
    assert isinstance(found, Sizes)
    return found


def _traffic(case: Case, tables: Sequence[Table]) -> dict[str, traffic.NodeTraffic]:
    """Return what each node moved at least; a table that is cut counts for the rows that it has."""
    first = traffic.added([_first_node(case, table) for table in tables])
    nodes = case.launch.nodes
    return {
        name: first.mirrored() if is_mirrored(case.benchmark, number, len(nodes)) else first
        for number, name in enumerate(nodes)
    }


def _first_node(case: Case, table: Table) -> traffic.NodeTraffic:
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
