"""What reads a real node reads a synthetic one alike: the counters' reader, node facts, detect, doctor and fabric."""

import io
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.cluster.detect.ports import Port, cxi_ports, net_ports, rdma_ports
from railyard.cluster.detect.source import Folder
from railyard.cluster.fabric.sysfs import cards_of, ports_of
from railyard.hardware.counters import DRIVERS
from railyard.hardware.links import LINKS, roce_mtu
from railyard.job.counters import NodeCounters, parse, reader_script
from railyard.job.node_facts import node_script
from railyard.job.node_facts import parse as facts_of_node
from railyard.provision.rehearsal.form import Fault
from railyard.provision.rehearsal.sysfs import FIRST, STAMP, assumptions, machine_of, node_tree, port_rate, rail_name
from railyard.site.systems.load import load_systems
from railyard.site.systems.model import System
from tests.made.rehearsal_site import site

SYSTEMS = Path(__file__).parents[3] / "systems"
RAILS = "- {device: mlx5_0, port: 1, counters: mlx5}"


def unpack_sysfs(folder: Path, system: System, *faults: Fault, node: str = "n3") -> Path:
    """Unpack the /sys of a node below a folder; return its sysfs."""
    root = folder / node
    archive = node_tree(system, machine_of(system), faults, node, 3).archive()
    with tarfile.open(fileobj=io.BytesIO(archive)) as tree:
        tree.extractall(root / "sys", filter="fully_trusted")
    return root / "sys"


def ports(sys: Path) -> dict[str, Port]:
    source = Folder(sys.parent)
    return {port.name: port for port in (*rdma_ports(source), *cxi_ports(source), *net_ports(source, ()))}


