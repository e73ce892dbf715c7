"""What else matters about a node: name, processors, memory and its domains, GPUs and their memory domains."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from railyard.cluster.detect.ports import parse_whole
from railyard.cluster.detect.processors import Processors, processors_of
from railyard.cluster.detect.source import Source

_NVIDIA = "/proc/driver/nvidia/gpus"
_PCI = "/sys/bus/pci/devices"
_MODEL = re.compile(r"^Model:\s+(.+)$", re.MULTILINE)
_PROCESSOR = re.compile(r"^model name\s*:\s*(.+)$", re.MULTILINE)
# linux/pci_ids.h: AMD, and the base classes of a display controller and a processing accelerator
_AMD, _GPU_CLASSES = "0x1002", ("0x03", "0x12")


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU: its model, its PCI address and its memory domain."""

    model: str
    address: str
    numa: int | None


@dataclass(frozen=True, slots=True)
class NodeFound:
    """The node that was looked at."""

    hostname: str
    processor: str | None
    numa_nodes: int
    processors: Processors | None
    gpus: tuple[Gpu, ...]


def node_of(source: Source, sits: Mapping[str, int]) -> NodeFound:
    """Return what the node says about itself. ``sits``: PCI address -> memory domain; it overrides the kernel's own."""
    processor = _PROCESSOR.search(source.read("/proc/cpuinfo") or "")
    nodes = [name for name in source.names("/sys/devices/system/node") if re.fullmatch(r"node[0-9]+", name)]
    return NodeFound(
        hostname=source.read("/proc/sys/kernel/hostname") or "",
        processor=" ".join(processor[1].split()) if processor else None,
        numa_nodes=len(nodes),
        processors=processors_of(source),
        gpus=tuple(replace(gpu, numa=sits.get(gpu.address, gpu.numa)) for gpu in (*_nvidia(source), *_amd(source))),
    )


def _nvidia(source: Source) -> list[Gpu]:
    found = []
    for address in source.names(_NVIDIA):
        model = _MODEL.search(source.read(f"{_NVIDIA}/{address}/information") or "")
        found.append(Gpu(model[1].strip() if model else "NVIDIA", address, _numa(source, address)))
    return found


def _amd(source: Source) -> list[Gpu]:
    """Return AMD's accelerators, if the driver amdgpu is loaded."""
    if source.read("/sys/module/amdgpu/initstate") != "live":
        return []
    found = []
    for address in source.names(_PCI):
        device = f"{_PCI}/{address}"
        kind = source.read(f"{device}/class") or ""
        if source.read(f"{device}/vendor") == _AMD and kind.startswith(_GPU_CLASSES):
            found.append(Gpu("AMD", address, _numa(source, address)))
    return found


def _numa(source: Source, address: str) -> int | None:
    number = parse_whole(source.read(f"{_PCI}/{address}/numa_node"))
    return None if number is None or number < 0 else number
