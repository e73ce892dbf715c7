"""Faults of a node and of addresses on the virtual cluster, planted with Linux tools: the right part is named."""

import re
import shlex

import pytest

from railyard.provision.testbed.cluster import Testbed
from tests.e2e.conftest import VirtualSite, suspects, verdict_summary

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.usefixtures("machine")]


def do(bed: Testbed, node: str, command: str) -> None:
    assert bed.exec(node, shlex.split(command)).returncode == 0


@pytest.mark.fault("session", "/sys of vn2 unmounted", "vn2 has no /sys of its own: hsn0 is in its /proc/net/dev")
def test_a_node_without_sys_is_named_and_its_rail_is_not(site: VirtualSite, promise: str) -> None:
    with site.bed() as bed:
        # Below it is the host's range.
        do(bed, "vn2", "umount -l /sys")
        record = site.cell("ImbUniband", "mpich", 1).record
    assert verdict_summary(record) == ("fail", 1, "node")
    assert record.found.verdict.text.startswith(promise)
    assert suspects(record) == {("node", "vn2", None)}


@pytest.mark.fault(
    "session", "the address of vn2 given to vn3 too", ", the address of vn2, as vn1 found over hsn0: two"
)
def test_the_node_that_took_an_address_is_named_and_its_victim_is_not(site: VirtualSite, promise: str) -> None:
    with site.bed() as bed:
        address = bed.spec.address("vn2", "hsn0")
        # The victim answers nobody, so everybody believes the thief.
        do(bed, "vn2", "ip link set hsn0 arp off")
        do(bed, "vn3", f"ip address add {address}/24 dev hsn0")
        record = site.cell("ImbUniband", "mpich", 1).record
    assert record.found.state == "fail"
    assert re.search(
        rf"hsn0 of vn3 \([0-9a-f:]+\) answers for {re.escape(address)}{promise}", record.found.verdict.text
    )
    assert suspects(record) == {("rail", "vn3", "hsn0")}


@pytest.mark.fault("rail", "hsn1 of vn2 unplugged and plugged in during the run", "the link of hsn1 of vn2 flapped")
def test_a_link_that_flaps_in_mid_run_is_said_as_such(site: VirtualSite, promise: str) -> None:
    with site.bed() as bed:
        # The node itself watches: as soon as the run has sent something, the link goes down and comes back.
        flaps = (
            "while read -r sent </sys/class/net/hsn1/statistics/rx_bytes && [ $sent -lt 2000000 ]; do sleep 0.2; done; "
            "ip link set hsn1 down; ip link set hsn1 up"
        )
        do(bed, "vn2", f"sh -c {shlex.quote(f'({flaps}) >/dev/null 2>&1 &')}")
        record = site.cell("ImbUniband", "mpich", 2).record
    assert record.found.state == "fail"
    assert promise in record.found.verdict.text
    assert suspects(record) == {("rail", "vn2", "hsn1")}
