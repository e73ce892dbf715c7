"""Faults of the path on the virtual cluster, made on purpose: background traffic, lost packets, another host name."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from railyard.testbed import Testbed
from tests.e2e.conftest import VirtualSite, failed, suspects

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.usefixtures("machine")]

#: What sends without end over one rail, and what takes it: the address of the second node on that rail.
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
    """Send over one rail from a node to another for as long as this lasts."""
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
        record = site.cell("ImbUniband", "mpich", 2).record
    assert failed(record) == ("fail", 5, "disturbed")
    assert suspects(record) == set()
    assert re.search(
        r"; disturbed: shared: over hsn0 vn1 and vn2 sent \d+\.\d MB more than they received "
        r"\(bound 16\.0 MB, the larger of unmeant-share and unmeant-bytes\)$",
        record.verdict.sentence,
    )
    assert record.verdict.next == "who else used the rails during the run; run it again on exclusive nodes"
    # Nobody's cable was measured alone: while somebody else sends, a good one would look slow.
    assert "alone is slow" not in record.verdict.sentence


def test_packets_lost_on_a_rail_are_said_of_the_node_that_sent_them_again(site: VirtualSite) -> None:
    with site.bed() as bed:
        bed.degrade("vn2", "hsn1", "lossy", 1)
        record = site.cell("ImbUniband", "mpich", 2).record
    path = next(rule.sentence for rule in record.verdict.rules if rule.rule == 4)
    # Bandwidth holds (TCP sends again within a fraction of a millisecond); the data went from vn1 to vn2.
    assert record.state == "pass"
    assert re.search(r"; TCP of vn1 sent \d+ of \d+ segments again \(\d\.\d %; bound 0\.1 %, resent-share\)", path)
    assert suspects(record) == set()


def test_a_host_that_answers_by_another_name_is_named(site: VirtualSite) -> None:
    with site.bed() as bed:
        assert bed.exec("vn2", ["hostname", "vn9"]).returncode == 0
        record = site.cell("ImbUniband", "mpich", 1).record
    assert failed(record) == ("fail", 1, "scheduler")
    assert record.verdict.sentence == "the job ran on vn1 and vn9, expected vn1 and vn2"
    assert suspects(record) == set()
