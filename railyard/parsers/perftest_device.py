"""What perftest prints about buffers in a GPU's memory (``--use_cuda``, ``--use_rocm``), as settings of its run.

The lines are above the title, in one of these forms: 2014 to 2020 "There are N devices supporting CUDA, picking …";
then "Listing all CUDA devices in system:" and "Picking device No. N", since 2022 with "using DMA-BUF"; since 2024 with
the kind of memory. ROCm prints one line and the setting "Use ROCm memory". Nothing else in an output differs. Source:
src/perftest_resources.c up to 2022, then src/cuda_memory.c and src/rocm_memory.c, up to July 2026.
"""

import re

from railyard.parsers.parsed import ContextValue

_ADDRESS = re.compile(r"CUDA device (?P<gpu>[0-9]{1,4}): PCIe address is (?P<bus>[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2})")
_PICKED = re.compile(
    r"Picking (?:device No\.|GPU number) (?P<gpu>[0-9]{1,4})"
    r"|There are [0-9]{1,4} devices supporting CUDA, picking (?:(?P<old>[0-9]{1,4})|first)\.{0,3}"
)
_NAME = re.compile(r"\[pid = [0-9]{1,12}, dev = (?P<gpu>[0-9]{1,4})\] device name = \[(?P<name>[^\[\]]{1,120})\]")
_ROCM = re.compile(
    r"Using ROCm Device with ID: (?P<gpu>[0-9]{1,4}), Name: (?P<name>.{0,120}), PCI Bus ID: 0x(?P<bus>[0-9a-f]{1,4}), "
    r"GCN Arch: (?P<arch>\S{1,60})"
)
_DMABUF = re.compile(r"using DMA-BUF for GPU buffer address at .{1,200}")
_KIND = re.compile(r"allocated GPU buffer of a [0-9]{1,20} address at \S{1,40} for type CUDA_MEM_(?P<kind>[A-Z]{1,20})")
_BEGINS = "initializing CUDA"
_OWN = (
    *(_BEGINS, "Listing all CUDA devices", "creating CUDA Ctx", "making it the current CUDA Ctx", "cuMemAlloc"),
    *("allocated ", "deallocating ", "destroying current CUDA Ctx", "CUDA device integrated", "Finding PCIe BUS "),
    *("Got PCIe address of", "Host allocation selected", "dmabuf export addr", "stopping CUDA gpu touch"),
    *("Perftest doesn't supports CUDA tests with inline messages", "Starting GPU touching process"),
)


class Device:
    """The GPU whose memory the next title's run uses, from the lines above it."""

    def __init__(self) -> None:
        self.context: dict[str, ContextValue] = {}
        self._addresses: dict[int, str] = {}

    def take_line(self, text: str) -> bool:
        """Take one line, without the blanks around it; return whether it is only about a GPU's buffer."""
        if text[0] not in "[ACDFGHLPSTUacdimsu" or "error" in text or "no available" in text:
            return False
        if text == _BEGINS:
            self.context, self._addresses = {"memory": "cuda"}, {}
            return True
        address, picked, name, rocm = (each.fullmatch(text) for each in (_ADDRESS, _PICKED, _NAME, _ROCM))
        if address:
            self._addresses[int(address["gpu"])] = address["bus"]
        elif picked:
            self._pick(int(picked["gpu"] or picked["old"] or 0))
        elif name:
            self._pick(int(name["gpu"]))
            self.context["gpu_name"] = name["name"]
        elif rocm:
            self.context = {"memory": "rocm", "gpu": int(rocm["gpu"]), "gpu_bus": f"{int(rocm['bus'], 16):02x}"}
            self.context |= {"gpu_name": rocm["name"].strip()} if rocm["name"].strip() else {}
        elif _DMABUF.fullmatch(text):
            self.context["dmabuf"] = True
        elif kind := _KIND.fullmatch(text):
            self.context["memory_kind"] = kind["kind"].lower()
        else:
            return text.startswith(_OWN)
        return True

    def _pick(self, gpu: int) -> None:
        self.context |= {"memory": "cuda", "gpu": gpu}
        if gpu in self._addresses:
            self.context["gpu_bus"] = self._addresses[gpu].lower()


def with_memory(context: dict[str, ContextValue]) -> dict[str, ContextValue]:
    """Return a run's settings, with ``memory`` if only "Use ROCm memory" or a device of ``--out_json`` says it."""
    context = dict(context)
    rocm, cuda = context.pop("use_rocm", None), context.pop("cuda_device", None)
    if rocm is True:
        context.setdefault("memory", "rocm")
    if isinstance(cuda, int):
        context |= {"memory": "cuda", "gpu": cuda}
    return context