def read(
    sys: Path, driver: str, meant: Sequence[str], command: Sequence[str] = ("true",)
) -> tuple[NodeCounters, Mapping[str, Mapping[str, str]]]:
    """Run a command within the counters' reader; return what that read, and the node's facts of its devices."""
    (sys.parent / "reader.sh").write_text(reader_script())
    (sys.parent / "node.sh").write_text(node_script())
    done = subprocess.run(
        ["sh", str(sys.parent / "reader.sh"), str(sys.parent), "run1", ",".join(meant), "", "--", *command],
        env={"PATH": "/usr/bin:/bin", "RAILYARD_SYSFS": str(sys), "SLURM_LOCALID": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (counters,), (facts,) = sys.parent.glob("*.counters"), sys.parent.glob("*.facts")
    known = facts_of_node(facts.read_text(), "run1")
    assert known is not None
    return parse(counters.read_text(), "run1", dict.fromkeys(meant, driver)), known.devices


@pytest.mark.parametrize(
    ("link", "lanes", "rate"),
    [
        ("ib-ndr", 4, (400, "4X", "NDR")),
        ("ib-ndr", 1, (100, "1X", "NDR")),
        ("ib-ndr200", 4, (200, "2X", "NDR")),
        ("ib-hdr100", 1, (50, "1X", "HDR")),
        ("ib-sdr-12x", 4, (30, "12X", "SDR")),
        ("ib-fdr", 2, (28, "2X", "FDR")),
        ("ib-fdr10", 4, (40, "4X", "FDR10")),
        ("roce-10", 4, (10, "1X", "QDR")),
        ("roce-40", 4, (40, "4X", "QDR")),
        ("roce-400", 4, (400, "4X", "NDR")),
        ("opa-100", 2, (50, "2X", "EDR")),
        ("efa-200", 4, (200, "4X", "HDR")),
        ("slingshot-11", 1, (50, "1X", "HDR")),
        ("aries", 4, (2.5, None, None)),
    ],
)
def test_a_link_as_the_kernel_prints_it(link: str, lanes: int, rate: tuple[float, str | None, str | None]) -> None:
    assert port_rate(LINKS[link], lanes) == rate


def test_every_link_of_infiniband_is_found_again_by_detect(tmp_path: Path) -> None:
    for name in (name for name in LINKS if name.startswith("ib-")):
        sys = unpack_sysfs(tmp_path / name, site(tmp_path, ("link: ib-ndr", f"link: {name}")))
        assert ports(sys)["mlx5_1:1"].link == name


def test_detect_finds_the_rails_of_a_site(tmp_path: Path) -> None:
    found = ports(unpack_sysfs(tmp_path, site(tmp_path)))
    assert {name: (p.link, p.counters, p.pci.slot, p.pci.numa, p.netdev, p.up) for name, p in found.items()} == {
        "mlx5_0:1": ("ib-ndr", "mlx5", "pcie5-x16", 0, "ib0", True),
        "mlx5_1:1": ("ib-ndr", "mlx5", "pcie5-x16", 1, "ib1", True),
        "eth0": ("eth-1", "netdev", None, 0, "eth0", True),
    }


def test_detect_finds_each_rail_of_the_published_systems(tmp_path: Path) -> None:
    """Of each driver, kind and number of rails that they have; a device is shown with the first link that it has."""
    for system in load_systems(SYSTEMS).values():
        found = ports(unpack_sysfs(tmp_path / system.system, system))
        seen: dict[str, str] = {}
        for fabric in system.fabrics.values():
            for rail in fabric.rails:
                driver, link = DRIVERS.get(rail.counters), fabric.link.name
                if driver is None or seen.setdefault(rail_name(rail), link) != link or link not in LINKS:
                    continue
                if link != "slingshot-10":  # by its rate alone it is Ethernet
                    assert found[rail_name(rail)].link == link, system.system
                assert found[rail_name(rail)].up


@pytest.mark.parametrize(
    ("kind", "link", "device", "mtu", "shown"),
    [
        ("tcp", "eth-100", "{device: eno1, counters: netdev}", 9000, 9000),
        ("tcp", "eth-25", "{device: ens5, counters: netdev}", 9001, 9001),
        ("tcp", "eth-100", "{device: eno1, counters: netdev}", None, 1500),
        ("roce", "roce-100", "{device: mlx5_0, port: 1, counters: mlx5}", 1024, 1120),
        ("roce", "roce-100", "{device: mlx5_0, port: 1, counters: mlx5}", 4096, 4192),
        ("roce", "roce-100", "{device: mlx5_0, port: 1, counters: mlx5}", None, 9000),
    ],
)
def test_an_interface_has_the_mtu_of_the_file(
    tmp_path: Path, kind: str, link: str, device: str, mtu: int | None, shown: int
) -> None:
    second = "      - {device: mlx5_1, port: 1, counters: mlx5}\n"
    stated = f"link: {link}" if mtu is None else f"link: {link}\n    mtu: {mtu}"
    changes = (("kind: ib", f"kind: {kind}"), ("link: ib-ndr", stated), (second, ""), (RAILS, f"- {device}"))
    system = site(tmp_path, *changes)
    mine = next(port for port in ports(unpack_sysfs(tmp_path, system)).values() if port.netdev != "eth0")
    assert mine.netdev is not None
    assert (tmp_path / "n3/sys/class/net" / mine.netdev / "mtu").read_text() == f"{shown}\n"
    if mtu is not None:
        assert (roce_mtu(shown) if kind == "roce" else shown) == mtu


def test_fabric_reads_ports_and_cards(tmp_path: Path) -> None:
    sys = unpack_sysfs(tmp_path, site(tmp_path))
    first, second = ports_of(sys, "n3")
    assert (first.state, first.rate, first.width, first.speed, first.link_layer) == (
        *("Active", 400.0, "4X", "NDR", "InfiniBand"),
    )
    assert (first.lid, second.lid, first.sm_lid) == (770, 774, 1)
    assert first.saturated == ()
    card, _ = cards_of(sys, "n3")
    assert card.driver == "mlx5_core"
    assert card.slot is not None
    assert (card.slot.speed, card.slot.width) == ("32.0 GT/s PCIe", 16)


def test_the_reader_sees_what_a_stand_in_moves(tmp_path: Path) -> None:
    sys = unpack_sysfs(tmp_path, site(tmp_path))
    counter = sys / "class/infiniband/mlx5_0/ports/1/counters/port_xmit_data"
    counters, facts = read(sys, "mlx5", ("mlx5_0:1", "mlx5_1:1"), ("sh", "-c", f"echo {FIRST + 5000} >{counter}"))
    assert {device.device: (device.tx.delta_bytes, device.rx.delta_bytes) for device in counters.devices} == {
        "mlx5_0:1": (20000, 0),
        "mlx5_1:1": (0, 0),
        "eth0": (0, 0),
        "ib0": (0, 0),
        "ib1": (0, 0),
    }
    assert [(d.device, d.trouble, d.errors, d.beside) for d in counters.devices if d.meant] == [
        ("mlx5_0:1", None, {}, None),
        ("mlx5_1:1", None, {}, None),
    ]
    assert {name: facts["mlx5_1:1"][name] for name in ("local_cpulist", "rate", "driver", "slot", "numa_node")} == {
        "local_cpulist": "56-111",
        "rate": "400 Gb/sec (4X NDR)",
        "driver": "mlx5_core",
        "slot": "pci0000:14/0000:14:00.0/0000:15:00.0",
        "numa_node": "1",
    }


@pytest.mark.parametrize("driver", [name for name in DRIVERS if name not in ("netdev", "cxi")])
def test_the_reader_reads_each_driver(tmp_path: Path, driver: str) -> None:
    kind = {"efa": "efa", "hfi1": "opa", "mlx4": "ib", "mlx5": "ib"}.get(driver, "roce")
    link = {"efa": "efa-100", "opa": "opa-100", "ib": "ib-edr"}.get(kind, "roce-100")
    port = "" if kind == "efa" else "port: 1, "
    changes = [
        (f"{{device: mlx5_{n}, port: 1, counters: mlx5", f"{{device: mlx5_{n}, {port}counters: {driver}")
        for n in (0, 1)
    ]
    system = site(tmp_path, *changes, ("kind: ib", f"kind: {kind}"), ("link: ib-ndr", f"link: {link}"))
    sys, name = unpack_sysfs(tmp_path, system), "mlx5_0:1" if port else "mlx5_0"
    counters, _ = read(sys, driver, (name,))
    (rail,) = (device for device in counters.devices if device.meant)
    assert (rail.trouble, rail.tx.delta_bytes, rail.driver, rail.errors) == (None, 0, driver, {})


@pytest.mark.parametrize("rail", ["cxi0", "hsn0"])
def test_the_reader_reads_slingshot_by_either_name(tmp_path: Path, rail: str) -> None:
    changes = (
        *((RAILS, f"- {{device: {rail}, counters: cxi}}"), ("- {device: mlx5_1, port: 1, counters: mlx5}", "")),
        *(("kind: ib", "kind: slingshot"), ("link: ib-ndr", "link: slingshot-11")),
    )
    sys = unpack_sysfs(tmp_path, site(tmp_path, *changes))
    octets = sys / "class/cxi/cxi0/device/telemetry/hni_sts_tx_ok_octets"
    counters, _ = read(sys, "cxi", (rail,), ("sh", "-c", f"echo {FIRST + 5000}{STAMP} >{octets}"))
    (found,) = (device for device in counters.devices if device.meant)
    assert (found.device, found.trouble, found.tx.delta_bytes) == (rail, None, 5000)
    assert ports(sys)["cxi0"].link == "slingshot-11"


def test_a_rail_of_ethernet_is_no_management_network_beside_itself(tmp_path: Path) -> None:
    changes = (
        ("kind: ib", "kind: tcp"),
        ("link: ib-ndr", "link: eth-25"),
        (RAILS, "- {device: eth0, counters: netdev}"),
    )
    sys = unpack_sysfs(
        tmp_path,
        site(tmp_path, *changes, ("{device: mlx5_1, port: 1, counters: mlx5}", "{device: eth1, counters: netdev}")),
    )
    assert {name: port.link for name, port in ports(sys).items()} == {"eth0": "eth-25", "eth1": "eth-25"}


def test_ip_over_infiniband_as_a_rail_is_the_cards_own_interface(tmp_path: Path) -> None:
    ipoib = "  ipoib: {description: IPoIB, kind: tcp, link: eth-25, rails: [{device: ib0, counters: netdev}]}\n"
    found = ports(unpack_sysfs(tmp_path, site(tmp_path, ("fabrics:\n", f"fabrics:\n{ipoib}"))))
    assert set(found) == {"mlx5_0:1", "mlx5_1:1", "eth0"}
    assert found["mlx5_0:1"].netdev == "ib0"


def test_a_port_with_fewer_lanes_shows_them(tmp_path: Path) -> None:
    sys = unpack_sysfs(tmp_path, site(tmp_path), Fault("lanes", "", "n3", "mlx5_0:1", lanes=1))
    rates = [(sys / f"class/infiniband/mlx5_{n}/ports/1/rate").read_text() for n in (0, 1)]
    assert rates == ["100 Gb/sec (1X NDR)\n", "400 Gb/sec (4X NDR)\n"]


def test_a_fault_of_another_node_changes_nothing(tmp_path: Path) -> None:
    fault = Fault("lanes", "", "n4", "mlx5_0:1", lanes=1)
    system = site(tmp_path)
    machine = machine_of(system)
    assert node_tree(system, machine, (fault,), "n3", 3) == node_tree(system, machine, (), "n3", 3)
    assert node_tree(system, machine, (fault,), "n4", 3) != node_tree(system, machine, (), "n4", 3)


def test_counters_that_cannot_be_read_prove_nothing(tmp_path: Path) -> None:
    sys = unpack_sysfs(tmp_path, site(tmp_path), Fault("unreadable", "", "*", "mlx5_0:1"))
    counters, _ = read(sys, "mlx5", ("mlx5_0:1", "mlx5_1:1"))
    assert [device.trouble for device in counters.devices if device.meant] == [
        "has no readable counter of bytes sent",
        None,
    ]


def test_a_far_card_is_at_the_other_socket(tmp_path: Path) -> None:
    sys = unpack_sysfs(tmp_path, site(tmp_path), Fault("far", "", "n3", "mlx5_0:1"))
    assert [ports(sys)[f"mlx5_{n}:1"].pci.numa for n in (0, 1)] == [1, 1]
    assert (sys / "class/infiniband/mlx5_0/device/local_cpulist").read_text() == "56-111\n"
    with pytest.raises(SetupError, match="mlx5_0:1 cannot be at the other socket: the nodes have one socket"):
        unpack_sysfs(tmp_path, site(tmp_path, ("cores: 112", "cores: 1")), Fault("far", "", "n3", "mlx5_0:1"))


def test_two_devices_of_one_card_are_its_functions(tmp_path: Path) -> None:
    shared = "port: 1, counters: mlx5, rails_per_card: 2"
    system = site(
        tmp_path, (RAILS, f"- {{device: mlx5_0, {shared}}}"), ("mlx5_1, port: 1, counters: mlx5", f"mlx5_1, {shared}")
    )
    found = ports(unpack_sysfs(tmp_path, system))
    assert [found[f"mlx5_{n}:1"].pci.address for n in (0, 1)] == ["0000:11:00.0", "0000:11:00.1"]
    assert found["mlx5_0:1"].pci.card == found["mlx5_1:1"].pci.card


def test_what_is_shown_otherwise_is_said(tmp_path: Path) -> None:
    systems = load_systems(SYSTEMS)
    assert list(assumptions(site(tmp_path))) == []
    assert "mlx4_0:1 is a rail of qdr and of fdr: its port shows the link of qdr, ib-qdr" in assumptions(
        systems["dual-rail-qdr"]
    )
    assert "the rate of sci is not known: its ports show 2.5 Gbit/s" in assumptions(systems["survey-2004"])
