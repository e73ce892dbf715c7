"""Runs of OSU: sums over pairs of nodes, its own validation, roots of collectives, one side, runs without traffic."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from railyard.base.wording import IMPOSSIBLE
from railyard.benchmarks.moved_bytes import Repetitions
from railyard.parsers import osu
from railyard.site.site import Site
from railyard.verdict.assess import Assessment
from railyard.verdict.wording import NOT_PROVEN, not_judged
from railyard.verdict.wording import reference as reference_words
from railyard.verdict.wording.path import carried_part, unseen_rest
from railyard.verdict.wording.run_rules import ended_well, wrong_data
from tests.made.judged_run import case_of, judge_output
from tests.made.words import at_line, below_words

M = 1 << 20
TITLES = {
    "osu_mbw_mr": "MPI Multiple Bandwidth / Message Rate",
    "osu_alltoall": "MPI All-to-All Personalized Exchange Latency",
    "osu_bcast": "MPI Broadcast Latency",
    "osu_allreduce": "MPI Allreduce Latency",
    "osu_barrier": "MPI Barrier Latency",
    "osu_get_bw": "MPI_Get Bandwidth",
    "osu_bw": "MPI Bandwidth",
}
Osu = Callable[..., Assessment]


def osu_output(name: str, rows: Mapping[int, tuple[object, ...]], *heading: str) -> str:
    """Return a synthetic output of OSU 7.4, one row per message size."""
    lines = [
        f"# OSU {TITLES[name]} Test v7.4",
        *(["# [ pairs: 2 ] [ window size: 8 ]"] if name == "osu_mbw_mr" else []),
    ]
    lines += ["# Datatype: MPI_CHAR.", "  ".join(("# Size", *heading))]
    figures = {
        size: [f"{cell:18.2f}" if isinstance(cell, float) else str(cell) for cell in cells]
        for size, cells in rows.items()
    }
    lines += [" ".join((f"{size:<10}", *cells)) for size, cells in figures.items()]
    return "\n".join([*lines, ""])


@pytest.fixture
def ran(virtual: Site) -> Osu:
    """Return a function that assesses a run: its output, MB sent and received by node, changes of the case."""

    def run(
        name: str, output: str, moved: tuple[tuple[float, float], ...], exit_code: int = 0, **meant: Any
    ) -> Assessment:
        nodes = virtual.system.nodes.names[: len(moved)]
        case = case_of(
            virtual, f"osu/{name}", launch={"nodes": nodes},
            repetitions=Repetitions(2, 0), time_limit_s=120, node_pairs=max(1, len(nodes) // 2), **meant,
        )  # fmt: skip
        traffic = {node: {"hsn0": own} for node, own in zip(nodes, moved, strict=True)}
        return judge_output(case, output, osu.parse, traffic, exit_code=exit_code)

    return run


def verdict_summary(found: Assessment) -> tuple[str, int | None, str | None, str]:
    verdict = found.verdict
    return verdict.state, verdict.rule, verdict.fault, verdict.text


RATE = {M: (94.8, 90.4), 4 * M: (95.4, 22.7)}
#: Two repetitions of a window of 8: 2 x 8 x (1 + 4) MiB per pair of nodes.
ONE_PAIR = 84.0


def test_a_sum_over_pairs_is_judged_as_the_share_of_one_pair_of_nodes(ran: Osu) -> None:
    text = osu_output("osu_mbw_mr", RATE, "MB/s", "Messages/s")
    found = ran("osu_mbw_mr", text, ((88, 2), (88, 2), (2, 88), (2, 88)), window=8)
    assert verdict_summary(found) == (
        "pass", None, None,
        "bandwidth holds short-window-one-rail, at worst 111.5 % of short-window-one-rail at 1 MiB (bounded: 2 of 2 "
        "sizes, 1 MiB to 4 MiB)",
    )  # fmt: skip
    assert [curve.values for curve in found.curves] == [(47.4, 47.7), (45.2, 11.35)]
    assert found.path.expected_bytes == 4 * 83_886_080


def test_what_all_cores_of_two_nodes_send_is_no_share_and_moves_the_bytes_of_every_pair(ran: Osu) -> None:
    rows = {1: (20.0, 2e7), 4096: (47.8, 11669.9)}
    text = osu_output("osu_mbw_mr", rows, "MB/s", "Messages/s").replace("pairs: 2", "pairs: 28")
    found = ran("osu_mbw_mr/all-cores", text, ((3, 1), (1, 3)), window=8, ranks_per_node=28, pairs=28)
    assert [curve.values for curve in found.curves] == [(20.0, 47.8), (2e7, 11669.9)]
    # Two repetitions of 28 windows of 8, of 1 and of 4096 B.
    assert found.path.expected_bytes == 2 * 2 * 28 * 8 * 4097
    assert verdict_summary(found)[:2] == ("fail", 5) and "no reference for bandwidth" in verdict_summary(found)[3]


def test_a_release_without_the_rate_of_all_cores_measured_nothing(ran: Osu) -> None:
    text = osu_output("osu_mbw_mr", {1: (20.0,), 4096: (47.8,)}, "MB/s").replace("pairs: 2", "pairs: 28")
    found = ran("osu_mbw_mr/all-cores", text, ((3, 1), (1, 3)), window=8, ranks_per_node=28, pairs=28)
    assert verdict_summary(found)[:2] == ("fail", 2)


def test_a_sum_that_one_pair_alone_would_be_good_for_fails(ran: Osu) -> None:
    text = osu_output("osu_mbw_mr", {M: (52.6, 50.2), 4 * M: (52.8, 12.6)}, "MB/s", "Messages/s")
    found = ran("osu_mbw_mr", text, ((88, 2), (88, 2), (2, 88), (2, 88)), window=8)
    assert verdict_summary(found)[:3] == ("fail", 5, "fabric")
    assert verdict_summary(found)[3].startswith(f"{below_words(26.3, 42.5, M)}, the bound of short-")


def test_a_pair_over_another_network_fails_though_the_other_pair_is_right(ran: Osu) -> None:
    text = osu_output("osu_mbw_mr", RATE, "MB/s", "Messages/s")
    found = ran("osu_mbw_mr", text, ((88, 2), (1, 1), (2, 88), (1, 1)), window=8)
    assert verdict_summary(found) == (
        "fail", 4, "not-proven",
        f"{NOT_PROVEN}{carried_part(['hsn0'], 'vn2', 'sent', 1_000_000, 83_900_000)}{unseen_rest('')}",
    )  # fmt: skip


def test_the_root_of_a_broadcast_sends_and_the_others_receive(ran: Osu) -> None:
    text = osu_output("osu_bcast", {M: (45000.0,), 4 * M: (178000.0,)}, "Avg Latency(us)")
    tree = ((22, 1), (12, 11), (1, 11), (1, 11))
    assert verdict_summary(ran("osu_bcast", text, tree)) == (
        "pass", None, None,
        "latency holds from-or-to-one and from-or-to-one-large, at worst 198.3 % of from-or-to-one at 1 MiB "
        "(bounded: 2 of 2 sizes, 1 MiB to 4 MiB)",
    )  # fmt: skip
    lost = ran("osu_bcast", text, (*tree[:3], (1, 1)))
    assert verdict_summary(lost)[:3] == ("fail", 4, "not-proven")
    assert verdict_summary(lost)[3].startswith(f"{NOT_PROVEN}hsn0 of vn4 received 1.0 MB of 10.5 MB (bound 98.0 %")


def test_an_exchange_of_all_moves_a_message_to_each_other_node(ran: Osu) -> None:
    text = osu_output("osu_alltoall", {M: (70000.0,), 4 * M: (268000.0,)}, "Avg Latency(us)")
    assert verdict_summary(ran("osu_alltoall", text, ((33, 33),) * 4))[:2] == ("pass", None)
    assert verdict_summary(ran("osu_alltoall", text, ((33, 33), (20, 20), (33, 33), (33, 33))))[:2] == ("fail", 4)


def test_a_get_comes_the_other_way(ran: Osu) -> None:
    text = osu_output("osu_get_bw", {M: (47.4,), 4 * M: (47.7,)}, "Bandwidth (MB/s)")
    assert verdict_summary(ran("osu_get_bw", text, ((2, 88), (88, 2)), window=8))[:2] == ("pass", None)
    assert verdict_summary(ran("osu_get_bw", text, ((88, 2), (2, 88)), window=8))[:2] == ("fail", 4)


def test_a_barrier_is_reported_and_neither_its_time_nor_its_path_is_judged(ran: Osu) -> None:
    text = f"# OSU {TITLES['osu_barrier']} Test v7.4\n# Avg Latency(us)\n             57.31\n"
    why = "latency: a barrier moves no payload, so no rate of a link bounds its time"
    assert verdict_summary(ran("osu_barrier", text, ((0.1, 0.1),) * 4)) == (
        "report-only", None, None,
        f"{not_judged(reference_words.only_reported([why]))}; rule 4 (path) not judged: osu/osu_barrier moves no "
        "payload",
    )  # fmt: skip


def test_the_start_is_reported(ran: Osu) -> None:
    text = "# OSU MPI Init Test v7.4\nnprocs: 4, min: 210 ms, max: 230 ms, avg: 221 ms\n"
    found = ran("osu_init", text, ((0.1, 0.1),) * 4)
    assert verdict_summary(found)[:2] == ("report-only", None)
    assert [(figure.name, figure.value, figure.unit) for figure in found.figures] == [("latency", 221_000, "us")]


PASSED = {M: (47.4, "Pass"), 4 * M: (47.7, "Pass")}
HEADING = ("Bandwidth (MB/s)", "Validation")


def test_data_that_were_checked_are_said_so(ran: Osu) -> None:
    found = ran("osu_bw", osu_output("osu_bw", PASSED, *HEADING), ((88, 2), (2, 88)), window=8, validates=True)
    assert found.verdict.state == "pass"
    assert found.verdict.rules[0].sentence == ended_well(("vn1", "vn2"), 1, True)


@pytest.mark.parametrize("validates", [True, False])
def test_wrong_data_fail_rule_1_though_the_bandwidth_is_good(ran: Osu, validates: bool) -> None:
    rows = {M: (47.4, "Pass"), 4 * M: (47.7, "Fail")}
    text = osu_output("osu_bw", rows, *HEADING)
    found = ran("osu_bw", text, ((88, 2), (2, 88)), window=8, validates=validates, exit_code=1)
    assert verdict_summary(found) == (
        "fail", 1, "node",
        wrong_data(False, f', {at_line(5)}4194304 47.70 Fail"'),
    )  # fmt: skip


def test_a_benchmark_that_was_told_to_check_and_did_not_fails(ran: Osu) -> None:
    text = osu_output("osu_bw", {M: (47.4,), 4 * M: (47.7,)}, HEADING[0])
    assert verdict_summary(ran("osu_bw", text, ((88, 2), (2, 88)), window=8, validates=True))[:3] == (
        "fail",
        1,
        "set-up",
    )


def test_an_exchange_that_ended_before_its_bytes_can_have_crossed_is_impossible(ran: Osu) -> None:
    # Each node sends 3 x 4 MiB at 48.22 MB/s: 261 ms.
    text = osu_output("osu_alltoall", {M: (70000.0,), 4 * M: (200000.0,)}, "Avg Latency(us)")
    state, rule, fault, sentence = verdict_summary(ran("osu_alltoall", text, ((33, 33),) * 4))
    assert (state, rule, fault) == ("fail", 3, "set-up")
    assert sentence.startswith(f"{IMPOSSIBLE}latency 200000 us at 4 MiB, and it takes at least 260966 us: ")


def test_ranks_that_share_a_node_need_not_all_wait_for_the_last_byte_of_an_exchange(ran: Osu) -> None:
    # 2 x 2 ranks on each of 2 nodes: 4 x 4 MiB leave a node in 348 ms; if served in turn, both end at 75 % on average.
    for mean, possible in ((300000.0, True), (270000.0, True), (240000.0, False)):
        text = osu_output("osu_alltoall", {4 * M: (mean,)}, "Avg Latency(us)")
        found = ran("osu_alltoall", text, ((40, 40),) * 2, ranks_per_node=2)
        assert (found.verdict.rules[2].state == "fail") is not possible, found.verdict.rules[2].sentence


def test_the_mean_of_a_broadcast_is_of_ranks_that_need_not_wait(ran: Osu) -> None:
    # 4 MiB reach a node in 87 ms; one of four ranks may have waited for that, so the mean is at least 22 ms.
    for mean, possible in ((60000.0, True), (24000.0, True), (20000.0, False)):
        text = osu_output("osu_bcast", {4 * M: (mean,)}, "Avg Latency(us)")
        rule = ran("osu_bcast", text, ((22, 1), (12, 11), (1, 11), (1, 11))).verdict.rules[2]
        assert (rule.state == "fail") is not possible, rule.sentence
    assert (
        "a node must send or receive 1.000 x 4 MiB, and the mean over ranks is at least 25.0 % of that" in rule.sentence
    )


def test_a_short_collective_is_not_held_to_the_link(ran: Osu) -> None:
    # 64 KiB in 300 us are 218 MB/s: the library keeps a copy, and the other rank has not seen a byte yet.
    text = osu_output("osu_allreduce", {65536: (300.0,), 4 * M: (178000.0,)}, "Avg Latency(us)")
    rule = ran("osu_allreduce", text, ((22, 22),) * 2).verdict.rules[2]
    assert (rule.state, rule.sentence) == ("pass", "latency 300.0 us at 64 KiB is not below 0.4 us")


def test_many_ranks_that_return_at_once_make_a_small_mean_of_a_broadcast(ran: Osu) -> None:
    # 0.3 us is too short between nodes for every rank, but may be the mean of four ranks if one waited for 1 us.
    text = osu_output("osu_bcast", {4: (0.3,), 4 * M: (178000.0,)}, "Avg Latency(us)")
    rule = ran("osu_bcast", text, ((22, 1), (12, 11), (1, 11), (1, 11))).verdict.rules[2]
    assert (rule.state, rule.sentence) == ("pass", "latency 0.3000 us at 4 B is not below 0.1 us")
    text = osu_output("osu_allreduce", {4: (0.3,), 4 * M: (178000.0,)}, "Avg Latency(us)")
    assert ran("osu_allreduce", text, ((22, 22),) * 4).verdict.rules[2].state == "fail"
