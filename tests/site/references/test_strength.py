"""A reference far below its link's rate would pass a run at a hundredth of it, so it is refused or says why."""

from pathlib import Path

import pytest

from railyard.base.errors import InputError
from railyard.site.references.load import References, load_references
from railyard.site.systems.load import load_system

SITE = """\
system: site
description: A cluster
nodes: {count: 16}
fabrics:
  edr: {description: EDR, kind: ib, link: ib-edr, rails: [{device: mlx5_0, counters: mlx5}]}
  eth: {description: Ethernet, kind: tcp, link: eth-1, rails: [{device: eno1, counters: netdev}]}
stacks:
  hpcx: {modules: [hpcx], benchmarks: {osu: /opt/osu}}
"""
ENTRY = (
    "  - {{id: one, fabric: {fabric}, stack: hpcx, rails: 1, benchmark: osu/{benchmark}, metric: {metric}, "
    "unit: {unit}, kind: published, {asked}, source: {{document: a blog, date: 2016-02-02}}}}\n"
)
EDR = {"fabric": "edr", "benchmark": "osu_bw", "metric": "bandwidth", "unit": "MB/s"}
ETH = EDR | {"fabric": "eth"}
LATENCY = {"fabric": "edr", "benchmark": "osu_latency", "metric": "latency", "unit": "us"}
WHY = "below_link: {share: %s, reason: the cards share a slot of an old board}"
LOW = "value: 3000, tolerance: {low: 0.05}"


def site_references(folder: Path, entry: dict[str, str], asked: str, head: str = "") -> References:
    """Return the references of a site whose only entry asks for this much; ``head`` is above the entries."""
    system, table = folder / "systems" / "site.yaml", folder / "references" / "site.yaml"
    for path, text in ((system, SITE), (table, f"system: site\n{head}entries:\n{ENTRY.format(asked=asked, **entry)}")):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return load_references(table, load_system(system))


@pytest.mark.parametrize(
    ("entry", "asked"),
    [
        pytest.param(
            ETH,
            "floor: 0.0906, sizes: {from: 1M}",
            marks=pytest.mark.fault("reference", "a floor 1,000 times too low", "no slow run would fail"),
            id="floor-a-thousandth",
        ),
        pytest.param(
            EDR,
            "value: 12, tolerance: {low: 0.05}",
            marks=pytest.mark.fault("reference", "12 GB/s written as 12 MB/s", "if it is in GB/s, it is 12000"),
            id="value-in-GB/s",
        ),
        pytest.param(
            EDR,
            "curve: {1M: 97, 4M: 98}, tolerance: {low: 0.05}",
            marks=pytest.mark.fault("reference", "a curve in Gbit/s", "if it is in Gbit/s"),
            id="curve-in-Gbit/s",
        ),
        pytest.param(
            EDR,
            "floor: {of: limit, fraction: 0.0906}, sizes: {from: 1M}",
            marks=pytest.mark.fault("reference", "a share of the limit ten times too low", "of what the link gives"),
            id="share-a-tenth",
        ),
        pytest.param(
            LATENCY,
            "value: 890, tolerance: {high: 0.1}, sizes: {to: 8}",
            marks=pytest.mark.fault("reference", "a latency in nanoseconds", "if it is in ns, it is 0.8900 us"),
            id="latency-in-ns",
        ),
        pytest.param(
            EDR,
            f"{LOW}, {WHY % 0.3}",
            marks=pytest.mark.fault("reference", "a number below the share that its own reason allows", "(30.0 %"),
            id="below-its-own-reason",
        ),
    ],
)
def test_a_reference_far_below_its_link_is_refused(
    tmp_path: Path, entry: dict[str, str], asked: str, promise: str
) -> None:
    with pytest.raises(InputError) as caught:
        site_references(tmp_path, entry, asked)
    assert promise in str(caught.value)
    assert "references/site.yaml:" in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "asked", "head"),
    [
        (ETH, "floor: 90.6, sizes: {from: 1M}", ""),
        (EDR, "value: 6300, tolerance: {low: 0.05}", ""),  # slightly more than half
        (EDR, "curve: {8: 12, 64K: 6000, 1M: 12300}, tolerance: {low: 0.05}", ""),  # a short message takes its start
        (LATENCY, "value: 1.1, tolerance: {high: 0.1}, sizes: {to: 8}", ""),
        (LATENCY, "curve: {8: 1.1, 1M: 95}, tolerance: {high: 0.1}", ""),
        (EDR, f"{LOW}, {WHY % 0.2}", ""),
        (EDR, LOW, f"{WHY % 0.2}\n"),
    ],
)
def test_a_reference_near_its_link_or_with_a_reason_is_taken(
    tmp_path: Path, entry: dict[str, str], asked: str, head: str
) -> None:
    assert len(site_references(tmp_path, entry, asked, head).entries) == 1


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (f"value: 12000, tolerance: {{low: 0.05}}, {WHY % 0.3}", "found a share for a number that is 99.5 %"),
        (f"{LOW}, {WHY % 0.6}", "found 0.6, expected a share above 0 and below 0.5"),
        (f"{LOW}, {WHY % 20}", "20 percent is 0.2"),
        (f"{LOW}, below_link: {{share: 0.2}}", "below_link.reason: found nothing, expected the field"),
    ],
)
def test_a_reason_that_says_nothing_is_refused(tmp_path: Path, asked: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        site_references(tmp_path, EDR, asked)
    assert message in str(caught.value)
