"""HPL's problem: HPL.dat for a number of nodes (order, block, grid), and the three named sizes.

HPL.dat for a number of nodes: the problem's order, from memory and a time limit, block and process grid.

Also hpccinf.txt, which begins with the same lines, for HPC Challenge's communication parts. All other parts are as
small as its own checks allow.

HPL's three named sizes: the share of the memory, nodes and ranks, and how long each should take.

``quick`` takes what a time budget allows: a look at the machine, not its rate. ``acceptance`` fills the memory, as the
HPL of a list or a contract does. ``seed`` is what the published comparison of EDR and FDR ran.
"""

import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from railyard.base.errors import RailyardError, did_you_mean
from railyard.base.wording import count_of, either, number, percent
from railyard.benchmarks.apps.least_traffic import predict_of_hpl
from railyard.benchmarks.table.applications import HPL_SPLITS
from railyard.hardware.node import NodeHardware

#: The share of the system's time limit. The rest is for starting, for making and checking the matrix, and because the
#: rate is a guess.
SHARE_OF_LIMIT = 1 / 8
_GRID = re.compile(r"([1-9][0-9]{0,5})x([1-9][0-9]{0,5})")
BYTES_A_NUMBER = 8
#: Recorded runs on processors of the last ten years have blocks between 128 and 384; 192 is the most common.
BLOCK = 192
MEMORY_SHARE = 0.9
#: What a core gives at least with an optimised BLAS, if its clock is not stated. It only decides the run's length.
GFLOP_S_A_CORE = 1.0
#: The share of the peak at the base clock that a small problem reaches; it is far from HPL's best.
EXPECTED_SHARE = 0.5
Bound = Literal["memory", "time", "asked"]
#: HPL's numbers per rank. They set the memory of all parts that only compute (128 KiB per rank), so that HPL,
#: RandomAccess, STREAM, DGEMM and FFT together take a second.
NUMBERS_A_RANK = 1 << 14
HPCC_BLOCK = 32
#: A transposition's numbers per rank: 8 MB, and nearly all of it leaves the rank.
TRANSPOSED_A_RANK = 1_000_000


@dataclass(frozen=True, slots=True)
class Machine:
    """What a run has: nodes, ranks on each, bytes of memory per node that it may use, and expected Gflop/s in total."""

    nodes: int
    ranks_per_node: int
    memory_bytes: int
    expected_gflop_s: float

    @property
    def ranks(self) -> int:
        """How many processes there are."""
        return self.nodes * self.ranks_per_node


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem: ``order`` is N, ``block`` NB, on a grid of ``rows`` x ``columns`` (P x Q) processes.

    ``bound`` says what decided N. ``sentence`` says it in words, with what the other bound would have allowed.
    """

    order: int
    block: int
    rows: int
    columns: int
    bound: Bound
    sentence: str

    @property
    def flop(self) -> float:
        """The number of operations that HPL divides by its time: 2/3 N^3 + 3/2 N^2 (HPL_pdtest.c)."""
        return 2 / 3 * self.order**3 + 3 / 2 * self.order**2


def grid(ranks: int) -> tuple[int, int]:
    """Return P and Q for so many processes: the two factors that are nearest to each other, P the smaller one.

    This is for a switched network, like all networks today. On one shared wire, flat grids are better (1 x 4, 1 x 8,
    2 x 4). A prime number of ranks allows only 1 x ranks: use one rank less.

    Source: "HPL Frequently Asked Questions", netlib.org/benchmark/hpl: on a mesh or a switch a ratio of 1:k with k from
    1 to 3, P and Q about equal and Q slightly larger; flat grids on a simple Ethernet.
    """
    rows = next(rows for rows in range(math.isqrt(ranks), 0, -1) if ranks % rows == 0)
    return rows, ranks // rows


def order_by_memory(machine: Machine, block: int, share: float = MEMORY_SHARE) -> int:
    """Return the largest N, a multiple of the block, whose matrix takes at most this share of all nodes' memory."""
    return _whole_blocks(math.isqrt(int(share * machine.memory_bytes * machine.nodes / BYTES_A_NUMBER)), block)


