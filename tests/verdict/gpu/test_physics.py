"""Each way in which a naive judge of busbw is wrong: trees, alltoall, NVLink SHARP, the mean, two jobs, a domain."""

import re
from pathlib import Path

import pytest

from railyard.base.wording import IMPOSSIBLE
from railyard.parsers import nccl
from railyard.site.references.transport_class import find_class
from railyard.verdict.gpu.run import GpuTarget, of_class, of_words
from railyard.verdict.stored_outputs.collectives import judge_collectives
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.wording import gpu_log as log_words
from railyard.verdict.wording import gpu_runs
from railyard.verdict.wording.gpu_runs import above_floor, alone_above_floor, most_below_floor
from tests.made.nccl_early import early
from tests.made.nccl_output import GIB, curve, output, ranks_of, rows_of

H100 = of_words("gpus=8,nvlink=4,nics=8,link=ib-ndr")
CLASSES = Path(__file__).parents[3] / "references" / "classes"


def judge_text(text: str, target: GpuTarget = H100) -> tuple[Judgement, ...]:
    return judge_collectives(nccl.parse(text), target, text=text)


def one(text: str, target: GpuTarget = H100) -> Judgement:
    (found,) = judge_text(text, target)
    return found


def rule(of: Judgement, number: int) -> tuple[str, str]:
    return next((each.state, each.sentence) for each in of.rules if each.rule == number)


def test_a_healthy_ring_over_two_nodes_passes_and_the_sentence_says_which_algorithms_are_possible() -> None:
    found = one(output("all_reduce", curve(370)))
    assert found.state == "pass", found.sentence
    assert [each.state for each in found.rules] == ["pass", "pass", "pass", "not-judged", "pass"]
    assert "the output does not name the algorithm: ring, tree, " in found.sentence and "nvls-tree" in found.sentence


def test_a_tree_on_two_nodes_shows_more_than_the_nics_carry_and_that_is_genuine() -> None:
    """NVIDIA/nccl issue 209, nccl-tests 22 and 82: 460 GB/s where the NICs of a node carry 397.5."""
    found = one(output("all_reduce", curve(460)))
    assert found.state == "pass"
    assert "possible with tree (at most 482.1 GB/s" in found.sentence
    assert "it rules out ring (at most 397.5 GB/s" in found.sentence


def test_the_same_figure_on_four_nodes_needs_reduction_in_the_network() -> None:
    found = one(output("all_reduce", curve(460), [f"node{n}" for n in range(4)]))
    assert found.state == "pass"
    assert "it rules out tree (at most 385.1 GB/s" in found.sentence
    assert "nvls-collnet (at most 770.1" in found.sentence
    beyond = output("all_reduce", curve(520), [f"node{n}" for n in range(4)])
    assert one(beyond).state == "pass"
    found = one(beyond, of_words("gpus=8,nvlink=4,nics=8,link=ib-ndr,sharp=no"))
    assert found.state == "fail" and "rule 3 (possible)" in found.sentence and "impossible" in found.sentence


def test_an_alltoall_keeps_a_share_within_the_node() -> None:
    """NVIDIA/nccl-tests issue 267: 16 ranks on two nodes show up to 93.2 GB/s with 49.7 GB/s per NIC."""
    assert one(output("alltoall", curve(85))).state == "pass"
    # The time is a mean over ranks, and some ranks are ahead by one of 20 iterations.
    assert one(output("alltoall", curve(99))).state == "not-judged"
    above = one(output("alltoall", curve(105)))
    assert above.state == "fail" and "rule 3 (possible)" in above.sentence and "impossible" in above.sentence


def test_nvlink_sharp_raises_one_node_above_its_links() -> None:
    """NVIDIA/nccl-tests issue 212: 480 GB/s on eight H100, whose links carry 450; on A100 nothing reduces there."""
    found = one(output("all_reduce", curve(480), ["node1"]))
    assert found.state == "pass" and "it rules out ring (at most 450.0 GB/s, set by NVLink)" in found.sentence
    a100 = of_words("gpus=8,nvlink=3,nics=8,link=ib-hdr")
    assert one(output("all_reduce", curve(320), ["node1"], gpu="NVIDIA A100-SXM4-80GB"), a100).state == "fail"


