"""The least that each node of an application's run had to send and receive, if its algorithm tells.

HPL, FT and IS move known amounts on any network, and so do HPC Challenge's and GPCNeT's rings. For the other kernels we
know no closed bound, and only the counters prove their path (``railyard.verdict.applications``).

Before a run, the same sums say what a node should receive, from which a plan predicts the time of its messages.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from railyard.benchmarks.apps.npb import CLASSES, ITERATIONS, KernelRun
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


def predict_of_kernel(name: str, problem: str, iterations: int, nodes: int) -> float:
    """Return how many bytes a kernel of NPB ("ft") should bring to each node; 0 for one whose amount is not known."""
    exchange = _EXCHANGES.get(name)
    if exchange is None:
        return 0.0
    whole = kernel_of(name).points(problem) * exchange.point_bytes
    return (iterations + exchange.more) * whole / nodes * (1 - 1 / nodes)


def messages_s(name: str, placed: KernelRun, node_mb_s: float) -> float:
    """Return how long the messages of a run take if a node's rails receive so many MB/s, in seconds.

    Only those of FT and IS are known. CG, LU, MG, BT and SP send less; on a slow network they too take longer than they
    compute.
    """
    iterations = ITERATIONS[name][CLASSES.index(placed.problem)]
    return predict_of_kernel(name, placed.problem, iterations, placed.nodes) / (node_mb_s * 1e6)


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
