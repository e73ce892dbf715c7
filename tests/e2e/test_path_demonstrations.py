"""Faults of the path, planted on the virtual cluster: background traffic, lost packets, another host name."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.scripts import switch_port
from railyard.verdict.wording import WITH_EVERY
from tests.e2e.conftest import VirtualSite, suspects, verdict_summary

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.usefixtures("machine")]

#: Programs that send and receive without end over one rail; they get the second node's address on that rail.
SEND = """
import socket, sys
with socket.create_connection((sys.argv[1], 5999)) as other:
    while True:
        other.sendall(bytes(1 << 16))
"""
TAKE = """
import socket, sys
with socket.create_server((sys.argv[1], 5999)) as server:
    print("listens", flush=True)
    other = server.accept()[0]
    while other.recv(1 << 16):
        pass
"""


@contextmanager
def traffic(bed: Testbed, first: str, second: str, device: str) -> Iterator[None]:
    """Send over one rail from one node to another during the block."""
    address = bed.spec.address(second, device)

    def start(node: str, program: str) -> "subprocess.Popen[str]":
        words = [str(bed.enter), node, "--", sys.executable, "-c", program, address]
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    taking = start(second, TAKE)
    try:
        assert taking.stdout is not None
        assert taking.stdout.readline() == "listens\n"
        sending = start(first, SEND)
        try:
            yield
        finally:
            sending.kill()
            sending.communicate()
    finally:
        taking.kill()
        taking.communicate()


def test_background_traffic_on_a_rail_is_a_disturbance_and_no_cables_fault(site: VirtualSite) -> None:
    with site.bed() as bed, traffic(bed, "vn1", "vn3", "hsn0"):
        record = site.cell("ImbUniband", "mpich", 2, disturbed_too=True).record
    assert verdict_summary(record) == ("disturbed", 5, "disturbed")
    assert suspects(record) == set()
    assert re.search(
        r"; disturbed: shared: over hsn0 vn1 and vn2 sent \d+\.\d MB more than they received "
        r"\(bound 16\.0 MB, the larger of unmeant-share and shared-least\); measured again: ",
        record.found.verdict.text,
    )
    assert record.found.verdict.next == "who else used the rails during the run; run it again on exclusive nodes"
    # No cable was measured alone: while somebody else sends, a good one would look slow.
    assert "is slow" not in record.found.verdict.text


def swap_cables(bed: Testbed, node: str, first: str, second: str) -> None:
    """Plug each of two rails of a node into the other one's switch."""
    for port, other in ((first, second), (second, first)):
        bridge = f"br{bed.spec.networks.index(bed.spec.network(other))}"
        words = ["ip", "link", "set", switch_port(bed.spec, node, port), "master", bridge]
        subprocess.run(["nsenter", "-t", str(bed.state().first.pid), "-n", *words], check=True)


@pytest.mark.parametrize("rails", [1, 2])
@pytest.mark.fault(
    "path",
    "the cables of two rails of a node swapped at the switch, in a ping-pong of 10 MB",
    "hsn0 and hsn1 of vn2 are crossed: so they are between vn2 and vn3, and not between vn1 and vn3; ",
)
def test_swapped_cables_are_named_and_no_counter_is_called_wrong(site: VirtualSite, rails: int, promise: str) -> None:
    with site.bed() as bed:
        swap_cables(bed, "vn2", "hsn0", "hsn1")
        record = site.cell("ImbPingPong", "mpich", rails).record
    assert verdict_summary(record) == ("fail", 4, "fabric")
    assert record.found.verdict.text.startswith(promise)
    assert "counter" not in record.found.verdict.text
    assert suspects(record) == {("rail", "vn2", "hsn0"), ("rail", "vn2", "hsn1")}
    assert record.found.verdict.next == "the cables of hsn0 and hsn1 of vn2: swapped at the node or at the switch"


@pytest.mark.parametrize("stack", ["mpich", "intelmpi"])
def test_packets_lost_on_a_rail_are_that_rails_and_nobody_elses(site: VirtualSite, stack: str) -> None:
    with site.bed() as bed:
        bed.degrade("vn2", "hsn1", "lossy", 1)
        record = site.cell("ImbUniband", stack, 2).record
    # Bandwidth may hold: TCP sends again within a fraction of a millisecond.
    assert verdict_summary(record) == ("fail", 4, "fabric")
    assert re.match(
        rf"hsn1 of vn2 alone loses packets {WITH_EVERY}: \d\.\d % with vn1, \d\.\d % with vn3 and \d\.\d % "
        r"with vn4 of segments sent again, bound 0\.1 % \(resent-share\); ",
        record.found.verdict.text,
    )
    assert re.search(r"; TCP of vn[12] sent \d+ of \d+ segments again \(\d\.\d %; bound ", record.found.verdict.text)
    assert suspects(record) == {("rail", "vn2", "hsn1")}
    assert record.found.verdict.next == (
        "cable, port and switch port of hsn1 of vn2: link state, and error counters of both ends"
    )


@pytest.mark.fault("rail", "2 % of what a node sends over a rail is lost, in a ping-pong", "hsn1 of vn2 ")
def test_packets_lost_one_way_in_a_ping_pong_are_that_rails(site: VirtualSite, promise: str) -> None:
    with site.bed() as bed:
        bed.degrade("vn2", "hsn1", "lossy", 2)
        # What the node receives arrives; only what it sends is lost.
        assert bed.exec("vn2", "nft delete table netdev loss_hsn1".split()).returncode == 0
        record = site.cell("ImbPingPong", "mpich", 2).record
    assert verdict_summary(record) in {("fail", 4, "fabric"), ("fail", 5, "fabric")}
    assert suspects(record) == {("rail", "vn2", "hsn1")}
    assert promise in record.found.verdict.text


def test_a_host_that_answers_by_another_name_is_named(site: VirtualSite) -> None:
    with site.bed() as bed:
        assert bed.exec("vn2", ["hostname", "vn9"]).returncode == 0
        record = site.cell("ImbUniband", "mpich", 1).record
    assert verdict_summary(record) == ("fail", 1, "scheduler")
    assert record.found.verdict.text == "the job ran on vn1 and vn9, expected vn1 and vn2"
    assert suspects(record) == set()