def test_the_mean_is_never_judged() -> None:
    """A curve that starts low has a low mean: only long messages count, each compared with its size's number."""
    low = {size: value * (0.1 if size < GIB else 1.0) for size, value in curve(370, first=1 << 20).items()}
    found = one(output("all_reduce", low))
    mean = sum(low.values()) / len(low)
    assert mean < 0.5 * 397.5 and found.state == "pass"
    flat = dict.fromkeys(curve(1), 230.0)  # the same mean as in many healthy runs, but too low at the sizes that count
    assert one(output("all_reduce", flat)).state == "fail"


def test_two_jobs_of_one_node_each_are_refused_however_fine_they_look() -> None:
    """368 GB/s per node, two "Rank 0": NVIDIA/nccl-tests issue 107."""
    text = output("all_reduce", curve(368), ["node1"]) + output("all_reduce", curve(367), ["node2"], pid=9000)
    found = judge_text(text)
    assert [each.state for each in found] == ["fail", "fail"]
    for each in found:
        assert "two separate jobs of all_reduce_perf in one file" in each.sentence


def test_two_ranks_0_under_one_heading_are_refused() -> None:
    ranks = ranks_of(["node1"], 8) + ranks_of(["node2"], 8, pid=9000).removeprefix("# Using devices\n")
    text = f"# nThread 1 nGpus 8 minBytes {GIB} maxBytes {4 * GIB} step: 2(factor) warmup iters: 5 iters: 20 "
    text += f"validation: 1 graph: 0\n#\n{ranks}{rows_of('all_reduce', 8, curve(368, GIB, 4 * GIB))}"
    found = one(text)
    assert found.state == "fail" and "rank 0 twice" in found.sentence


def test_two_jobs_whose_ranks_are_lost_show_by_busbw_and_algbw() -> None:
    """With 8 ranks it is 1.75 times algbw, with 16 ranks 1.875."""
    text = rows_of("all_reduce", 8, curve(368))
    found = one(text, of_words("gpus=8,nvlink=4,nics=8,link=ib-ndr", nodes=2))
    assert found.state in ("fail", "not-judged")
    named = "# Collective test starting: all_reduce_perf\n" + text
    found = one(named, of_words("gpus=8,nvlink=4,nics=8,link=ib-ndr", nodes=2))
    assert found.state == "fail"
    assert "are those of all_reduce with 8 ranks, and 2 nodes of 8 GPUs have 16" in found.sentence


def test_a_rate_that_no_nic_carries_is_impossible_and_its_cause_is_named() -> None:
    """837.76 GB/s where four NICs carry 200: published as passed (references/classes, gb200-4xroce400)."""
    target = of_class(find_class(CLASSES, "gb200-4xroce400"))
    found = one(output("all_reduce", {16 * GIB: 837.76}, gpus=4, gpu="NVIDIA GB200"), target)
    assert found.state == "fail" and found.sentence.startswith(f"rule 3 (possible): at 16 GiB: {IMPOSSIBLE}busbw 837.8")
    assert [cause.cause for cause in found.causes] == ["one-domain", "more-nics"]
    domain = of_words("gpus=4,nvlink=5,domain=72,nics=4,link=roce-400")
    assert one(output("all_reduce", {16 * GIB: 837.76}, gpus=4, gpu="NVIDIA GB200"), domain).rules[2].state == "pass"


def test_the_log_says_that_nvlink_ends_at_the_node() -> None:
    off = "node1:10:11 [0] NCCL INFO MNNVL is disabled, fabric not found\n"
    domain = of_words("gpus=4,nvlink=5,domain=72,nics=4,link=roce-400")
    found = one(off + output("all_reduce", {16 * GIB: 837.76}, gpus=4, gpu="NVIDIA GB200"), domain)
    assert found.state == "fail" and rule(found, 4)[0] == "fail"
    assert found.rules[3].look_at == log_words.look_at_domain()


