"""Which split of a node's cores suits HPL, by stored runs, and how a system's file keeps it."""

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks.model import Figure
from railyard.hardware.node import NodeHardware
from railyard.results.capture import choose_layout, keep_layout, layout_text, rank_splits
from railyard.results.record.form import Record
from tests.made.records import made_record

NODE = NodeHardware(cores=64, memory=240 << 30, sockets=2, numa_domains=8)


def run(name: str, rate: float, **changes: object) -> Record:
    return made_record(
        benchmark=f"hpl/per-{name}", state="report-only", figures=(Figure("performance", rate, "Gflop/s"),), **changes
    )


def test_the_fastest_split_is_kept() -> None:
    found = rank_splits([run("core", 1900), run("numa", 2100), run("socket", 2000), run("node", 1500)], NODE)
    kept = choose_layout(found, "mycluster")
    assert (kept.name, kept.ranks_per_node, kept.threads) == ("numa", 8, 8)
    assert layout_text(found, kept).splitlines() == [
        "a rank      split                           Gflop/s  of best  runs",
        "──────────────────────────────────────────────────────────────────",
        "per numa    8 ranks of 8 threads per node      2100  100.0 %     1",
        "per socket  2 ranks of 32 threads per node     2000   95.2 %     1",
        "per core    64 ranks of 1 thread per node      1900   90.5 %     1",
        "per node    1 rank of 64 threads per node      1500   71.4 %     1",
        "kept: a rank per numa (the fastest)",
    ]


def test_of_splits_that_are_as_good_the_one_with_the_fewest_ranks_is_kept() -> None:
    found = rank_splits([run("core", 2100), run("numa", 2090), run("socket", 2080), run("node", 2070)], NODE)
    kept = choose_layout(found, "mycluster")
    assert kept.name == "socket"
    assert layout_text(found, kept).endswith("kept: a rank per socket (within 1 % of the fastest, with fewer ranks)")


def test_several_runs_count_by_their_median() -> None:
    found = rank_splits([run("core", 2000), run("node", 100), run("node", 1990), run("node", 9999)], NODE)
    assert [(each.name, each.gflop_s) for each in found] == [("core", 2000), ("node", 1990)]


def test_what_failed_or_was_only_played_does_not_count() -> None:
    bad = [run("node", 9999).with_fields(state="fail"), run("node", 9999, replayed="plays tests/made")]
    assert [each.name for each in rank_splits([run("core", 2000), *bad], NODE)] == ["core"]
    # the file has no sockets any more
    other = NODE.model_copy(update={"sockets": None})
    assert rank_splits([run("socket", 2000)], other) == ()


def test_one_split_is_no_choice() -> None:
    with pytest.raises(RailyardError) as caught:
        choose_layout(rank_splits([run("core", 2000)], NODE), "mycluster")
    assert str(caught.value) == (
        "found 1 of at least two ways to split a node's cores among HPL's ranks in the stored runs; measure them: "
        "railyard run --system mycluster --extended -n HplLayout (nodes.hardware with sockets and numa_domains gives "
        "more of them)"
    )


STATED = "hpl: {ranks_per_node: 2, threads: 32}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("system: a\n", f"system: a\nmeasure:\n  benchmarks:\n    {STATED}\n"),
        ("measure:\n  passes: 1\nnodes: {count: 2}\n",
         f"measure:\n  benchmarks:\n    {STATED}\n  passes: 1\nnodes: {{count: 2}}\n"),
        ("measure: # ours\n  benchmarks:\n    npb: {nodes: 2}\n",
         f"measure: # ours\n  benchmarks:\n    {STATED}\n    npb: {{nodes: 2}}\n"),
        ("measure:\n  benchmarks:\n    hpl: {ranks_per_node: 64}\n    npb: {nodes: 2}\n",
         f"measure:\n  benchmarks:\n    {STATED}\n    npb: {{nodes: 2}}\n"),
        (f"measure:\n  benchmarks:\n    {STATED}\n", f"measure:\n  benchmarks:\n    {STATED}\n"),
    ],
)  # fmt: skip
def test_a_system_file_keeps_it_and_all_else(before: str, after: str) -> None:
    kept = choose_layout(rank_splits([run("core", 1000), run("socket", 2000)], NODE), "a")
    assert keep_layout(before, kept, "a") == after


@pytest.mark.parametrize(
    ("before", "sentence"),
    [
        (
            "system: a\nmeasure: {passes: 1}\n",
            "systems/a.yaml:2: measure: found a form on one line, expected one line per field, so that a line can be "
            f"put into it; write this below measure: benchmarks: yourself: {STATED}",
        ),
        (
            "measure:\n  benchmarks:\n    hpl: {nodes: 4}\n",
            "systems/a.yaml:3: measure: benchmarks: hpl: found more than ranks and threads, expected nothing else to "
            f"be lost; write it yourself: {STATED}",
        ),
    ],
)
def test_a_form_that_it_cannot_change_is_refused(before: str, sentence: str) -> None:
    kept = choose_layout(rank_splits([run("core", 1000), run("socket", 2000)], NODE), "a")
    with pytest.raises(RailyardError) as caught:
        keep_layout(before, kept, "a")
    assert str(caught.value) == sentence
