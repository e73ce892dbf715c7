"""HPL's problem on a system's nodes: from what its file says of cores, memory, clock and time limit."""

import re

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps import hpl_input
from railyard.job.launch import limit_s
from railyard.site.systems.load import System

#: Of the system's time limit: the rest is for starting, making the matrix, checking it, and a rate that was guessed.
SHARE_OF_LIMIT = 1 / 8
_GRID = re.compile(r"([1-9][0-9]{0,5})x([1-9][0-9]{0,5})")


def plan(
    system: System,
    nodes: int,
    ranks_per_node: int,
    *,
    budget_s: float = 0.0,
    block: int = hpl_input.BLOCK,
    share: float = hpl_input.MEMORY_SHARE,
    order: int = 0,
    grid: str = "",
) -> hpl_input.Problem:
    """Return HPL's problem; a budget, an order or a grid that is 0 or empty is left to the system's file.

    Raises RailyardError where the file states no cores and memory, for a grid that is none ("2x3" is), and for whatever
    ``hpl_input.problem`` refuses.
    """
    hardware = system.nodes.hardware
    if hardware is None:
        raise RailyardError(
            f"systems/{system.system}.yaml: nodes.hardware: found none, expected cores and memory of a node, of which "
            "HPL's problem is made"
        )
    peak = hardware.peak_gflop_s(hardware.base_ghz)
    of_node = hardware.cores * hpl_input.GFLOP_S_A_CORE if peak is None else hpl_input.EXPECTED_SHARE * peak
    shape = _GRID.fullmatch(grid)
    if grid and shape is None:
        raise RailyardError(f'HPL: found a grid of "{grid}", expected P and Q such as 2x3')
    return hpl_input.problem(
        hpl_input.Machine(nodes, ranks_per_node, hardware.memory, nodes * of_node),
        budget_s=budget_s or SHARE_OF_LIMIT * limit_s(system, "app"),
        block=block,
        share=share,
        order=order or None,
        shape=None if shape is None else (int(shape[1]), int(shape[2])),
    )
