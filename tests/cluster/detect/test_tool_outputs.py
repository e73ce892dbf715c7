"""What detect takes from the tools of a node, where the kernel's files do not say it. The texts are synthetic."""

from dataclasses import replace
from pathlib import Path

import pytest

from railyard.cluster.detect import detected_cluster
from railyard.cluster.detect.fabrics import FoundFabric
from railyard.cluster.detect.ports import Pci, Port
from railyard.cluster.detect.scheduler import FLUX, FLUX_AROUND, PBS_NODES, QUEUES, scheduler_of
from railyard.cluster.detect.source import IBSTATUS, LSPCI, TOPOLOGY, Listing, Recorder

MADE = Path(__file__).parents[2] / "parsers" / "made"
PBS = Path(__file__).parents[2] / "recordings" / "pbs"
PORT = Port("mlx5_0", 1, "ib", "mlx5", True, "ACTIVE", Pci("mlx5_core", "0000:21:00.0"), "ib-hdr")
SLOT = """\
21:00.0 Infiniband controller: Mellanox Technologies MT28908 Family [ConnectX-6]
\tNUMA node: 0
\tCapabilities: [60] Express (v2) Endpoint, MSI 00
\t\tDevCtl:\tCorrErr+ NonFatalErr+ FatalErr+ UnsupReq-
\t\t\tMaxPayload 512 bytes, MaxReadReq 512 bytes
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 16GT/s, Width x8 (downgraded)
\tCapabilities: [48] Vital Product Data
\t\t\t[SN] Serial number: ABC123
"""
STATUS = """\
Infiniband device 'mlx5_0' port 1 status:
\tdefault gid:\t fe80:0000:0000:0000:0000:0000:0000:0001
\tstate:\t\t 4: ACTIVE
\trate:\t\t 200 Gb/sec (4X HDR)
\tlink_layer:\t InfiniBand

Infiniband device 'mlx5_1' port 1 status:
\tdefault gid:\t fe80:0000:0000:0000:0000:0000:0000:0002
\tstate:\t\t 4: ACTIVE
\trate:\t\t 200 Gb/sec (4X HDR)
\tlink_layer:\t InfiniBand
"""


def listing_of(words: tuple[str, ...], text: str) -> Listing:
    return Listing(outputs={" ".join(words): text})


def test_a_slot_that_the_kernel_does_not_show_is_that_of_lspci() -> None:
    (port,) = detected_cluster.with_slots((PORT,), listing_of(LSPCI, SLOT))
    assert (port.pci.slot, port.pci.best_slot, port.pci.max_payload) == ("pcie4-x8", "pcie4-x16", 512)
    known = replace(PORT, pci=replace(PORT.pci, slot="pcie4-x16", best_slot="pcie4-x16"))
    (port,) = detected_cluster.with_slots((known,), listing_of(LSPCI, SLOT))
    assert (port.pci.slot, port.pci.max_payload) == ("pcie4-x16", 512)
    assert FoundFabric("hdr", (port,)).max_payload == 512
    assert FoundFabric("hdr", (port, PORT)).max_payload is None


@pytest.mark.parametrize("text", ["", "21:00.0 Infiniband controller: a card\n\tCapabilities: <access denied>\n"])
def test_nothing_is_known_without_root(text: str) -> None:
    assert detected_cluster.with_slots((PORT,), listing_of(LSPCI, text)) == (PORT,)


def test_a_port_that_only_ibstatus_prints_is_named() -> None:
    assert detected_cluster.tool_traps((PORT,), listing_of(IBSTATUS, STATUS)) == (
        "ibstatus prints mlx5_1 port 1, which /sys/class/infiniband does not show here: a container may hide it, so it "
        "is no rail in this file",
    )


def test_a_nic_that_is_far_from_every_gpu_is_named() -> None:
    text = (MADE / "nvidia_smi-two-gpus.txt").read_text(encoding="utf-8")
    assert detected_cluster.tool_traps((), listing_of(TOPOLOGY, text)) == ()
    for near in ("PIX", "PXB", "PHB", "NODE"):
        text = text.replace(near, "SYS")
    found = detected_cluster.tool_traps((), listing_of(TOPOLOGY, text))
    assert len(found) == 2
    assert "no GPU is on its side of the node (SYS)" in found[0]


def test_serial_numbers_and_addresses_are_not_recorded() -> None:
    recorder = Recorder(Listing(outputs={" ".join(LSPCI): SLOT, " ".join(IBSTATUS): STATUS}))
    whole = detected_cluster.with_slots((PORT,), recorder), detected_cluster.tool_traps((PORT,), recorder)
    kept = recorder.listing
    assert "ABC123" not in kept.text() and "fe80" not in kept.text()
    assert (detected_cluster.with_slots((PORT,), kept), detected_cluster.tool_traps((PORT,), kept)) == whole


def test_in_a_job_of_flux_the_nodes_of_the_instance_around_it_are_counted() -> None:
    own = {" ".join(FLUX): "1"}
    assert scheduler_of(Listing(outputs=own)).nodes == 1
    around = {**own, " ".join(FLUX_AROUND): "4"}
    assert (scheduler_of(Listing(outputs=around)).name, scheduler_of(Listing(outputs=around)).nodes) == (
        "flux-batch",
        4,
    )


QUEUES_OF_PBS = "Queue  Max  Tot Ena Str\n------ --- --- --- ---\nworkq    0   0  yes yes"
#: By the words of its manual (pbsnodes(8B) and pbs_statnode(3B)): Torque never ran here.
NODES_OF_TORQUE = """\
n1
     state = free
     np = 32
     ntype = cluster
     status = rectime=1796041200,ncpus=32,opsys=linux
"""


@pytest.mark.parametrize(
    ("nodes", "name", "remark"),
    [
        ((PBS / "nodes-busy.txt").read_text(encoding="utf-8"), "pbs", None),
        (NODES_OF_TORQUE, "torque", 'pbsnodes prints "np", as Torque does and PBS does not'),
        ("", "pbs", "whether this is PBS or Torque is not certain, "),
        ("n1\n     state = free\n", "pbs", "whether this is PBS or Torque is not certain, "),
    ],
)
def test_torque_is_told_from_pbs_by_what_is_said_of_nodes(nodes: str, name: str, remark: str | None) -> None:
    """Torque has no chunks and no history of jobs: with the scheduler pbs no job of it would be found again."""
    seen = scheduler_of(Listing(outputs={" ".join(QUEUES): QUEUES_OF_PBS, " ".join(PBS_NODES): nodes}))
    assert seen.name == name
    assert [one for one in seen.remarks[1:] if not one.startswith(remark or "?")] == []
    assert len(seen.remarks) == (1 if remark is None else 2)
