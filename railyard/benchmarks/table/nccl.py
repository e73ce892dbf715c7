"""nccl-tests and rccl-tests: the collectives of NCCL and RCCL."""

from railyard.benchmarks.model import BANDWIDTH, Benchmark, Metric, Tool
from railyard.parsers.nccl_busbw import FACTORS
from railyard.parsers.parsed import Table


def _from_device(table: Table) -> bool:
    return True


# Every buffer lies in the memory of a GPU. The mean under a table is of both halves of a row.
TOOL = Tool("nccl", from_device=_from_device, repetitions="nowhere", between_gpus=True)
# busbw is what a ring would have to carry, and no figure of a link: NVLink, trees and in-network reduction all change
# what a NIC carries of it.
ENTRIES = tuple(
    Benchmark(
        f"nccl/{program}",
        (Metric(BANDWIDTH, ("busbw", "busbw_in_place"), "MB/s", "stream", "higher", bounded="never"),),
        of_link=False,
        reported="bus bandwidth is what a ring would carry: what the NICs and NVLink of a node carry of it hangs on "
        "the algorithm (railyard judge --nodes-have says what is possible)",
    )
    for program in FACTORS
)
