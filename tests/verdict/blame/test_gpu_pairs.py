"""Logs between two nodes' GPUs: each planted fault is named, and no healthy part; and the 408 genuine logs."""

import importlib
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from railyard.verdict.blame import gpu_pairs, gpu_pairs_text
from railyard.verdict.blame.gpu_pairs import PairsVerdict
from tests.made.nccl_output import GIB, curve, output
from tests.made.nccl_pair_logs import End, PairLog, Rate, healthy, logs, names, node, slow, text

GENUINE = Path(__file__).parents[4] / "shared" / "gpu" / "h100-17-nodes-pairs"
NODES = names(9)
#: Not by an import: for the type checker, programs of benchmarks/ have no package.
gpu_pairs_draws = importlib.import_module("benchmarks.gpu_pairs")
ALL = tuple("01234567")


def judge_logs(made: Iterable[PairLog]) -> PairsVerdict:
    return gpu_pairs.judge(gpu_pairs.read_tests((one.name, one.text) for one in made))


def blamed_parts(found: PairsVerdict) -> set[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]]]:
    return {(one.kind, one.nodes, tuple(sorted(one.gpus))) for one in found.named_parts}


def pair_of(a: str, b: str, share: float | None) -> Rate:
    def rate(first: End, second: End) -> float | None:
        return share if {first[0], second[0]} == {a, b} else 1.0

    return rate


def both(*rates: Rate) -> Rate:
    def rate(a: End, b: End) -> float | None:
        shares = [each(a, b) for each in rates]
        return None if None in shares else min(share for share in shares if share is not None)

    return rate


PLANTED: list[tuple[str, Rate, Sequence[int], set[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]]]]] = [
    ("nothing", healthy, (8, 4, 1), set()),
    ("a node, all logs with eight GPUs", slow(0.6, *node("n03")), (8,), {("node", ("n03",), (ALL,))}),
    ("a node, 15 % below", slow(0.85, *node("n03")), (8,), {("node", ("n03",), (ALL,))}),
    ("a GPU, by logs with eight: its node", slow(0.5, ("n05", 6)), (8,), {("node", ("n05",), (ALL,))}),
    (
        "a GPU, by logs with eight and four: its half",
        slow(0.5, ("n05", 6)),
        (8, 4),
        {("gpu", ("n05",), (tuple("4567"),))},
    ),
    ("two nodes", slow(0.6, *node("n02"), *node("n07")), (8,), {("node", (n,), (ALL,)) for n in ("n02", "n07")}),
    ("a dead node", slow(None, *node("n04")), (8,), {("node", ("n04",), (ALL,))}),
    ("a pair", pair_of("n02", "n06", 0.5), (8, 4, 1), {("pair", ("n02", "n06"), ())}),
    ("a pair without a result", pair_of("n02", "n06", None), (8, 4, 1), {("pair", ("n02", "n06"), ())}),
    (
        "a pair and a node",
        both(pair_of("n02", "n06", 0.3), slow(0.6, *node("n09"))),
        (8, 4),
        {("pair", ("n02", "n06"), ()), ("node", ("n09",), (tuple("0123"), tuple("4567")))},
    ),
    (
        "a rail of three nodes, good with one another",
        slow(0.2, *((f"n0{n}", 4) for n in (1, 4, 8)), good_together=True),
        (8, 4, 1),
        {("part", ("n01", "n04", "n08"), (("4",),))},
    ),
]


@pytest.mark.parametrize(("what", "rate", "gpus", "expected"), PLANTED, ids=[each[0] for each in PLANTED])
def test_planted_fault_is_named_and_no_healthy_part(
    what: str, rate: Rate, gpus: Sequence[int], expected: set[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]]]
) -> None:
    found = judge_logs(logs(NODES, rate, gpus))
    assert blamed_parts(found) == expected, what
    assert [one for one in found.blamed if one.sure == "open"] == []
    assert found.is_good == (not expected)


@pytest.mark.parametrize("seed", [577, 1066, 1116, 1189, 2578])
def test_no_healthy_part_is_named_beside_several_faults_at_once(seed: int) -> None:
    said, words = gpu_pairs_draws.draw(seed)
    assert said["sick"] and not said["false"], words


