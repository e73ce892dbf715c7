"""The least that each node of an application's run had to send and receive, if its algorithm tells.

HPL, FT and IS move known amounts on any network, and so do HPC Challenge's and GPCNeT's rings. For the other kernels we
know no closed bound that holds for each release, and only the counters prove their path
(``railyard.verdict.applications``).

Before a run, the same sums say what a node should receive, from which a plan predicts the time of its messages. For CG,
LU, MG, BT and SP they follow from the loops of NPB's own code.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from railyard.benchmarks.apps.npb import CG_ORDERS, CLASSES, ITERATIONS, KernelRun
from railyard.benchmarks.apps.npb import find as kernel_of
from railyard.benchmarks.model import Least, Physics, physics_of
from railyard.benchmarks.table.micro import find
from railyard.parsers.output import Table

#: Pivots and keys are random, and the last blocks of a matrix do not reach all processes: this share is certain.
CERTAIN = 0.9
_FT_BYTES, _IS_BYTES, _HPL_BYTES = 16, 4, 8
#: HPC Challenge 1.5's rings of large messages: their size, and how often each process sends one to each neighbour.
#: There are the natural ring and 10 random ones, 3 measurements each, in two ways with 2 repetitions and a warm-up
#: (ring_lat_bw_loop of bench_lat_bw_1.5.2.c, which makes more repetitions if a clock is coarse).
_RING_BYTES, _RING_SENDS = 2_000_000, (1 + 10) * 3 * 2 * (2 + 1)
#: GPCNeT 1.3's rings: 16384 numbers in 8 messages at once to each neighbour, 30 orders of the ranks, 8 repetitions and
#: a warm-up (network_test.c, random_ring.c). Three of its tests send them, and a fourth puts them: a library may stripe
#: one kind and not the other. It repeats all this until 10 s are over, but at least once.
_GPCNET_BYTES, _GPCNET_SENDS, _GPCNET_TESTS = 16384 * 8, 2 * 8 * 30 * (8 + 1), 3


def least(key: str, tables: Sequence[Table], nodes: int, ranks_per_node: int, threshold: int) -> tuple[Least, ...]:
    """Return a bound for each node, in the order of the launch; () if none is known, or nothing goes between nodes.

    ``threshold``: from this message size on, in bytes, one message is split over the rails; 0 means all messages.
    """
    if nodes < 2:
        return ()
    bound = physics_of(find(key)).least
    found = [bound(table, nodes, ranks_per_node, threshold) for table in tables]
    if not found or any(not each for each in found):
        return ()
    return tuple(_sum(parts) for parts in zip(*found, strict=True))


def predict_of_hpl(order: int, grid: tuple[int, int], nodes: int, ranks_per_node: int) -> float:
    """Return how many bytes HPL should bring to the node that receives the most, on a grid of P x Q processes.

    Each panel of L comes once. Each block of U comes twice, in the spread and in the rolling phase of the long variant
    over links that go both ways.
    Source: "HPL Scalability Analysis", netlib.org/benchmark/hpl/scalability.html, beta of the panel's broadcast and of
    the trailing update.
    """
    rows, columns = grid
    half = _HPL_BYTES * order**2 / 2
    return max(
        half / rows * sum(1 - share for share in _shares([rank // columns for rank in ranks], columns))
        + 2 * half / columns * sum(1 - share for share in _shares([rank % columns for rank in ranks], rows))
        for ranks in (range(node * ranks_per_node, (node + 1) * ranks_per_node) for node in range(nodes))
    )


def predict_of_kernel(name: str, placed: KernelRun) -> float:
    """Return how many bytes a kernel of NPB ("ft") should bring to the node that receives the most; 0 for EP.

    Consecutive ranks are on one node. Headers of messages, sums of single numbers, the set-up and the verification are
    left out. On the virtual cluster the counters of the rails had 0 to 6 % more: BT.A and SP.A on 4 ranks, CG.B on 4,
    CG.A, LU.A and MG.B on 8.
    """
    iterations, nodes = ITERATIONS[name][CLASSES.index(placed.problem)], placed.nodes
    exchange = _EXCHANGES.get(name)
    if exchange is not None:
        whole = kernel_of(name).points(placed.problem) * exchange.point_bytes
        return (iterations + exchange.more) * whole / nodes * (1 - 1 / nodes)
    if name not in NEIGHBOURS:
        return 0.0
    # All nodes inside of a grid are alike; those at its ends receive less.
    looked_at = {0, 1 % nodes, nodes // 3, nodes // 2, nodes - 1}
    return (iterations + 1) * max(_bytes_received(name, placed, node) for node in looked_at)


def messages_s(name: str, placed: KernelRun, node_mb_s: float, start_us: float = 0.0) -> float:
    """Return how long the messages of a run take if a node's rails receive so many MB/s, in seconds.

    ``start_us``: the time of a message besides its bytes. Those that a rank waits for one after the other add up.
    """
    moved_s = predict_of_kernel(name, placed) / (node_mb_s * 1e6)
    if name not in NEIGHBOURS or placed.nodes < 2:
        return moved_s
    waits = NEIGHBOURS[name](placed.problem, placed.nodes * placed.ranks_per_node, 0).waits
    return moved_s + (ITERATIONS[name][CLASSES.index(placed.problem)] + 1) * waits * start_us * 1e-6


@dataclass(frozen=True, slots=True)
class _Receipt:
    """What a rank receives in one iteration: who sends it and its bytes, and for how many messages it waits in turn."""

    parts: tuple[tuple[int, float], ...]
    waits: int


def _bytes_received(name: str, placed: KernelRun, node: int) -> float:
    """Return what the ranks of a node receive from other nodes in one iteration, in bytes."""
    each, ranks = placed.ranks_per_node, placed.nodes * placed.ranks_per_node
    found = 0.0
    for rank in range(node * each, (node + 1) * each):
        parts = NEIGHBOURS[name](placed.problem, ranks, rank).parts
        found += sum(amount for sender, amount in parts if sender // each != node)
    return found


def _cg(problem: str, ranks: int, rank: int) -> _Receipt:
    """CG: a grid of ranks, as many columns as rows or twice as many. In each of 25 steps, and once more, a rank adds up
    its part of a vector with log2(columns) others of its row, then exchanges it with its transpose.

    Source: setup_submatrix_info and conj_grad of CG/cg.f, NPB 3.4 (as in NPB 2.4).
    """
    power = ranks.bit_length() - 1
    rows, columns = 1 << power // 2, 1 << (power - power // 2)
    if columns == 1:
        return _Receipt((), 0)
    row, column = divmod(rank, columns)
    part = _REAL_BYTES * CG_ORDERS[CLASSES.index(problem)] / columns
    sums = [row * columns + (column ^ (columns >> step)) for step in range(1, columns.bit_length())]
    if columns == rows:
        transpose = rank % rows * rows + rank // rows
    else:
        transpose = 2 * (rank // 2 % rows * rows + rank // 2 // rows) + rank % 2
    partners = [*sums, *([transpose] if transpose != rank else [])]
    # each step has two sums of a single number besides
    waits = _CG_STEPS * (len(sums) + 1) + 2 * _CG_STEPS * len(sums)
    return _Receipt(tuple((partner, _CG_STEPS * part) for partner in partners), waits)


def _lu(problem: str, ranks: int, rank: int) -> _Receipt:
    """LU: columns of the grid. In a sweep down and one up each plane needs 5 numbers per point from the two neighbours
    before it; before the sweeps, each of the four gives two layers of 5.

    Source: LU/proc_grid.f, neighbors.f, exchange_1.f and exchange_3.f, NPB 3.4.
    """
    power = ranks.bit_length() - 1
    across, along = 1 << (power - power // 2), 1 << power // 2
    edge = kernel_of("lu").sizes[problem][0]
    row, column = rank % across, rank // across
    of_row, of_column = (_REAL_BYTES * 15 * edge * edge / parts for parts in (along, across))
    parts = [(rank + step, of_row) for step in (-1, 1) if 0 <= row + step < across]
    parts += [(rank + step * across, of_column) for step in (-1, 1) if 0 <= column + step < along]
    # a rank at the end of the grid waits until all before it have sent their first plane
    return _Receipt(tuple(parts), 4 * (edge - 2) + 2 * (across + along) if ranks > 1 else 0)


def _mg(problem: str, ranks: int, rank: int) -> _Receipt:
    """MG: a cube of ranks. Three times on each level a rank gives its faces to six neighbours, one axis after another.

    Source: setup, mg3P and comm3 of MG/mg.f, NPB 3.4.
    """
    power = ranks.bit_length() - 1
    first = power // 3
    second = (power - first) // 2
    sides = (1 << first, 1 << second, 1 << (power - first - second))
    grid = kernel_of("mg").sizes[problem]
    local = [points / parts for points, parts in zip(grid, sides, strict=True)]
    levels = grid[0].bit_length() - 1
    faces = [0.0, 0.0, 0.0]
    for level in range(levels):
        x, y, z = (max(1.0, points / (1 << level)) for points in local)
        # an axis' faces have the layers that came along the axes before it
        faces = [one + more for one, more in zip(faces, (y * z, (x + 2) * z, (x + 2) * (y + 2)), strict=True)]
    at, found, below = rank, [], 1
    for side, face in zip(sides, faces, strict=True):
        at, place = divmod(at, side)
        found += [(rank + ((place + step) % side - place) * below, 3 * _REAL_BYTES * face)
                  for step in (-1, 1) if side > 1]  # fmt: skip
        below *= side
    return _Receipt(tuple(found), 3 * levels * len(found))


def _multi_partition(name: str, problem: str, ranks: int, rank: int) -> _Receipt:
    """BT and SP: sqrt(p) cells per rank on a diagonal. All give two layers of 5 numbers per point to six neighbours. In
    a solution along each axis every cell but the last one gives ``_SOLVED`` to the next, and back.

    Source: copy_faces.f, x_solve.f, define.f and setup_mpi.f of BT and SP, NPB 3.4.
    """
    side = math.isqrt(ranks)
    if side == 1:
        return _Receipt((), 0)
    i, j = rank % side, rank // side
    before = ((i - 1) % side + side * j, i + side * ((j - 1) % side), (i + 1) % side + side * ((j - 1) % side))
    behind = ((i + 1) % side + side * j, i + side * ((j + 1) % side), (i - 1) % side + side * ((j + 1) % side))
    edge, cells = kernel_of(name).sizes[problem][0], _REAL_BYTES * (side - 1)
    face, solved = cells * (edge / side) ** 2, cells * (_SOLVED_EDGE[name](edge, side)) ** 2
    forth, back = _SOLVED[name]
    parts = [(sender, 10 * face + forth * solved) for sender in before]
    parts += [(sender, 10 * face + back * solved) for sender in behind]
    return _Receipt(tuple(parts), 6 + 2 * 3 * (side - 1))


#: Numbers per point of a cell's face that a solution along an axis gives to the next cell, and then back to the one
#: before: a block of 5 x 5 and 5 right-hand sides, and 5 results (BT); 22 and 10 (SP).
_SOLVED = {"bt": (30, 5), "sp": (22, 10)}
#: The edge of such a face in points: BT sends the largest cell's, with one more; SP leaves out the border of the grid.
_SOLVED_EDGE: Mapping[str, Callable[[int, int], float]] = {
    "bt": lambda edge, side: edge // side + 1,
    "sp": lambda edge, side: (edge - 2) / side,
}
_REAL_BYTES, _CG_STEPS = 8, 26
#: What a rank receives in one iteration of a kernel, by class, number of ranks and rank.
NEIGHBOURS: Mapping[str, Callable[[str, int, int], _Receipt]] = {
    "cg": _cg,
    "lu": _lu,
    "mg": _mg,
    "bt": partial(_multi_partition, "bt"),
    "sp": partial(_multi_partition, "sp"),
}


def _ft(table: Table, nodes: int, ranks_per_node: int, threshold: int) -> tuple[Least, ...]:
    """FT: each 3D FFT transposes its whole grid of complex numbers once. One FFT runs before the printed iterations."""
    return _exchange_least(_EXCHANGES["ft"], table, nodes, ranks_per_node, threshold)


def _is(table: Table, nodes: int, ranks_per_node: int, threshold: int) -> tuple[Least, ...]:
    """IS: each iteration sends every key to the process that ranks it, nearly the same number to each."""
    return _exchange_least(_EXCHANGES["is"], table, nodes, ranks_per_node, threshold)


@dataclass(frozen=True, slots=True)
class _Exchange:
    """All ranks exchange a kernel's points: bytes per point, exchanges besides the printed ones, the certain share."""

    kernel: str
    point_bytes: int
    more: int
    certain: float