def order_by_time(machine: Machine, block: int, budget_s: float) -> int:
    """Return the largest N, a multiple of the block, that should be solved within so many seconds; no limit if inf."""
    if math.isinf(budget_s):
        return sys.maxsize
    return _whole_blocks(int((1.5 * machine.expected_gflop_s * 1e9 * budget_s) ** (1 / 3)), block)


def problem(
    machine: Machine,
    *,
    budget_s: float,
    block: int = BLOCK,
    share: float = MEMORY_SHARE,
    order: int | None = None,
    shape: tuple[int, int] | None = None,
) -> Problem:
    """Return the problem for a machine: the smaller of what its memory and the time allow, or the order asked for.

    Raises RailyardError if the matrix does not fit into the nodes' memory, if the grid does not have these ranks, or if
    the share is not a share.
    """
    if not 0 < share <= 1:
        raise RailyardError(f"HPL: found a memory share of {share:g}, expected more than 0 and at most 1 (90 % is 0.9)")
    if block < 1:
        raise RailyardError(f"HPL: found a block (NB) of {block}, expected at least 1")
    rows, columns = _fit_grid(shape, machine) if shape else grid(machine.ranks)
    by_memory, by_time = order_by_memory(machine, block, share), order_by_time(machine, block, budget_s)
    on = f"on a grid of {rows}x{columns}, NB {block}"
    if order is not None:
        _refuse_too_large(order, machine)
        return Problem(order, block, rows, columns, "asked", f"N {order} as asked, {on}")
    if by_memory <= by_time:
        beside = "" if math.isinf(budget_s) else f" (the time would allow {by_time})"
        words = f"N {by_memory} by {percent(share)} of the memory{beside}, {on}"
        return Problem(by_memory, block, rows, columns, "memory", words)
    words = (
        f"N {by_time} by a time budget of {number(budget_s)} s at {number(machine.expected_gflop_s)} Gflop/s "
        f"(the memory would allow {by_memory}), {on}"
    )
    return Problem(by_time, block, rows, columns, "time", words)


