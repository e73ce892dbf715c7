"""What messages take over a link, with and without faults, within what is physically possible."""

from dataclasses import replace
from pathlib import Path

import pytest

from railyard.provision.rehearsal import traffic
from railyard.provision.rehearsal.form import Fault
from railyard.site.gpu_shape import limit_from_gpus
from railyard.site.site import Site, site_at
from railyard.site.systems.parts import Gpus
from railyard.site.test_id import TestId
from tests.conftest import ROOT
from tests.provision.rehearsal.conftest import SYSTEM

SIZES = tuple(1 << n for n in range(23))
LARGEST = SIZES[-1]


def test_of(benchmark: str, rails: int = 1, policy: str = "single") -> TestId:
    return TestId("ndr", "openmpi", rails, benchmark, policy=policy, system="roomy")


test_of.__test__ = False  # type: ignore[attr-defined]


@pytest.mark.parametrize("rails", [1, 2])
@pytest.mark.parametrize(
    ("benchmark", "messages", "directions"),
    [("osu/osu_bw", 1, 1), ("osu/osu_bibw", 2, 2), ("imb/Exchange", 4, 2), ("imb/PingPong", 1, 1)],
)
def test_a_healthy_rate_is_below_the_limit_and_near_it(
    roomy: Site, rails: int, benchmark: str, messages: int, directions: int
) -> None:
    limit = roomy.system.fabrics["ndr"].limit(rails, directions)
    assert limit is not None
    times = traffic.times(roomy, test_of(benchmark, rails, "striping"), SIZES)
    rates = [messages * size / time for size, time in zip(SIZES, times, strict=True)]
    assert 0.85 * limit.value_mb_s < max(rates) < limit.value_mb_s


def test_messages_from_gpus_are_no_faster_than_their_slot(roomy: Site) -> None:
    gpus = Gpus.model_validate({"per_node": 8, "kind": "made", "nvlink": 4, "slot": "pcie4-x16"})
    made = replace(roomy, system=roomy.system.model_copy(update={"gpus": gpus}))
    bound = limit_from_gpus(gpus, made.system.fabrics["ndr"], 2, 1)
    limit = made.system.fabrics["ndr"].limit(2, 1)
    assert bound is not None and limit is not None and bound.value_mb_s < 0.7 * limit.value_mb_s
    (time,) = traffic.times(made, test_of("osu/osu_bw/device", 2, "striping"), (LARGEST,))
    assert 0.85 * bound.value_mb_s < LARGEST / time < bound.value_mb_s
    (time,) = traffic.times(made, test_of("osu/osu_bw", 2, "striping"), (LARGEST,))
    assert LARGEST / time > bound.value_mb_s


def test_messages_below_the_threshold_go_over_one_rail(roomy: Site) -> None:
    two = traffic.times(roomy, test_of("osu/osu_bw", 2, "striping"), SIZES, 1 << 14)
    one = traffic.times(roomy, test_of("osu/osu_bw"), SIZES)
    split = [a < 0.9 * b for a, b in zip(two, one, strict=True) if b > 1]
    assert two[:14] == one[:14] and split[-1]


def test_references_are_met_and_a_little_more() -> None:
    site = site_at(ROOT, "dell-c6320")
    test = TestId("edr", "hpcx", 1, "osu/osu_bw", policy="single", system="dell-c6320")
    (time,) = traffic.times(site, test, (LARGEST,))
    assert 12_000 < LARGEST / time < 12_500


def test_a_ceiling_is_kept_where_the_link_would_be_slower(tmp_path: Path) -> None:
    (tmp_path / "systems").mkdir()
    (tmp_path / "references").mkdir()
    (tmp_path / "systems/roomy.yaml").write_text(SYSTEM.replace("report_only: nobody has measured it yet", ""))
    (tmp_path / "references/roomy.yaml").write_text(CEILING)
    site = site_at(tmp_path, "roomy")
    times = traffic.times(site, test_of("osu/osu_latency"), SIZES)
    assert 0.85 < times[0] < 0.9 < 1.2 < times[14]


