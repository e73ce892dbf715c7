"""`railyard doctor --nodes` and `railyard detect` on the real virtual cluster, healthy and with faults."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import RAILYARD, VirtualSite, make_site

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.usefixtures("cluster")]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[VirtualSite]:
    made = make_site(tmp_path)
    yield made
    made.bed().take_down()


def problems(out: str) -> list[str]:
    return [line for line in out.splitlines() if line.startswith("problem: ")]


def test_a_healthy_cluster_has_no_problem_and_every_counter_counts(site: VirtualSite) -> None:
    ran = site.call(*RAILYARD, "doctor", "--system", "virtual", "--nodes")
    assert (problems(ran.out), ran.code) == ([], 0), ran.full_text
    assert "looked at this host and 4 nodes: 0 problems, " in ran.lines[-1]
    assert "was not calibrated" not in ran.out
    assert not site.bed().is_up(), "it was brought up for this, and goes down with it"


def test_a_rail_that_is_unplugged_is_named_and_its_neighbours_are_not(site: VirtualSite) -> None:
    bed = site.bed_of_system()
    bed.bring_up()
    bed.degrade("vn2", "hsn1", "unplugged")
    ran = site.call(*RAILYARD, "doctor", "--system", "virtual", "--nodes")
    assert ran.code == 1
    named = [line for line in problems(ran.out) if "carrier" in line]
    assert named == ["problem: vn2 hsn1: it has no carrier; check its cable, and the switch port at the other end"]
    assert bed.is_up(), "it was up already, and stays so"


@pytest.mark.fault(
    "session",
    "the address of vn2 given to vn3 too; the right node answers, so runs are good",
    "vn2 and vn3: both have the address ",
)
def test_an_address_that_two_nodes_have_is_named_before_a_run_fails(site: VirtualSite, promise: str) -> None:
    bed = site.bed_of_system()
    bed.bring_up()
    address = bed.spec.address("vn2", "hsn0")
    assert bed.exec("vn3", f"ip address add {address}/24 dev hsn0".split()).returncode == 0
    ran = site.call(*RAILYARD, "doctor", "--system", "virtual", "--nodes")
    assert ran.code == 1
    assert [line for line in problems(ran.out) if promise in line] == [
        f"problem: {promise}{address} on a network of the rails; give each node its own: which of them gets the "
        "messages is chance (ip address, arping)"
    ]


def test_planted_faults_are_named_with_their_node_and_rail(site: VirtualSite) -> None:
    bed = site.bed_of_system()
    bed.bring_up()
    to, by = bed.spec.address("vn1", "hsn0"), bed.spec.address("vn1", "hsn1")
    for node, words in {
        "vn1": f"ip addr add {to.rpartition('.')[0]}.101/24 dev hsn1",
        "vn2": "ip link set eth0 down",
        "vn3": "hostname vn33",
        "vn4": f"ip route add {to}/32 via {by} dev hsn1",
    }.items():
        assert bed.exec(node, words.split()).returncode == 0
    ran = site.call(*RAILYARD, "doctor", "--system", "virtual", "--nodes")
    assert (ran.code, problems(ran.out)) == (
        1,
        [
            "problem: vn3: it did not answer; check whether it is up, and whether a job starts there",
            "problem: vn1 hsn0 and hsn1: two rails are in one IP subnet, and either may answer for the other's address "
            "(ARP flux); give each rail its own subnet, or set sysctl net.ipv4.conf.all.arp_ignore=1 "
            "net.ipv4.conf.all.arp_announce=2",
            "problem: vn2 eth0: it is switched off; ip link set eth0 up",
            "problem: vn33: it does not find its own name; enter it in DNS or /etc/hosts: launchers connect to nodes "
            "by name",
            "problem: vn4 hsn0: 20.0 MB were sent, and the counter of hsn1 grew by 20.0 MB, its own by 0.0 kB; check "
            "the node's routes and ARP settings: traffic to this rail uses another rail",
        ],
    )


def test_a_node_of_the_cluster_is_detected_from_inside(site: VirtualSite) -> None:
    bed = site.bed_of_system()
    bed.bring_up()
    done = bed.exec("vn3", [*RAILYARD, "detect"], env=site.environment(), cwd=site.folder, timeout_s=60)
    assert done.returncode == 0, done.stderr
    assert (
        "    rails:\n      - {device: hsn0, counters: netdev}\n      - {device: hsn1, counters: netdev}\n"
        in done.stdout
    )
    assert (
        "# GUESSED: these interfaces belong to no device of the machine, so that nothing says their rate" in done.stdout
    )