def test_of_two_halves_that_are_slow_to_one_another_no_smaller_part_is_named() -> None:
    """Twelve nodes: a leaf of six, a rail of six of which four are behind that leaf: GPU 2 is nobody's fault."""
    nodes = names(12)
    leaf, rail = ("n02", "n04", "n05", "n09", "n11", "n12"), ("n01", "n03", "n05", "n09", "n11", "n12")
    rate = both(
        slow(0.5, *(end for name in leaf for end in node(name)), good_together=True),
        slow(0.1, *((name, 1) for name in rail), good_together=True),
    )
    found = judge_logs(logs(nodes, rate, (8, 4, 1), seed=1116))
    assert [one for one in found.named_parts if not any("1" in group for group in one.gpus)] == []
    assert {one.nodes for one in found.named_parts} & {leaf, tuple(sorted(set(nodes) - set(leaf)))}


def test_a_node_whose_gpus_are_each_slow_with_another_partner_is_not_taken_for_one_gpu() -> None:
    found = judge_logs(logs(names(6), slow(0.5, *node("n03")), (8, 1)))
    ((kind, nodes, groups),) = blamed_parts(found)
    assert (kind, nodes) == ("node", ("n03",)) and len(groups) == 4
    assert found.blamed == found.named_parts


@pytest.mark.parametrize("rate", [pair_of("n02", "n06", 0.0), slow(0.0, *node("n03"))])
def test_a_rate_of_0_is_compared_with_healthy_pairs(rate: Rate) -> None:
    made = [
        PairLog(one.name, re.sub(r"\b0\.00 +0\.00\b", "0.00    0.00", one.text)) for one in logs(NODES, _least(rate))
    ]
    said = gpu_pairs_text.text(judge_logs(made))
    assert re.search(r"alltoall_perf with 8 GPUs per node: 0\.00 of 23\.\d\d GB/s", said)
    assert "of 0.00 GB/s" not in said


def _least(rate: Rate) -> Rate:
    """Return rates that are printed as 0.00 where they are 0: a time cannot be infinite."""

    def least(a: End, b: End) -> float | None:
        share = rate(a, b)
        return 1e-5 if share == 0 else share

    return least


def test_pairs_across_leaves_that_are_all_slower_than_those_within_are_told() -> None:
    own = dict.fromkeys(NODES[:4], "leaf1") | dict.fromkeys(NODES[4:], "leaf2")

    def rate(a: End, b: End) -> float:
        return 0.5 if own[a[0]] != own[b[0]] else 1.0

    found = gpu_pairs.judge(gpu_pairs.read_tests((one.name, one.text) for one in logs(NODES, rate, (8,))), own)
    (said,) = found.lower
    assert said.startswith("all pairs across leaves: 11.8") and "50.1 % of those within a leaf" in said
    found = gpu_pairs.judge(gpu_pairs.read_tests((one.name, one.text) for one in logs(NODES, healthy, (8,))), own)
    assert found.lower == ()


def test_a_node_has_one_name_whether_or_not_its_domain_is_printed() -> None:
    made = list(logs(NODES, slow(0.6, *node("n03"))))
    long = [PairLog(one.name, one.text.replace(" on n03 ", " on n03.cluster ")) for one in made[::2]]
    found = judge_logs([*long, *made[1::2]])
    assert {one.nodes for one in found.named_parts} == {("n03",)} and found.no_log == ()
    # Two domains are two nodes.
    other = [PairLog(one.name, one.text.replace(" on n03 ", " on n03.other ")) for one in made[1::2]]
    assert {one.nodes[0] for one in judge_logs([*long, *other]).named_parts} == {"n03.cluster", "n03.other"}


def test_a_node_with_a_leaf_switch_and_no_log_is_not_covered() -> None:
    made = [(one.name, one.text) for one in logs(NODES, healthy, (8,))]
    found = gpu_pairs.judge(gpu_pairs.read_tests(made), dict.fromkeys((*NODES, "n10", "N01.cluster"), "leaf1"))
    assert "  1 node with a leaf switch and no log: n10\n" in gpu_pairs_text.text(found)


