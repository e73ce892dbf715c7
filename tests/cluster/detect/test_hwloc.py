"""The places of devices according to hwloc; the XML is synthetic, in the form of hwloc 2.9."""

import pytest

from railyard.cluster.detect import detected_cluster
from railyard.cluster.detect.detected_cluster import detect, domains
from railyard.cluster.detect.source import Listing

XML = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" nodeset="0x00000003" gp_index="1">
    <object type="Package" os_index="0" nodeset="0x00000001">
      <object type="NUMANode" os_index="0" nodeset="0x00000001"/>
      <object type="Bridge" bridge_type="0-1" bridge_pci="0000:[00-2f]">
        <object type="PCIDev" pci_busid="0000:21:00.0">
          <object type="OSDev" name="ib0" osdev_type="2"/>
          <object type="OSDev" name="mlx5_0" osdev_type="3"/>
        </object>
      </object>
    </object>
    <object type="Package" os_index="1" nodeset="0x00000002">
      <object type="NUMANode" os_index="1" nodeset="0x00000002"/>
      <object type="Bridge" bridge_type="0-1" bridge_pci="0000:[a0-bf]">
        <object type="PCIDev" pci_busid="0000:a1:00.0">
          <object type="OSDev" name="mlx5_1" osdev_type="3"/>
        </object>
      </object>
    </object>
    <object type="Bridge" bridge_type="0-1" bridge_pci="0000:[c0-cf]">
      <object type="PCIDev" pci_busid="0000:c5:00.0">
        <object type="OSDev" name="eno1" osdev_type="2"/>
      </object>
    </object>
  </object>
</topology>
"""
ASKED = " ".join(detected_cluster.ASKED)


def test_devices_have_the_domain_of_what_they_stand_below_and_none_below_all_of_the_machine() -> None:
    assert domains(Listing(outputs={ASKED: XML})) == {
        "0000:21:00.0": 0,
        "ib0": 0,
        "mlx5_0": 0,
        "0000:a1:00.0": 1,
        "mlx5_1": 1,
    }


@pytest.mark.parametrize(
    ("nodeset", "domain"), [("0x00000004", 2), ("0x00000001,0x00000000", 32), ("0x00000001,,0x00000000", 64)]
)
def test_sets_are_read_at_any_width(nodeset: str, domain: int) -> None:
    xml = f'<object type="Group" nodeset="{nodeset}"><object type="OSDev" name="hfi1_0"/></object>'
    assert domains(Listing(outputs={ASKED: xml})) == {"hfi1_0": domain}


@pytest.mark.parametrize("said", ["", "lstopo: cannot open display", "<object", '<object nodeset="0xfz"/>'])
def test_without_a_topology_nothing_is_said(said: str) -> None:
    assert domains(Listing(outputs={ASKED: said})) == {}
    assert domains(Listing()) == {}


def test_hwloc_goes_before_the_kernel_which_knows_what_hwloc_does_not_say() -> None:
    tree = Listing(outputs={ASKED: XML})
    for device, kernels in (("mlx5_1", "-1"), ("mlx5_7", "3")):
        folder = f"/sys/class/infiniband/{device}"
        tree.files |= {
            f"{folder}/ports/1/state": "4: ACTIVE",
            f"{folder}/ports/1/link_layer": "InfiniBand",
            f"{folder}/device/numa_node": kernels,
        }
    assert [(port.device, port.pci.numa) for fabric in detect(tree).fabrics for port in fabric.ports] == [
        ("mlx5_1", 1),
        ("mlx5_7", 3),
    ]
