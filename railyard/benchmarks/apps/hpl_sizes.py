"""HPL's three named sizes: the share of the memory, nodes and ranks, and how long each should take.

``quick`` takes what a time budget allows: a look at the machine, not its rate. ``acceptance`` fills the memory, as the
HPL of a list or a contract does. ``seed`` is what the published comparison of EDR and FDR ran.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from railyard.base.errors import RailyardError, did_you_mean
from railyard.base.wording import count_of, either, number, percent
from railyard.benchmarks.apps import hpl_input
from railyard.benchmarks.apps.hpl_input import Problem, Wish
from railyard.benchmarks.apps.least_traffic import predict_of_hpl
from railyard.benchmarks.table.applications import HPL_SPLITS
from railyard.hardware.node import NodeHardware

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
    rows, columns = hpl_input.grid(nodes * cores)
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
    rows, columns = hpl_input.grid(ranks)
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


def plan(
    size: str,
    hardware: NodeHardware,
    nodes: int,
    most_ranks: int,
    *,
    times: Times = _NO_TIMES,
    wish: Wish = hpl_input.ANY,
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
    share = {QUICK: hpl_input.MEMORY_SHARE, ACCEPTANCE: ACCEPTANCE_SHARE, SEED: SEED_SHARE}[size]
    used = min(1.0, chosen.ranks_per_node * wish.threads / hardware.cores)
    made = hpl_input.plan(
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
    limit_s = 0 if size == QUICK and _SLOWER * predicted_s <= times.usual_s else needed_s
    taken = hpl_input.BYTES_A_NUMBER * made.order**2 / (chosen.nodes * hardware.memory)
    no_clock = size != QUICK and hardware.peak_gflop_s(hardware.base_ghz) is None
    lacks = "since nodes.hardware lacks base_ghz or flop_per_cycle"
    assumed = f", for {number(hpl_input.GFLOP_S_A_CORE)} Gflop/s a core, {lacks}" if no_clock else ""
    return HplPlan(size, made, chosen, taken, predicted_s, limit_s, assumed, messages)


def _node_gflop_s(size: str, hardware: NodeHardware) -> float:
    """Return what a node should give. ``acceptance`` and ``seed`` fill the memory of the processors: these compute."""
    if size == QUICK:
        return hpl_input.node_gflop_s(hardware, hpl_input.EXPECTED_SHARE)
    return hpl_input.node_gflop_s(hardware.model_copy(update={"accelerator_gflop_s": None}), LARGE_SHARE)


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