_EXCHANGES = {"ft": _Exchange("ft", _FT_BYTES, 1, 1.0), "is": _Exchange("is", _IS_BYTES, 0, CERTAIN)}


def _exchange_least(
    exchange: _Exchange, table: Table, nodes: int, ranks_per_node: int, threshold: int
) -> tuple[Least, ...]:
    kernel, problem = kernel_of(exchange.kernel), str(table.context.get("class"))
    counted = table.column("iterations")[0] if table.rows else None
    if problem not in kernel.sizes or isinstance(counted, bool) or not isinstance(counted, int):
        return ()
    whole, ranks = kernel.points(problem) * exchange.point_bytes, nodes * ranks_per_node
    moved = int(exchange.certain * (counted + exchange.more) * whole / nodes * (1 - 1 / nodes))
    # one message per pair of ranks; none of them is below half of the mean
    return (Least(moved, moved, moved if whole / ranks**2 / 2 >= threshold else 0),) * nodes


def _hpl(table: Table, nodes: int, ranks_per_node: int, threshold: int) -> tuple[Least, ...]:
    """HPL: each panel of L reaches all processes of its row, and each block of U all of its column, at least once.

    Process r is in row r // Q and column r % Q (row-major, as our HPL.dat says), and nodes have consecutive ranks. A
    node with c of the Q processes of a row lacks (1 - c/Q) of the panels, N^2/2P numbers in all. The same is true for
    columns.
    """
    found: list[tuple[Least, ...]] = []
    for row in table.rows:
        cells = [row[table.columns.index(name)] for name in ("N", "NB", "P", "Q")]
        order, block, rows, columns = (each if type(each) is int else 0 for each in cells)
        if rows * columns != nodes * ranks_per_node or order <= 0:
            return ()
        # panels shrink evenly from the first one to nothing: this share of the bytes is in panels from the threshold on
        first = _HPL_BYTES * order / rows * block
        large = max(0.0, 1 - (threshold / first) ** 2) if first else 0.0
        matrix = CERTAIN * _HPL_BYTES * order**2 / 2
        found.append(
            tuple(
                _of_node(range(node * ranks_per_node, (node + 1) * ranks_per_node), rows, columns, matrix, large)
                for node in range(nodes)
            )
        )
    return tuple(_sum(parts) for parts in zip(*found, strict=True))


