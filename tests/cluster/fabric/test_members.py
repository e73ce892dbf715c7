"""Nodes that are missing on the subnet, unknown nodes, and how far nodes are apart."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from railyard.cluster.fabric.judge import judge
from railyard.cluster.fabric.members import distances, parse_sminfo
from railyard.cluster.fabric.model import ExpectedFabric, Manager, Readings, Report
from railyard.parsers.fabric import iblinkinfo
from railyard.parsers.fabric.port import PortState

Links = dict[str, Any]
Judged = Callable[[Links], Report]
SMINFO = "sminfo: sm lid 1 sm guid 0xb8599f0300001015, activity count 446 priority 0 state 3 SMINFO_MASTER\n"


def sentences(report: Report) -> list[str]:
    return [finding.sentence for finding in report.findings]


def test_a_rail_that_is_not_on_the_subnet_is_named(links: Links, judge_links: Judged) -> None:
    del links["vn4 mlx5_1"]
    assert sentences(judge_links(links)) == [
        "vn4 mlx5_1 port 1: found no such port on the subnet, expected the rail linked; its link is down: check its "
        "cable, and ibstat on the node"
    ]


def test_a_missing_node_is_one_finding(links: Links, judge_links: Judged) -> None:
    del links["vn4 mlx5_0"], links["vn4 mlx5_1"]
    assert sentences(judge_links(links)) == [
        "vn4: found none of its ports on the subnet, expected 2 rails of it on the subnet; is the node up? check its "
        "cable, and ibstat on the node"
    ]


def test_a_rail_that_its_node_says_is_down_is_told_once(
    links: Links, show: Callable[[Links], str], expected_edr: ExpectedFabric
) -> None:
    del links["vn4 mlx5_1"]
    ports = iblinkinfo.parse(show(links)).fabric
    own = (
        PortState(node="vn4", device="mlx5_0", port=1, kind="CA", state="Active", rate=100.0),
        PortState(node="vn4", device="mlx5_1", port=1, kind="CA", state="Down", physical_state="Polling"),
    )
    report = judge(expected_edr, Readings(ports=ports, own=own, is_whole=True, counters=()))
    assert [(finding.what, finding.place) for finding in report.findings] == [("state", "vn4 mlx5_1 port 1")]


def test_a_card_that_its_node_does_not_show_is_absent(expected_edr: ExpectedFabric) -> None:
    own = (PortState(node="vn2", device="mlx5_0", port=1, kind="CA", state="Active", rate=100.0),)
    assert sentences(judge(expected_edr, Readings(own=own))) == [
        "vn2 mlx5_1 port 1: found no such device or port on the node, expected a rail of the file; is the card in its "
        "slot (lspci), is its driver loaded? or correct rails in systems/made.yaml"
    ]


def test_an_unknown_host_is_named_with_its_switch_port(
    links: Links, judge_links: Judged, another: Callable[[str], Any]
) -> None:
    links["stranger"] = another("login9 mlx5_0")
    assert sentences(judge_links(links)) == [
        "login9: found an unknown host at LeafB port 30, expected a node of the file; add it to nodes.names, or to "
        "fabric_state.others of fabrics.edr, in systems/made.yaml"
    ]


def test_a_host_that_the_file_knows_as_another_is_none(
    links: Links, show: Callable[[Links], str], expected_edr: ExpectedFabric, another: Callable[[str], Any]
) -> None:
    links["stranger"] = another("login9 mlx5_0")
    readings = Readings(ports=iblinkinfo.parse(show(links)).fabric, is_whole=True, counters=())
    assert judge(replace(expected_edr, others=("login[0-9]+",)), readings).findings == ()


def test_an_adapter_inside_a_switch_is_no_host(
    links: Links, judge_links: Judged, another: Callable[[str], Any]
) -> None:
    links["sharp"] = another("Mellanox Technologies Aggregation Node")
    assert judge_links(links).findings == ()


def test_descriptions_that_name_no_node_are_told_once(links: Links, judge_links: Judged) -> None:
    same = {
        name: replace(link, ca=replace(link.ca, name="MT4115 ConnectX4")) if link.ca.kind == "CA" else link
        for name, link in links.items()
    }
    assert sentences(judge_links(same)) == [
        'the fabric: found no node of systems/made.yaml among 1 host of the subnet ("MT4115 ConnectX4"), expected 4 '
        "nodes by name; let each node describe its adapter by its host name (rdma-ndd, or node_desc of its folder in "
        "/sys), or correct nodes.names of systems/made.yaml"
    ]


def test_hca_numbers_are_counted_where_no_device_is_named(links: Links, judge_links: Judged) -> None:
    def numbered_name(name: str) -> str:
        return name.replace("mlx5_0", "HCA-1").replace("mlx5_1", "HCA-2")

    numbered = {
        name: replace(link, ca=replace(link.ca, name=numbered_name(link.ca.name)), switch=link.switch)
        for name, link in links.items()
    }
    assert judge_links(numbered).findings == ()
    del numbered["vn2 mlx5_1"]
    assert sentences(judge_links(numbered)) == [
        "vn2: found 1 port on the subnet (HCA-1), expected 2 rails of it on the subnet; is the node up? check its "
        "cable, and ibstat on the node"
    ]


def test_nodes_without_names_are_counted(
    links: Links, show: Callable[[Links], str], expected_edr: ExpectedFabric
) -> None:
    counted = replace(expected_edr, nodes=())
    whole = Readings(ports=iblinkinfo.parse(show(links)).fabric, is_whole=True, counters=())
    assert judge(counted, whole).findings == ()
    del links["vn4 mlx5_0"], links["vn4 mlx5_1"]
    fewer = replace(whole, ports=iblinkinfo.parse(show(links)).fabric)
    assert sentences(judge(counted, fewer)) == [
        "the fabric: found 3 hosts on the subnet, expected 4 nodes; name the nodes in systems/made.yaml (nodes.names), "
        "then missing nodes are named"
    ]


def test_hops_are_the_switches_between_two_nodes(
    links: Links, show: Callable[[Links], str], expected_edr: ExpectedFabric, judge_links: Judged
) -> None:
    ports = iblinkinfo.parse(show(links)).fabric
    found = distances(expected_edr, ports).pairs()
    assert (found["mlx5_0", "vn1", "vn2"], found["mlx5_1", "vn1", "vn3"]) == (1, 3)
    assert judge_links(links).hops == {1: 4, 3: 8}


def test_up_links_are_the_links_of_leaf_switches_to_other_switches(
    links: Links, show: Callable[[Links], str], expected_edr: ExpectedFabric
) -> None:
    links["LeafB"] = replace(links["LeafB"], width="1X")
    found = distances(expected_edr, iblinkinfo.parse(show(links)).fabric)
    assert found.up_links == {
        "LID 1": {"port 12 to Spine port 1": 100.0},
        "LID 2": {"port 12 to Spine port 2": 25.0},
    }


def test_two_nodes_on_one_cable_have_no_switch_between_them(
    links: Links, show: Callable[[Links], str], expected_edr: ExpectedFabric
) -> None:
    one, other = links["vn1 mlx5_0"].ca, links["vn2 mlx5_0"].ca
    cabled = {name: link for name, link in links.items() if not name.startswith(("vn1", "vn2"))}
    cabled["cable"] = replace(links["vn1 mlx5_0"], ca=one, switch=other)
    found = distances(expected_edr, iblinkinfo.parse(show(cabled)).fabric)
    assert found.hops_between("mlx5_0", "vn1", "vn2") == 0
    assert [found.hops_between("mlx5_0", "vn1", "vn3"), found.hops_between("mlx5_0", "vn3", "vn4")] == [None, 1]


def test_nodes_that_are_too_far_apart_or_cut_off_are_told(
    links: Links, show: Callable[[Links], str], expected_edr: ExpectedFabric
) -> None:
    near = replace(expected_edr, hops=1)
    whole = Readings(ports=iblinkinfo.parse(show(links)).fabric, is_whole=True, counters=())
    assert sentences(judge(near, whole)) == [
        "the fabric: found vn1-vn3 on mlx5_0 (3), vn1-vn4 on mlx5_0 (3), vn2-vn3 on mlx5_0 (3), vn2-vn4 on mlx5_0 (3) "
        "and 4 more, expected switches between two nodes: at most 1; is a link between switches down? or correct hops "
        "of fabric_state"
    ]
    assert [len(judge(replace(expected_edr, hops=most), whole).findings) for most in (2, 3)] == [1, 0]
    del links["LeafB"]
    cut = replace(whole, ports=iblinkinfo.parse(show(links)).fabric)
    assert "vn1-vn3 on mlx5_0 (no way)" in sentences(judge(replace(expected_edr, hops=3), cut))[0]


def test_sminfo_is_read_and_a_standby_governs_nothing(expected_edr: ExpectedFabric) -> None:
    assert parse_sminfo(SMINFO) == Manager(1, "0xb8599f0300001015", "MASTER")
    assert parse_sminfo("sminfo: iberror: failed: query\n") is None
    readings = Readings(managers={"": Manager(1, "0xb8599f0300001015", "STANDBY")})
    assert [finding.found for finding in judge(expected_edr, readings).findings] == [
        "the subnet manager 0xb8599f0300001015 (LID 1) in state STANDBY"
    ]


def test_without_sminfo_a_port_without_a_managers_lid_tells(expected_edr: ExpectedFabric) -> None:
    linked = PortState(node="vn1", device="mlx5_0", port=1, kind="CA", physical_state="LinkUp")
    port = linked._replace(state="Initializing", sm_lid=0)
    report = judge(expected_edr, Readings(own=(port, port._replace(device="mlx5_1"))))
    assert [finding.what for finding in report.findings] == ["manager", "state", "state"]
