"""nccl-tests and rccl-tests: the collectives of NCCL and RCCL, over all that connects GPUs, or over a part of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from railyard.benchmarks.model import BANDWIDTH, Benchmark, Metric, Tool
from railyard.parsers.output import Cell, Table


def _from_device(table: Table) -> bool:
    return True


#: nccl-tests prints bandwidths in GB/s with two decimals, so less than half of this step, in MB/s, is 0.00.
_STEP_MB_S = 10.0


def _values(table: Table, column: str) -> tuple[Cell, ...]:
    """Return a column; a busbw of 0.00 is what size and time give (MB/s), if they say that it was so little.

    Many ranks are that slow at small sizes: 512 take 3.9 ms for an all_gather of 8 KiB, 2.1 MB/s. A busbw is 1/2 to 2
    times the algbw, which is size/time.
    """
    found, time = table.column(column), column.replace("busbw", "time")
    if not column.startswith("busbw") or time not in table.columns or 0 not in found:
        return found
    return tuple(map(_unround, found, table.column("size"), table.column(time)))


def _unround(value: Cell, size: Cell, time_us: Cell) -> Cell:
    if value != 0 or not isinstance(size, int) or not isinstance(time_us, int | float) or not time_us > 0:
        return value
    algbw = size / time_us
    return algbw if 0 < algbw < _STEP_MB_S else value


@dataclass(frozen=True, slots=True)
class Part:
    """Which part of a system a run uses. ``one_gpu``: only one GPU of each node, else all of them.

    ``split``: GPUs with the same number on all nodes are one group, and all groups run at once, so that nothing goes
    between GPUs of a node (``NCCL_TESTS_SPLIT``). ``within_node``: one node, over its own links. ``over_nics``: one
    node, whose GPUs reach each other only over its NICs. ``pairs``: two nodes at a time, all pairs one after the
    other or at once, each with its own run.
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
        TWO_NODES: Part(),  # on two nodes, trees and alltoall give other figures than on more nodes
        ONE_GPU: Part(one_gpu=True),
        RAILS: Part(split=True),
        ONE_NODE: Part(within_node=True),
        OVER_NICS: Part(over_nics=True),
        PAIRS: Part(pairs=True),
    }
)
#: Those with checks. A system needs references only for these.
CHECKED = ("all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast", "sendrecv")
#: The other programs, as they print their names without ``_perf``: stored outputs of them are judged.
UNCHECKED = ("all_reduce_bias", "alltoallv", "gather", "scatter", "reduce", "hypercube")


def part_of(key: str) -> Part:
    """Return which part of a system a benchmark's run uses, by its key. Raises KeyError for an unknown one."""
    return PARTS["/".join(key.split("/")[2:])]


def collective_of(key: str) -> str | None:
    """Return the collective of a benchmark's key; None for a program with another one (alltoallv)."""
    from railyard.benchmarks.gpu_collectives import COLLECTIVES  # no other tool needs how much a collective carries

    name = key.split("/")[1].removesuffix("_perf")
    return name if name in COLLECTIVES else None


# Every buffer is in the memory of a GPU. The mean below a table is over both halves of each row.
TOOL = Tool("nccl", from_device=_from_device, repetitions="nowhere", between_gpus=True, values=_values)
# busbw is what a ring would have to carry, not the figure of a link: NVLink, trees and in-network reduction all change
# how much of it a NIC carries. ``railyard.benchmarks.gpu_collectives`` has its bounds.
_BUSBW = (Metric(BANDWIDTH, ("busbw", "busbw_in_place"), "MB/s", "stream", "higher", bounded="never"),)
ENTRIES = (
    *(
        Benchmark(
            f"nccl/{program}_perf",
            _BUSBW,
            of_link=False,
            assessed="gpus",
            reported="bus bandwidth is what a ring would carry: how much of it the NICs and NVLink of a node carry "
            "depends on the algorithm",
        )
        for program in UNCHECKED
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
