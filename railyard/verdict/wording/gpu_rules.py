"""The sentences of rules 3 and 5 for collectives between GPUs."""

from collections.abc import Sequence
from typing import Literal

from railyard.base.bounds import GPU_ALL_NICS_SHARE, GPU_FLOOR_FROM, GPU_FLOOR_NODES, GPU_FLOOR_SHARE
from railyard.base.wording import count_of, listing, message_size, number, percent

Half = Literal["out of place", "in place"]


def in_file_of_bounds(bound: str) -> str:
    """Return where a bound is, by its name."""
    return f"(railyard/base/bounds.py: {bound})"


def at_row(size_bytes: int, in_place: bool) -> str:
    """Return the row that a sentence is about, as its begin."""
    return f"at {message_size(size_bytes)}{' in place' if in_place else ''}: "


def in_brackets(source: str) -> str:
    """Return what says which algorithm was used, as the end of a sentence."""
    return f" ({source})"


def no_busbw() -> str:
    """Return that an output has no busbw."""
    return "no busbw was read"


def possible_algorithms(algorithms: Sequence[str]) -> str:
    """Return which algorithms may have been used, as the end of a sentence."""
    return f"; the output does not name the algorithm: {listing(algorithms)} are possible"


def look_at_nodes() -> str:
    """Return what to look at if a busbw is impossible."""
    return "whether GPUs, NICs and link are right for the nodes (--nodes-have), and whether it used the network"


def more_than_listed(busbw_gb_s: float, size_bytes: int, host: str, listed: int, nics: int, line: int) -> str:
    """Return that the NICs which a log lists for a host cannot carry a busbw."""
    return (
        f"busbw {number(busbw_gb_s)} GB/s at {message_size(size_bytes)} is more than what NCCL's log lists for {host} "
        f"can carry, {count_of(listed, 'NIC')} of {nics} (line {line}): show the log of every process, or say which "
        "nodes these were (--nodes-have)"
    )


def look_within_node(disturbed: bool) -> str:
    """Return what to look at if the bytes of a slow run never left one node or domain.

    Access control of PCIe (ACS) sends what GPUs exchange through the processor. Source: NVIDIA, NCCL documentation,
    Troubleshooting, GPU Direct and PCI Access Control Services.
    """
    first = "who else used the GPUs, and their heat and clocks; then " if disturbed else ""
    return (
        f"{first}the links between the node's GPUs: nvidia-smi nvlink -s and topo -m, speed and width of their PCIe "
        "slots, and whether ACS is off"
    )


def suggest_class(why: str) -> str:
    """Return why no floor judges a run, and what else does."""
    return f"{why}; --class compares it with published numbers"


def above_floor(busbw_gb_s: float, size_bytes: int) -> str:
    """Return that the largest value is above the floor."""
    return f"busbw {number(busbw_gb_s)} GB/s at {message_size(size_bytes)} is above the floor"


def alone_above_floor(busbw_gb_s: float, size_bytes: int, low: str) -> str:
    """Return that the largest value is above the floor, and most others are not (``low``)."""
    return f"{above_floor(busbw_gb_s, size_bytes)}, but {low}"


def above_floor_of_healthy(busbw_gb_s: float, size_bytes: int, lowest_bound: str) -> str:
    """Return that a curve is above the floor of healthy nodes."""
    return (
        f"{above_floor(busbw_gb_s, size_bytes)} of healthy nodes, {percent(GPU_FLOOR_SHARE.value)} of the lowest "
        f"bound, {lowest_bound} {in_file_of_bounds(GPU_FLOOR_SHARE.name)}"
    )


def most_below_floor(low: int, long: int, busbw_gb_s: float, size_bytes: int, lowest_bound: str) -> str:
    """Return how many long messages are below the floor, with the value of the largest of them."""
    return (
        f"{low} of {count_of(long, 'long message')} are below it ({number(busbw_gb_s)} GB/s at "
        f"{message_size(size_bytes)}): {percent(GPU_FLOOR_SHARE.value)} of the lowest bound, {lowest_bound} "
        f"{in_file_of_bounds(GPU_FLOOR_SHARE.name)}"
    )


def nics_may_be_idle(busbw_gb_s: float, share: float, lowest_bound: str, used: int, nics: int) -> str:
    """Return that fewer NICs than a node has can show the value too."""
    return (
        f"busbw of long messages is at most {number(busbw_gb_s)} GB/s, {percent(share)} of the lowest bound, "
        f"{lowest_bound}: above the floor of healthy nodes, but {used} of {count_of(nics, 'NIC')} of a node can show "
        f"it too {in_file_of_bounds(GPU_ALL_NICS_SHARE.name)}; each pair of nodes and each NIC alone would tell"
    )


def below_floor(busbw_gb_s: float, size_bytes: int, share: float, lowest_bound: str) -> str:
    """Return that the largest value of long messages is below what healthy nodes show."""
    return (
        f"busbw of long messages is at most {number(busbw_gb_s)} GB/s (at {message_size(size_bytes)}), "
        f"{percent(share)} of the lowest bound, {lowest_bound}; healthy nodes have at least "
        f"{percent(GPU_FLOOR_SHARE.value)} {in_file_of_bounds(GPU_FLOOR_SHARE.name)}"
    )


