"""What nodes with GPUs have: GPUs, their links, and NICs. Reads it from words such as ``gpus=8,nvlink=4,nics=8``.

GPUs are connected by NVLink, Infinity Fabric (xGMI) or PCIe, each with the payload that a GPU can move. For NVLink and
Infinity Fabric the sum of headers is not public. So nothing is subtracted from the data rate, and the bounds are upper
bounds. NCCL's author says that NVLink's overhead is about 20 % (370 of 450 GB/s; NVIDIA/nccl-tests issue 212).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from railyard.base.errors import RailyardError, did_you_mean
from railyard.hardware import limits
from railyard.hardware.limits import Limit
from railyard.hardware.links import LINKS, SLOTS, Link, Slot, why_no_link

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


#: Links whose switches add up long messages on the way (SHARP version 2 and later). Older ones add up only short ones.
#: Source: NVIDIA, Scalable Hierarchical Aggregation and Reduction Protocol (SHARP): streaming aggregation since HDR.
_REDUCING = ("ib-hdr", "ib-ndr", "ib-xdr")

#: What nobody says of a node's GPUs: the slot of a GPU, what connects two of them, or how many links that are.
Unsaid = Literal["slot", "gpu-link", "links-between-two"]


@dataclass(frozen=True, slots=True)
class GpuNode:
    """What each node has. Rates are one way, MB/s (10^6 B/s).

    ``gpu_link``: what connects its GPUs; None if that is unknown, and then it bounds nothing. ``link``: the link of its
    NICs; None if there are none. ``network``: the bound of all its NICs together; None if that is unknown.
    ``behind_slot``: the NICs' slots set this bound, not their links.
    ``nics_of_gpu``: how many NICs a GPU has for itself, at least 1. ``gpu_slot``: a GPU's slot; the traffic of its NICs
    passes it. ``domain``: how many GPUs share one NVLink domain, if that is more than a node (72 in an NVL72).
    ``reduces``: the network's switches may add up messages (SHARP). ``within_over_nics``: the traffic between GPUs of
    one node goes over the NICs too, not over the GPUs' links (NCCL_P2P_DISABLE=1 and NCCL_SHM_DISABLE=1).
    """

    gpus: int
    gpu_link: GpuLink | None = None
    nics: int = 0
    network: Limit | None = None
    behind_slot: bool = False
    nics_of_gpu: int = 1
    gpu_slot: Slot | None = None
    domain: int | None = None
    reduces: bool = False
    within_over_nics: bool = False
    link: Link | None = None

    def __post_init__(self) -> None:
        if self.gpus < 1 or self.nics < 0 or self.nics_of_gpu < 1:
            raise ValueError(f"gpus {self.gpus}, nics {self.nics}, NICs of a GPU {self.nics_of_gpu}")

    @property
    def gpu_slot_mb_s(self) -> float | None:
        """What a GPU's slot moves one way, MB/s; None if the slot is unknown."""
        return None if self.gpu_slot is None else limits.slot_budget(self.gpu_slot, GPU_MAX_PAYLOAD, 1)[0]

    @property
    def may_lack_a_switch(self) -> bool:
        """Whether the NVLinks may be wired directly: a few of a GPU's links to each other GPU, never all to one.

        Boards with up to four GPUs have no NVSwitch. Neither have nodes with P100 and V100, except HGX-2. Source:
        NVIDIA, HGX A100 4-GPU and DGX-1 data sheets; NVIDIA/nccl-tests issue 331: four links between each two of four
        A100.
        """
        return self.gpus <= 4 or (self.gpu_link is not None and self.gpu_link.name in ("nvlink-1", "nvlink-2"))


def network_of(link: Link, slot: Slot | None, nics: int) -> tuple[Limit | None, bool]:
    """Return the bound of so many NICs one way, each in its own slot, and whether the slots set it."""
    of_links = limits.limit(link, None, nics)
    bound = limits.limit(link, slot, nics, max_payload=GPU_MAX_PAYLOAD)
    return bound, bound is not None and of_links is not None and bound.value_mb_s < of_links.value_mb_s * (1 - 1e-12)


