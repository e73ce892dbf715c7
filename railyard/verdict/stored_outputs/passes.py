"""Several passes of one benchmark in one output: which tables these are, and that each is judged beside their median.

A live run repeats a benchmark on purpose, and the median of its passes counts. In a file that somebody puts together,
each pass may be of other nodes or of another day: its median would hide one that ran at half of the link's rate.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from railyard.benchmarks.table import micro
from railyard.parsers.output import REPORTS, Table
from railyard.verdict.reference_rule import worst_ratio
from railyard.verdict.rule_model import MeasuredMetric, MetricInput
from railyard.verdict.sizes import begins_like, sizes_of
from railyard.verdict.wording import stored_outputs as words

if TYPE_CHECKING:
    from railyard.verdict.stored_outputs.judgement import Judgement


#: How tables of the same kind are judged: as passes that must ``all`` hold, by their ``median`` as in a live run, or
#: ``apart``, each as an output of its own.
Passes = Literal["all", "median", "apart"]

#: Passes that are judged alone: a file of megabytes has thousands, at 2 ms each. If there are more, they are those with
#: the worst value at a size: where these keep a bound, no other pass breaks it.
_MOST_ALONE = 32


def judge_passes(
    median: "Judgement",
    metrics: Sequence[MetricInput],
    names: Sequence[str],
    judge_alone: Callable[[int], "Judgement"],
    passes: Passes,
) -> "Judgement":
    """Return the judgement of several passes from that of their median, or of one that fails.

    ``metrics``: the median's, with the values of each pass. ``names``: the words for each pass. ``judge_alone`` judges
    one pass by its place. If all are as bad as their median, the median is the better witness, and it is named.
    """
    count = len(median.lines)
    alone = [(names[place], judge_alone(place)) for place in _nearest_to_failing(metrics, count)]
    # What nothing bounds at all was not judged of the median either.
    bad = [(name, one) for name, one in alone if not one.is_pass and (one.state == "fail" or median.is_pass)]
    # Rules 1 to 3 look at each pass already, and name it.
    is_named = any(rule.state == "fail" and rule.rule < 5 for rule in median.rules)
    if not bad or is_named or (len(bad) == len(alone) and not median.is_pass):
        return _remark_unseen(median, count)
    if passes == "median":
        hidden = (words.hidden_pass(_describe_single(*each)) for each in bad if median.is_pass)
        return _remark_unseen(replace(median, remarks=(*hidden, *median.remarks)), count)
    (name, first), *others = bad
    sentence = words.bad_pass(name, first.state == "fail", len(bad), count, median.counted_as, first.reason)
    return replace(
        first,
        lines=median.lines,
        counted_as=median.counted_as,
        sentence=sentence,
        shown_line=first.lines[0],
        remarks=(*(_describe_single(*each) for each in others), *first.remarks),
    )


def _describe_single(name: str, one: "Judgement") -> str:
    return words.single_pass(name, one.state == "fail", one.reason)


def _remark_unseen(judgement: "Judgement", count: int) -> "Judgement":
    """Return the judgement with a remark if not every pass was judged alone."""
    if count <= _MOST_ALONE or not judgement.is_pass:
        return judgement
    remark = words.passes_unseen(count, judgement.counted_as, _MOST_ALONE)
    return replace(judgement, remarks=(*judgement.remarks, remark))


def _nearest_to_failing(metrics: Sequence[MetricInput], count: int) -> Sequence[int]:
    """Return the places of the passes to judge alone. If not all are, of each size that with the worst value, and of
    them those whose value is the nearest to failing.
    """
    if count <= _MOST_ALONE:
        return range(count)
    found: list[tuple[float, int]] = []
    for metric in metrics:
        worst_of = min if metric.declared.higher_is_better else max
        for at, size in enumerate(metric.passes[0].sizes if metric.passes else ()):
            values = [measured.values[at] or 0.0 for measured in metric.passes]
            value = worst_of(values)
            one = MeasuredMetric(metric.declared.unit, (size,), (value,))
            ratio = worst_ratio(replace(metric, measured=one, passes=()))
            found.append((math.inf if ratio is None else ratio.ratio, values.index(value)))
    return [*dict.fromkeys(place for _, place in sorted(found))][:_MOST_ALONE]


def groups_of(keyed: Sequence[tuple[str | None, Table]], passes: bool) -> list[tuple[str | None, list[Table]]]:
    """Return the tables that are judged together: each alone, or those that differ only in their values.

    Tables of different sizes are runs of their own: a loop over sizes, or a short run before a whole one.
    """
    groups: list[tuple[str | None, list[Table]]] = []
    for key, table in keyed:
        same = (tables for other, tables in groups if passes and other == key and _are_alike(tables[0], table, key))
        found = next(same, None)
        if found is None:
            groups.append((key, [table]))
        else:
            found.append(table)
    return groups


def longest_messages(groups: Iterable[tuple[str | None, list[Table]]]) -> dict[str | None, int]:
    """Return the longest messages of each benchmark's runs, B; 0 for one without sizes."""
    longest: dict[str | None, int] = {}
    for key, tables in groups:
        longest[key] = max(longest.get(key, 0), *sizes_of(tables[0]), 0)
    return longest


def kind_of_tables(tables: Sequence[Table]) -> str:
    """Return what several tables of a benchmark are: passes, groups of processes, or reports of one run."""
    if all(REPORTS in table.context for table in tables):
        return "reports"
    groups = len({table.column("group")[0] for table in tables if "group" in table.columns})
    if groups < 2:
        return "passes"
    return "groups" if groups == len(tables) else words.tables_of_groups(groups)


def pass_name(table: Table, count: int) -> str:
    """Return the words for one of several tables: its heading's line, and its group if IMB has several in a table."""
    if REPORTS in table.context:
        return words.one_of_several("report", count, table.line)
    if "group" in table.columns:
        return words.one_of_several("group", int(table.column("group")[0] or 0), table.line)
    return words.one_of_several("pass", count, table.line)


def _are_alike(one: Table, other: Table, key: str | None) -> bool:
    if (one.benchmark, one.columns, dict(one.context)) != (other.benchmark, other.columns, dict(other.context)):
        return False
    if key is None or micro.find(key).rows != "sizes" or sizes_of(one) == sizes_of(other):
        return True
    # Of such a tool only the other pass shows that one was cut.
    return micro.tool(one.tool).has_no_end and begins_like(one, other)
