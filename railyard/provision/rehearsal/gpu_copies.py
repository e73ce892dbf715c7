"""What nvbandwidth prints in a rehearsal of one node: copies between its GPUs and processors, and between its GPUs.

Source of the form: output.cpp and inline_common.h of NVIDIA/nvbandwidth, v0.8.
"""

from collections.abc import Mapping, Sequence

from railyard.base.errors import RailyardError
from railyard.benchmarks.table.nvbandwidth import EVERY_NODE
from railyard.hardware.links import SLOTS
from railyard.provision.rehearsal.form import Fault
from railyard.provision.replay.collective_texts import NO_GPU, bus_of
from railyard.site.gpu_shape import limit_within
from railyard.site.systems.gpus import Gpus
from railyard.site.systems.model import System

#: The share of the rate of a slot or an NVLink that healthy copies reach. Published (``railyard.site.gpu_shape``):
#: slots 82 to 92 %, NVLink 88 %.
_EFFICIENCY: Mapping[str, float] = {"slot": 0.90, "gpu-link": 0.88}
_DESCRIPTIONS = {
    "host_to_device_memcpy_ce": "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)",
    "device_to_host_memcpy_ce": "memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)",
    "device_to_device_memcpy_read_ce": "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)",
    "device_to_device_memcpy_write_ce": "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)",
}
#: By how much the copies of one node differ, by their place: no two GPUs print the same digits.
_SPREAD = 0.004


def play_copies(system: System, node: str, faults: Sequence[Fault], words: Sequence[str], sentence: str) -> str:
    """Return the output of one copy of the program on a node.

    Raises RailyardError for a test that has no stand-in, and if the system's file does not say what carries it.
    """
    test = words[words.index("-t") + 1] if "-t" in words[:-1] else ""
    if test not in EVERY_NODE:
        known = ", ".join(EVERY_NODE)
        raise RailyardError(f"the rehearsal has no stand-in for nvbandwidth -t {test or '(none)'}: it has {known}")
    carries = EVERY_NODE[test]
    healthy = limit_within(system.gpus, carries)
    if system.gpus is None or healthy is None:
        raise RailyardError(f"nvbandwidth/{test}: found no {carries} of GPUs in systems/{system.system}.yaml")
    gpus = [gpu for gpu in range(system.gpus.per_node) if not _is(faults, "missing", node, gpu)]
    names = [f"Device {place}: {NO_GPU} (0000{bus_of(gpu)})" for place, gpu in enumerate(gpus)]
    head = [
        *("nvbandwidth Version: v0.8", "Built from Git version: v0.8", "", f"NOTE: {sentence}", ""),
        *("CUDA Runtime Version: 12080", "CUDA Driver Version: 12080", "Driver Version: 570.86.15", ""),
        *names,
        *("", f"Running {test}.", _DESCRIPTIONS[test], f" {''.join(f'{place:>10}' for place in range(len(gpus)))}"),
    ]
    best = healthy.value_mb_s * _EFFICIENCY[carries]
    if carries == "slot":
        cells: list[list[float | None]] = [
            [best * _lanes_left(system.gpus, faults, node, gpu) * (1 - _SPREAD * gpu / 8) for gpu in gpus]
        ]
    else:
        cells = [[None if a == b else best * (1 - _SPREAD * (a + b) / 16) for b in gpus] for a in gpus]
    rows = [
        f"{row:>2}{''.join(f'{_format_cell(cell):>10}' for cell in line)}" for row, line in enumerate(cells)
    ]  # fmt: skip
    total = sum(float(_format_cell(cell)) for line in cells for cell in line if cell is not None)
    return "\n".join([*head, *rows, "", f"SUM {test} {total:.2f}", ""])


def _is(faults: Sequence[Fault], kind: str, node: str, gpu: int) -> bool:
    return any(fault.kind == kind and fault.is_of_gpu(node, gpu) for fault in faults)


def _lanes_left(gpus: Gpus, faults: Sequence[Fault], node: str, gpu: int) -> float:
    """Return the share of the lanes of a GPU's slot that the planted faults leave."""
    lanes = [fault.lanes for fault in faults if fault.kind == "narrow" and fault.is_of_gpu(node, gpu)]
    return min(lanes) / SLOTS[gpus.slot].lanes if lanes and gpus.slot is not None else 1.0


def _format_cell(cell: float | None) -> str:
    return "N/A" if cell is None else f"{cell / 1000:.2f}"
