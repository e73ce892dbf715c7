"""HPL's problem on a system's nodes, from the cores, memory and clock in the system's file, within a time limit."""

import re
from dataclasses import dataclass

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps import hpl_input
from railyard.hardware.node import NodeHardware

#: The share of the system's time limit. The rest is for starting, for making and checking the matrix, and because the
#: rate is a guess.
SHARE_OF_LIMIT = 1 / 8
_GRID = re.compile(r"([1-9][0-9]{0,5})x([1-9][0-9]{0,5})")


def stated_hardware(hardware: NodeHardware | None, system: str) -> NodeHardware:
    """Return what a system's file states about its nodes. Raises RailyardError if it states nothing."""
    if hardware is None:
        raise RailyardError(
            f"systems/{system}.yaml: nodes.hardware: found none, expected cores and memory of a node, which decide "
            "HPL's problem"
        )
    return hardware


@dataclass(frozen=True, slots=True)
class Wish:
    """What HPL's problem should be: block, share of all nodes' memory. Order 0 and an empty grid mean: choose them."""

    block: int = hpl_input.BLOCK
    share: float = hpl_input.MEMORY_SHARE
    order: int = 0
    grid: str = ""


def plan(
    hardware: NodeHardware, nodes: int, ranks_per_node: int, *, budget_s: float, wish: Wish = Wish()
) -> hpl_input.Problem:
    """Return HPL's problem, to be solved within a time limit.

    Raises RailyardError if the grid is not like "2x3", and for all that ``hpl_input.problem`` refuses.
    """
    peak = hardware.peak_gflop_s(hardware.base_ghz)
    of_node = hardware.cores * hpl_input.GFLOP_S_A_CORE if peak is None else hpl_input.EXPECTED_SHARE * peak
    shape = _GRID.fullmatch(wish.grid)
    if wish.grid and shape is None:
        raise RailyardError(f'HPL: found a grid of "{wish.grid}", expected P and Q such as 2x3')
    return hpl_input.problem(
        hpl_input.Machine(nodes, ranks_per_node, hardware.memory, nodes * of_node),
        budget_s=budget_s,
        block=wish.block,
        share=wish.share,
        order=wish.order or None,
        shape=None if shape is None else (int(shape[1]), int(shape[2])),
    )
