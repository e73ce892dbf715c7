"""What nodes with GPUs have: GPUs, what connects them, and NICs; read from words such as ``gpus=8,nvlink=4,nics=8``."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from railyard.base.errors import RailyardError, did_you_mean
from railyard.hardware import limits
from railyard.hardware.gpu_links import (
    GPU_LINKS,
    GPU_MAX_PAYLOAD,
    NVLINK_GENERATIONS,
    PCIE_GENERATIONS,
    XGMI_GPUS,
    GpuLink,
    over_slot,
)
from railyard.hardware.limits import Limit
from railyard.hardware.links import LINKS, SLOTS, Link, Slot

#: Links whose switches add up long messages on their way (SHARP version 2 and later). Older ones add up short ones.
#: Source: NVIDIA, Scalable Hierarchical Aggregation and Reduction Protocol (SHARP): streaming aggregation since HDR.
_REDUCING = ("ib-hdr", "ib-ndr", "ib-xdr")


@dataclass(frozen=True, slots=True)
class GpuNode:
    """What each node has. Rates are one way, MB/s (10^6 B/s).

    ``gpu_link`` None: what connects its GPUs is not known, and does not bound anything. ``link``: that of its NICs,
    None where there are none. ``network``: the bound of all its NICs together, None where that is not known;
    ``behind_slot``: their slots set it, not their links.
    ``nics_of_gpu``: how many NICs a GPU has for itself, 1 at least. ``gpu_slot``: a GPU's slot, which what its NICs
    carry passes. ``domain``: how many GPUs share one NVLink domain, where that is more than a node (72 of an NVL72).
    ``reduces``: the network's switches may add up messages (SHARP). ``within_over_nics``: the NICs carry the traffic
    between GPUs of one node, too (NCCL_P2P_DISABLE=1 and NCCL_SHM_DISABLE=1), and not their links.
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
        """What a GPU's slot moves one way, MB/s; None where it is not known."""
        return None if self.gpu_slot is None else limits.slot_budget(self.gpu_slot, GPU_MAX_PAYLOAD, 1)[0]

    @property
    def may_lack_a_switch(self) -> bool:
        """Whether a few of a GPU's NVLinks may lead straight to each other GPU, so that all never lead to one.

        Boards of up to four GPUs have no NVSwitch, nor have nodes of P100 and V100 but for HGX-2. Source: NVIDIA, HGX
        A100 4-GPU and DGX-1 data sheets; NVIDIA/nccl-tests issue 331: four links between each two of four A100.
        """
        return self.gpus <= 4 or (self.gpu_link is not None and self.gpu_link.name in ("nvlink-1", "nvlink-2"))


def network_of(link: Link, slot: Slot | None, nics: int) -> tuple[Limit | None, bool]:
    """Return the bound of so many NICs one way, each in a slot of its own, and whether their slots set it."""
    of_links = limits.limit(link, None, nics)
    bound = limits.limit(link, slot, nics, max_payload=GPU_MAX_PAYLOAD)
    return bound, bound is not None and of_links is not None and bound.value_mb_s < of_links.value_mb_s * (1 - 1e-12)


def may_reduce(link: Link) -> bool:
    """Return whether switches of such a link can add up long messages on their way."""
    return link.name.startswith(_REDUCING)


@dataclass(frozen=True, slots=True)
class Shape:
    """So many nodes of one kind, of each of which ``gpus`` GPUs take part (all where it is None).

    The unit of the model is the *domain*: GPUs that reach each other without a NIC. It is a node, or several nodes in
    one NVLink domain, or one GPU where the traffic within the node is sent over the NICs.
    """

    node: GpuNode
    nodes: int
    used: int | None = None

    def __post_init__(self) -> None:
        if self.nodes < 1 or not 1 <= self.gpus <= self.node.gpus:
            raise ValueError(f"{self.nodes} nodes, {self.gpus} of {self.node.gpus} GPUs of each")
        if self.ranks % self.gpus_a_domain:
            raise RailyardError(
                f"found {self.ranks} GPUs in NVLink domains of {self.node.domain}, expected domains that are full: "
                f"set domain to the GPUs that take part in each of them"
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
        """How many GPUs that take part reach each other without a NIC."""
        if self.node.within_over_nics:
            return 1
        return self.gpus if self.node.domain is None else min(self.ranks, max(self.gpus, self.node.domain))

    @property
    def domains(self) -> int:
        """How many domains there are; between them is the network."""
        return self.ranks // self.gpus_a_domain

    @property
    def network_mb_s(self) -> float | None:
        """What the NICs of one domain move one way, MB/s; None where that is not known or there are none."""
        bound = self.node.network
        return None if bound is None else bound.value_mb_s * self.nics_a_domain / self.node.nics

    @property
    def nics_a_domain(self) -> float:
        """How many NICs one domain has; a share of a node's where each GPU is a domain."""
        return self.node.nics * self.gpus_a_domain / self.gpus

    def why_not(self, ranks: int) -> str | None:
        """Return why an output of so many ranks is not of this shape, or None.

        Two jobs of one node each look like one of two nodes, by their rates alone.
        """
        if ranks == self.ranks:
            return None
        return (
            f"the output is of {ranks} ranks, and {self.nodes} nodes of {self.gpus} GPUs have {self.ranks}: perhaps "
            f"it is of several jobs, or of fewer GPUs a node"
        )


class _Words:
    """The words behind ``--nodes-have``, taken apart: each key at most once, each value as its key wants it."""

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
            raise self.wrong(f'{key} "{value}"', f"one that it knows; {did_you_mean(value, names)}")
        return value


#: Each word and what it says of every node.
WORDS: Mapping[str, str] = {
    "gpus": "GPUs of a node",
    "nvlink": "generation of NVLink between them, 1 to 5",
    "nvlinks": "NVLinks of a GPU, where they are fewer than its generation's (8 of an H800)",
    "xgmi": "GPU of AMD whose Infinity Fabric connects them: mi250x, mi300x",
    "pcie": "generation of PCIe between them, where there is neither",
    "domain": "GPUs of one NVLink domain, where it is larger than a node (72)",
    "nics": "NICs of a node",
    "link": "their link, of docs/reference/rates.md: ib-ndr",
    "slot": "their slot, of docs/reference/rates.md: pcie5-x16",
    "gpu-slot": "slot of a GPU, of docs/reference/rates.md",
    "within": "nics where the traffic within a node was sent over its NICs; links, the default",
    "sharp": "no where the switches of the network do not reduce; yes",
}


def node_of_words(text: str) -> GpuNode:
    """Return what each node has, of words such as ``gpus=8,nvlink=4,nics=8,link=ib-ndr`` (``WORDS``).

    Raises RailyardError, one sentence, for a word that is unknown, twice, missing or contradicts another.
    """
    words = _Words(text)
    gpus = words.number("gpus")
    if gpus is None:
        raise words.wrong("no gpus", 'how many GPUs a node has, such as "gpus=8"')
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
