"""Rails that are not set or wired as in the file: MTU and networks, from what nodes said about their devices."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from railyard.job.node_facts import NodeFacts
from railyard.site.site import Site
from railyard.verdict.assess import Assessment
from railyard.verdict.run_setup import why_unlike
from tests.made.judged_run import healthy_rates

Assess = Callable[..., Assessment]
NETWORKS = {"hsn0": "10.98.1.0/24", "hsn1": "10.98.2.0/24"}


def fact(node: str, **of_device: dict[str, str]) -> NodeFacts:
    """Return what a node of the virtual cluster says about its two rails, with changes for each."""
    devices = {name: {"mtu": "1500", "subnets": network} for name, network in NETWORKS.items()}
    for name, said in of_device.items():
        devices[name] = {**devices.get(name, {}), **said}
    return NodeFacts(node, {}, devices)


def with_fabric(site: Site, **changed: Any) -> Site:
    """Return a site whose fabric has these fields changed."""
    fabric = site.system.fabrics["hsn"].model_copy(update=changed)
    system = site.system.model_copy(update={"fabrics": {**site.system.fabrics, "hsn": fabric}})
    return replace(site, system=system)


def test_rails_as_the_file_says_pass_without_a_word(assess_cell: Assess) -> None:
    found = assess_cell(facts=(fact("vn1"), fact("vn2"))).verdict
    assert (found.state, found.remarks) == ("pass", ())


@pytest.mark.fault("rail", "one end of a rail has an MTU of 9000", "the MTU of hsn0 is 9000 on vn2, expected 1500")
def test_another_mtu_than_the_files_is_set_up_before_any_figure(assess_cell: Assess, promise: str) -> None:
    found = assess_cell(facts=(fact("vn1"), fact("vn2", hsn0={"mtu": "9000"}))).verdict
    assert f"{promise} (systems/virtual.yaml, fabrics.hsn)" in found.sentence
    assert (found.rule, found.fault) == (1, "set-up")


def test_the_mtu_of_a_rail_that_is_not_used_is_nobodys_matter(assess_cell: Assess) -> None:
    assert assess_cell(facts=(fact("vn1"), fact("vn2", hsn1={"mtu": "9000"}))).verdict.state == "pass"


def test_where_the_file_says_nothing_two_mtus_are_a_remark(assess_cell: Assess, virtual: Site) -> None:
    link = virtual.system.fabrics["hsn"].declared_link
    assert not isinstance(link, str)
    site = with_fabric(virtual, declared_link=link.model_copy(update={"mtu": None}))
    found = assess_cell(site=site, facts=(fact("vn1"), fact("vn2", hsn0={"mtu": "9000"}))).verdict
    assert (
        "the MTU of hsn0 differs: 1500 on vn1 and 9000 on vn2; set mtu of fabrics.hsn in the system's file"
        in found.remarks
    )
    assert assess_cell(site=site, facts=(fact("vn1"), fact("vn2"))).verdict.remarks == ()


@pytest.mark.parametrize(("interface", "fails"), [("1500", True), ("4191", True), ("4200", False), ("9000", False)])
def test_of_roce_the_interface_must_have_room_for_the_path_mtu(
    assess_cell: Assess, virtual: Site, interface: str, fails: bool
) -> None:
    site = with_fabric(virtual, kind="roce", mtu=4096)
    facts = (fact("vn1", hsn0={"interface_mtu": interface}), fact("vn2", hsn0={"interface_mtu": "9000"}))
    found = assess_cell(site=site, stack="openmpi", facts=facts).verdict
    assert ("the MTU of hsn0 is" in found.sentence) is fails


@pytest.mark.fault(
    "rail",
    "two interfaces of a node are swapped",
    "wiring: hsn0 of vn1 is in 10.98.1.0/24, where vn2 has hsn1, and hsn0 of vn2 is in 10.98.2.0/24",
)
def test_swapped_interfaces_are_said_as_wiring(assess_cell: Assess, promise: str) -> None:
    swapped = fact("vn2", hsn0={"subnets": NETWORKS["hsn1"]}, hsn1={"subnets": NETWORKS["hsn0"]})
    found = assess_cell(facts=(fact("vn1"), swapped), exit_code=124, timed_out=True).verdict
    assert f"{promise}: expected rails of one name in one network" in found.sentence
    assert (found.rule, found.fault) == (1, "set-up")


@pytest.mark.fault(
    "rail", "a rail leads to another network than the file says", "wiring: hsn0 of vn2 is in 10.98.2.0/24, expected"
)
def test_a_rail_outside_the_files_network_is_named_alone(assess_cell: Assess, virtual: Site, promise: str) -> None:
    rails = tuple(
        rail.model_copy(update={"subnet": NETWORKS[rail.device]}) for rail in virtual.system.fabrics["hsn"].rails
    )
    swapped = fact("vn2", hsn0={"subnets": NETWORKS["hsn1"]}, hsn1={"subnets": NETWORKS["hsn0"]})
    site = with_fabric(virtual, rails=rails)
    found = assess_cell(site=site, facts=(fact("vn1"), swapped)).verdict
    assert f"{promise} 10.98.1.0/24 (systems/virtual.yaml, fabrics.hsn)" in found.sentence
    assert "vn1" not in found.sentence.partition("wiring: ")[2]
    assert assess_cell(site=site, facts=(fact("vn1"), fact("vn2"))).verdict.state == "pass"


def test_routed_rails_with_a_network_each_and_rails_of_one_network_are_healthy(assess_cell: Assess) -> None:
    routed = fact("vn2", hsn0={"subnets": "10.99.1.0/24"}, hsn1={"subnets": "10.99.2.0/24"})
    assert assess_cell(facts=(fact("vn1"), routed)).verdict.state == "pass"
    flat = {"subnets": "10.98.0.0/16"}
    both = (fact("vn1", hsn0=flat, hsn1=flat), fact("vn2", hsn0=flat, hsn1=flat))
    assert assess_cell(facts=both).verdict.state == "pass"
    assert assess_cell(facts=(fact("vn1", hsn0={"subnets": ""}), fact("vn2"))).verdict.state == "pass"


@pytest.mark.fault("rail", "two InfiniBand cables are crossed", "wiring: hsn0 of vn1 is in the subnet fec0:0:0:1")
def test_crossed_infiniband_subnets_are_told_by_their_prefix(assess_cell: Assess, promise: str) -> None:
    a, b = ({"subnet_prefix": f"fec0:0:0:{n}", "subnets": ""} for n in (1, 2))
    found = assess_cell(facts=(fact("vn1", hsn0=a, hsn1=b), fact("vn2", hsn0=b, hsn1=a))).verdict
    assert promise in found.sentence
    unset = {"subnet_prefix": "fe80:0000:0000:0000", "subnets": ""}
    assert assess_cell(facts=(fact("vn1", hsn0=unset, hsn1=a), fact("vn2", hsn0=a, hsn1=unset))).verdict.state == "pass"


class Read(dict[str, Mapping[str, str]]):
    """Devices of a node that count how often they are read."""

    times = 0

    def get(self, *of: Any) -> Any:
        Read.times += 1
        return super().get(*of)


@pytest.mark.parametrize(
    "networks", ["one a rail", "one for all rails", "each rail its own", "half of the nodes swapped"]
)
def test_of_twice_the_nodes_each_is_looked_at_as_often(assess_cell: Assess, networks: str) -> None:
    case, swapped = assess_cell().case, {"hsn0": {"subnets": NETWORKS["hsn1"]}, "hsn1": {"subnets": NETWORKS["hsn0"]}}
    of_node: dict[str, Callable[[int], dict[str, dict[str, str]]]] = {
        "one a rail": lambda number: swapped if number == 30 else {},
        "one for all rails": lambda number: {rail: {"subnets": "10.98.0.0/16"} for rail in NETWORKS},
        "each rail its own": lambda number: {rail: {"subnets": f"10.{rail[3]}.{number}.0/31"} for rail in NETWORKS},
        "half of the nodes swapped": lambda number: swapped if number % 2 else {},
    }
    sentences, times = {}, {}
    for number in (40, 80):
        plain = [fact(f"n{n}", **of_node[networks](n)) for n in range(number)]
        facts = [NodeFacts(one.node, one.facts, Read(one.devices)) for one in plain]
        Read.times = 0
        said = why_unlike(case, facts) or ""
        more = re.search(r"and (\d+) more of this kind", said)
        sentences[number] = said.count("wiring: ") + (int(more[1]) if more else 0)
        times[number] = Read.times
    assert times[80] <= 2 * times[40]
    swaps = {"one a rail": 1, "half of the nodes swapped": 40}.get(networks, 0)
    assert sentences[80] == swaps


def test_a_swapped_node_among_many_is_said_once_beside_one_that_is_not(assess_cell: Assess) -> None:
    swapped = fact("n7", hsn0={"subnets": NETWORKS["hsn1"]}, hsn1={"subnets": NETWORKS["hsn0"]})
    facts = [swapped if number == 7 else fact(f"n{number}") for number in range(9)]
    assert why_unlike(assess_cell(rails=2).case, facts) == (
        "wiring: hsn0 of n0 is in 10.98.1.0/24, where n7 has hsn1, and hsn0 of n7 is in 10.98.2.0/24: expected rails "
        "of one name in one network"
    )


TRAINED = {
    "rate": "100 Gb/sec (4X EDR)",
    "current_link_speed": "8.0 GT/s PCIe",
    "current_link_width": "16",
    "max_link_speed": "8.0 GT/s PCIe",
    "max_link_width": "16",
}


def of_edr(site: Site) -> Site:
    """Return a site whose fabric has EDR cards in slots of Gen3 x16."""
    return with_fabric(site, kind="roce", declared_link="roce-100", slot="pcie3-x16", mtu=None)


@pytest.mark.parametrize(
    "said_of_it",
    [
        pytest.param(
            {"rate": "25 Gb/sec (1X EDR)"},
            marks=pytest.mark.fault(
                "rail",
                "a port that trained at one lane, in a run that is fast enough",
                "hsn0 of vn2 runs at 25 Gb/sec (1X EDR)",
            ),
            id="one-lane",
        ),
        pytest.param(
            {"rate": "50 Gb/sec (2X EDR)"},
            marks=pytest.mark.fault(
                "rail", "a port at half of its lanes", "hsn0 of vn2 runs at 50 Gb/sec (2X EDR), expected"
            ),
            id="half",
        ),
        pytest.param(
            {"rate": "56 Gb/sec (4X FDR)"},
            marks=pytest.mark.fault(
                "rail", "a port that trained as an older generation", "hsn0 of vn2 runs at 56 Gb/sec (4X FDR), expected"
            ),
            id="generation",
        ),
        pytest.param(
            {"current_link_speed": "2.5 GT/s PCIe"},
            marks=pytest.mark.fault(
                "rail",
                "a card in PCIe Gen1 after a reboot",
                "hsn0 of vn2 runs at PCIe Gen1 x16, expected Gen3 x16",
            ),
            id="gen1",
        ),
        pytest.param(
            {"current_link_width": "8"},
            marks=pytest.mark.fault(
                "rail",
                "a card with half of its PCIe lanes",
                "hsn0 of vn2 runs at PCIe Gen3 x8, expected Gen3 x16",
            ),
            id="x8",
        ),
    ],
)
def test_a_rail_that_runs_slower_than_the_files_link_is_named_whatever_was_measured(
    assess_cell: Assess, virtual: Site, said_of_it: dict[str, str], promise: str
) -> None:
    facts = (fact("vn1", hsn0=TRAINED), fact("vn2", hsn0={**TRAINED, **said_of_it}))
    found = assess_cell(site=of_edr(virtual), stack="openmpi", facts=facts).verdict
    assert (found.state, found.rule, found.fault) == ("fail", 1, "fabric")
    assert promise in found.sentence and "vn1" not in found.sentence
    assert {(one.kind, one.node, one.rail) for one in found.suspects} == {("rail", "vn2", "hsn0")}


@pytest.mark.parametrize(
    "said_of_it",
    [
        {},
        {"rate": ""},
        {"rate": "200 Gb/sec (4X HDR)"},
        {"current_link_speed": "Unknown", "current_link_width": "0"},  # a virtual function
        {"current_link_speed": "32.0 GT/s PCIe"},
    ],
    ids=["as-meant", "unread", "faster", "virtual-function", "newer-slot"],
)
def test_rates_and_slots_as_good_as_the_files_fail_nothing(
    assess_cell: Assess, virtual: Site, said_of_it: dict[str, str]
) -> None:
    facts = (
        fact("vn1", hsn0=TRAINED),
        fact("vn2", hsn0={**TRAINED, **said_of_it}, hsn1={"rate": "25 Gb/sec (1X EDR)"}),
    )
    found = assess_cell(site=of_edr(virtual), stack="openmpi", facts=facts).verdict
    assert "expected" not in found.sentence and found.suspects == ()


@pytest.mark.parametrize(("rails", "is_guessed"), [(1, True), (2, False)])
def test_what_a_curve_of_several_rails_looks_like_is_not_said_of_a_port_that_says_its_rate(
    assess_cell: Assess, virtual: Site, rails: int, is_guessed: bool
) -> None:
    site = of_edr(virtual)
    site = replace(site, system=site.system.model_copy(update={"provider": "nodes"}))
    facts = (fact("vn1", hsn0=TRAINED, hsn1=TRAINED), fact("vn2", hsn0={**TRAINED, "rate": "25 Gb/sec"}, hsn1=TRAINED))
    rates = {size: min(size / 3.0, rails * 3000.0) for size in healthy_rates("hsn", rails)}
    found = assess_cell(site=site, stack="openmpi", rails=rails, rates=rates, facts=facts).verdict
    assert (found.rule, [(one.node, one.rail) for one in found.suspects]) == (1, [("vn2", "hsn0")])
    assert any(remark.startswith("looks like ") for remark in found.remarks) is is_guessed
