"""nccl-tests and rccl-tests: the collectives of NCCL and RCCL, over all that connects GPUs or over a part of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from railyard.benchmarks.gpu.collectives import COLLECTIVES
from railyard.benchmarks.model import BANDWIDTH, Benchmark, Metric, Tool
from railyard.parsers.nccl_busbw import FACTORS
from railyard.parsers.parsed import Table


def _from_device(table: Table) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Part:
    """What of a system a run is over. ``one_gpu``: one GPU of each node alone, else all of them.

    ``split``: the GPUs of the same number on all nodes are a group of their own, all groups at once, so that nothing
    goes from GPU to GPU of a node (``NCCL_TESTS_SPLIT``). ``within_node``: of one node, by its own links.
    ``over_nics``: of one node, whose GPUs reach each other over its NICs alone. ``pairs``: of two nodes at a time, all
    pairs one after the other or at once, each a run of its own.
    """

    one_gpu: bool = False
    split: bool = False
    within_node: bool = False
    over_nics: bool = False
    pairs: bool = False


WHOLE, TWO_NODES, ONE_GPU, RAILS, ONE_NODE, OVER_NICS = "", "two-nodes", "one-gpu", "rails", "one-node", "over-nics"
PAIRS = "pairs"
PARTS: Mapping[str, Part] = MappingProxyType(
    {
        WHOLE: Part(),
        TWO_NODES: Part(),  # on two nodes trees and alltoall show other figures than on more
        ONE_GPU: Part(one_gpu=True),
        RAILS: Part(split=True),
        ONE_NODE: Part(within_node=True),
        OVER_NICS: Part(over_nics=True),
        PAIRS: Part(pairs=True),
    }
)
#: Those that there are checks of; of these alone a system must have a reference.
CHECKED = ("all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast", "sendrecv")


def part_of(key: str) -> Part:
    """Return what of a system a benchmark's run is over, by its key. Raises KeyError for an unknown one."""
    return PARTS["/".join(key.split("/")[2:])]


def collective_of(key: str) -> str | None:
    """Return the collective of a benchmark's key; None for a program that makes another (alltoallv)."""
    name = key.split("/")[1].removesuffix("_perf")
    return name if name in COLLECTIVES else None


# Every buffer lies in the memory of a GPU. The mean under a table is of both halves of a row.
TOOL = Tool("nccl", from_device=_from_device, repetitions="nowhere", between_gpus=True)
# busbw is what a ring would have to carry, and no figure of a link: NVLink, trees and in-network reduction all change
# what a NIC carries of it. ``railyard.benchmarks.gpu.possible`` has what bounds it.
_BUSBW = (Metric(BANDWIDTH, ("busbw", "busbw_in_place"), "MB/s", "stream", "higher", bounded="never"),)
ENTRIES = (
    *(
        Benchmark(
            f"nccl/{program}",
            _BUSBW,
            of_link=False,
            assessed="gpus",
            reported="bus bandwidth is what a ring would carry: what the NICs and NVLink of a node carry of it hangs "
            "on the algorithm",
        )
        for program in FACTORS
        if program.removesuffix("_perf") not in CHECKED
    ),
    *(
        Benchmark(
            f"nccl/{collective}_perf{f'/{part}' if part else ''}",
            _BUSBW,
            of_link=False,
            assessed="gpu_pairs" if PARTS[part].pairs else "gpus",
            printed=f"{collective}_perf",
            within_node=PARTS[part].within_node,
        )
        for collective in CHECKED
        for part in PARTS
    ),
)
