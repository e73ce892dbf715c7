"""A synthetic fabric of four nodes with two rails: LeafA has vn1 and vn2, LeafB vn3 and vn4, Spine joins them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from railyard.cluster.fabric.judge import judge
from railyard.cluster.fabric.model import ExpectedFabric, Readings, Report, expected_fabric
from railyard.parsers.fabric import iblinkinfo
from railyard.site.systems.load import load_system
from railyard.site.systems.model import System
from tests.made.systems import EDR_AND_ROCE

GBIT = {"SDR": "2.5", "QDR": "10.0", "FDR": "14.0625", "EDR": "25.78125", "HDR": "53.125"}


@dataclass(frozen=True)
class End:
    """One end of a synthetic link."""

    kind: str
    name: str
    lid: int
    port: int
    guid: str


@dataclass(frozen=True)
class Link:
    """A synthetic link: ``state`` is both of its states as iblinkinfo prints them."""

    ca: End
    switch: End
    width: str = "4X"
    speed: str = "EDR"
    state: str = "Active/  LinkUp"

    def iblinkinfo_line(self, end: End, other: End) -> str:
        how = f"{self.width} {GBIT[self.speed]:>13} Gbps {self.state}"
        guid = f"      {end.guid}" if end.kind == "CA" else "      "
        left = f"{guid} {end.lid:>6} {end.port:>4}[  ]"
        return f'{left} ==( {how})==> {other.lid:>7} {other.port:>4}[  ] "{other.name}" ( )'


def switch(name: str, port: int) -> End:
    lid = {"LeafA": 1, "LeafB": 2, "Spine": 3}[name]
    return End("Switch", name, lid, port, f"0xec0d9a03000000{lid:02x}")


def adapter(node: int, rail: int, name: str = "") -> End:
    lid = 8 + 2 * node + rail
    return End("CA", name or f"vn{node} mlx5_{rail}", lid, 1, f"0xb8599f03000010{lid:02x}")


def healthy() -> dict[str, Link]:
    """Return the links by name: "vn3 mlx5_1" for a node's link, "LeafA" for the link from there to the spine."""
    links = {}
    for node in range(1, 5):
        for rail in range(2):
            end = adapter(node, rail)
            leaf = switch("LeafA" if node < 3 else "LeafB", 1 + 2 * ((node - 1) % 2) + rail)
            links[end.name] = Link(end, leaf)
    for port, leaf_name in enumerate(("LeafA", "LeafB"), 1):
        links[leaf_name] = Link(switch(leaf_name, 12), switch("Spine", port))
    return links


def iblinkinfo_text(links: dict[str, Link]) -> str:
    """Return what iblinkinfo prints for these links, from both ends, and for one port without a cable per switch."""
    of_node: dict[End, list[str]] = {}
    for link in links.values():
        for end, other in ((link.ca, link.switch), (link.switch, link.ca)):
            of_node.setdefault(replace(end, port=0), []).append(link.iblinkinfo_line(end, other))
    lines = []
    for node, ports in of_node.items():
        lines.append(f"CA: {node.name}:" if node.kind == "CA" else f"Switch: {node.guid} {node.name}:")
        lines += ports
        if node.kind == "Switch":
            lines.append(f'       {node.lid:>6}   40[  ] ==(                Down/ Polling)==>             [  ] "" ( )')
    return "\n".join([*lines, ""])


@pytest.fixture
def links() -> dict[str, Link]:
    """The links of the healthy fabric, to be changed and printed."""
    return healthy()


@pytest.fixture
def show() -> Callable[[dict[str, Link]], str]:
    """What iblinkinfo prints for links."""
    return iblinkinfo_text


@pytest.fixture
def synthetic_system(tmp_path: Path) -> System:
    """The system of the synthetic fabric."""
    (tmp_path / "systems").mkdir()
    path = tmp_path / "systems/made.yaml"
    path.write_text(EDR_AND_ROCE, encoding="utf-8")
    return load_system(path)


@pytest.fixture
def expected_edr(synthetic_system: System) -> ExpectedFabric:
    """What the file expects from the fabric edr."""
    return expected_fabric(synthetic_system, "edr")


@pytest.fixture
def judge_links(expected_edr: ExpectedFabric) -> Callable[[dict[str, Link]], Report]:
    """Judge links by what iblinkinfo prints about them."""

    def run(links: dict[str, Link]) -> Report:
        ports = iblinkinfo.parse(iblinkinfo_text(links)).fabric
        return judge(expected_edr, Readings(ports=ports, is_whole=True, counters=()))

    return run


@pytest.fixture
def another() -> Callable[[str], Link]:
    """A link of an adapter with this description, at a free port of LeafB."""

    def make(name: str) -> Link:
        return Link(End("CA", name, 90, 1, "0xb8599f030000205a"), switch("LeafB", 30))

    return make
