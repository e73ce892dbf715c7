"""All that one node shows of its cluster: read once, then only written out."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from railyard.base.fields import NAME_PATTERN
from railyard.cluster.detect import tool_outputs
from railyard.cluster.detect.fabrics import FoundFabric, fabrics_of, left_out, traps
from railyard.cluster.detect.hwloc import domains
from railyard.cluster.detect.network_ports import cxi_ports, net_ports
from railyard.cluster.detect.node import NodeFound, node_of
from railyard.cluster.detect.ports import Port, rdma_ports
from railyard.cluster.detect.schedulers import Scheduler, scheduler_of
from railyard.cluster.detect.software import Software, software_of
from railyard.cluster.detect.source import Source
from railyard.cluster.detect.tool_outputs import with_slots


@dataclass(frozen=True, slots=True)
class DetectedCluster:
    """A cluster as a node shows it. ``traps`` would spoil a benchmark; ``left_out`` are ports without a link."""

    node: NodeFound
    fabrics: tuple[FoundFabric, ...]
    scheduler: Scheduler
    software: Software
    traps: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def name(self) -> str:
        """A name for the system: the cluster's name in the scheduler, else the host's name without its number."""
        host = re.sub(r"[-_]?[0-9]+$", "", self.node.hostname.split(".")[0])
        for name in (self.scheduler.cluster, host):
            if name and re.fullmatch(NAME_PATTERN, name):
                return name
        return "found"

    def as_json(self) -> dict[str, Any]:
        """Return what was found as plain data."""
        return {
            "format": 1,
            "name": self.name,
            "host": self.node.hostname,
            "processor": self.node.processor,
            "numa_nodes": self.node.numa_nodes,
            "hardware": None if self.node.processors is None else asdict(self.node.processors),
            "gpus": [{"model": gpu.model, "address": gpu.address, "numa": gpu.numa} for gpu in self.node.gpus],
            "fabrics": [_fabric_json(fabric) for fabric in self.fabrics],
            "scheduler": {
                "name": self.scheduler.name,
                "launcher": self.scheduler.launcher,
                "nodes": self.scheduler.nodes,
                "partitions": [
                    {"name": one.name, "nodes": one.nodes, "default": one.default, "up": one.up}
                    for one in self.scheduler.partitions
                ],
            },
            "stacks": [
                {
                    "name": stack.name,
                    "prefix": stack.prefix,
                    "module": stack.module,
                    "benchmarks": dict(stack.benchmarks),
                    "how": stack.how,
                }
                for stack in self.software.stacks
            ],
            "modules_system": self.software.modules_system,
            "spack": self.software.spack,
            "traps": list(self.traps),
            "left_out": list(self.left_out),
            "guessed": [
                *(f"fabric {fabric.name}: {doubt}" for fabric in self.fabrics for doubt in fabric.doubts),
                *self.scheduler.remarks,
                *self.software.doubts,
            ],
        }


def detect(source: Source) -> DetectedCluster:
    """Return what a node shows. It is no error if something is missing: what cannot be read is left out."""
    rdma = (*rdma_ports(source), *cxi_ports(source))
    taken = {port.netdev for port in rdma if port.netdev is not None}
    sits = domains(source)
    shown = with_slots((*rdma, *net_ports(source, taken)), source)
    ports = tuple(_seat_port(port, sits) for port in shown)
    fabrics = fabrics_of(ports)
    return DetectedCluster(
        node=node_of(source, sits),
        fabrics=fabrics,
        scheduler=scheduler_of(source),
        software=software_of(source),
        traps=(*traps(fabrics), *tool_outputs.traps(ports, source)),
        left_out=left_out(ports),
    )


def _seat_port(port: Port, sits: Mapping[str, int]) -> Port:
    """Return the port with the memory domain that hwloc gives its device, interface or address, if it gives one."""
    names = (port.device, port.netdev, port.pci.address)
    domain = next((sits[name] for name in names if name is not None and name in sits), None)
    return port if domain is None else replace(port, pci=replace(port.pci, numa=domain))


def _fabric_json(fabric: FoundFabric) -> dict[str, Any]:
    first = fabric.first
    return {
        "name": fabric.name,
        "kind": first.kind,
        "link": first.link,
        "rate_gbit_s": first.rate.gbit_s if first.rate else None,
        "slot": fabric.slot,
        "mtu": fabric.mtu,
        "rails": [_port_json(port) for port in fabric.ports],
    }


def _port_json(port: Port) -> dict[str, Any]:
    return {
        "device": port.device,
        "port": port.port,
        "counters": port.counters,
        "state": port.state,
        "netdev": port.netdev,
        "driver": port.pci.driver,
        "address": port.pci.address,
        "slot": port.pci.slot,
        "best_slot": port.pci.best_slot,
        "numa": port.pci.numa,
        "firmware": port.firmware,
        "board": port.board,
        "gid_index": port.gid_index,
    }
