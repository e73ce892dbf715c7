"""What connects the GPUs of a node: NVLink, Infinity Fabric (xGMI) or PCIe, with the payload that a GPU can move.

For NVLink and Infinity Fabric the sum of headers is not public. So nothing is subtracted from the data rate, and the
bounds are upper bounds. NCCL's author says that NVLink's overhead is about 20 % (370 of 450 GB/s; NVIDIA/nccl-tests
issue 212).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from railyard.hardware import limits
from railyard.hardware.links import SLOTS, Slot

#: PCIe max payload of the slots of GPUs, and of their NICs if no system's file states it, in bytes. GPUs also read from
#: each other: a completion carries 20 B of overhead, a write 24. A write's share at 512 B (95.5 %) is above the share
#: of both at 256 B, and servers with GPUs are set to 256 or 512. So the bound is an upper bound.
GPU_MAX_PAYLOAD = 512


@dataclass(frozen=True, slots=True)
class GpuLink:
    """What connects the GPUs of a node, per GPU.

    A GPU has ``links`` links of ``link_mb_s`` MB/s (10^6 B/s) each way. ``pair_links``: how many links lead to each
    other GPU, if GPUs are connected directly; None if a switch can direct all links to one GPU, or if that is unknown.
    ``multicasts``: the switch can send one copy to all GPUs and add up theirs (NVLink SHARP, NVLS).
    ``is_slot``: it is the GPU's PCIe slot, so the NICs' traffic passes it too.
    """

    name: str
    generation: str
    links: int
    link_mb_s: float
    pair_links: int | None
    multicasts: bool
    is_slot: bool
    source: str

    @property
    def word(self) -> str:
        """Its name in sentences: NVLink, xGMI or PCIe."""
        return self.generation.split()[0]

    def rate_mb_s(self, gpus: int) -> float:
        """Return what a GPU can send to the others of its node, MB/s, if so many GPUs take part.

        If GPUs are connected directly, the links to GPUs that do not take part are of no use.
        """
        links = self.links if self.pair_links is None else min(self.links, self.pair_links * (gpus - 1))
        return links * self.link_mb_s

    def pair_rate_mb_s(self) -> float:
        """Return what a GPU can send to one other GPU, MB/s."""
        return (self.links if self.pair_links is None else self.pair_links) * self.link_mb_s

    def with_links(self, links: int) -> "GpuLink":
        """Return the same link with another number of links (an H800 has 8 of NVLink 4)."""
        return replace(self, links=links)


_NVLINK_PAGE = "NVIDIA, NVLink and NVLink Switch, nvidia.com/en-us/data-center/nvlink"
# generation, GPU, links per GPU, GB/s per link each way, whether its switches multicast and reduce, source.
_NVLINK: tuple[tuple[int, str, int, float, bool, str], ...] = (
    (1, "P100", 4, 20.0, False, "NVIDIA, Tesla P100 whitepaper: 160 GB/s both ways over 4 links"),
    (2, "V100", 6, 25.0, False, f"{_NVLINK_PAGE}: 300 GB/s both ways over 6 links"),
    (3, "A100", 12, 25.0, False, f"{_NVLINK_PAGE}: 600 GB/s both ways over 12 links"),
    (4, "H100, H200", 18, 25.0, True, f"{_NVLINK_PAGE}: 900 GB/s both ways over 18 links"),
    (5, "B200, GB200, B300, GB300", 18, 50.0, True, f"{_NVLINK_PAGE}: 1,800 GB/s both ways over 18 links"),
)
# name, GPU, links that lead to other GPUs, GB/s per link each way, links per pair, source.
_XGMI: tuple[tuple[str, str, int, float, int, str], ...] = (
    # A GCD counts as a GPU. Its partner in the package has 4 links to it, any other GCD 1 or 2, so a pair has at most
    # 4. Of its 8 links 7 lead to GCDs (4 + 2 + 1), and one to the processor.
    (
        *("mi250x", "one GCD of an MI250X", 7, 50.0, 4),
        "AMD, Instinct MI250 microarchitecture, rocm.docs.amd.com (25 GT/s, 16 lanes: 50 GB/s); OLCF, Frontier User "
        "Guide",
    ),
    # Each of the 8 GPUs has a link to each other one.
    (
        *("mi300x", "MI300X", 7, 64.0, 1),
        "AMD, CDNA 3 white paper and Instinct MI300X data sheet: 7 links of 128 GB/s both ways (32 GT/s, 16 lanes)",
    ),
    (
        *("mi355x", "MI355X", 7, 76.8, 1),
        "AMD, CDNA 4 white paper and Instinct MI355X data sheet: 7 links of 153.6 GB/s both ways (38.4 GT/s, 16 lanes)",
    ),
)


def _gpu_links() -> Iterator[GpuLink]:
    for generation, gpu, links, gb_s, multicasts, source in _NVLINK:
        name, kind = f"nvlink-{generation}", f"NVLink {generation} ({gpu})"
        yield GpuLink(name, kind, links, gb_s * 1000, None, multicasts, False, source)
    for name, gpu, links, gb_s, pair, source in _XGMI:
        yield GpuLink(f"xgmi-{name}", f"xGMI ({gpu})", links, gb_s * 1000, pair, False, False, source)


GPU_LINKS: Mapping[str, GpuLink] = MappingProxyType({link.name: link for link in _gpu_links()})
#: What a person writes after ``nvlink`` and ``xgmi``.
NVLINK_GENERATIONS = tuple(row[0] for row in _NVLINK)
XGMI_GPUS = tuple(row[0] for row in _XGMI)
#: GPUs whose links have the rate of a generation, but not always their number. Source: their data sheets.
_ALSO = {"A800": "nvlink-3", "H800": "nvlink-4", "H20": "nvlink-4", "GH200": "nvlink-4"}
_MODEL = re.compile(r"(?<![A-Za-z0-9])[A-Z]{1,2}[0-9]{2,3}[A-Z]?(?![A-Za-z0-9])")
#: What a person writes after ``pcie``: the generation of a GPU's slot of 16 lanes.
PCIE_GENERATIONS = tuple(number for number in range(1, 7) if f"pcie{number}-x16" in SLOTS)


def over_slot(slot: Slot) -> GpuLink:
    """Return PCIe as what connects GPUs: all that a GPU sends to others passes its own slot."""
    rate, _ = limits.slot_budget(slot, GPU_MAX_PAYLOAD, 1)
    return GpuLink(slot.name, slot.generation, 1, rate, None, False, True, slot.source)


def document() -> str:
    """Return what may connect GPUs as a table for docs/reference/rates.md: GB/s per GPU, one way."""
    rows = [
        f"| `{link.name}` | {link.generation} | {link.links} x {link.link_mb_s / 1000:g} | "
        f"{link.links * link.link_mb_s / 1000:g} | {'yes' if link.multicasts else 'no'} | {link.source} |"
        for link in GPU_LINKS.values()
    ]
    head = "| name | generation | links, GB/s one way | GB/s per GPU one way | NVLink SHARP | source |"
    return "\n".join([head, "| --- | --- | --- | --- | --- | --- |", *rows]) + "\n"


def link_of_gpu(name: str) -> GpuLink | None:
    """Return what connects GPUs of a kind on their own boards, by the name that their driver gives; None if unknown.

    A card for a slot has the same name, and may have no such link.
    """
    for model in _MODEL.findall(name):
        if model in _ALSO:
            return GPU_LINKS[_ALSO[model]]
        for link in GPU_LINKS.values():
            if model in _MODEL.findall(link.generation):
                return link
    return None