def test_a_value_in_place_alone_is_judged_too() -> None:
    healthy = curve(370)
    found = one(output("all_reduce", healthy, in_place={**healthy, 4 * GIB: 900.0}))
    assert found.state == "fail" and "at 4 GiB in place: impossible" in found.sentence


@pytest.mark.parametrize("rates", [curve(60), {**curve(370), GIB: 100.0}], ids=["low", "dip"])
def test_a_failure_within_one_node_looks_at_its_own_links_and_never_at_the_network(rates: dict[int, float]) -> None:
    found = one(output("all_reduce", rates, ("node1",)))
    assert found.state == "fail"
    look = found.sentence.partition("; look at ")[2]
    assert "topo -m" in look and "ACS" in look
    assert "network" not in look and "NIC" not in look and "pair of nodes" not in look
    assert found.rules[-1].look_at == look
    between = one(output("all_reduce", rates)).sentence.partition("; look at ")[2]
    assert "network" in between and "ACS" not in between


def test_a_half_that_is_low_is_not_hidden_by_the_other() -> None:
    found = one(output("all_reduce", curve(370), in_place=curve(100)))
    assert found.state == "fail" and "busbw of long messages is at most 99.97 GB/s" in found.sentence


def test_an_algorithm_that_the_log_names_makes_a_figure_impossible() -> None:
    log = "node1:10:11 [0] NCCL INFO NCCL_ALGO set by environment to Ring\n"
    text = output("all_reduce", curve(460))
    assert one(text).state == "pass"
    found = one(log + text)
    assert found.state == "fail" and "of what a ring can show" in found.sentence
    assert log_words.named_algorithm("Ring", 1) in found.sentence


@pytest.mark.parametrize(
    ("value", "is_named"),
    [
        ("Ring", True),
        ("ring", True),
        ("allreduce:ring", True),
        ('"allreduce:ring;broadcast:tree"', True),
        ("tree;AllReduce:Ring", True),
        ("ring,tree;allreduce:ring", True),
        ("broadcast:ring", False),
        ("allreduce:ring,tree", False),
        ("ring;allreduce:^ring", False),
        ("^tree", False),
        ("allreduce:zigzag", False),
    ],
)
def test_a_setting_for_one_function_is_read(value: str, is_named: bool) -> None:
    """460 GB/s is more than a ring can show on these nodes."""
    log = f"node1:10:11 [0] NCCL INFO NCCL_ALGO set by environment to {value}\n"
    found = one(log + output("all_reduce", curve(460)))
    assert ("of what a ring can show" in found.sentence) == is_named
    assert found.state == ("fail" if is_named else "pass")


def test_an_algorithm_of_one_call_is_that_of_its_size() -> None:
    call = (
        f"node1:10:11 [0] NCCL INFO AllReduce: {4 * GIB} Bytes -> Algo RING proto SIMPLE channel{{Lo..Hi}}={{0..15}}\n"
    )
    text = output("all_reduce", {**curve(390), 4 * GIB: 440.0})
    assert one(text).rules[2].state == "pass"
    found = one(call + text)
    assert rule(found, 3)[0] == "fail" and "at 4 GiB" in rule(found, 3)[1]


@pytest.mark.parametrize("function", ["AllReduce: ", ""])
def test_an_algorithm_that_is_printed_as_a_number_is_named(function: str) -> None:
    """NCCL 2.20 to 2.23 print numbers, the first three of them no function."""
    call = f"node1:10:11 [0] NCCL INFO {function}{4 * GIB} Bytes -> Algo 1 proto 2 time 93.125000\n"
    found = one(call + output("all_reduce", {**curve(390), 4 * GIB: 440.0}))
    assert rule(found, 3)[0] == "fail" and log_words.named_algorithm("RING", 1) in rule(found, 3)[1]