def _whole_blocks(order: int, block: int) -> int:
    return max(block, order // block * block)


def _fit_grid(shape: tuple[int, int], machine: Machine) -> tuple[int, int]:
    rows, columns = shape
    if rows < 1 or columns < 1 or rows * columns != machine.ranks:
        near = "x".join(map(str, grid(machine.ranks)))
        raise RailyardError(
            f"HPL: found a grid of {rows}x{columns}, which is {rows * columns} processes, expected "
            f"{machine.ranks} ({machine.nodes} nodes of {machine.ranks_per_node} ranks), such as {near}"
        )
    return shape


def _refuse_too_large(order: int, machine: Machine) -> None:
    needed, there = BYTES_A_NUMBER * order**2 / machine.nodes, machine.memory_bytes
    if needed > there:
        most = math.isqrt(there * machine.nodes // BYTES_A_NUMBER)
        raise RailyardError(
            f"HPL: found N {order}, whose matrix takes {needed / 2**30:.1f} GiB of each of {machine.nodes} nodes, "
            f"expected at most {there / 2**30:.1f} GiB (N {most}); take a smaller N or more nodes"
        )


def text(made: Problem) -> str:
    """Return HPL.dat: one test, right-looking, with the factorisation and broadcast of HPL's own example.

    ``6`` sends the output to standard output. The threshold of the residual is 16, as HPL's authors chose it.
    """
    rows = (
        ("HPLinpack benchmark input file", ""),
        ("made by railyard", ""),
        ("HPL.out", "output file name (if any)"),
        ("6", "device out (6=stdout,7=stderr,file)"),
        ("1", "# of problems sizes (N)"),
        (str(made.order), "Ns"),
        ("1", "# of NBs"),
        (str(made.block), "NBs"),
        ("0", "PMAP process mapping (0=Row-,1=Column-major)"),
        ("1", "# of process grids (P x Q)"),
        (str(made.rows), "Ps"),
        (str(made.columns), "Qs"),
        ("16.0", "threshold"),
        ("1", "# of panel fact"),
        ("2", "PFACTs (0=left, 1=Crout, 2=Right)"),
        ("1", "# of recursive stopping criterium"),
        ("4", "NBMINs (>= 1)"),
        ("1", "# of panels in recursion"),
        ("2", "NDIVs"),
        ("1", "# of recursive panel fact."),
        ("1", "RFACTs (0=left, 1=Crout, 2=Right)"),
        ("1", "# of broadcast"),
        ("1", "BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)"),
        ("1", "# of lookahead depth"),
        ("1", "DEPTHs (>=0)"),
        ("2", "SWAP (0=bin-exch,1=long,2=mix)"),
        ("64", "swapping threshold"),
        ("0", "L1 in (0=transposed,1=no-transposed) form"),
        ("0", "U  in (0=transposed,1=no-transposed) form"),
        ("1", "Equilibration (0=no,1=yes)"),
        ("8", "memory alignment in double (> 0)"),
    )
    return "".join(f"{value:<12} {what}".rstrip() + "\n" for value, what in rows)


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
    """What HPL's problem should be: block, share of all nodes' memory. 0 and an empty grid mean: choose it.

    ``threads`` are those of each rank: its share of the node's cores computes.
    """

    block: int = BLOCK
    share: float = 0.0
    order: int = 0
    grid: str = ""
    threads: int = 1


#: Nobody wishes anything.
ANY = Wish()


def plan(
    hardware: NodeHardware, nodes: int, ranks_per_node: int, *, budget_s: float, wish: Wish = ANY, used: float = 1.0
) -> Problem:
    """Return HPL's problem, to be solved within a time limit. ``used``: the share of the cores that compute.

    Raises RailyardError if the grid is not like "2x3", and for all that ``hpl_input.problem`` refuses.
    """
    of_node = used * node_gflop_s(hardware, EXPECTED_SHARE)
    shape = _GRID.fullmatch(wish.grid)
    if wish.grid and shape is None:
        raise RailyardError(f'HPL: found a grid of "{wish.grid}", expected P and Q such as 2x3')
    return problem(
        Machine(nodes, ranks_per_node, hardware.memory, nodes * of_node),
        budget_s=budget_s,
        block=wish.block,
        share=wish.share or MEMORY_SHARE,
        order=wish.order or None,
        shape=None if shape is None else (int(shape[1]), int(shape[2])),
    )


def node_gflop_s(hardware: NodeHardware, share: float) -> float:
    """Return what a node gives at this share of its peak, Gflop/s; without a clock, what its cores give at least."""
    peak = hardware.peak_gflop_s(hardware.base_ghz)
    return hardware.cores * GFLOP_S_A_CORE if peak is None else share * peak


def orders(ranks: int) -> tuple[int, int]:
    """Return the order of HPL's matrix, and of the transposed matrix, for so many ranks.

    HPC Challenge takes no transposition smaller than 0.47 of HPL's order, and also makes one of half that order. Its
    summary has the better rate of the two.
    """
    return _of_whole_blocks(NUMBERS_A_RANK * ranks), _of_whole_blocks(TRANSPOSED_A_RANK * ranks)


def hpcc_text(ranks: int) -> str:
    """Return hpccinf.txt: HPL.dat, whose lines 3 and 4 are ignored, followed by the sizes of PTRANS."""
    computed, transposed = orders(ranks)
    rows, columns = grid(ranks)
    of_hpl = text(Problem(computed, HPCC_BLOCK, rows, columns, "asked", ""))
    more = (
        ("-", "separator"),
        ("1", "# of additional problem sizes of PTRANS"),
        (str(transposed), "Ns"),
        ("0", "# of additional block sizes of PTRANS"),
        (str(HPCC_BLOCK), "NBs"),
    )
    return of_hpl + "".join(f"{value:<12} {what}\n" for value, what in more)


def _of_whole_blocks(numbers: int) -> int:
    return math.isqrt(numbers) // HPCC_BLOCK * HPCC_BLOCK


QUICK, ACCEPTANCE, SEED = "quick", "acceptance", "seed"
SIZES = (QUICK, ACCEPTANCE, SEED)
#: An acceptance takes 80 to 90 % of the memory. Source: "HPL Frequently Asked Questions", netlib.org/benchmark/hpl:
#: 80 % of the memory is a good guess; if it is too much, the system begins to swap.
LEAST_SHARE, ACCEPTANCE_SHARE, MOST_SHARE = 0.8, 0.85, 0.9
#: Source: O. Olusanya and M. Hussain, "Comparing FDR and EDR InfiniBand", part 1, Dell HPC blog, 2016, table 3 (90 % of
#: the memory) and the text below figure 3 (80 cores).
SEED_RANKS, SEED_SHARE = 80, 0.9
#: The share of the peak at the base clock that a problem in most of the memory reaches. Sources: a node of csd3-2020
#: (two processors of 28 cores, 2.2 GHz, 32 operations per cycle) gave 2510 of 3942 Gflop/s, 64 %; excalibur-tests
#: (benchmarks/apps/hpl/hpl.py) expects 6200 of 7168 Gflop/s of two processors of 56 cores at 2.0 GHz, 86 %.
LARGE_SHARE = 0.7
#: A run may be so many times slower than predicted before its time limit ends it: half of the speed is a finding, and
#: should be measured. The start, the matrix, and its check are not in HPL's own time.
_SLOWER, _BESIDE_S = 2.0, 120
#: The longest side of a grid, in times of the other. Source: the same questions, "a 1:k ratio with k in [1..3]".
WIDEST = 3
#: From this share of the predicted time on, a plan says how long the messages take.
_SAID_FROM = 0.01
#: What of a layout was asked for.
Keeps = Literal["", "nodes", "ranks"]


@dataclass(frozen=True, slots=True)
class Layout:
    """On how many nodes, and with how many ranks on each; ``why`` says why these are fewer than there are, or is ""."""

    nodes: int
    ranks_per_node: int
    why: str = ""

    @property
    def ranks(self) -> int:
        """How many processes there are."""
        return self.nodes * self.ranks_per_node


class Messages(NamedTuple):
    """How long the messages of a run take, in seconds, and how many GB (10^9 B) the busiest node receives."""

    seconds: float = 0.0
    gigabytes: float = 0.0


_NO_MESSAGES = Messages()


@dataclass(frozen=True, slots=True)
class HplPlan:
    """A problem on its nodes. ``memory_share`` is the matrix's part of the memory of these nodes, 0 to 1.

    ``predicted_s``: how long the solution should take: its operations by the processors, and after them its messages
    by the rails. ``messages``: how long these take, and how many bytes the busiest node receives; lookahead hides a
    part of them. ``limit_s``: the run's own time limit; 0: that of the system's file. ``assumed`` says what was assumed
    because a clock is missing, or is "".
    """

    size: str
    problem: Problem
    layout: Layout
    memory_share: float
    predicted_s: float
    limit_s: int
    assumed: str = ""
    messages: Messages = _NO_MESSAGES

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was chosen, and why, for the record."""
        where = f"{count_of(self.layout.nodes, 'node')} of {count_of(self.layout.ranks_per_node, 'rank')}"
        took = f"{percent(self.memory_share)} of the memory of {where}, predicted {number(self.predicted_s)} s"
        if self.messages.seconds > _SAID_FROM * self.predicted_s:
            took += f" ({number(self.messages.seconds)} s of it for {number(self.messages.gigabytes)} GB to each node)"
        limit = f", time limit {self.limit_s} s" if self.limit_s else ""
        return (
            self.problem.sentence,
            f"size {self.size}: {took}{limit}{self.assumed}",
            *filter(None, [self.layout.why]),
        )


def layout(nodes: int, cores: int, *, all_nodes: bool = True) -> Layout:
    """Return the most ranks, the same number on each node, whose grid is within 1:3; of two equal ones, more nodes.

    ``all_nodes`` False: the number of nodes was asked for, so only the ranks per node can be fewer. If no grid is
    within 1:3 then, all cores are used, and ``why`` says how flat it is.
    """
    best: tuple[int, int] | None = None
    for count in range(nodes, 0, -1) if all_nodes else (nodes,):
        if best is not None and count * cores <= best[0] * best[1]:
            break
        each = next((each for each in range(cores, 0, -1) if _is_near_square(count * each)), None)
        if each is not None and (best is None or count * each > best[0] * best[1]):
            best = count, each
    rows, columns = grid(nodes * cores)
    flat = f"{nodes * cores} ranks have only a grid of {rows}x{columns}, flatter than 1:{WIDEST}"
    if best is None:
        return Layout(nodes, cores, flat)
    if best == (nodes, cores):
        return Layout(*best)
    fewer = f"{best[0]} of {count_of(nodes, 'node')}, {best[1]} of {count_of(cores, 'core')} per node"
    return Layout(*best, f"{fewer}: {flat}")


def splits(hardware: NodeHardware) -> dict[str, int]:
    """Return how many ranks each node has with one per core, NUMA domain, socket and node, as far as they differ.

    A domain and a socket count only if the system's file states them. All ranks together have a thread on each core.
    """
    stated = {"core": hardware.cores, "numa": hardware.numa_domains, "socket": hardware.sockets, "node": 1}
    found: dict[str, int] = {}
    for name in HPL_SPLITS:
        ranks = stated[name]
        if ranks is not None and ranks not in found.values():
            found[name] = ranks
    return found


def say_split(ranks_per_node: int, threads: int) -> str:
    """Return ranks and threads of a node in words."""
    return f"{count_of(ranks_per_node, 'rank')} of {count_of(threads, 'thread')} per node"


def refuse_threads(ranks_per_node: int, threads: int, cores: int) -> None:
    """Raise RailyardError if a node has fewer cores than its ranks have threads."""
    if ranks_per_node * threads > cores:
        raise RailyardError(
            f"HPL: found {say_split(ranks_per_node, threads)}, expected at most {count_of(cores, 'core')} "
            "(nodes.hardware); take fewer (-S ranks_per_node, -S threads, or measure: benchmarks: hpl of the system's "
            "file)"
        )


def _is_near_square(ranks: int) -> bool:
    rows, columns = grid(ranks)
    return columns <= WIDEST * rows


def is_published(size: str) -> bool:
    """Return whether a size has the ranks of a published run, one thread each, whatever a system's file says of HPL."""
    return size == SEED


def seed_layout(nodes: int, cores: int) -> Layout:
    """Return the fewest nodes, at least two, that have the published 80 ranks, the same number on each.

    Raises RailyardError if there are no such nodes.
    """
    found = next(
        (count for count in range(2, nodes + 1) if SEED_RANKS % count == 0 and SEED_RANKS // count <= cores), None
    )
    if found is None:
        raise RailyardError(
            f"HPL: found {count_of(nodes, 'node')} of {count_of(cores, 'core')} for the size {SEED}, expected "
            f"{SEED_RANKS} ranks on two nodes or more, the same number on each; take -S size={ACCEPTANCE}"
        )
    return Layout(found, SEED_RANKS // found, f"{SEED_RANKS} ranks, as the published comparison had")


class Times(NamedTuple):
    """What decides how long a run takes, and may take.

    The budget of ``quick`` and the time limit that the system's file gives an application, in seconds; the payload that
    a node's rails receive, in MB/s (inf: nothing is known, so messages cost nothing).
    """

    budget_s: float = 0.0
    usual_s: float = math.inf
    node_mb_s: float = math.inf


_NO_TIMES = Times()


def plan_size(
    size: str,
    hardware: NodeHardware,
    nodes: int,
    most_ranks: int,
    *,
    times: Times = _NO_TIMES,
    wish: Wish = ANY,
    keep: Keeps = "",
) -> HplPlan:
    """Return the problem of a named size, on at most so many nodes and ranks per node.

    ``quick`` takes the budget of ``times`` to compute, so that it is the same problem on each network. It has a longer
    limit than the usual one only if it should take more than half of that. ``keep``: the number of nodes, or of nodes
    and ranks per node, was asked for.
    Raises RailyardError if the size is unknown, if a wish contradicts it, and for all that ``hpl_input.plan`` refuses.
    """
    if size not in SIZES:
        raise RailyardError(f'HPL: found the size "{size}", expected {either(SIZES)}: {did_you_mean(size, SIZES)}')
    if size != QUICK:
        _refuse_wishes(size, wish)
    if size == SEED:
        chosen = seed_layout(nodes, most_ranks)
    elif keep == "ranks" or wish.grid:
        chosen = Layout(nodes, most_ranks)
    else:
        chosen = layout(nodes, most_ranks, all_nodes=keep == "")
    share = {QUICK: MEMORY_SHARE, ACCEPTANCE: ACCEPTANCE_SHARE, SEED: SEED_SHARE}[size]
    used = min(1.0, chosen.ranks_per_node * wish.threads / hardware.cores)
    made = plan(
        *(hardware, chosen.nodes, chosen.ranks_per_node),
        budget_s=times.budget_s if size == QUICK else math.inf,
        wish=replace(wish, share=wish.share or share),
        used=used,
    )
    rate = chosen.nodes * used * _node_gflop_s(size, hardware)
    moved = predict_of_hpl(made.order, (made.rows, made.columns), chosen.nodes, chosen.ranks_per_node)
    messages = Messages(moved / (times.node_mb_s * 1e6), moved / 1e9)
    predicted_s = made.flop / (rate * 1e9) + messages.seconds
    needed_s = _BESIDE_S + math.ceil(_SLOWER * predicted_s / 60) * 60
    # In a short usual limit, half of it is for what is not in HPL's own time.
    usual_s = times.usual_s - min(_BESIDE_S, times.usual_s / 2)
    limit_s = 0 if size == QUICK and _SLOWER * predicted_s <= usual_s else needed_s
    taken = BYTES_A_NUMBER * made.order**2 / (chosen.nodes * hardware.memory)
    no_clock = size != QUICK and hardware.peak_gflop_s(hardware.base_ghz) is None
    lacks = "since nodes.hardware lacks base_ghz or flop_per_cycle"
    assumed = f", for {number(GFLOP_S_A_CORE)} Gflop/s a core, {lacks}" if no_clock else ""
    return HplPlan(size, made, chosen, taken, predicted_s, limit_s, assumed, messages)


def _node_gflop_s(size: str, hardware: NodeHardware) -> float:
    """Return what a node should give. ``acceptance`` and ``seed`` fill the memory of the processors: these compute."""
    if size == QUICK:
        return node_gflop_s(hardware, EXPECTED_SHARE)
    return node_gflop_s(hardware.model_copy(update={"accelerator_gflop_s": None}), LARGE_SHARE)


def _refuse_wishes(size: str, wish: Wish) -> None:
    for name, value in _contradictions(size, wish):
        least, most = percent(LEAST_SHARE), percent(MOST_SHARE)
        expected = f"a share from {least} to {most}" if name == "share" and size == ACCEPTANCE else "none"
        raise RailyardError(
            f"HPL: found -S {name}={value:g}, expected {expected}: the size {size} sets N from the memory; "
            f"leave it out, or take -S size={QUICK}"
        )


def _contradictions(size: str, wish: Wish) -> Iterator[tuple[str, float]]:
    if wish.order:
        yield "order", wish.order
    if wish.share and (size == SEED or not LEAST_SHARE <= wish.share <= MOST_SHARE):
        yield "share", wish.share
