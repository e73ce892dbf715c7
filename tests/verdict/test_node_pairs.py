"""A run of all pairs, of a bisection and of pairs within nodes, from its evidence to its verdict."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from railyard.base.wording import IMPOSSIBLE
from railyard.parsers.pairs import parse
from railyard.site.site import Site
from railyard.site.test_id import TestId
from railyard.verdict.assess import Assessment
from railyard.verdict.blame.search.model import rounds, shifts
from railyard.verdict.node_pairs import least_bandwidth, lost_step, record_of, steps, with_lost_step, with_slow_nodes
from railyard.verdict.wording import run_rules as run_words
from railyard.verdict.wording.path import carried_part, say_moved, went_over
from railyard.verdict.wording.reference import held_at_worst, say_crossed
from tests.made.judged_run import case_of, judge_output
from tests.made.words import below_words, bounded_words

Run = Callable[..., Assessment]
SIZE = 4 << 20
NODES = ("vn1", "vn2", "vn3", "vn4")
#: Rounds of each measurement, and ranks per node.
KINDS: Mapping[str, tuple[Any, int]] = {
    "pairs": (rounds(4), 1),
    "bisection": (shifts(4), 1),
    "onnode": (tuple(((2 * n, 2 * n + 1),) for n in range(4)), 2),
    "alone": (((((0, 1)),), ((1, 2),)), 1),
}


def output(kind: str, rate: float, slow: Mapping[tuple[int, int], float] | None = None) -> str:
    """Return what railyard-pairs prints if every pair gives this rate, except the given (sender, receiver)."""
    made, a_node = KINDS[kind]
    ranks = 4 * a_node
    lines = [
        f"# railyard-pairs 1 {kind}: {ranks} ranks, {len(made)} rounds",
        f"# size {SIZE} window 8 repeats 1 warm-up 1 exchanges 20 of 8 bytes",
        *(f"# rank {rank} on {NODES[rank // a_node]}" for rank in range(ranks)),
        "# round first second forward_MB/s backward_MB/s latency_us",
    ]
    count = 0
    for number, pairs in enumerate(made, start=1):
        for a, b in pairs:
            forth, back = ((slow or {}).get(way, rate) for way in ((a, b), (b, a)))
            lines.append(f"{number} {a} {b} {forth:.2f} {back:.2f} 31.25")
            count += 1
    return "\n".join([*lines, f"# end: {count} pairs", ""])


@pytest.fixture
def run(virtual: Site) -> Run:
    """Return a function that assesses a run of one kind: rate, slow ways, MB by device of every node, later steps."""

    def assess_pairs(
        kind: str = "pairs",
        rate: float = 47.8,
        slow: Mapping[tuple[int, int], float] | None = None,
        moved: Mapping[str, float] | None = None,
        rails: int = 1,
        site: Site = virtual,
        again: tuple[str, ...] = (),
    ) -> Assessment:
        within, a_node = kind == "onnode", KINDS[kind][1]
        case = case_of(
            site, f"pairs/{kind}", rails=rails, check=kind, window=8,
            launch={"ranks_per_node": a_node, "within_node": within},
        )  # fmt: skip
        pairs = 2 if kind == "bisection" else 3
        due = dict.fromkeys(case.launch.meant, pairs * (8 * SIZE / 1e6) * 1.05 / rails)
        each = {device: (mb, mb) for device, mb in {"eth0": 0.2, **due, **(moved or {})}.items()}
        return judge_output(case, output(kind, rate, slow), parse, dict.fromkeys(NODES, each), again=again)

    return assess_pairs


def verdict_summary(found: Assessment) -> tuple[str, int | None, str | None, str]:
    verdict = found.verdict
    return verdict.state, verdict.rule, verdict.fault, verdict.text


def held_at_4_mib(share: float, entry: str = "pairs-one-rail") -> str:
    """Return that a bandwidth of pairs holds its only reference at its only size."""
    return held_at_worst("bandwidth", [entry], " at 4 MiB", share, entry, bounded_words([4 << 20], 1))


def test_healthy_pairs_pass_all_five_rules(run: Run) -> None:
    found = run()
    assert verdict_summary(found) == (
        "pass", None, None, held_at_4_mib(1.062),
    )  # fmt: skip
    assert [rule.state for rule in found.verdict.rules] == ["pass"] * 5
    assert found.path.sentence == say_moved(845_600_000, ("vn1", "vn2", "vn3", "vn4"), {"hsn0": 1.0}, 200_000, True)
    assert [(f.name, f.value, f.unit, f.size) for f in found.figures] == [
        ("slowest_pair", 47.8, "MB/s", SIZE),
        ("slowest_latency", 31.25, "us", 8),
    ]


def test_the_slowest_pair_is_judged(run: Run) -> None:
    state, rule, fault, sentence = verdict_summary(run(slow={(1, 2): 30.0}))
    assert (state, rule, fault) == ("fail", 5, "fabric")
    assert sentence.startswith(f"{below_words(30.0, 45.0, SIZE)}, the bound of pairs-one-rail ")
    assert sentence.endswith(say_crossed(["hsn0"], ["vn1", "vn2", "vn3", "vn4"]))


def test_a_pair_that_is_good_alone_passes_and_that_is_said(run: Run) -> None:
    found = run(slow={(1, 2): 30.0}, again=(output("alone", 47.0),))
    assert verdict_summary(found) == (
        "pass", None, None,
        f"{held_at_4_mib(1.044)}; measured again, alone: vn2-vn3 "
        "30.00 and then 47.00 MB/s",
    )  # fmt: skip


@pytest.mark.parametrize("text", ["", "nothing", output("alone", 47.0)[:-8], output("pairs", 47.0)])
def test_what_is_no_whole_step_mends_nothing(run: Run, text: str) -> None:
    assert verdict_summary(run(slow={(1, 2): 30.0}, again=(text,)))[:2] == ("fail", 5)


def test_the_fastest_pair_must_be_possible(run: Run) -> None:
    state, rule, fault, sentence = verdict_summary(run(slow={(0, 3): 60.0}))
    assert (state, rule, fault) == ("fail", 3, "set-up")
    assert sentence.startswith(
        f"{IMPOSSIBLE}bandwidth of the fastest pair 60.00 MB/s at 4 MiB is 124.4 % of the limit, "
    )


def test_every_node_must_have_moved_its_pairs_bytes(run: Run) -> None:
    state, rule, _, sentence = verdict_summary(run(moved={"hsn0": 60.0, "eth0": 40.7}))
    assert (state, rule) == ("fail", 4)
    assert sentence == (
        f"{went_over(40_700_000, 'eth0', 'vn1', None, '')}"
        f"{carried_part(['hsn0'], 'vn1', 'sent', 60_000_000, 100_700_000)}"
    )


def test_two_rails_share_the_bytes(run: Run) -> None:
    assert verdict_summary(run(rate=95.0, rails=2))[0] == "pass"
    state, rule, _, sentence = verdict_summary(run(rate=95.0, rails=2, moved={"hsn0": 90.0, "hsn1": 15.7}))
    assert (state, rule) == ("fail", 4)
    assert "rail hsn0 of vn1 sent 85.1 % of 105.7 MB" in sentence


def test_the_matrix_is_stored_with_what_was_measured_again(run: Run) -> None:
    recorded = record_of(run(slow={(1, 2): 30.0}, again=(output("alone", 47.0),)))
    assert recorded is not None
    assert recorded.file is None
    found = recorded.record
    assert (found.nodes, found.size, found.unit) == (NODES, SIZE, "MB/s")
    assert found.expected == pytest.approx(45.0)
    assert found.values[1] == (47.8, None, 30.0, 47.8)
    assert found.values[2] == (47.8, 47.8, None, 47.8)
    assert found.latency_us[0] == (None, 31.25, 31.25, 31.25)
    assert [(one.first, one.second, one.forward, one.backward) for one in found.again] == [
        ("vn1", "vn2", 47.0, 47.0),
        ("vn2", "vn3", 47.0, 47.0),
    ]


def test_any_other_run_stores_no_matrix(assess_cell: Run) -> None:
    assert record_of(assess_cell()) is None


def with_blocking(site: Site, factor: float) -> Site:
    fabrics = {**site.system.fabrics, "hsn": site.system.fabrics["hsn"].model_copy(update={"blocking": factor})}
    system = site.system.model_copy(update={"fabrics": fabrics})
    return replace(site, system=system, references=replace(site.references, system=system))


def test_a_bisection_is_held_against_the_blocking_factor(run: Run, virtual: Site) -> None:
    assert verdict_summary(run("bisection", 47.8))[0] == "pass"
    assert verdict_summary(run("bisection", 25.0))[:3] == ("fail", 5, "fabric")
    found = run("bisection", 25.0, site=with_blocking(virtual, 2.0))
    assert verdict_summary(found) == (
        "pass", None, None, held_at_4_mib(1.111),
    )  # fmt: skip
    # In runs of all pairs, not all pairs cross the middle at once: their floor stays the same.
    assert verdict_summary(run("pairs", 25.0, site=with_blocking(virtual, 2.0)))[:2] == ("fail", 5)
    assert next(band.source for band in found.inputs.metrics[0].bands).endswith("; divided by 2, the fabric's blocking")


def test_a_bisections_mean_counts_and_not_its_slowest_pair(run: Run) -> None:
    found = run("bisection", 47.8, slow={(0, 2): 40.0})
    assert verdict_summary(found)[0] == "pass"
    mean = next(f for f in found.figures if f.name == "mean_pair")
    assert mean.value == pytest.approx((3 * 47.8 + 40) / 4)


def test_a_pair_within_each_node_moves_nothing_over_any_network(run: Run) -> None:
    found = run("onnode", 1500.0)
    assert verdict_summary(found) == (
        "pass", None, None,
        f"{held_at_4_mib(7.8, 'pair-within-a-node')}; rule 3 (possible) not "
        f"judged: {run_words.no_limit_for(['bandwidth', 'latency'])}",
    )  # fmt: skip
    assert found.path.sentence == (
        "no network of vn1, vn2, vn3 and vn4 carried it: each pair moved 33.6 MB one way in memory"
    )
    moved = run("onnode", 1500.0, moved={"hsn0": 34.0})
    assert verdict_summary(moved)[:3] == ("fail", 4, "set-up")


def test_a_slow_node_is_named_whether_it_holds_or_not(run: Run) -> None:
    found = run("onnode", 1500.0, slow={(4, 5): 900.0})
    assert found.verdict.state == "pass"
    assert found.verdict.text.endswith("; slow within the node: vn3 900.0 MB/s (median 1500)")
    assert verdict_summary(run("onnode", 1500.0, slow={(4, 5): 90.0}))[:2] == ("fail", 5)


def test_the_least_that_a_pair_may_give_is_the_references(virtual: Site) -> None:
    assert least_bandwidth(virtual, TestId("hsn", "mpich", 1, "pairs/pairs", policy="single"), SIZE) == pytest.approx(
        45.0
    )
    assert least_bandwidth(virtual, TestId("hsn", "mpich", 1, "pairs/pairs", policy="single"), 1024) is None


def test_a_node_that_is_slow_within_itself_is_to_blame_and_no_fabric(run: Run) -> None:
    found = with_slow_nodes(run("onnode", 1500.0, slow={(4, 5): 90.0}))
    assert verdict_summary(found)[:3] == ("fail", 5, "node")
    assert [(one.kind, one.node, one.reason) for one in found.verdict.suspects] == [
        ("node", "vn3", "its own two ranks reach 90.00 MB/s, expected at least 192.9")
    ]
    assert found.verdict.look_at == "memory, clock and NUMA placement of vn3: no network is involved"


@pytest.mark.parametrize(
    ("fabric", "stack", "rails", "policy", "floor"),
    [
        *(("hsn", stack, 1, "single", 45.0) for stack in ("openmpi", "mpich", "intelmpi")),
        *(("hsn", stack, 2, "striping", 81.0) for stack in ("openmpi", "mpich")),
        ("hsn", "intelmpi", 2, "round-robin", 63.0),
        *(("eth", stack, 1, "single", 22.5) for stack in ("openmpi", "mpich", "intelmpi")),
    ],
)
def test_every_cell_of_the_virtual_cluster_has_its_floor(
    fabric: str, stack: str, rails: int, policy: str, floor: float, virtual: Site
) -> None:
    assert "pairs" in virtual.system.stacks[stack].tools
    for benchmark in ("pairs/pairs", "pairs/bisection"):
        assert least_bandwidth(virtual, TestId(fabric, stack, rails, benchmark, policy=policy), SIZE) == pytest.approx(
            floor
        )


def test_a_run_whose_later_launch_left_no_whole_table_does_not_pass(run: Run) -> None:
    whole = output("alone", 47.8)
    tables = (*parse(output("pairs", 47.8)).tables, *steps((whole, whole[:-30], ""), parse))
    assert lost_step(["again-1", "again-2", "again-3"], tables) == "again-2"
    assert lost_step(["again-1"], tables) == lost_step([], tables) == ""
    found = with_lost_step(run(again=(whole,)), ["again-1", "again-2"])
    assert (found.verdict.state, found.verdict.rule, found.verdict.suspects) == ("fail", 2, ())
    assert found.verdict.sentence.startswith("again-2.out has no whole table: ")
    assert with_lost_step(run(), []).verdict.state == "pass"
