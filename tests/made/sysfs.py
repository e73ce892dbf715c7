"""Synthetic trees of /sys/class/infiniband, /sys/class/net and /sys/class/cxi, and the counter reader run on them.

Nothing here was recorded: the files have the kernel's names and forms (``railyard/hardware/counters.py`` has the
sources), and values that a test chooses.
"""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from railyard.job.counters import NodeCounters, parse, reader_script
from tests.patience import PATIENCE_S

TAG = "run1"
NODE = "vn1"
"""The name of a node without a given name."""


@dataclass(frozen=True, slots=True)
class Tree:
    """One node's synthetic sysfs below ``root``; it uses this machine's clock, since the reader waits by it."""

    root: Path
    node: str = NODE

    @classmethod
    def empty_node(cls, root: Path, node: str = NODE) -> "Tree":
        """Return an empty node with the reader beside its job's output."""
        for folder in ("sys/class/net", "sys/class/infiniband", "proc/sys/kernel", "out"):
            (root / folder).mkdir(parents=True)
        (root / "proc/sys/kernel/hostname").write_text(f"{node}\n")
        (root / "proc/uptime").symlink_to("/proc/uptime")
        (root / "reader.sh").write_text(reader_script())
        return cls(root, node)

    def interface(self, name: str, card: str | None = None, *, mtu: int = 1500, dev_port: int = 0) -> Path:
        """Add a network interface, in a card's slot if ``card`` says so; return its folder."""
        folder = self.root / "sys/class/net" / name
        write(folder / "statistics", {"tx_bytes": 100, "rx_bytes": 200, "rx_errors": 0, "rx_dropped": 0})
        write(folder, {"carrier": 1, "mtu": mtu, "dev_port": dev_port})
        if card is not None:
            slot = self.slot(card)
            (folder / "device").symlink_to(slot)
            (slot / "net").mkdir(exist_ok=True)
            (slot / "net" / name).symlink_to(folder)
        return folder

    def port(
        self,
        card: str,
        number: int = 1,
        *,
        counters: Mapping[str, int] | None = None,
        hw: Mapping[str, int] | None = None,
        layer: str = "InfiniBand",
        driver: str | None = None,
        address_of: str | None = None,
    ) -> Path:
        """Add a port of an RDMA card; ``address_of`` is the interface of its first address. Return its folder."""
        folder = self.root / "sys/class/infiniband" / card / "ports" / str(number)
        write(folder / "counters", counters or {})
        if hw is not None:
            write(folder / "hw_counters", hw)
        write(folder, {"state": "4: ACTIVE", "link_layer": layer})
        if address_of is not None:
            write(folder / "gid_attrs/ndevs", {"0": address_of})
        slot, device = self.slot(card), folder.parents[1] / "device"
        if not device.exists():
            device.symlink_to(slot)
            (slot / "infiniband").mkdir()
            (slot / "infiniband" / card).symlink_to(folder.parents[1])
        if driver is not None and not (slot / "driver").exists():
            module = self.root / "sys/bus/drivers" / driver
            module.mkdir(parents=True, exist_ok=True)
            (slot / "driver").symlink_to(module)
        return folder

    def slingshot(self, card: str, interface: str, telemetry: Mapping[str, int]) -> Path:
        """Add a Slingshot card with its interface; its values are followed by a time. Return the telemetry."""
        self.interface(interface, card)
        folder = self.root / "sys/class/cxi" / card
        folder.mkdir(parents=True)
        (folder / "device").symlink_to(self.slot(card))
        values = {name: f"{value}@1700000000.123456789" for name, value in telemetry.items()}
        return write(self.slot(card) / "telemetry", values)

    def slot(self, card: str) -> Path:
        """Return the folder of a card's PCI device."""
        folder = self.root / "sys/devices" / card
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def run(
        self,
        meant: str,
        changes: Mapping[Path, int | str] | None = None,
        *,
        watched: str = "",
        drivers: Mapping[str, str] | None = None,
        shell: str = "sh",
    ) -> NodeCounters:
        """Run the reader around a command that makes these changes; return what it read for these rows."""
        command = ["true"] if not changes else ["sh", "-c", "\n".join(f"echo '{v}' >'{p}'" for p, v in changes.items())]
        ran = subprocess.run(
            [*shell.split(), str(self.root / "reader.sh"), str(self.root / "out"), TAG, meant, watched, "--", *command],
            env={
                "PATH": "/usr/bin:/bin",
                "RAILYARD_SYSFS": str(self.root / "sys"),
                "RAILYARD_PROC": str(self.root / "proc"),
                "RAILYARD_ETC": str(self.root / "etc"),
                "MPI_LOCALRANKID": "0",
            },
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
        return parse(self.text, TAG, drivers)

    @property
    def text(self) -> str:
        """What the reader wrote."""
        return (self.root / f"out/{self.node}.counters").read_text()


def write(folder: Path, values: Mapping[str, int | str]) -> Path:
    """Write one file per value, in the kernel's form; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in values.items():
        (folder / name).write_text(f"{value}\n")
    return folder