def may_reduce(link: Link) -> bool:
    """Return whether switches of such a link can add up long messages on the way."""
    return link.name.startswith(_REDUCING)


@dataclass(frozen=True, slots=True)
class Shape:
    """A number of nodes of one kind. On each of them ``gpus`` GPUs take part (None: all).

    The unit of the model is the *domain*: GPUs that reach each other without a NIC. It is a node, or several nodes in
    one NVLink domain, or a single GPU if the traffic within the node goes over the NICs.
    """

    node: GpuNode
    nodes: int
    used: int | None = None

    def __post_init__(self) -> None:
        if self.nodes < 1 or not 1 <= self.gpus <= self.node.gpus:
            raise ValueError(f"{self.nodes} nodes, {self.gpus} of {self.node.gpus} GPUs of each")
        if self.ranks % self.gpus_a_domain:
            raise RailyardError(
                f"found {self.ranks} GPUs in NVLink domains of {self.node.domain}, expected full domains: "
                f"set domain to the number of GPUs that take part in each of them"
            )

    @property
    def gpus(self) -> int:
        """How many GPUs of a node take part."""
        return self.node.gpus if self.used is None else self.used

    @property
    def ranks(self) -> int:
        """How many GPUs take part."""
        return self.nodes * self.gpus

    @property
    def gpus_a_domain(self) -> int:
        """How many of the GPUs that take part reach each other without a NIC."""
        if self.node.within_over_nics:
            return 1
        return self.gpus if self.node.domain is None else min(self.ranks, max(self.gpus, self.node.domain))

    @property
    def domains(self) -> int:
        """How many domains there are. The network connects them."""
        return self.ranks // self.gpus_a_domain

    @property
    def network_mb_s(self) -> float | None:
        """What the NICs of one domain move one way, MB/s; None if that is unknown or there are no NICs."""
        bound = self.node.network
        return None if bound is None else bound.value_mb_s * self.nics_a_domain / self.node.nics

    @property
    def nics_a_domain(self) -> float:
        """How many NICs one domain has. It is a share of the node's NICs if each GPU is a domain."""
        return self.node.nics * self.gpus_a_domain / self.gpus

    def why_not(self, ranks: int) -> str | None:
        """Return why an output of so many ranks is not of this shape, or None.

        By their rates alone, two jobs of one node each look like one job of two nodes.
        """
        if ranks == self.ranks:
            return None
        return (
            f"the output is of {ranks} ranks, and {self.nodes} nodes of {self.gpus} GPUs have {self.ranks}: perhaps "
            f"it is of several jobs, or of fewer GPUs per node"
        )


