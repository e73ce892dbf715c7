"""A rail whose frames arrive late: large messages hide it, and the small ones of the everyday run show it."""

import re

import pytest

from tests.e2e.conftest import VirtualSite, failed, suspects
from tests.e2e.late_rail import late

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("machine")]

full = pytest.mark.full


@pytest.mark.parametrize(
    ("delay_ms", "jitter_ms", "largest", "check", "stack"),
    [
        pytest.param(
            *(2.0, 0.0, 0, "ImbPingPong", "intelmpi"),
            marks=pytest.mark.fault(
                "rail",
                "2 ms of delay on the second rail of a node",
                "hsn1 of vn2 has a delay with every partner: at best",
            ),
        ),
        pytest.param(
            *(0.0, 4.0, 0, "NetpipePingPong", "openmpi"),
            marks=[
                full,
                pytest.mark.fault(
                    *("rail", "frames of a rail that come 0 to 4 ms late, each by another time"),
                    "latency LATE us at SIZE, the best of",
                ),
            ],
        ),
        pytest.param(
            *(2.0, 0.0, 200, "ImbPingPong", "intelmpi"),
            marks=[
                full,
                pytest.mark.fault(
                    "rail", "only frames of at most 200 B come 2 ms late", "the best of 1 B to 64 B, is above 400.0 us"
                ),
            ],
        ),
    ],
)
def test_a_rail_whose_frames_come_late_is_named(
    delay_ms: float, jitter_ms: float, largest: int, check: str, stack: str, site: VirtualSite
) -> None:
    with site.bed() as bed, late(bed, "vn2", "hsn1", delay_ms, jitter_ms, largest):
        record = site.cell(check, stack, 2).record
    assert failed(record) == ("fail", 5, "fabric")
    assert suspects(record) == {("rail", "vn2", "hsn1")}
    assert re.match(
        r"latency [\d.]+ us at [\d.]+ K?i?B, the best of 1 B to 64 B, is above 400\.0 us ", record.verdict.text
    )
    assert "; hsn1 of vn2 has a delay with every partner: at best " in record.verdict.text
    # Large messages hide it.
    bandwidth = next(curve for curve in record.curves if curve.metric == "bandwidth")
    assert bandwidth.percent_of_reference is not None and bandwidth.percent_of_reference > 90
