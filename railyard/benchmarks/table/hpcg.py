"""HPCG: conjugate gradients on a whole machine. Memory sets its rate, the network its allreduces and halos."""

from railyard.benchmarks.model import Benchmark, Metric, Tool
from railyard.benchmarks.table.applications import NO_REFERENCE

TOOL = Tool("hpcg")
# Its problem is given per process, so it grows with the number of nodes.
ENTRIES = (
    Benchmark(
        *("hpcg/hpcg", (Metric("performance", ("performance",), "Gflop/s", "figure", "higher", of_peak=True),)),
        rows="last",
        assessed="application",
        reported=NO_REFERENCE,
        of_link=False,
        grows=True,
    ),
)
