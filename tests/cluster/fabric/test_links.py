"""Links of a synthetic fabric: each fault gives one finding at the node's end, and its neighbours are not blamed."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from railyard.cluster.fabric.judge import judge
from railyard.cluster.fabric.model import ExpectedFabric, Readings, Report
from railyard.parsers.fabric import iblinkinfo
from railyard.parsers.fabric.port import PortState

Links = dict[str, Any]
Judged = Callable[[Links], Report]


def sentences(report: Report) -> list[str]:
    return [finding.sentence for finding in report.findings]


def test_a_healthy_fabric_gives_nothing(links: Links, judge_links: Judged) -> None:
    report = judge_links(links)
    assert (sentences(report), report.seen, report.nodes, report.unseen, report.notes) == ([], 8, 4, 0, ())


@pytest.mark.parametrize(
    ("change", "what", "sentence"),
    [
        (
            *({"width": "1X"}, "width"),
            "vn3 mlx5_1 port 1: found 1X EDR (25 Gbit/s), expected 4X EDR (100 Gbit/s); lanes are lost: reseat or "
            "replace the cable to LeafB port 2",
        ),
        (
            *({"speed": "QDR"}, "speed"),
            "vn3 mlx5_1 port 1: found 4X QDR (40 Gbit/s), expected 4X EDR (100 Gbit/s); replace the cable to LeafB "
            "port 2, or check with ibportstate which end does not allow more",
        ),
        (
            *({"speed": "HDR"}, "speed"),
            "vn3 mlx5_1 port 1: found 4X HDR (200 Gbit/s), expected 4X EDR (100 Gbit/s); correct link of "
            "fabrics.edr in "
            "systems/made.yaml, or this port",
        ),
        (
            *({"state": "Initialize/  LinkUp"}, "state"),
            "vn3 mlx5_1 port 1: found Initializing (LinkUp), expected Active; no subnet manager has configured it: "
            "start one (opensm, or the switch's own)",
        ),
    ],
)
def test_one_bad_link_is_one_finding(
    links: Links, judge_links: Judged, change: dict[str, str], what: str, sentence: str
) -> None:
    links["vn3 mlx5_1"] = replace(links["vn3 mlx5_1"], **change)
    report = judge_links(links)
    assert [finding.what for finding in report.findings] == [what]
    assert sentences(report) == [sentence]


def test_a_slow_link_between_switches_is_named_and_a_fast_one_is_none(links: Links, judge_links: Judged) -> None:
    links["LeafA"] = replace(links["LeafA"], speed="FDR")
    links["LeafB"] = replace(links["LeafB"], speed="HDR")
    assert sentences(judge_links(links)) == [
        "LeafA port 12: found 4X FDR (56 Gbit/s), expected 4X EDR (100 Gbit/s); replace the cable to Spine port 1, or "
        "check with ibportstate which end does not allow more"
    ]


def test_a_file_that_contradicts_the_whole_fabric_is_told_once(links: Links, judge_links: Judged) -> None:
    hdr = {name: replace(link, speed="HDR") for name, link in links.items()}
    assert sentences(judge_links(hdr)) == [
        "the fabric: found 4X HDR (200 Gbit/s) on all 8 ports of nodes, expected 4X EDR (100 Gbit/s), as "
        "systems/made.yaml says; the file contradicts the fabric: correct link of fabrics.edr, or find what "
        "slows all ports"
    ]
    qdr = {name: replace(link, speed="QDR") for name, link in links.items()} | {
        "LeafB": replace(links["LeafB"], speed="SDR")
    }
    assert [finding.place for finding in judge_links(qdr).findings] == ["the fabric", "LeafB port 12"]


def test_of_two_cards_one_has_no_link(expected_edr: ExpectedFabric) -> None:
    one = PortState(node="vn1", device="mlx5_0", port=1, kind="CA", state="Active", physical_state="LinkUp", rate=100.0)
    other = one._replace(device="mlx5_1", state="Down", physical_state="Polling", rate=10.0)
    report = judge(expected_edr, Readings(own=(one, other)))
    assert sentences(report) == [
        "vn1 mlx5_1 port 1: found Down (Polling), expected Active; it sees no partner: plug its cable in, or check "
        "the switch port at the other end"
    ]
    assert (report.seen, report.unseen) == (2, 6)


@pytest.mark.parametrize(
    ("rate", "count"), [(100.0, 0), (107.0, 0), (107.1, 1), (99.9, 1), (40.0, 1), (25.0, 1), (200.0, 1)]
)
def test_a_rate_alone_is_held_too(expected_edr: ExpectedFabric, rate: float, count: int) -> None:
    port = PortState(node="vn1", device="mlx5_0", port=1, kind="CA", state="Active", rate=rate)
    report = judge(expected_edr, Readings(own=(port, port._replace(device="mlx5_1", rate=100.0))))
    assert [finding.what for finding in report.findings] == ["rate"] * count


def test_a_speed_of_no_known_name_is_held_by_its_rate(expected_edr: ExpectedFabric) -> None:
    fast = PortState(node="vn1", device="mlx5_0", port=1, kind="CA", state="Active", rate=1600.0, width="4X")
    report = judge(expected_edr, Readings(own=(fast, fast._replace(device="mlx5_1", rate=100.0))))
    assert sentences(report) == [
        "vn1 mlx5_0 port 1: found 4X (1600 Gbit/s), expected 4X EDR (100 Gbit/s); correct link of fabrics.edr in "
        "systems/made.yaml, or this port"
    ]


def test_a_rail_that_shows_nothing_of_its_link_is_said(expected_edr: ExpectedFabric) -> None:
    port = PortState(node="vn1", device="mlx5_0", port=1, kind="CA", state="Active")
    report = judge(expected_edr, Readings(own=(port, port._replace(device="mlx5_1", rate=100.0))))
    assert (report.findings, report.notes) == (
        (),
        ("width, speed and rate are unknown, so the link is not judged: vn1 mlx5_0 port 1",),
    )


def test_a_port_that_is_no_rail_is_said_and_not_judged(expected_edr: ExpectedFabric) -> None:
    rails = [PortState(node="vn1", device=f"mlx5_{n}", port=1, kind="CA", state="Active", rate=100.0) for n in (0, 1)]
    spare = rails[0]._replace(device="mlx5_2", state="Down", physical_state="Disabled")
    report = judge(expected_edr, Readings(own=(*rails, spare)))
    assert (report.findings, report.notes) == (
        (),
        ("1 port outside the rails of edr, down and not judged: vn1 mlx5_2 port 1",),
    )


def test_a_subnet_without_a_manager_has_lids_of_0_and_each_link_once(
    links: Links, show: Callable[[Links], str], expected_edr: ExpectedFabric
) -> None:
    text = show({name: replace(link, state="Initialize/  LinkUp") for name, link in links.items()})
    bare = tuple(
        port._replace(lid=0, peer=None if port.peer is None else port.peer._replace(lid=0))
        for port in iblinkinfo.parse(text).fabric
    )
    report = judge(expected_edr, Readings(ports=bare, is_whole=True, managers={"": None}))
    assert sorted(finding.what for finding in report.findings) == ["manager", *["state"] * 10]
    assert sentences(report)[0] == (
        "the fabric: found no subnet manager that answers, expected a subnet manager in charge (MASTER); start one "
        "(opensm, or the switch's own), and read its log"
    )
