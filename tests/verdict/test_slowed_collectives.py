"""A healthy collective never fails, a slow one never passes, and a pass says how little of the rails it asks."""

import re

import pytest

from railyard.base.bounds import RAILS_SHARE
from railyard.benchmarks.table import micro
from railyard.hardware.collective_times import time_of
from railyard.parsers.osu import parse
from railyard.verdict.day_one import Facts
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.target import Nodes, of_link
from tests.slowed_collectives import SIZES, Run, runs

_BOUND = re.compile(r"has a bound of ([0-9.]+) % of what the rails carry, so a run at that rate would still pass")
_WEAK = re.compile(r"not judged: a run at ([0-9.]+) % of what the rails carry would still pass")
#: What is judged whatever the ranks of a node, and what is with one rank on each.
_ANY_RANKS = {"osu_alltoall"}
_ONE_RANK = {"osu_alltoall", "osu_allgather", "osu_gather", "osu_scatter"}


def name(run: Run) -> str:
    return f"{run.collective}-{run.nodes}x{run.ranks_per_node}"


@pytest.mark.parametrize("run", tuple(runs()), ids=name)
def test_a_healthy_collective_passes_or_is_too_weakly_bounded_and_a_tenth_of_it_never_passes(run: Run) -> None:
    healthy, tenth = run.judge_curve(1.0), run.judge_curve(0.1)
    if healthy.state == "pass":
        (share,) = (found.group(1) for each in healthy.remarks if (found := _BOUND.search(each)))
        assert float(share) >= 100 * RAILS_SHARE.value
        assert tenth.state == "fail"
    else:
        found = _WEAK.match(healthy.sentence)
        assert found is not None, healthy.sentence
        assert float(found.group(1)) < 100 * RAILS_SHARE.value
        assert tenth.state in ("fail", "not-judged")


@pytest.mark.parametrize("run", tuple(runs()), ids=name)
def test_an_alltoall_shows_its_rails_with_any_ranks_and_others_with_one_rank_on_each_node(run: Run) -> None:
    if run.collective in (_ONE_RANK if run.ranks_per_node == 1 else _ANY_RANKS):
        assert run.judge_curve(1.0).state == "pass"
        assert run.judge_curve(0.3).state == "fail"


def test_a_collective_that_is_not_judged_says_why_and_what_asks_for_more() -> None:
    many, adds = Run("osu_allgather", 8, 32).judge_curve(1.0), Run("osu_allreduce", 8, 1).judge_curve(1.0)
    assert "since what its ranks pass on within a node takes longest; run it with one rank on each" in many.sentence
    assert "since adding up its vectors takes longest; an alltoall or osu_bw" in adds.sentence
    assert not any("of what the rails carry" in each for each in (*many.remarks, *adds.remarks))


def test_a_reduction_of_many_ranks_is_not_sent_to_one_rank_on_each_node_where_that_asks_too_little() -> None:
    def advice(collective: str, link: str) -> str:
        text = "".join(f"{size:<10}{30 + size / 500:>16.2f}\n" for size in SIZES)
        title = f"# OSU MPI {collective} Latency Test v5.8\n# Size       Avg Latency(us)\n"
        (found,) = judge(parse(title + text), of_link(link), nodes=Nodes(count=4, ranks_each=32))
        return found.sentence.rpartition("; ")[2]

    to_one_rank, to_another = "run it with one rank on each node", "an alltoall or osu_bw, with one rank on each node, "
    assert advice("Allreduce", "ib-edr") == to_one_rank
    assert advice("Allreduce", "ib-hdr") == f"{to_another}asks for more"
    assert advice("Broadcast", "ib-hdr") == to_one_rank


def test_the_shares_that_the_page_of_verdicts_states_are_those_of_the_bounds() -> None:
    hdr = of_link("ib-hdr").rail(micro.find("osu/osu_allreduce"), Facts())
    assert not isinstance(hdr, str)
    assert round(100 * time_of(hdr, "allreduce", 1 << 20, 4, 1).rails_share) == 10
    alltoalls = [100 * time_of(hdr, "alltoall", 1 << 20, 4, ranks).rails_share for ranks in (1, 2, 8, 64)]
    assert (round(min(alltoalls)), round(max(alltoalls))) == (21, 32)


def test_a_collective_over_efa_is_judged_with_one_rank_on_each_node_only() -> None:
    """An allreduce of 4 B took 1.8 ms on 128 healthy nodes with 96 ranks each."""
    rows = "".join(f"{size:<10}{1843.35 + size / 180:>16.2f}\n" for size in SIZES)
    text = f"# OSU MPI Allreduce Latency Test v5.8\n# Size       Avg Latency(us)\n{rows}"
    (found,) = judge(parse(text), of_link("efa-100"), nodes=Nodes(count=128, ranks_each=96))
    assert found.sentence.startswith("not judged: no source bounds a collective over EFA with several ranks")


@pytest.mark.parametrize(
    ("took_us", "link", "nodes", "ranks_each", "state"),
    [
        (12.1, "ib-hdr", 8, 32, "pass"),
        (37.0, "ib-hdr", 8, 32, "pass"),
        (39.0, "ib-hdr", 8, 32, "not-judged"),  # 3 rounds of 12.7 us
        (80.0, "ib-hdr", 8, 32, "not-judged"),
        (30.0, "roce-100", 2, 96, "not-judged"),
        (97.0, "ib-hdr", 8, 32, "fail"),
        (35.0, "ib-hdr", 8, 1, "pass"),
        (80.0, "ib-hdr", 8, 1, "fail"),
        (80.0, "eth-100", 8, 1, "pass"),
        (150.0, "efa-100", 8, 1, "pass"),
    ],
)
def test_a_barrier_that_may_have_used_tcp_does_not_pass(
    took_us: float, link: str, nodes: int, ranks_each: int, state: str
) -> None:
    text = f"# OSU MPI Barrier Latency Test v7.4\n# Avg Latency(us)\n{took_us:>17.2f}\n"
    (found,) = judge(parse(text), of_link(link), nodes=Nodes(count=nodes, ranks_each=ranks_each))
    assert found.state == state, found.sentence
