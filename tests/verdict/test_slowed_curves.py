"""Each day-one band fails a slow link: for each class of links and each pattern, broken once."""

from pathlib import Path

import pytest

from tests.slowed_curves import GOAL, PATTERNS, Link, applies, fails, links, page

KIB, MIB = 1 << 10, 1 << 20
CASES = [
    pytest.param(link, pattern, id=f"{link.name}{'-gpus' if link.from_device else ''}-{pattern}")
    for link in links()
    for pattern in PATTERNS
    if applies(link, pattern)
]
#: A processor or a library sets the rate of these, so healthy ones differ widely.
WEAK = {"ethernet", "efa"}


def is_goal(link: Link, pattern: str) -> bool:
    """Return whether a link at 60 % must fail: RDMA between hosts, windows and one message at a time."""
    return not link.from_device and link.target.fabric.link.family not in WEAK and "at once" not in pattern


@pytest.mark.parametrize(("link", "pattern"), CASES)
def test_a_healthy_curve_passes_and_one_at_a_twentieth_fails(link: Link, pattern: str) -> None:
    assert not fails(link, pattern, 1.0, 64 * KIB)
    assert fails(link, pattern, 0.05, 64 * KIB)
    assert fails(link, pattern, 0.05, MIB)
    # A link at a quarter fails too, where no processor sets the rate.
    assert fails(link, pattern, 0.25, MIB)


@pytest.mark.parametrize(("link", "pattern"), [case for case in CASES if is_goal(*case.values)])  # type: ignore[arg-type]
def test_rdma_between_hosts_fails_at_the_goal_from_1_mib(link: Link, pattern: str) -> None:
    # Exchanges load both directions at once: healthy FDR gives 79 % of the sum, and links of 2003 gave 58 % one way.
    share = GOAL if "exchange" not in pattern else 0.4 if link.name == "ib-sdr" else 0.5
    assert fails(link, pattern, share, MIB)
    assert fails(link, pattern, min(share, 0.5), 64 * KIB)


@pytest.mark.full
def test_the_page_has_the_shares_from_which_a_slow_link_fails() -> None:
    written = (Path(__file__).parents[2] / "docs" / "reference" / "day-one.md").read_text(encoding="utf-8")
    assert written == page(), "type: make docs"