class _Words:
    """The words after ``--nodes-have``, taken apart: each key at most once, each value as its key needs it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: dict[str, str] = {}
        for word in text.split(","):
            key, equals, value = (part.strip() for part in word.partition("="))
            if not equals or not key or not value:
                raise self.wrong(f'"{word.strip()}"', 'words such as "gpus=8", with commas between them')
            if key not in WORDS:
                raise self.wrong(f'"{key}"', f"a word that it knows; {did_you_mean(key, WORDS)}")
            if key in self.found:
                raise self.wrong(f'"{key}" twice', "each word once")
            self.found[key] = value

    def wrong(self, found: str, expected: str) -> RailyardError:
        return RailyardError(f'--nodes-have "{self.text}": found {found}, expected {expected}')

    def number(self, key: str, most: int = 100_000) -> int | None:
        value = self.found.get(key)
        if value is None:
            return None
        if not (value.isascii() and value.isdigit()) or not 1 <= int(value) <= most:
            raise self.wrong(f'{key} "{value}"', f"a whole number from 1 to {most}")
        return int(value)

    def one_of(self, key: str, known: Mapping[str, object] | tuple[object, ...]) -> str | None:
        value = self.found.get(key)
        names = [str(each) for each in known]
        if value is not None and value not in names:
            hint = why_no_link(value) if known is LINKS else did_you_mean(value, names)
            raise self.wrong(f'{key} "{value}"', f"one that it knows; {hint}")
        return value


#: Each word, and what it says about every node.
WORDS: Mapping[str, str] = {
    "gpus": "GPUs per node",
    "nvlink": "generation of NVLink between them, 1 to 5",
    "nvlinks": "NVLinks per GPU, if fewer than its generation has (8 on an H800)",
    "xgmi": f"AMD GPU whose Infinity Fabric connects them: {', '.join(XGMI_GPUS)}",
    "pcie": "generation of PCIe between them, if there is neither",
    "domain": "GPUs per NVLink domain, if it is larger than a node (72)",
    "nics": "NICs per node",
    "link": "their link, of docs/reference/rates.md: ib-ndr",
    "slot": "their slot, of docs/reference/rates.md: pcie5-x16",
    "gpu-slot": "slot of a GPU, of docs/reference/rates.md",
    "within": "nics if the traffic within a node went over its NICs; default: links",
    "sharp": "no if the switches of the network do not reduce; default: yes",
}


def node_of_words(text: str) -> GpuNode:
    """Return what each node has, from words such as ``gpus=8,nvlink=4,nics=8,link=ib-ndr`` (``WORDS``).

    Raises RailyardError with one sentence if a word is unknown, occurs twice, is missing or contradicts another.
    """
    words = _Words(text)
    gpus = words.number("gpus")
    if gpus is None:
        raise words.wrong("no gpus", 'the number of GPUs per node, such as "gpus=8"')
    gpu_slot = words.one_of("gpu-slot", SLOTS)
    node = GpuNode(
        gpus,
        gpu_link=_gpu_link(words),
        gpu_slot=None if gpu_slot is None else SLOTS[gpu_slot],
        domain=words.number("domain"),
    )
    if node.domain is not None and (node.domain < gpus or node.gpu_link is None or node.gpu_link.word != "NVLink"):
        raise words.wrong(f"domain {node.domain}", f"at least the {gpus} GPUs of a node, and nvlink")
    return _with_network(node, words)


def _gpu_link(words: _Words) -> GpuLink | None:
    kinds = [key for key in ("nvlink", "xgmi", "pcie") if key in words.found]
    if len(kinds) > 1:
        raise words.wrong(" and ".join(kinds), "one of them: what connects the GPUs of a node")
    number = words.number("nvlinks")
    if number is not None and kinds != ["nvlink"]:
        raise words.wrong("nvlinks without nvlink", "the generation too, such as nvlink=4")
    if (generation := words.one_of("nvlink", NVLINK_GENERATIONS)) is not None:
        link = GPU_LINKS[f"nvlink-{generation}"]
        if number is not None and number > link.links:
            raise words.wrong(f'nvlinks "{number}"', f"at most {link.links}, the number of NVLink {generation} per GPU")
        return link if number is None else link.with_links(number)
    if (gpu := words.one_of("xgmi", XGMI_GPUS)) is not None:
        return GPU_LINKS[f"xgmi-{gpu}"]
    pcie = words.one_of("pcie", PCIE_GENERATIONS)
    return None if pcie is None else over_slot(SLOTS[f"pcie{pcie}-x16"])


def _with_network(node: GpuNode, words: _Words) -> GpuNode:
    nics, link, slot = words.number("nics"), words.one_of("link", LINKS), words.one_of("slot", SLOTS)
    over_nics = words.one_of("within", ("links", "nics")) == "nics"
    reduces = words.one_of("sharp", ("yes", "no"))
    if (nics is None) != (link is None):
        found, missing = ("nics", "their link too, such as link=ib-ndr") if nics else ("link", "nics too: how many")
        raise words.wrong(f"{found} alone", missing)
    if nics is None or link is None:
        asked = next((key for key in ("slot", "within", "sharp") if key in words.found), None)
        if asked is not None:
            raise words.wrong(f"{asked} without nics", "the NICs of a node and their link too: nics=8,link=ib-ndr")
        return node
    network, behind_slot = network_of(LINKS[link], None if slot is None else SLOTS[slot], nics)
    return replace(
        node,
        nics=nics,
        network=network,
        behind_slot=behind_slot,
        nics_of_gpu=max(1, -(-nics // node.gpus)),
        reduces=may_reduce(LINKS[link]) if reduces is None else reduces == "yes",
        within_over_nics=over_nics,
        link=LINKS[link],
    )
