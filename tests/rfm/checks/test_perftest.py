"""perftest's queue pairs: as many as a link needs, and one in a latency test."""

from types import SimpleNamespace
from typing import Any

import pytest

from railyard.hardware.links import LINKS
from railyard.rfm.checks.microbench import PerftestCheck, queue_pairs_of


@pytest.mark.parametrize(
    ("link", "pairs"),
    [("ib-ndr", 2), ("ib-hdr", 2), ("roce-400", 2), ("ib-edr", 1), ("roce-100", 1)],
)
def test_a_rail_of_200_gbit_s_has_two(link: str, pairs: int) -> None:
    assert queue_pairs_of(LINKS[link].data_rate_gbit_s) == pairs


def test_a_rail_of_unknown_rate_has_one() -> None:
    assert queue_pairs_of(None) == 1


def check(benchmark: str, told: int, rate: float) -> Any:
    fabric = SimpleNamespace(link=SimpleNamespace(data_rate_gbit_s=rate))
    site = SimpleNamespace(system=SimpleNamespace(fabrics={"ib": fabric}))
    return SimpleNamespace(
        benchmark=benchmark, queue_pairs=told, site=site, current_partition=SimpleNamespace(name="ib")
    )


@pytest.mark.parametrize(
    ("benchmark", "told", "rate", "pairs"),
    [
        ("ib_write_bw", 0, 400.0, 2),
        ("ib_write_bw/bidirectional", 0, 400.0, 2),
        ("ib_write_bw", 4, 100.0, 4),
        ("ib_write_lat", 0, 400.0, 1),
        ("ib_read_lat", 4, 400.0, 1),  # perftest refuses more in a latency test
    ],
)
def test_what_is_told_comes_first_and_a_latency_test_has_one(
    benchmark: str, told: int, rate: float, pairs: int
) -> None:
    assert vars(PerftestCheck)["asked_queue_pairs"].fget(check(benchmark, told, rate)) == pairs
