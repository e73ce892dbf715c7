"""Questions about a run besides its rules, answered for a benchmark by message sizes: only its bytes matter.

``assessor_of`` picks the class that the benchmark's entry names, once per run. Applications and pairs of nodes have
other answers, in modules of their own that no other run imports.

And what a tool was asked for, compared with what it printed: tables, message sizes, processes, messages in flight.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, cast

from railyard.base.bounds import MESSAGE_OVERHEAD
from railyard.benchmarks import moved_bytes
from railyard.benchmarks.model import AssessedBy, Benchmark, Metric
from railyard.benchmarks.moved_bytes import is_mirrored, least_moved, parts_of_a_vector
from railyard.benchmarks.table import micro
from railyard.parsers.output import ParsedOutput, Table
from railyard.verdict.wording import run_rules as words

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
    from railyard.verdict.wording.run_rules import Ceiling


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
        from railyard.verdict.wording import path as path_words

        benchmark = micro.find(case.benchmark)
        tool = micro.tool(benchmark.tool)
        plan = replace(plan, collective=benchmark.traffic is None)
        if tool.repetitions == "printed" or case.repetitions is not None:
            return proof.judge(readings, replace(plan, traffic=_traffic(case, tables)))
        reason = path_words.no_repetitions(tool.name)
        plan = replace(plan, unknown=reason)
        if tool.repetitions == "told":
            return proof.judge(readings, replace(plan, traffic=_traffic(case, tables)))
        from railyard.verdict.path import proof

        return proof.judge_by_counters(case, readings, plan, (), path_words.unknown_bytes(reason, ""))


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
    both = moved_bytes.table_payload(table, *told, case.node_pairs, beside=int(MESSAGE_OVERHEAD.value))
    most = both[1] if both else None
    mosts = (None, None) if most is None else (most.tx, most.rx)
    return traffic.NodeTraffic(least.tx, least.rx, split.tx, split.rx, *mosts)


def _size(table: Table, row: tuple[object, ...]) -> int:
    size = row[table.columns.index("size")] if "size" in table.columns else 0
    return size if isinstance(size, int) else 0


def unlike_asked(case: Case, tables: Sequence[Table], judged: Sequence[Table], printed: Sequence[Table]) -> str | None:
    """Return how an output differs from what its run was asked for; None if it does not.

    ``tables`` are those of the benchmark, ``judged`` what is made from them, ``printed`` all.
    """
    if len(judged) > case.passes:
        return words.too_many_tables(len(judged), case.passes)
    if micro.find(case.benchmark).assessed not in ("sizes", "gpus"):
        return None
    foreign = [table for table in printed if table not in tables]
    if foreign:
        return words.foreign_table(foreign[0].tool, foreign[0].benchmark, foreign[0].line)
    return next(
        (
            why
            for table in tables
            if (why := other_sizes(table, case.benchmark, case.sizes) or _other_crowd(case, table)) is not None
        ),
        None,
    )


def _other_crowd(case: Case, table: Table) -> str | None:
    """Return which number in a table's heading was not asked for: of processes, pairs or messages in flight."""
    if micro.find(case.benchmark).every_node or "groups" in table.context:
        return None
    ranks = len(case.launch.nodes) * case.ranks_per_node
    crowds: tuple[tuple[str, words.Crowd, int], ...] = (
        ("ranks", "processes", ranks),
        ("processes", "processes", ranks),
        ("pairs", "pairs of ranks", ranks // 2),
        ("window", "messages in flight", case.window),
    )
    for name, what, asked in crowds:
        found = table.context.get(name)
        if isinstance(found, int) and not isinstance(found, bool) and found != asked:
            return words.other_crowd(case.benchmark, table.line, found, what, asked)
    return None


def other_sizes(table: Table, key: str, asked: Sequence[int]) -> str | None:
    """Return which of the requested message sizes a table lacks, and which other ones it has, in bytes.

    None if it has exactly these, or if none were asked for: then the tool uses its own.
    """
    if not asked:
        return None
    found = sizes_of(table)
    lacking = [size for size in asked if size not in found]
    besides = sorted({size for size in found if size not in asked})
    if not lacking and not besides:
        return None
    return words.other_sizes(key, table.line, lacking, besides, len({*asked}))


def gap(table: Table, key: str) -> str | None:
    """Return where a table whose message sizes grow by one factor leaves out one or more sizes; None if it does not.

    For an output if nobody knows what was asked for. At least three in four steps must be alike, unless the tool always
    doubles.
    """
    if micro.tool(micro.find(key).tool).doubles:
        return _not_doubled(table, key)
    sizes = [size for size in sizes_of(table) if size > 0]
    steps = [after / before for before, after in pairwise(sizes)]
    if len(steps) < 4 or min(steps) <= 1:
        return None
    usual = sorted(steps)[len(steps) // 2]
    others = [place for place, step in enumerate(steps) if step != usual]
    wide = next((place for place in others if _is_power(steps[place], usual)), None)
    if wide is None or 4 * len(others) > len(steps):
        return None
    return words.gap(key, table.line, sizes[wide], sizes[wide + 1], usual)


def describe_skipped(table: Table, key: str) -> str | None:
    """Return which powers of two an irregular list of sizes leaves out; None if its sizes are regular, others, or have
    a gap that fails.

    IMB takes any list, so no one can tell such a table from one that lost many rows.
    """
    sizes = [size for size in sizes_of(table) if size > 0]
    steps = {after / before for before, after in pairwise(sizes)}
    if len(steps) < 2 or min(steps) <= 1 or any(size & (size - 1) for size in sizes) or gap(table, key):
        return None
    skipped = [1 << at for at in range(sizes[0].bit_length(), sizes[-1].bit_length()) if 1 << at not in sizes]
    return words.say_skipped(skipped)


def _not_doubled(table: Table, key: str) -> str | None:
    wide = _wider_than_double(sizes_of(table))
    if wide is None:
        return None
    return words.not_doubled(key, table.line, *wide, table.tool)


@lru_cache(maxsize=64)  # thousands of tables have the same sizes
def _wider_than_double(sizes: tuple[int, ...]) -> tuple[int, int] | None:
    return next(((before, after) for before, after in pairwise(sizes) if after > (2 * before or 1)), None)


def _is_power(step: float, usual: float) -> bool:
    """Return whether a step is several usual ones at once."""
    count = math.log(step) / math.log(usual)
    return count > 1.5 and abs(count - round(count)) < 1e-9


def begins_like(one: Table, other: Table) -> bool:
    """Return whether the message sizes of one table are the first ones of the other, or the other way round."""
    return all(map(operator.eq, sizes_of(one), sizes_of(other)))


def shorter_pass(tables: Sequence[Table], key: str) -> str | None:
    """Return which pass ends at a smaller message size than another one, so that it may be cut; None if all are alike.

    A tool that marks no end does not show whether a pass was cut, or whether it was a run over fewer sizes.
    """
    counts = [len(sizes_of(table)) for table in tables]
    if len({*counts}) == 1:
        return None
    longest = tables[counts.index(max(counts))]
    short = next(table for table, count in zip(tables, counts, strict=True) if count < max(counts))
    end = sizes_of(short)[-1] if sizes_of(short) else None
    return words.shorter_pass(key, short.line, end, longest.line, sizes_of(longest)[-1])


def sizes_of(table: Table) -> tuple[int, ...]:
    """Return the message sizes of a table in bytes, in its order; that of its heading if it has no such column."""
    cells = table.column("size") if "size" in table.columns else (table.context.get("size"),)
    # by types first, for a long output has a million cells; a bool is no size
    if {*map(type, cells)} == {int}:
        return cast("tuple[int, ...]", cells)
    return tuple(cell for cell in cells if type(cell) is int)