def test_nccls_names_with_an_underscore_are_known() -> None:
    channels = "channel{Lo..Hi}={0..15}"
    call = f"node1:10:11 [0] NCCL INFO AllReduce: {16 * GIB} Bytes -> Algo NVLS_TREE proto SIMPLE {channels}\n"
    assert log_words.named_algorithm("NVLS_TREE", 1) in one(call + output("all_reduce", curve(370))).sentence


@pytest.mark.parametrize(
    ("size", "rest"), [(GIB, "RING proto SIMPLE channel{Lo..Hi}={0..15}"), (16 * GIB, "1 proto 2 time 9.5")]
)
def test_the_bytes_of_an_all_gathers_call_are_one_ranks_share_since_2_24(size: int, rest: str) -> None:
    call = f"node1:10:11 [0] NCCL INFO AllGather: {size} Bytes -> Algo {rest}\n"
    found = one(call + output("all_gather", curve(360)))
    assert log_words.named_algorithm("RING", 1) in found.sentence


@pytest.mark.parametrize("nodes", [13, 64])
def test_no_floor_holds_beyond_what_was_published(nodes: int) -> None:
    found = one(output("all_reduce", curve(150), [f"n{n}" for n in range(nodes)]))
    assert found.state == "not-judged" and "no source gives a floor for more than 12 nodes" in found.sentence


def test_what_holds_the_floor_in_short_messages_is_healthy_and_what_does_not_need_not_be_sick() -> None:
    """NVIDIA/nccl-tests issue 119: 96.42 GB/s at 130 MB of four HDR cards is "perfect"; 30 there says nothing."""
    hdr = of_words("gpus=8,nvlink=3,nics=4,link=ib-hdr")
    three = ["a", "b", "c"]
    found = one(output("all_reduce", {128 << 20: 96.42}, three, gpu="NVIDIA A100-SXM4-80GB"), hdr)
    assert found.state == "pass" and above_floor(96.42, 128 << 20) in found.sentence
    found = one(output("all_reduce", {128 << 20: 30.0}, three, gpu="NVIDIA A100-SXM4-80GB"), hdr)
    assert found.state == "not-judged" and gpu_runs.no_long_message() in found.sentence
    # If there are long messages, they decide, however fast the short ones are.
    assert (
        one(output("all_reduce", {GIB >> 1: 90.0, GIB: 30.0}, three, gpu="NVIDIA A100-SXM4-80GB"), hdr).state == "fail"
    )


@pytest.mark.parametrize(
    ("words", "name", "peak", "state"),
    [
        # NVIDIA/nccl-tests issue 331: four of the twelve links of an A100 lead to each other one, 72 of 100 GB/s
        ("gpus=4,nvlink=3", "sendrecv", 72.0, "not-judged"),
        ("gpus=8,nvlink=2", "alltoall", 30.0, "not-judged"),
        ("gpus=8,nvlink=3", "sendrecv", 72.0, "fail"),  # with an NVSwitch all links can lead to one GPU
        ("gpus=4,nvlink=3", "sendrecv", 320.0, "fail"),  # impossible even if all did
        ("gpus=4,nvlink=3", "all_reduce", 72.0, "fail"),  # rings use all links
        ("gpus=4,nvlink=3", "sendrecv", 200.0, "not-judged"),
    ],
)
def test_messages_between_gpus_without_a_switch_have_no_floor(words: str, name: str, peak: float, state: str) -> None:
    node = of_words(words)
    gpu = "Tesla V100-SXM2-32GB" if "nvlink=2" in words else "NVIDIA A100-SXM4-80GB"
    found = one(output(name, {GIB: peak}, ["a"], node.node.gpus, gpu=gpu), node)
    assert found.state == state, found.sentence
    assert (state == "not-judged") == ("whose GPUs may be connected without an NVSwitch" in found.sentence)


def test_two_cards_with_a_bridge_have_no_floor() -> None:
    """NVIDIA/nccl-tests issue 194: 116 GB/s of two H100 with twelve links, and nobody says whether that is right."""
    found = one(output("all_reduce", {4 * GIB: 116.3}, ["a"], 2), of_words("gpus=2,nvlink=4,nvlinks=12"))
    assert found.state == "not-judged" and "NVLink between four or more GPUs" in found.sentence


