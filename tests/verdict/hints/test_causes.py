"""Causes from a curve's shape: each has its own example, a similar healthy curve, and silence elsewhere."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from railyard.benchmarks.table import micro
from railyard.hardware.limits import limit
from railyard.hardware.links import LINKS, SLOTS
from railyard.verdict.hints.causes import CAUSES, document, likely_causes
from railyard.verdict.hints.shapes import SeenCurve
from railyard.verdict.wording.causes import (
    Looks,
    fitting_part,
    latency_of_tcp,
    latency_within_node,
    one_of,
    say_evidence,
)

ROOT = Path(__file__).resolve().parents[3]
SIZES = tuple(2**n for n in range(23))
LARGEST = SIZES[-1]


def stream_curve(peak_mb_s: float, message_us: float = 0.8) -> tuple[tuple[int, float], ...]:
    """Return a synthetic curve of a windowed stream: a cost per message, and a rate that it nears (Hockney's form)."""
    return tuple((size, size / (message_us + size / peak_mb_s)) for size in SIZES)


def seen_curve(
    link: str,
    points: tuple[tuple[int, float], ...],
    *,
    key: str = "osu/osu_bw",
    metric: str = "bandwidth",
    slot: str | None = None,
    rails: int = 1,
    **rest: Any,
) -> SeenCurve:
    meant = micro.metric(key, metric)
    bound = limit(LINKS[link], SLOTS[slot] if slot else None, rails, directions=meant.directions)
    limit_mb_s = bound.value_mb_s if bound and metric == "bandwidth" else None
    return SeenCurve(meant, points, LINKS[link], SLOTS[slot] if slot else None, rails, limit_mb_s=limit_mb_s, **rest)


def cause_texts(one: SeenCurve) -> list[str]:
    return [cause.description for cause in likely_causes(one)]


FDR_LIKE = stream_curve(6300)
LATENCIES = tuple((size, 1.0 + size / 12000) for size in (1, 8, 64, 512, 4096, 32768, 262144))
REFERENCE = dict(LATENCIES)

EXAMPLES = [
    (
        "one-node",
        seen_curve("ib-edr", stream_curve(30000)),
        ["both ranks on one node (shared memory): 240.1 % of the link's limit"],
    ),
    (
        "one-node",
        seen_curve("ib-edr", ((1, 0.3), (8, 0.4)), key="osu/osu_latency", metric="latency"),
        ["both ranks on one node (shared memory): 0.3000 us"],
    ),
    (
        "tcp",
        seen_curve("ib-edr", ((1, 29.0), (8, 29.5)), key="osu/osu_latency", metric="latency"),
        ["TCP in place of RDMA: 29.00 us for a message of a few bytes"],
    ),
    (
        "tcp",
        seen_curve("slingshot-11", stream_curve(3121, 6.0)),
        [
            "TCP in place of RDMA: 6.000 us for each message of a few bytes in a window, "
            "and 12.4 % of the limit at best, a rate of Ethernet 25G (100.3 % of 3098 MB/s)"
        ],
    ),
    (
        "fewer-rails",
        seen_curve("roce-25", stream_curve(3000), rails=2),
        [
            "1 rail of 2 (97.9 % of 3064 MB/s)",
        ],
    ),
    (
        "fewer-lanes",
        seen_curve("opa-100", stream_curve(6000)),
        ["2 of the 4 lanes of Omni-Path 100 (96.1 % of 6235 MB/s)"],
    ),
    (
        "lower-generation",
        seen_curve("ib-edr", FDR_LIKE, slot="pcie3-x16"),
        [
            "a link of InfiniBand FDR 4X (92.9 % of 6775 MB/s)",
        ],
    ),
    (
        "narrow-or-slow-slot",
        seen_curve("ib-edr", stream_curve(6900), slot="pcie3-x16"),
        [
            "a slot of PCIe Gen3 x8 in place of PCIe Gen3 x16 (95.7 % of 7202 MB/s) or "
            "a slot of PCIe Gen2 x16 in place of PCIe Gen3 x16 (94.2 % of 7314 MB/s)",
        ],
    ),
    (
        # 1790 MB/s over Aries, judged by EDR: no rate alone says that it is InfiniBand DDR
        "another-network",
        seen_curve("ib-edr", stream_curve(1790)),
        [
            "another network than ib-edr, or a link or slot that runs far below it: 1789 MB/s is a rate of "
            "InfiniBand DDR 4X (90.0 % of 1987 MB/s), PCIe Gen1 x8 (97.9 % of 1829 MB/s), PCIe Gen2 x4 (97.9 % of 1829 "
            "MB/s) or PCIe Gen4 x1 (99.4 % of 1800 MB/s)"
        ],
    ),
    (
        "another-network",
        seen_curve("ib-edr", stream_curve(1125)),
        [
            "another network than ib-edr, or a link or slot that runs far below it: 1125 MB/s is a rate of "
            "Ethernet 10G (90.8 % of 1239 MB/s) or RoCEv2 on Ethernet 10G (91.8 % of 1225 MB/s)"
        ],
    ),
    (
        "tcp",
        seen_curve("ib-edr", stream_curve(1125, 6.0)),
        [
            "TCP in place of RDMA: 6.001 us for each message of a few bytes in a window, and 9.0 % of the "
            "limit at best, a rate of Ethernet 10G (90.6 % of 1239 MB/s)"
        ],
    ),
    (
        "one-node-rate",
        seen_curve("ib-ndr", stream_curve(16100, 0.12)),
        [
            "both ranks on one node (shared memory), or a link that carries less than it should: 16093 MB/s "
            "is a rate of no link and no slot, and 0.1201 us for each message of a few bytes is as short as in a "
            "node's memory"
        ],
    ),
    (
        "roce-mtu-1024",
        seen_curve("roce-100", stream_curve(11500)),
        ["RoCE with a path MTU of 1024 (a network device of MTU 1500): 99.1 % of 11573 MB/s"],
    ),
    (
        "moved-threshold",
        seen_curve(
            *("ib-edr", tuple((size, value * (1.6 if size in (512, 4096) else 1.0)) for size, value in LATENCIES)),
            key="osu/osu_latency",
            metric="latency",
            targets=REFERENCE,
        ),
        [
            "a moved eager or rendezvous threshold: 512 B to 4 KiB at 62.5 % of the reference, "
            "smaller and larger sizes reach it"
        ],
    ),
    (
        "cache",
        seen_curve(
            "ib-hdr", tuple((size, value * (0.5 if size == LARGEST else 1)) for size, value in stream_curve(23500))
        ),
        [
            "a drop above a cache's size: 23291 MB/s at 2 MiB falls to 11698 MB/s (50.2 %) at 4 MiB "
            "(last-level cache, the card's own, or registered memory)"
        ],
    ),
]


@pytest.mark.parametrize(("name", "one", "sentences"), EXAMPLES)
def test_a_cause_is_recognised_and_named(name: str, one: SeenCurve, sentences: list[str]) -> None:
    assert cause_texts(one) == sentences
    assert likely_causes(one)[0].cause == name


def test_every_cause_has_an_example() -> None:
    assert {name for name, _, _ in EXAMPLES} == {cause.name for cause in CAUSES}


@pytest.mark.parametrize(
    "one",
    [
        seen_curve("ib-edr", stream_curve(12300), slot="pcie3-x16"),  # healthy
        seen_curve("ib-edr", stream_curve(9000), slot="pcie3-x16"),  # slow, and like no lesser hardware
        seen_curve("eth-100", stream_curve(2500, 6.0)),  # TCP is what runs there
        seen_curve("ib-edr", ((1, 9.0), (8, 9.0)), key="osu/osu_latency", metric="latency"),
        seen_curve("ib-edr", ((4096, 29.0),), key="osu/osu_latency", metric="latency"),  # no small message
        seen_curve("ib-hdr", stream_curve(9400, 9.0), from_device=True),  # staged through host memory
        seen_curve("roce-100", stream_curve(11000)),
        seen_curve("ib-edr", (), slot="pcie3-x16"),  # nothing was read
        seen_curve("ib-edr", ((1, 13.0), (8, 13.0)), key="osu/osu_latency", metric="latency", from_device=True),
        seen_curve("roce-25", stream_curve(0.86 * 8 * 3064), rails=8),  # like 7 of 8, but only "slow" can be said
        # it falls and comes back: no cache
        seen_curve("ib-hdr", (*stream_curve(23500)[:20], (1 << 20, 9000.0), (2 << 20, 5000.0), (4 << 20, 9000.0))),
    ],
)
def test_where_nothing_matches_nothing_is_said(one: SeenCurve) -> None:
    assert cause_texts(one) == []


def test_a_ping_pong_is_not_compared_with_lesser_links() -> None:
    assert cause_texts(seen_curve("ib-edr", FDR_LIKE, key="imb/PingPong")) == []
    assert cause_texts(seen_curve("ib-edr", FDR_LIKE, key="imb/Uniband")) != []


def test_all_limits_that_match_are_named() -> None:
    both_ways = seen_curve("ib-edr", stream_curve(12200), key="osu/osu_bibw", slot="pcie3-x16")
    assert cause_texts(both_ways) == [
        "2 of the 4 lanes of InfiniBand EDR 4X (98.0 % of 12421 MB/s)",
        "a link of InfiniBand FDR 4X (89.8 % of 13550 MB/s)",
        "a slot of PCIe Gen3 x8 in place of PCIe Gen3 x16 (84.5 % of 14404 MB/s) or "
        "a slot of PCIe Gen2 x16 in place of PCIe Gen3 x16 (83.2 % of 14629 MB/s)",
    ]


def test_a_curve_like_tcp_is_not_called_a_narrow_link_too() -> None:
    one_lane = stream_curve(3100, 6.0)
    assert [cause.cause for cause in likely_causes(seen_curve("ib-edr", one_lane))] == ["tcp"]
    assert [cause.cause for cause in likely_causes(seen_curve("ib-edr", stream_curve(3100)))] == ["fewer-lanes"]


def test_sums_of_several_pairs_cost_each_pair_its_own_message() -> None:
    # 16 pairs with 6 us a message each: the sum alone would look like 0.4 us
    summed = tuple((size, size * 16 / (6.0 + size * 16 / 3000)) for size in SIZES)
    assert [cause.cause for cause in likely_causes(seen_curve("ib-edr", summed, key="osu/osu_mbw_mr", pairs=16))] == [
        "tcp"
    ]
    assert "tcp" not in [cause.cause for cause in likely_causes(seen_curve("ib-edr", summed, key="osu/osu_mbw_mr"))]


def test_pairs_on_several_nodes_are_offered_where_a_sum_is_above_the_limit() -> None:
    assert cause_texts(seen_curve("ib-edr", stream_curve(30000), key="osu/osu_mbw_mr", pairs=4)) == [
        "4 pairs of ranks on several pairs of nodes, or within a node (shared memory): 240.1 % of the link's limit"
    ]


@pytest.mark.parametrize(
    "spoilt",
    [
        {1: 1.6, 8: 1.6},  # it begins at the smallest size: latency as a whole
        {512: 1.6, 32768: 1.6},  # two places
        {512: 1.1},  # within what a switch may cost
        {8: 1.6, 64: 1.6, 512: 1.6, 4096: 1.6, 32768: 1.6},  # the whole middle
    ],
)
def test_a_moved_threshold_is_a_few_sizes_in_the_middle(spoilt: dict[int, float]) -> None:
    points = tuple((size, value * spoilt.get(size, 1.0)) for size, value in LATENCIES)
    one = seen_curve("ib-edr", points, key="osu/osu_latency", metric="latency", targets=REFERENCE)
    assert cause_texts(one) == []
    moved = tuple((size, value * (1.6 if size == 64 else 1.0)) for size, value in LATENCIES)
    assert [cause.cause for cause in likely_causes(replace(one, points=moved))] == ["moved-threshold"]


def test_the_causes_in_the_documentation_are_those_of_the_code() -> None:
    assert f"\n\n{document()}\n" in (ROOT / "docs" / "reference" / "verdicts.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("looks", "figures"),
    [
        (fitting_part("a link of FDR", 0.93, 6775), "a link of FDR (93.0 % of 6775 MB/s)"),
        (
            one_of(fitting_part("a link of FDR", 0.93, 6775), [fitting_part("the slot pcie3-x8", 0.98, 6400)]),
            "a link of FDR (93.0 % of 6775 MB/s) or the slot pcie3-x8 (98.0 % of 6400 MB/s)",
        ),
        (latency_within_node(0.3), "both ranks on one node (shared memory): 0.3000 us"),
        (latency_of_tcp(50.0), "50.00 us for a message of a few bytes"),
    ],
    ids=["part", "one of two", "memory", "tcp"],
)
def test_the_figures_of_a_cause_that_a_headline_names_stand_alone(looks: Looks, figures: str) -> None:
    assert say_evidence(looks) == f"evidence: {figures}"