def brief_below_floor(busbw_gb_s: float, share: float) -> str:
    """Return the largest value of long messages as a headline; ``share``: of what such nodes can show."""
    return (
        f"busbw is {percent(share)} of what these nodes can show: {number(busbw_gb_s)} GB/s; healthy ones reach "
        f"{percent(GPU_FLOOR_SHARE.value)}"
    )


def look_at_log() -> str:
    """Return what to look at if a curve is below the floor."""
    return "NCCL's log (NCCL_DEBUG=INFO): network, NICs and GPUDirect RDMA; then each pair of nodes alone"


def nothing_to_compare() -> str:
    """Return that there is no class, no curve, or no formula."""
    return "nothing to compare"


def other_gpu(gpu: str, of_class: str) -> str:
    """Return that an output is from another GPU than the class is for."""
    return f"the output is from {gpu}, but {of_class} is for {of_class.partition('-')[0].upper()}"


def card_without_switch(gpu: str, link: str, of_class: str) -> str:
    """Return that an output is from a card which has not the links of the class."""
    return f"the output is from {gpu}, a card that no {link} switch connects as in {of_class}"


def some_gpus(used: int, gpus: int) -> str:
    """Return that only some of a node's GPUs took part, and that published numbers are from all."""
    return f"the output is from {used} of {gpus} GPUs per node, but the published numbers are from all"


def look_at_source() -> str:
    """Return what to look at if a curve is below published numbers."""
    return "library, settings and conditions of the source, then each pair of nodes alone"


def more_nodes(sentence: str, nodes: int) -> str:
    """Return that a curve is below published numbers, but is from more nodes."""
    return f"{sentence}, which is from {count_of(nodes, 'node')}; yours is from more, and more nodes may give less"


def dip(busbw_gb_s: float, size_bytes: int, in_place: bool, share: float, beside_gb_s: float, between: bool) -> str:
    """Return that a message is slower than those around it; ``between``: than its two neighbours only."""
    reach = "both its neighbours reach" if between else "both shorter and longer messages reach"
    return (
        f"a dip in the curve: busbw {number(busbw_gb_s)} GB/s at {message_size(size_bytes)}"
        f"{' in place' if in_place else ''} is {percent(share)} of the {number(beside_gb_s)} GB/s that {reach}"
    )


def look_at_dip() -> str:
    """Return what to look at if a curve has a dip."""
    return "who else used the network; run it again: if the dip stays, the library's choice of algorithm causes it"


def fall(busbw_gb_s: float, size_bytes: int, in_place: bool, share: float, best_gb_s: float, best_bytes: int) -> str:
    """Return that long messages are slower than shorter ones."""
    return (
        f"the curve falls: busbw {number(busbw_gb_s)} GB/s at {message_size(size_bytes)}"
        f"{' in place' if in_place else ''} is {percent(share)} of the {number(best_gb_s)} GB/s that shorter messages "
        f"reach ({message_size(best_bytes)}), and no longer message is fast again"
    )


def look_at_fall() -> str:
    """Return what to look at if a curve falls."""
    return (
        "who else used the network, and what slows down over time (heat, pause frames, retransmissions); run it again"
    )


def different_halves(low_gb_s: float, slow: Half, size_bytes: int, share: float, high_gb_s: float, fast: Half) -> str:
    """Return that both halves of a row differ."""
    return (
        f"both halves of a row differ: busbw {number(low_gb_s)} GB/s {slow} at {message_size(size_bytes)} is "
        f"{percent(share)} of the {number(high_gb_s)} GB/s {fast}"
    )


def look_at_halves() -> str:
    """Return what to look at if both halves differ."""
    return "who else used the network; run it again: both halves move the same bytes, one after the other"


def ranks_out_of_order() -> str:
    """Return that ranks are not placed as in the published runs."""
    return "its ranks are not placed node after node, so more crosses the network than in the published runs"


def no_floor_of_nodes() -> str:
    """Return that no source has such nodes."""
    return "sources only give a floor for nodes with NICs, and with NVLink between four or more GPUs"


def no_floor_of_gpus(used: int, gpus: int) -> str:
    """Return that no source has a run of some GPUs of a node."""
    return f"no source gives a floor for {used} of {gpus} GPUs per node"


def no_floor_of_many_nodes() -> str:
    """Return that no source has a run of so many nodes."""
    return f"no source gives a floor for more than {GPU_FLOOR_NODES.value:g} nodes"


def no_floor_of_network() -> str:
    """Return that no source has such a network."""
    return "no source gives a floor for such a network"


def no_floor_of_collective(collective: str, without_switch: bool) -> str:
    """Return that no source has a collective; ``without_switch``: only not for GPUs without a switch between them."""
    where = " within nodes whose GPUs may be connected without an NVSwitch" if without_switch else ""
    return f"no source gives a floor for {collective}{where}"


def unknown_parts() -> str:
    """Return that the lowest bound is not known."""
    return "the rates of the parts that carry it are not known"


def unknown_nics() -> str:
    """Return that it is not known which NICs the nodes have."""
    return "the NICs of its nodes are not given, or their rate is not known (nics= and link= of --nodes-have)"


def no_long_message() -> str:
    """Return that the floor is for longer messages than were measured."""
    return f"no size of {message_size(int(GPU_FLOOR_FROM.value))} or more was measured: the floor is for these"