def test_messages_over_nics_have_a_floor_whatever_connects_the_gpus() -> None:
    gh200 = of_words("gpus=4,nvlink=4,nics=4,link=slingshot-11")
    assert one(output("sendrecv", {GIB: 24.2}, ["a", "b"], 4), gh200).state == "pass"
    assert one(output("sendrecv", {GIB: 12.0}, ["a", "b"], 4), gh200).state == "fail"


def test_nodes_without_their_nics_are_not_judged_over_several_nodes() -> None:
    found = one(output("all_reduce", {8 * GIB: 14.0}), of_words("gpus=8,nvlink=4"))
    assert found.state == "not-judged"
    assert "the NICs of its nodes are not given, or their rate is not known" in found.sentence


def test_ranks_that_are_not_placed_node_after_node_have_no_floor() -> None:
    listed = ranks_of(["a", "b"], 8).splitlines()
    of_a, of_b = listed[1:9], listed[9:17]
    one_by_one = [line[line.index("Group") :] for both in zip(of_a, of_b, strict=True) for line in both]
    numbered = [f"#  Rank {rank:2d} {line}" for rank, line in enumerate(one_by_one)]
    hosts = "\n".join([listed[0], *numbered, *listed[17:], ""])
    text = output("sendrecv", curve(6), ["a", "b"]).replace(ranks_of(["a", "b"], 8), hosts)
    found = one(text)
    assert found.state == "not-judged" and "not placed node after node" in found.sentence


def test_a_row_of_0_between_others_is_no_division_by_0() -> None:
    """A rate below 5 MB/s is printed as 0.00."""
    assert one(output("all_reduce", dict.fromkeys(curve(1), 0.001))).state == "fail"


def test_a_dip_in_the_curve_is_named() -> None:
    found = one(output("all_reduce", {**curve(370), 2 * GIB: 240.0}))
    assert found.state == "fail" and found.causes == ()
    assert "busbw 240.0 GB/s at 2 GiB is 65.2 % of the 368.3 GB/s" in found.sentence
    assert one(output("all_reduce", {**curve(370), 2 * GIB: 320.0})).state == "pass"
    # where it only rises, nothing dips
    assert one(output("all_reduce", curve(370, first=1 << 20))).state == "pass"


