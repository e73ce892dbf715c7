"""Is my number right? A curve among the published numbers of its class: by size, on similar nodes, else unknown."""

from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.base.wording import IMPOSSIBLE
from railyard.site.references.transport_class import TransportClass, find_class
from railyard.verdict.class_standing import standing
from railyard.verdict.wording import class_standing as standing_words

CLASSES = Path(__file__).parents[2] / "references" / "classes"
GIB = 1 << 30


def of(name: str) -> TransportClass:
    return find_class(CLASSES, name)


def test_a_value_below_what_is_published() -> None:
    found = standing(of("h100-efa3200"), "all_reduce", {16 * GIB: 460.0}, nodes=2)
    assert (found.state, found.sizes[0].state) == ("below", "below")
    assert found.sentence == (
        "below what is published for h100-efa3200: busbw 460.0 GB/s of all_reduce at 16 GiB is 94.3 % of 487.9 GB/s "
        "(cre-all-reduce); of 1 comparison: 1 below"
    )
    assert found.sources == (
        "cre-all-reduce: NVIDIA, cluster-readiness-engine at github.com, docs/api-reference/validation-results.md, "
        "commit 2a4d4aee, AWS H100, 2026-01-01",
    )


def test_a_value_within_and_one_above() -> None:
    assert standing(of("h100-efa3200"), "alltoall", {16 * GIB: 76.0}, nodes=2).state == "within"
    assert standing(of("h100-efa3200"), "alltoall", {16 * GIB: 84.0}, nodes=2).state == "above"


def test_several_numbers_of_one_size_are_a_range() -> None:
    found = standing(of("gb200-nvl72"), "all_reduce", {16 * GIB: 860.0}, nodes=3)
    assert (found.state, found.sizes[0].low, found.sizes[0].high) == ("within", 838.07, 882.51)
    assert found.sizes[0].of == ("cre-all-reduce", "cre-all-reduce-two")


def test_the_curve_is_compared_and_never_its_mean() -> None:
    """1,440 GPUs average 297.8 GB/s over sizes and reach 405.7 at the largest: a mean of 300 does not prove health."""
    rack = of("gb200-nvl72-4xndr400")
    published = {512 << 20: 150.95, GIB: 218.85, 2 * GIB: 286.52, 4 * GIB: 346.38, 8 * GIB: 381.48, 16 * GIB: 405.74}
    same = standing(rack, "all_reduce", published, nodes=360)
    assert same.state == "within" and [at.state for at in same.sizes] == ["within"] * 6
    # The same mean, 298.3, but flat: good where start-up counts, and a quarter too low where links count.
    flat = standing(rack, "all_reduce", dict.fromkeys(published, 298.3), nodes=360)
    assert flat.state == "below"
    assert [at.state for at in flat.sizes] == ["above", "above", "within", "below", "below", "below"]
    assert "at 16 GiB is 73.5 % of 405.7 GB/s" in flat.sentence
    assert flat.sentence.endswith("of 6 comparisons: 3 below, 1 within, 2 above")


def test_what_a_lower_published_peak_has_is_not_below_at_any_size() -> None:
    """NVIDIA/nccl-tests issue 309: 365.84 GB/s on four nodes is a good number, and 386.56 at 8 GiB is published."""
    h100 = of("h100-8xndr400")
    found = standing(h100, "all_reduce", {8 * GIB: 365.84}, nodes=4)
    assert found.state == "within"
    assert (found.sizes[0].low, found.sizes[0].high, found.sizes[0].of) == (365.84, 386.56, ("coreweave", "four-hosts"))
    assert standing(h100, "all_reduce", {8 * GIB: 340.0}, nodes=4).state == "below"
    # A peak above the published number of a size says nothing about that size.
    assert standing(h100, "all_reduce", {512 << 20: 340.0}, nodes=4).sizes[0].low == 356.01
    # If no size has a number, the peak is compared with all published peaks.
    found = standing(h100, "all_reduce", {16 * GIB: 380.0}, nodes=4)
    assert (found.state, found.sizes[0].low, found.sizes[0].high) == ("within", 365.84, 386.56)


def test_a_run_of_short_messages_is_not_below_a_peak() -> None:
    """NVIDIA/nccl-tests issue 212: 437.5 GB/s up to 256 MiB is healthy, and the peak of 480 is from longer messages."""
    h100 = of("h100-8xndr400")
    short = standing(h100, "all_reduce", {256 << 20: 437.5}, nodes=1)
    assert short.state == "not-known"
    assert "one-node-nvls: its peak of 480.0 GB/s may be for longer messages; yours end at 256 MiB" in short.unknown
    assert standing(h100, "all_reduce", {8 * GIB: 437.5}, nodes=1).state == "below"
    assert standing(h100, "all_reduce", {256 << 20: 470.0}, nodes=1).state == "within"


