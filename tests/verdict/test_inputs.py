"""What a metric is compared with, from its benchmark's entry."""

import pytest

from railyard.benchmarks.table.micro import find, metric
from railyard.verdict.day_one import Facts
from railyard.verdict.stored_outputs.target import of_link


@pytest.mark.parametrize(
    ("benchmark", "least_mb_s"),
    [
        ("fabtests/fi_rdm_tagged_bw", 12000.0),
        ("fabtests/fi_rma_bw", 0.75 * 12421.2),
        ("ucx_perftest/tag_bw", 0.85 * 12421.2),  # posted healthy ones have less than 12,000
    ],
)
def test_what_is_asked_of_a_direction_of_edr_follows_from_the_benchmark(benchmark: str, least_mb_s: float) -> None:
    target = of_link("ib-edr", "pcie3-x16")
    one_way = metric(benchmark, "bandwidth")
    limit = target.limit(one_way.directions)
    assert limit is not None and 12000 < limit.value_mb_s < 12500, "no direction gives more than the link, one way"
    found = target.floors(find(benchmark), one_way, limit, Facts(), (4 << 20,))
    assert not isinstance(found, str)
    least = max(bound.low or 0 for band in found if (bound := band.bound_at(4 << 20)))
    assert least == pytest.approx(least_mb_s, rel=1e-5)


def test_both_ends_of_fi_rma_bw_write() -> None:
    traffic = find("fabtests/fi_rma_bw").traffic
    assert traffic is not None and (traffic.forward, traffic.backward) == (1, 1)
