"""A site with one system of two HDR rails, and a healthy node of it as a synthetic sysfs."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from railyard.base.paths import HOME_VARIABLE
from railyard.cli.main import main
from railyard.hardware.counters import DRIVERS
from tests.made.sysfs import Tree, write
from tests.made.systems import HDR_BY_NAME

ETH = """\
system: eth
description: One rail of Ethernet
nodes: {count: 4}
report_only: nothing is known of it
fabrics:
  eth:
    description: Ethernet
    kind: tcp
    link: eth-10
    rails:
      - {device: eth1, counters: netdev}
stacks:
  tcp: {prefix: /usr, benchmarks: {iperf3: /usr/bin/iperf3}}
"""


@dataclass
class GateOutput:
    """The output and exit code of one gate."""

    code: int
    out: str
    err: str


@dataclass
class Site:
    """The site, its node n1, and the programs that come first on its PATH."""

    home: Path
    tree: Tree
    programs: Path
    capsys: pytest.CaptureFixture[str]

    def gate(self, *words: str, system: str = "hdr") -> GateOutput:
        """Run a gate on the node; without its own state folder it keeps its state in the site."""
        code = main(["gate", "--system", system, *words])
        captured = self.capsys.readouterr()
        return GateOutput(code, captured.out, captured.err)

    def says(self, section: Mapping[str, Any]) -> None:
        """Give the system's file a section ``gate``."""
        (self.home / "systems/hdr.yaml").write_text(f"{HDR_BY_NAME}gate: {json.dumps(section)}\n", encoding="utf-8")

    def port(self, card: str, **values: str) -> None:
        """Change files of a card's port."""
        write(self.tree.root / "sys/class/infiniband" / card / "ports/1", values)

    def counter(self, card: str, name: str, value: int) -> None:
        """Set an error counter of a card's port."""
        folder = "hw_counters" if name.startswith("hw/") else "counters"
        path = self.tree.root / "sys/class/infiniband" / card / "ports/1" / folder
        write(path, {name.removeprefix("hw/"): value})

    def slot(self, card: str, **values: str) -> None:
        """Change files of a card's slot."""
        write(self.tree.slot(card), values)

    def program(self, name: str, text: str) -> Path:
        """Put a program first on PATH; its text begins with the line of its interpreter."""
        path = self.programs / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    def kept_state(self) -> Any:
        """Return the state that the node's gates keep."""
        return json.loads((self.home / ".railyard/gate/n1.json").read_text(encoding="utf-8"))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Site:
    """A site whose node n1 is healthy."""
    home, programs = tmp_path / "site", tmp_path / "bin"
    for folder in (home / "systems", home / "references", programs):
        folder.mkdir(parents=True)
    (home / "systems/hdr.yaml").write_text(HDR_BY_NAME, encoding="utf-8")
    (home / "systems/eth.yaml").write_text(ETH, encoding="utf-8")
    tree = Tree.empty_node(tmp_path / "node", "n1")
    write(tree.root / "proc/sys/kernel/random", {"boot_id": "7d1f"})
    write(tree.root / "proc", {"loadavg": "0.10 0.20 0.30 1/500 4711"})
    for number in range(64):
        (tree.root / f"sys/devices/system/cpu/cpu{number}").mkdir(parents=True)
    errors = DRIVERS["mlx5"].errors
    for card in ("mlx5_0", "mlx5_1"):
        port = tree.port(
            card,
            counters={name: 3 for name in errors if not name.startswith("hw/")},
            hw={name.removeprefix("hw/"): 0 for name in errors if name.startswith("hw/")},
        )
        write(port, {"phys_state": "5: LinkUp", "rate": "200 Gb/sec (4X HDR)"})
        speed = {"current_link_speed": "16.0 GT/s PCIe", "max_link_speed": "16.0 GT/s PCIe"}
        write(tree.slot(card), {**speed, "current_link_width": "16", "max_link_width": "16"})
    write(tree.interface("eth1"), {"speed": 10000})
    for variable, value in {
        HOME_VARIABLE: str(home),
        "RAILYARD_SYSFS": str(tree.root / "sys"),
        "RAILYARD_PROC": str(tree.root / "proc"),
        "SLURMD_NODENAME": "n1",
        "PATH": f"{programs}:{os.environ['PATH']}",
    }.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    return Site(home, tree, programs, capsys)
