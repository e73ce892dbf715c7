"""A rail whose frames arrive late: large messages hide it, and the small ones of the everyday run show it."""

import re

import pytest

from railyard.verdict.wording import WITH_EVERY
from tests.e2e.conftest import VirtualSite, suspects, verdict_summary
from tests.e2e.late_rail import delay_frames

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("machine")]

full = pytest.mark.full
DELAY = f"hsn1 of vn2 has a delay {WITH_EVERY}: at best"


@pytest.mark.parametrize(
    ("delay_ms", "jitter_ms", "largest", "check", "stack"),
    [
        pytest.param(
            *(2.0, 0.0, 0, "NetpipePingPong", "openmpi"),
            marks=[full, pytest.mark.fault("rail", "frames of a node's second rail that come 2 ms late", DELAY)],
        ),
        pytest.param(
            *(0.0, 4.0, 0, "NetpipePingPong", "openmpi"),
            marks=[full, pytest.mark.fault("rail", "frames that come 0 to 4 ms late, each by another time", DELAY)],
        ),
        pytest.param(
            *(2.0, 0.0, 200, "NetpipePingPong", "openmpi"),
            marks=[full, pytest.mark.fault("rail", "frames that come 2 ms late if they have at most 200 B", DELAY)],
        ),
    ],
)
def test_a_rail_whose_frames_come_late_is_named(
    delay_ms: float, jitter_ms: float, largest: int, check: str, stack: str, promise: str, site: VirtualSite
) -> None:
    with site.bed() as bed, delay_frames(bed, "vn2", "hsn1", delay_ms, jitter_ms, largest):
        record = site.cell(check, stack, 2).record
    assert verdict_summary(record) == ("fail", 5, "fabric")
    assert suspects(record) == {("rail", "vn2", "hsn1")}
    assert re.match(
        r"latency [\d.]+ us at \d+ B, the best of 1 B to 64 B, is above 400\.0 us .*, the bound of smallest-messages ",
        record.found.verdict.text,
    )
    assert f"; {promise} " in record.found.verdict.text
    # Large messages hide it.
    bandwidth = next(curve for curve in record.found.curves if curve.metric == "bandwidth")
    assert bandwidth.percent_of_reference is not None and bandwidth.percent_of_reference > 100