def test_two_nodes_are_not_compared_with_many() -> None:
    found = standing(of("h100-efa3200"), "all_gather", {16 * GIB: 330.0}, nodes=16)
    assert found.state == "not-known"
    assert found.sentence == "not known: cre-all-gather: it is for 2 nodes, yours for 16 nodes"


def test_nothing_is_compared_where_the_number_of_nodes_is_not_known() -> None:
    found = standing(of("h100-8xtcpxo200"), "alltoall", {16 * GIB: 40.0})
    assert (found.state, found.unknown) == (
        "not-known",
        ("cre-alltoall: it is not known on how many nodes yours was measured",),
    )
    # Nor if the source does not say it.
    found = standing(of("a100-8xhdr200"), "all_reduce", {16 * GIB: 190.0}, nodes=4)
    assert found.sentence == "not known: dgx: its source does not say on how many nodes"


def test_sizes_without_a_published_number_are_told() -> None:
    found = standing(of("h100-8xndr400"), "all_reduce", {GIB: 365.0, 16 * GIB: 385.0}, nodes=32)
    assert found.state == "within" and len(found.sizes) == 1
    assert "no published number at 16 GiB" in found.unknown
    other = standing(of("h100-efa3200"), "all_gather", {GIB: 330.0}, nodes=2)
    assert other.sentence == "not known: h100-efa3200 has published all_gather only at 16 GiB"
    none = standing(of("h100-efa3200"), "sendrecv", {GIB: 10.0}, nodes=2)
    assert none.sentence == standing_words.not_known(standing_words.nothing_published("sendrecv", "h100-efa3200"))


def test_an_impossible_value_is_not_compared() -> None:
    found = standing(of("gb200-4xroce400"), "all_reduce", {16 * GIB: 837.76}, nodes=2)
    assert found.state == "impossible"
    assert found.sentence.startswith(f"{IMPOSSIBLE}busbw 837.8 GB/s of all_reduce on 2 nodes of 4 GPUs is 244.2 %")


def test_a_bad_case_is_no_yardstick() -> None:
    found = standing(of("gh200-4xslingshot11"), "sendrecv", {512 << 20: 18.4}, nodes=8)
    assert found.state == "below"
    assert [at.of for at in found.sizes] == [("nccl-2.19",)]
    assert any(each.startswith("nccl-2.20: a bad case") for each in found.unknown)


def test_a_forced_algorithm_is_compared_with_itself() -> None:
    curve = {8 * GIB: 365.0}
    ring = standing(of("h100-8xndr400"), "all_reduce", curve, nodes=1, algorithm="ring")
    chosen = standing(of("h100-8xndr400"), "all_reduce", curve, nodes=1)
    assert (ring.state, chosen.state) == ("within", "below")
    assert "one-node-ring: its algorithm was ring, yours the library's choice" in chosen.unknown


def test_thresholds_are_told_with_whose_they_are_and_decide_nothing() -> None:
    found = standing(of("mi300x-8xroce400"), "sendrecv", {8 * GIB: 46.0, 16 * GIB: 48.5}, nodes=2)
    assert found.state == "not-known"
    assert found.thresholds == (
        "AMD demands 47.00 GB/s at 8 GiB, 48.00 GB/s at 16 GiB on 2 nodes (cvs-sendrecv; a threshold, not physics): "
        "not reached at 8 GiB",
    )
    one = standing(of("h200-8xndr400"), "all_reduce", {16 * GIB: 432.0}, nodes=1)
    assert one.thresholds == (
        "Azure demands 431.0 GB/s at 16 GiB on 1 node (azure-one-node; a threshold, not physics): reached",
    )
    mean = standing(of("b200-8xroce400"), "all_gather", {16 * GIB: 300.0}, nodes=2)
    assert mean.thresholds[0].endswith("not compared, since it is a mean over all sizes")


def test_a_threshold_that_no_run_can_reach_says_so() -> None:
    found = standing(of("h100-efa3200"), "all_reduce", {16 * GIB: 488.0}, nodes=2)
    assert found.state == "within"
    assert found.thresholds == (
        "AWS demands 800.0 GB/s on 2 nodes (aws; a threshold, not physics): not reached; no run can reach it, since "
        "at most 750.0 GB/s are possible",
    )


def test_what_is_no_collective_or_no_curve_is_refused() -> None:
    with pytest.raises(RailyardError, match=r'unknown collective "allreduce": did you mean "all_reduce"\?'):
        standing(of("h100-8xndr400"), "allreduce", {GIB: 1.0}, nodes=1)
    with pytest.raises(ValueError, match="a curve without a size"):
        standing(of("h100-8xndr400"), "all_reduce", {}, nodes=1)