def _of_node(ranks: range, rows: int, columns: int, matrix_bytes: float, large: float) -> Least:
    """Return what the node with these ranks moves. ``matrix_bytes``: half of the matrix; ``large``: what is split."""
    in_rows = _shares([rank // columns for rank in ranks], columns)
    in_columns = _shares([rank % columns for rank in ranks], rows)
    along_row, along_column = matrix_bytes / rows, matrix_bytes / columns
    sent_panels = along_row * sum(share for share in in_rows if share < 1)
    sent_blocks = along_column * sum(share for share in in_columns if share < 1)
    got_panels = along_row * sum(1 - share for share in in_rows)
    got_blocks = along_column * sum(1 - share for share in in_columns)
    split = int(large * min(sent_panels, got_panels))
    return Least(int(sent_panels + sent_blocks), int(got_panels + got_blocks), split)


def _shares(places: Sequence[int], whole: int) -> list[float]:
    """Return, for each row (or column) in which a node is, the node's share of its processes."""
    return [count / whole for _, count in sorted(Counter(places).items())]


def _hpcc(table: Table, nodes: int, ranks_per_node: int, threshold: int) -> tuple[Least, ...]:
    """HPC Challenge: a ring over all processes crosses each node's border at least twice, with a message each way."""
    if not _is_of(table, "1.5") or table.column("commworldprocs") != (nodes * ranks_per_node,):
        return ()
    moved = 2 * _RING_BYTES * _RING_SENDS
    return (Least(moved, moved, moved if threshold <= _RING_BYTES else 0),) * nodes


def _gpcnet(table: Table, nodes: int, ranks_per_node: int, threshold: int) -> tuple[Least, ...]:
    """GPCNeT's network_test: each rank is in a ring with one rank per node, so all that it sends leaves its node."""
    if not _is_of(table, "1.3") or table.context.get("nodes") != nodes:
        return ()
    sent = ranks_per_node * _GPCNET_BYTES * _GPCNET_SENDS * _GPCNET_TESTS
    moved = sent + sent // _GPCNET_TESTS
    return (Least(moved, moved, sent if threshold <= _GPCNET_BYTES else 0),) * nodes


def _is_of(table: Table, version: str) -> bool:
    """Return whether a table is from a release whose repetitions are known."""
    return table.version is not None and table.version.startswith(version)


def _sum(parts: Sequence[Least]) -> Least:
    sent, received = sum(part.sent_bytes for part in parts), sum(part.received_bytes for part in parts)
    return Least(sent, received, sum(part.split_bytes for part in parts))


HPL, FT, IS = Physics(least=_hpl), Physics(least=_ft), Physics(least=_is)
HPCC, GPCNET = Physics(least=_hpcc), Physics(least=_gpcnet)