def test_a_short_message_far_below_both_neighbours_is_a_dip_and_a_change_of_protocol_is_none() -> None:
    healthy = curve(370, first=1 << 20)
    size = 16 << 20
    side = min(healthy[size // 2], healthy[2 * size])
    found = one(output("all_reduce", {**healthy, size: 0.28 * side}))
    assert (
        found.state == "fail" and "at 16 MiB is 28" in found.sentence and "both its neighbours reach" in found.sentence
    )
    assert one(output("all_reduce", {**healthy, size: 0.5 * side})).state == "pass"


def test_a_short_message_that_takes_three_times_as_long_as_a_longer_one_is_a_dip_and_a_late_rank_is_none() -> None:
    healthy = curve(370, first=1 << 13)
    assert one(output("all_reduce", healthy)).state == "pass"
    size = 64 << 10
    found = one(output("all_reduce", {**healthy, size: healthy[size] / 20}))
    assert found.state == "fail" and "a message of 64 KiB takes" in found.sentence
    assert "times as long as a longer one, out of place and in place" in found.sentence
    assert one(output("all_reduce", {**healthy, size: healthy[size] / 2})).state == "pass"
    # over several sizes, none is far below its neighbours
    wide = {each: rate / 5 if 16 << 10 <= each <= 512 << 10 else rate for each, rate in healthy.items()}
    assert one(output("all_reduce", wide)).state == "fail"


def test_what_rounding_hides_is_no_dip() -> None:
    """0.01 GB/s may be 0.015: such a row takes three times as long only in print."""
    healthy = curve(370, first=512)
    assert one(output("all_reduce", {**healthy, 512: 0.01})).state == "pass"
    assert one(output("all_reduce", {**healthy, 1024: 0.01})).state == "fail"


@pytest.mark.parametrize(("first", "value", "share"), [(8 * GIB, 100.0, "26.3 %"), (16 * GIB, 240.0, "63.2 %")])
def test_a_curve_that_falls_at_its_end_fails_however_high_its_peak_is(first: int, value: float, share: str) -> None:
    found = one(output("all_reduce", {size: value if size >= first else rate for size, rate in curve(380).items()}))
    assert found.state == "fail"
    assert f"busbw {value:.1f} GB/s at {first // GIB} GiB is {share} of the" in found.sentence
    near = {size: 310.0 if size >= first else rate for size, rate in curve(380).items()}
    assert one(output("all_reduce", near)).state == "pass"


def test_a_half_in_place_that_is_above_the_floor_and_far_below_the_other_fails() -> None:
    """In place 66 % of out of place: 250 GB/s is still above 60 % of the bound of 397.5."""
    rates = curve(380)
    low = {size: round(0.66 * rate, 2) for size, rate in rates.items()}
    found = one(output("all_reduce", rates, in_place=low))
    assert found.state == "fail" and "both halves of a row differ: busbw" in found.sentence
    assert "GB/s in place at" in found.sentence
    assert "GB/s out of place at" in one(output("all_reduce", low, in_place=rates)).sentence
    near = {size: round(0.85 * rate, 2) for size, rate in rates.items()}
    assert one(output("all_reduce", rates, in_place=near)).state == "pass"


def test_one_high_value_among_low_ones_does_not_pass() -> None:
    """The longest message alone is fast: no curve of healthy nodes rises by a factor above 2 for twice the size."""
    low = dict.fromkeys(curve(1), 100.0)
    found = one(output("all_reduce", {**low, 16 * GIB: 365.0}))
    assert found.state == "not-judged"
    low_words = most_below_floor(4, 5, 100.0, 8 * GIB, "ring (at most 397.5 GB/s, set by NIC)")
    assert found.reason.startswith(alone_above_floor(365.0, 16 * GIB, low_words))
    half = {**low, 4 * GIB: 340.0, 8 * GIB: 360.0, 16 * GIB: 365.0}
    assert one(output("all_reduce", half)).state == "pass"


@pytest.mark.parametrize("peak", [45.0, 80.0])
def test_a_hypercube_has_no_floor_since_nobody_published_one(peak: float) -> None:
    """Its steps follow one another, so what its slowest step alone could show is more than healthy nodes show."""
    rows = []
    for line in output("hypercube", curve(peak)).splitlines(keepends=True):
        words = line.split()
        if words and words[0].isdigit():  # hypercube.cu prints busbw as algbw too
            words[6], words[10] = words[7], words[11]
            words[5] = words[9] = f"{int(words[0]) * 15 / 16 / float(words[7]) / 1000:.4f}"
            line = " ".join(words) + "\n"
        rows.append(line)
    found = one("".join(rows))
    assert found.state == "not-judged", found.sentence
    assert found.sentence.startswith("not judged: no source gives a floor for hypercube; ")


@pytest.mark.parametrize("setting", ["NCCL_NET_PLUGIN set by environment to none", "NCCL_COLLNET_ENABLE set to 0."])
def test_without_its_plugin_the_network_does_not_reduce(setting: str) -> None:
    text = output("all_reduce", curve(700), ["a", "b", "c", "d"])
    assert one(text).state == "pass"
    found = one(f"a:1:2 [0] NCCL INFO {setting}\n{text}")
    assert found.state == "fail" and "rule 3 (possible): at 16 GiB: impossible" in found.sentence
    assert f'(the network did not reduce, line 1: "{setting}")' in found.sentence


def test_gpus_of_two_kinds_are_not_judged_as_if_they_were_alike() -> None:
    text = output("all_reduce", curve(365))
    other = re.sub(r"( on +node2 .*)NVIDIA H100 80GB HBM3", r"\1NVIDIA H200", text)
    assert other.count("NVIDIA H200") == 8 and one(text).state == "pass"
    found = one(other)
    assert found.state == "not-judged"
    assert found.sentence.startswith(
        "not judged: its GPUs are not of one kind: NVIDIA H100 80GB HBM3 (rank 0 on node1, line 6) and NVIDIA H200 "
        "(rank 8 on node2, line 14)"
    )


@pytest.mark.parametrize(
    ("gpu", "words", "link", "given"),
    [
        ("NVIDIA A100-SXM4-80GB", "gpus=8,nvlink=4,nics=8,link=ib-ndr", "NVLink 3 (A100)", "NVLink 4 (H100, H200)"),
        ("AMD Instinct MI300X", "gpus=8,nvlink=4,nics=8,link=ib-ndr", "xGMI (MI300X)", "NVLink 4 (H100, H200)"),
        ("NVIDIA H800", "gpus=8,xgmi=mi300x,nics=8,link=ib-ndr", "NVLink 4 (H100, H200)", "xGMI (MI300X)"),
    ],
)
def test_gpus_with_another_link_than_given_are_not_judged(gpu: str, words: str, link: str, given: str) -> None:
    found = one(output("all_reduce", curve(365), gpu=gpu), of_words(words))
    assert found.state == "not-judged"
    assert found.sentence.startswith(
        f"not judged: the output is from {gpu} (line 6), whose link is {link}, and --nodes-have {words} has {given}"
    )


@pytest.mark.parametrize("gpu", ["NVIDIA H800", "NVIDIA H20", "NVIDIA Graphics Device", ""])
def test_gpus_whose_link_is_as_given_or_unknown_are_judged(gpu: str) -> None:
    assert one(output("all_reduce", curve(365), gpu=gpu)).state == "pass"


def test_a_run_that_checked_nothing_says_so() -> None:
    text = output("all_reduce", curve(365))
    assert not any("wrong data" in said for said in one(text).remarks)
    half = re.sub(r" 0$", " N/A", text, flags=re.MULTILINE)
    assert not any("wrong data" in said for said in one(half).remarks)
    said = "no row says that what arrived was checked (N/A, or no #wrong): wrong data would not show"
    assert said in one(re.sub(r" 0(?=  \d+\.)", " N/A", half)).remarks


def test_two_nodes_of_one_name_are_not_taken_for_one_node() -> None:
    """Containers may all be called localhost: then 440 GB/s of 2 x 4 GPUs would look like one node over NVLink."""
    text = output("all_reduce", curve(440), ["a", "b"], 4).replace(" a device", " x device").replace(" b dev", " x dev")
    found = one(text)
    assert found.state == "not-judged"
    assert "ranks 0 and 4 (line 10) have the same GPU [0000:10:00] of x: several nodes have this name" in found.sentence
    assert one(output("all_reduce", curve(440), ["x"])).state == "pass"
    # Before 2.16 an address has no domain, and some virtual machines show the same one for all GPUs.
    old = re.sub(r"\[0000:..:00\]", "[0x00]", output("all_reduce", curve(440), ["x"]))
    assert one(old).state == "pass"


def test_gpus_beside_grace_have_one_address_and_are_told_by_their_processes() -> None:
    """CSCS Alps: with one GPU per process all four of a node are device 0 [0x01], if the address has no domain."""
    alps = of_words("gpus=4,nvlink=4,nics=4,link=slingshot-11")

    def gpu_listing(gpu: str, hosts: list[str], gpus: int = 4) -> str:
        text = output("all_reduce", curve(85), hosts, gpus, gpu=gpu)
        return re.sub(r"device +\d+ \[0000:..:00\]", "device  0 [0x01]", text)

    assert one(gpu_listing("NVIDIA GH200 120GB", ["nid1", "nid2"]), alps).state == "pass"
    assert "have the same GPU [0x01]" in one(gpu_listing("NVIDIA H100 80GB HBM3", ["nid1", "nid2"]), alps).sentence
    # More than a node has: several nodes have one name.
    assert "have the same GPU [0x01]" in one(gpu_listing("NVIDIA GH200 120GB", ["nid1"], 8), alps).sentence


def test_messages_faster_than_the_nics_of_their_gpu_do_not_pass() -> None:
    """A sendrecv over two nodes sends one GPU's message over one NIC of 49.7 GB/s; NCCL does not spread it."""
    assert one(output("sendrecv", curve(48))).state == "pass"
    found = one(output("sendrecv", curve(90)))
    assert found.state == "not-judged" and "the NICs nearest to each GPU" in found.sentence


def test_nvlink_sharp_that_the_log_calls_off_makes_its_figures_impossible() -> None:
    text = output("all_reduce", curve(480), ["node1"])
    for said in ("NCCL_NVLS_ENABLE set by environment to 0.", "NVLS multicast support is not available on dev 0"):
        found = one(f"node1:4000:4100 [0] NCCL INFO {said}\n{text}")
        assert found.state == "fail" and f'(NVLink SHARP was off, line 1: "{said}")' in found.sentence
    on = f"node1:4000:4100 [0] NCCL INFO NCCL_NVLS_ENABLE set by environment to 1.\n{text}"
    assert one(on).state == "pass"


@pytest.mark.parametrize(
    ("nics", "state", "said"),
    [
        (7, "pass", ""),
        (6, "not-judged", "but 6 of 8 NICs of a node can show it too"),
        (5, "not-judged", "but 5 of 8"),
        (4, "fail", ""),
    ],
)
def test_a_run_over_some_of_the_nics_of_a_node_does_not_pass(nics: int, state: str, said: str) -> None:
    """Eight NDR cards bound a ring at 397.5 GB/s; a run reaches 98 % of what its cards can show."""
    found = one(output("all_reduce", curve(round(0.98 * nics * 397.5 / 8, 2))))
    assert found.state == state and said in found.sentence


def test_nodes_whose_nvlink_sets_the_bound_have_no_idle_nics() -> None:
    """NVIDIA/nccl-tests issue 149: 200 of 300 GB/s at 1 GiB on one node of eight A100 still rises, and is right."""
    a100 = of_words("gpus=8,nvlink=3,nics=8,link=ib-hdr")
    assert one(output("all_reduce", {GIB: 200.0}, ["node1"], gpu="NVIDIA A100-SXM4-80GB"), a100).state == "pass"


def test_an_early_release_that_prints_busbw_twice_is_not_from_another_number_of_ranks() -> None:
    """Until June 2020 all_gather printed busbw as algbw, too: the two do not show how many ranks there were."""
    # 8 ranks, so busbw of 1 GiB is 7/8 of 1 GiB in 8 ms: 117 GB/s
    text = early("all_gather", {1 << 28: 2000.0, 1 << 29: 4000.0, 1 << 30: 8000.0}, ranks=8)
    (found,) = judge_collectives(nccl.parse(text), of_words("gpus=8,nvlink=2"), text=text)
    assert found.benchmark == "nccl/all_gather_perf"
    assert "are those of all_gather with" not in found.sentence
    assert [rule.state for rule in found.rules][:3] == ["pass", "pass", "pass"]


def test_a_busbw_without_digits_is_what_its_row_gives() -> None:
    """nccl-tests prints GB/s with two decimals. 512 GPUs took 3.9 ms for 8 KiB: 2.1 MB/s, which it prints as 0.00."""
    small = {8192 << n: min(370.0, 0.002 * 2**n) for n in range(22)}
    text = output("all_reduce", small, [f"n{n}" for n in range(12)])
    row = next(line for line in text.splitlines() if line.split()[0] == "8192")
    assert row.split()[6:8] == ["0.00", "0.00"]
    found = one(text)
    assert [rule.state for rule in found.rules] == ["pass", "pass", "pass", "not-judged", "pass"], found.sentence
    # The same row in 0.1 ms would be 82 MB/s: then 0.00 is no rounding.
    broken = one(text.replace(row, row.replace(row.split()[5], "100.0000")))
    assert broken.state == "fail"