CEILING = """\
system: roomy
entries:
  - id: latency
    fabric: ndr
    benchmark: osu/osu_latency
    metric: latency
    unit: us
    kind: class
    ceiling: 0.9
    sizes: {from: 1, to: 8}
    source: {document: a made one, date: 2026-11-23}
"""


def test_a_slow_rail_costs_large_messages_and_not_the_start() -> None:
    assert traffic.slow_times((1.0, 101.0), (0.5, 0.5), 0.0, 1.0) == (1.0, 201.0)
    assert traffic.slow_times((100.0,), (0.5,), 0.3, 0.3) == pytest.approx((200.0,))


@pytest.mark.parametrize(
    ("shares", "left", "rate"),
    [
        ((1.0,), (0.5,), 0.5),
        ((0.5, 0.5), (1.0, 1.0), 1.0),
        ((0.5, 0.5), (1.0, 0.5), 0.5),
        ((2 / 3, 1 / 3), (1.0, 0.5), 0.75),
        ((1.0, 0.0), (1.0, 0.5), 1.0),
    ],
)
def test_the_slowest_part_of_a_message_counts(shares: tuple[float, ...], left: tuple[float, ...], rate: float) -> None:
    assert traffic.rate_share(shares, left) == pytest.approx(rate)


def test_faults_are_of_a_rail_of_a_node() -> None:
    faults = (
        Fault("slow", "", "n8", "mlx5_0:1", share=0.5),
        Fault("lanes", "", "*", "mlx5_1:1", lanes=1),
        Fault("far", "", "n9", "mlx5_0:1"),
    )
    assert traffic.rail_share(faults, "n8", "mlx5_0:1") == 0.5
    assert traffic.rail_share(faults, "n11", "mlx5_1:1") == 0.25
    assert traffic.rail_share(faults, "n9", "mlx5_0:1") == traffic.FAR_SHARE
    assert (traffic.more_us(faults, "n9", "mlx5_0:1"), traffic.more_us(faults, "n8", "mlx5_0:1")) == (0.3, 0.0)


def test_a_leaf_switch_slows_what_crosses_it(roomy: Site) -> None:
    fabric, faults = roomy.system.fabrics["ndr"], (Fault("leaf", "", leaf="left", share=0.5),)
    shares = [traffic.leaf_share(faults, fabric, *pair) for pair in (("n8", "n9"), ("n8", "n10"), ("n10", "n11"))]
    assert shares == [1.0, 0.5, 1.0]


def test_a_group_slows_what_leaves_it_and_nothing_within(roomy: Site) -> None:
    switches = {"l1": ("n1",), "l2": ("n2",), "l3": ("n3",)}
    groups = {"g1": ("l1", "l2"), "g2": ("l3",)}
    fabric = roomy.system.fabrics["ndr"].model_copy(update={"leaf_switches": switches, "groups": groups})
    faults = (Fault("leaf", "", leaf="g2", share=0.5),)
    shares = [traffic.leaf_share(faults, fabric, *pair) for pair in (("n1", "n2"), ("n1", "n3"), ("n3", "n2"))]
    assert shares == [1.0, 0.5, 0.5]


def test_noise_is_always_the_same_and_ends_with_the_repetitions() -> None:
    few, many = (traffic.add_noise((0.8,), (count,), 2, "a seed") for count in (6, 10_000))
    assert few == traffic.add_noise((0.8,), (6,), 2, "a seed") != traffic.add_noise((0.8,), (6,), 2, "another")
    assert 1.6 < few[0] < 4.1 and many[0] == pytest.approx(0.8, rel=1e-4)


@pytest.mark.parametrize("benchmark", ["osu/osu_bw", "osu/osu_latency", "osu/osu_bibw"])
def test_tcp_over_the_management_network_is_slower_at_every_size(roomy: Site, benchmark: str) -> None:
    test = test_of(benchmark)
    healthy = traffic.times(roomy, test, SIZES)
    slow = traffic.over_tcp(healthy, SIZES, test)
    assert all(b > 5 * a for a, b in zip(healthy, slow, strict=True))