@pytest.mark.parametrize("gpu", range(8))
def test_slow_gpu_is_named_by_its_number(gpu: int) -> None:
    """Logs with one GPU, each GPU of n05 with two partners, show which of eight it is."""
    rate = slow(0.5, ("n05", gpu))
    made = [*logs(NODES, rate, (8,))]
    for pid, (own, partner) in enumerate(itertools.product(range(8), ("n01", "n02", "n03")), start=500):
        made.append(
            PairLog(f"G1_{own}_{partner}", text("n05", partner, (own,), (own,), 13.5 * (0.5 if own == gpu else 1), pid))
        )
    found = judge_logs(made)
    assert blamed_parts(found) == {("gpu", ("n05",), ((str(gpu),),))}
    said = gpu_pairs_text.text(found)
    assert f"n05, GPU {gpu} (0000:" in said


@pytest.mark.parametrize("gpu", range(8))
@pytest.mark.parametrize("gpus", [(1,), (4, 1)])
def test_no_healthy_node_is_named_where_each_gpu_has_few_partners(gpus: Sequence[int], gpu: int) -> None:
    """With one GPU of each node, most GPUs meet one or two others: then either end may be the slow one."""
    found = judge_logs(logs(names(7), slow(0.5, ("n05", gpu)), gpus))
    assert {name for one in found.named_parts for name in one.nodes} <= {"n05"}
    assert found.is_good == ("slow" not in found.states.values())


def test_all_slow_alike_blames_nobody_and_says_so() -> None:
    found = judge_logs(logs(NODES, lambda _a, _b: 0.4, (8,)))
    assert found.blamed == ()
    assert "a fault that all nodes share is not seen" in gpu_pairs_text.text(found)


def test_a_missing_log_is_not_covered_and_the_fault_is_named_still() -> None:
    made = [one for one in logs(NODES, slow(0.6, *node("n03")), (8,)) if "n01_n03" not in one.name]
    found = judge_logs(made)
    assert blamed_parts(found) == {("node", ("n03",), (ALL,))}
    assert found.no_log == (("n01", "n03"),)
    assert "1 pair without a test: n01-n03" in gpu_pairs_text.text(found)


def test_a_node_with_one_slow_log_alone_is_not_named() -> None:
    """There is only one log of n03: nobody can tell whether the node is slow or its partner's path to it."""
    made = [one for one in logs(NODES, slow(0.6, *node("n03")), (8,)) if "n03" not in one.name or "n01_n03" in one.name]
    found = judge_logs(made)
    assert found.named_parts == ()
    assert [(one.kind, one.nodes, one.sure) for one in found.blamed] == [("node", ("n03",), "open")]
    assert not found.is_good


def change(made: Iterable[PairLog], name: str, to: Callable[[str], str]) -> list[PairLog]:
    return [PairLog(one.name, to(one.text)) if name in one.name else one for one in made]


def test_a_log_that_is_cut_is_neither_good_nor_blamed() -> None:
    made = change(logs(NODES, healthy, (8,)), "n02_n05", lambda whole: whole[: whole.index("   67108864")])
    found = judge_logs(made)
    assert found.named_parts == ()
    assert [(one.kind, one.nodes, one.sure) for one in found.blamed] == [("pair", ("n02", "n05"), "open")]
    assert not found.is_good


def test_a_page_of_html_is_not_used_and_named_by_its_file() -> None:
    made = change(logs(NODES, healthy, (8,)), "n02_n05", lambda _: "<html><body>404</body></html>\n")
    found = gpu_pairs.judge(
        gpu_pairs.read_tests(((one.name, one.text) for one in made), re.compile(r"_(?P<a>n\d+)_(?P<b>n\d+)"))
    )
    assert [(one.log, one.pair) for one in found.recorded.not_used] == [("nccl_G8_n02_n05.log", ("n02", "n05"))]
    assert found.blamed == ()
    assert not found.is_good


def test_wrong_data_is_never_good() -> None:
    made = change(
        logs(NODES, healthy, (8,)), "n02_n05", lambda _: text("n02", "n05", range(8), range(8), 23.6, 77, wrong=3)
    )
    found = judge_logs(made)
    assert [(one.kind, one.nodes) for one in found.named_parts] == [("pair", ("n02", "n05"))]
    assert "it moved wrong data" in gpu_pairs_text.text(found)


def test_the_same_run_twice_counts_once() -> None:
    made = [*logs(NODES, healthy, (8,))]
    found = judge_logs([*made, PairLog("copy.log", made[0].text)])
    assert len(found.recorded.tests) == len(made)
    assert found.recorded.not_used[0].why.endswith(f"the same run is also in {made[0].name}, where it counts")


