"""HPL's problem on a system's nodes: from what its file says of cores, memory and clock, within a time."""

import re
from dataclasses import dataclass

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps import hpl_input
from railyard.hardware.node import NodeHardware

#: Of the system's time limit: the rest is for starting, making the matrix, checking it, and a rate that was guessed.
SHARE_OF_LIMIT = 1 / 8
_GRID = re.compile(r"([1-9][0-9]{0,5})x([1-9][0-9]{0,5})")


def stated(hardware: NodeHardware | None, system: str) -> NodeHardware:
    """Return what a system's file states of its nodes; raises RailyardError where that is nothing."""
    if hardware is None:
        raise RailyardError(
            f"systems/{system}.yaml: nodes.hardware: found none, expected cores and memory of a node, of which HPL's "
            "problem is made"
        )
    return hardware


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked of HPL's problem: block, share of all nodes' memory; an order of 0 and an empty grid are chosen."""

    block: int = hpl_input.BLOCK
    share: float = hpl_input.MEMORY_SHARE
    order: int = 0
    grid: str = ""


def plan(
    hardware: NodeHardware, nodes: int, ranks_per_node: int, *, budget_s: float, wish: Wish = Wish()
) -> hpl_input.Problem:
    """Return HPL's problem, to be solved within a time.

    Raises RailyardError for a grid that is none ("2x3" is), and for whatever ``hpl_input.problem`` refuses.
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