def test_a_pair_that_is_slow_in_one_of_two_runs_is_not_named() -> None:
    made = [*logs(NODES, healthy, (8,)), PairLog("again.log", text("n01", "n02", range(8), range(8), 9.0, 900))]
    found = judge_logs(made)
    assert found.named_parts == ()
    assert [(one.nodes, one.sure) for one in found.blamed] == [(("n01", "n02"), "open")]


def test_other_jobs_are_not_used_each_with_its_reason() -> None:
    one_node = text("n01", "n01", range(4), range(4, 8), 300.0, 801)
    unequal = text("n01", "n02", range(4), range(8), 20.0, 802)
    found = judge_logs([*logs(NODES, healthy, (8,)), PairLog("one.log", one_node), PairLog("unequal.log", unequal)])
    assert [one.why for one in found.recorded.not_used] == [
        "alltoall_perf: 1 node (n01), expected a pair",
        "alltoall_perf: 4 GPUs of n01 and 8 of n02, expected the same number of both",
    ]
    assert found.blamed == ()
    assert not found.is_good


def test_too_few_pairs_are_not_judged() -> None:
    found = judge_logs(list(logs(NODES, healthy, (8,)))[:2])
    assert set(found.states.values()) == {"unjudged"}
    assert not found.is_good
    said = gpu_pairs_text.text(found)
    assert "2 pairs with a result, too few to compare: not judged" in said
    assert "nothing was judged" in said and "no test is slow" not in said
    assert "GPU 7 (df) only in tests that are not judged" in said.replace("0000:", "").replace(":00", "")


@pytest.mark.parametrize("slow_at", [(16 * GIB,), (2 * GIB, 4 * GIB)])
def test_a_node_whose_tests_are_slow_at_some_long_sizes_alone_is_named(slow_at: Sequence[int]) -> None:
    """The median of the long messages is as good as that of the others."""
    made = []
    for at, pair in enumerate(itertools.combinations(names(6), 2)):
        rates = curve(85)
        if "n03" in pair:
            rates |= dict.fromkeys(slow_at, 20.0)
        made.append(PairLog(f"{'_'.join(pair)}.log", output("alltoall", rates, pair, pid=1000 + 100 * at)))
    found = judge_logs(made)
    assert blamed_parts(found) == {("node", ("n03",), (ALL,))}
    assert "20.00 of 84." in gpu_pairs_text.text(found)


def test_a_log_that_ends_before_its_second_test_is_not_good() -> None:
    def two(whole: str) -> str:
        return whole + whole.replace("alltoall", "sendrecv").replace("none ", "sum  ")

    made = [
        PairLog(one.name, one.text if "n02_n05" in one.name else two(one.text)) for one in logs(NODES, healthy, (1,))
    ]
    found = judge_logs(made)
    assert [log for log, _ in found.lacking] == ["nccl_G1_n02_n05.log"]
    assert not found.is_good


def test_leaf_switches_set_what_is_healthy_within_and_across() -> None:
    """A network with blocking between its leaves gives less across them, and is still healthy."""
    leaf_of = {name: "leaf1" if name < "n06" else "leaf2" for name in NODES}

    def blocked_rate(a: End, b: End) -> float | None:
        own = 0.7 if "n03" in (a[0], b[0]) else 1.0
        return own if leaf_of[a[0]] == leaf_of[b[0]] else 0.5 * own

    made = gpu_pairs.read_tests((one.name, one.text) for one in logs(NODES, blocked_rate, (8,)))
    found = gpu_pairs.judge(made, leaf_of)
    assert blamed_parts(found) == {("node", ("n03",), (ALL,))}
    said = gpu_pairs_text.text(found)
    assert "n03: at least one of the GPUs 0, 1, 2, 3, 4, 5, 6, 7, or what they share; connected to leaf1\n" in said
    assert "alltoall_perf with 8 GPUs per node across leaves: healthy is 11.8" in said


def test_what_lies_between_good_and_slow_is_not_judged() -> None:
    """If healthy pairs scatter, it is unclear whether a pair that is about 12 % lower is slow."""
    pairs = list(itertools.combinations(NODES, 2))
    rates = [23.6 * (0.8 + 0.2 * (at * 7 % len(pairs)) / len(pairs)) for at in range(len(pairs))]
    made = [
        PairLog(f"{a}_{b}", text(a, b, range(8), range(8), rate)) for (a, b), rate in zip(pairs, rates, strict=True)
    ]
    found = judge_logs(made)
    bound = found.levels[0].bound
    between = {test for test, share in found.shares.items() if bound <= share < 0.9}
    assert 0.8 < bound < 0.88
    assert between
    assert {test for test, state in found.states.items() if state == "unjudged"} == between
    assert {test for test, state in found.states.items() if state == "slow"}.isdisjoint(between)
    assert not found.is_good
    assert "neither good nor slow, since healthy pairs differ by as much: " in gpu_pairs_text.text(found)


def test_few_logs_suffice_for_a_node() -> None:
    found = judge_logs(logs(NODES, slow(0.6, *node("n03")), (8,)))
    few = gpu_pairs.sufficient(found)
    assert few.same_parts
    assert len(few.logs) < len(found.recorded.logs) / 2


@pytest.fixture(scope="module")
def genuine() -> PairsVerdict:
    files = sorted(GENUINE.glob("*.log"))
    if not files:
        pytest.skip("no genuine logs: ../shared/gpu/h100-17-nodes-pairs is not there")
    texts = ((file.name, file.read_text(encoding="utf-8", errors="replace")) for file in files)
    return gpu_pairs.judge(gpu_pairs.read_tests(texts))


#: The nodes whose GPU 4 is slow with all other GPUs, and the pairs that give no result with any number of GPUs.
RAIL_4 = tuple(f"cnode2-{number:03}" for number in (1, 2, 3, 4, 6, 9, 12, 16, 17))
BROKEN = {(f"cnode2-{a:03}", f"cnode2-{b:03}") for a, b in ((2, 8), (3, 8), (8, 9), (5, 16), (7, 16))}


def test_genuine_logs_name_one_rail_of_nine_nodes_and_five_pairs(genuine: PairsVerdict) -> None:
    assert len(genuine.recorded.tests) == 810
    assert blamed_parts(genuine) == {("part", RAIL_4, (("4",),)), *(("pair", pair, ()) for pair in BROKEN)}
    part = genuine.blamed[0]
    assert genuine.recorded.names[RAIL_4[0], "4"] == "GPU 4 (0000:9d:00)"
    assert part.sure == "shown"
    slow_tests = {test for test, state in genuine.states.items() if state == "slow"}
    assert slow_tests == {test for test in part.tests if test.value is not None}
    assert len(slow_tests) == 127


def of_gpus(genuine: PairsVerdict, gpus: int) -> PairsVerdict:
    """Return the judgement of only the genuine logs with this many GPUs of each node."""
    files = [name for name in genuine.recorded.logs if f"_G{gpus}_" in name]
    texts = ((name, (GENUINE / name).read_text(encoding="utf-8", errors="replace")) for name in files)
    return gpu_pairs.judge(gpu_pairs.read_tests(texts))


def test_genuine_logs_of_four_gpus_name_the_same_rail_by_themselves(genuine: PairsVerdict) -> None:
    found = of_gpus(genuine, 4)
    assert [(one.nodes, one.gpus) for one in found.named_parts if one.kind != "pair"] == [(RAIL_4, (("0000:9d:00",),))]
    assert {one.nodes for one in found.named_parts if one.kind == "pair"} <= BROKEN


def test_genuine_logs_of_one_gpu_are_too_few_to_name_a_gpu_by_themselves(genuine: PairsVerdict) -> None:
    """Each slow log is of GPU 4 of one of the nine nodes, with a partner that was hardly measured with anybody else."""
    found = of_gpus(genuine, 1)
    assert [one for one in found.named_parts if one.kind != "pair"] == []
    slow_ends = [{end for own in test.ends() for end in own} for test, state in found.states.items() if state == "slow"]
    assert len(slow_ends) == 16
    assert all(any(node_ in RAIL_4 and gpu == "0000:9d:00" for node_, gpu in ends) for ends in slow_ends)


def test_forty_of_the_genuine_logs_would_have_sufficed(genuine: PairsVerdict) -> None:
    few = gpu_pairs.sufficient(genuine)
    assert (len(few.logs), few.same_parts) == (40, True)
    assert (few.with_every_pair, few.same_pairs) == (151, True)
