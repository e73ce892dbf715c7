"""How a system is measured: message sizes, in bytes, and what its file says where the checks' own ways do not suit it.

``Takes`` says which numbers of nodes, and of ranks on each, that file or `-S` can set for a check.
"""

from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field, field_validator

from railyard.base.fields import Count, Duration, Model, Size
from railyard.base.values import refuse
from railyard.benchmarks.table.applications import has_threads_told, nodes_of_key
from railyard.site.systems.fields import MeasuredBenchmark

#: The variables of a check that `-S` sets.
NODES, RANKS = "num_nodes", "ranks_per_node"


class RepeatLimits(Model):
    """How often a disturbed measurement is repeated within the same run."""

    times: int = Field(strict=True, ge=0, le=10, description="The most times")
    within: Duration = Field("60s", description="How long after the end of the first one a repeat may begin at most")


class StatedAmounts(Model):
    """How often one benchmark repeats, instead of as often as its link allows, and on how many nodes and ranks."""

    repetitions: Count | None = Field(None, description="Repetitions of each size")
    warm_up: Annotated[int, Field(strict=True, ge=0)] | None = Field(
        None, description="Untimed repetitions before those, for a tool that takes them"
    )
    window: Count | None = Field(None, description="Messages in flight, for a benchmark with windows")

    nodes: Count | None = Field(None, description="Nodes, for a check that takes other numbers than its own")
    ranks_per_node: Count | None = Field(None, description="Ranks on each node, for such a check")
    threads: Count | None = Field(
        None, description="HPL: threads of each rank; without ranks_per_node, as many ranks as its cores then allow"
    )

    @property
    def given_amounts(self) -> dict[str, int]:
        """The stated amounts: field, amount."""
        return self.model_dump(exclude_none=True, exclude={"nodes", "ranks_per_node", "threads"})

    def fill_from(self, other: "StatedAmounts") -> "StatedAmounts":
        """Return these numbers, and the other's for those that are missing here."""
        return other.model_copy(update=self.model_dump(exclude_none=True))


class Measure(Model):
    """How this system is measured, if the checks' own ways do not suit it."""

    largest: Size | None = Field(
        None, description="Largest message; over several rails a collective sends one per node"
    )
    passes: Count | None = Field(None, description="The most times that a benchmark measures everything in one job")
    duration: Duration | None = Field(
        None,
        description="How long all sizes of a benchmark may take together. It sets repetitions and windows; if left "
        "out: 30s, and the fewest repetitions over rails slower than Gigabit Ethernet",
    )
    benchmarks: dict[MeasuredBenchmark, StatedAmounts] = Field(
        {},
        description="Benchmark, such as osu/osu_latency, or an application's tool, such as npb: its repetitions and "
        "window on any link, and its nodes and ranks",
    )
    largest_sweep: Count | None = Field(
        None, description="Most nodes of a sweep (HplScaling …); if left out: powers of two, and all nodes"
    )
    again: RepeatLimits = Field(
        default_factory=lambda: RepeatLimits.model_validate({"times": 0}),
        description="How disturbed measurements are repeated; by default they are not",
    )
    probes_within: Duration = Field(
        "10m",
        description="Under a scheduler each rail is measured alone after a failure, in a separate job. It may wait "
        "so long for its nodes; 0s: no such job",
    )

    @field_validator("benchmarks")
    @classmethod
    def _check_threads(cls, stated: dict[str, StatedAmounts]) -> dict[str, StatedAmounts]:
        for key, amounts in stated.items():
            if amounts.threads is not None and not has_threads_told(key):
                raise refuse(f"threads for {key}", "them only for hpl, whose ranks may have several")
        return stated

    def amounts_of(self, benchmark: str) -> StatedAmounts | None:
        """Return what is stated for a benchmark, on any number of nodes. Its own numbers win over its tool's."""
        key = nodes_of_key(benchmark)[0]
        own, of_tool = self.benchmarks.get(key), self.benchmarks.get(key.partition("/")[0])
        return own.fill_from(of_tool) if own is not None and of_tool is not None else own or of_tool


@dataclass(frozen=True, slots=True)
class Takes:
    """What can be set for a check.

    ``nodes``: its own number, the minimum if it uses all. ``fewest``: the smallest number that can be set, 0 if it only
    has its own number. ``even``: only even numbers. ``swept``: it has a test for each of several numbers, up to
    ``powers`` only powers of two, if that is not 0. ``ranks``: whether it takes another number of ranks per node than
    its own. ``idle`` are variables of every check that change nothing in this one, ``variables`` those that do change
    it.
    """

    nodes: int = 2
    fewest: int = 0
    even: bool = False
    swept: bool = False
    powers: int = 0
    ranks: bool = False
    idle: frozenset[str] = field(default=frozenset(), compare=False)
    variables: tuple[str, ...] = field(default=(), compare=False)

    def why_not_nodes(self, asked: int) -> str | None:
        """Return what it takes instead of so many nodes, None if it takes them."""
        if self.swept:
            return "none: it has a test for each of several numbers, choose with -P nodes=…"
        if not self.fewest:
            return "1, which it always has" if self.nodes == 1 else f"{self.nodes}, which it always has"
        if asked < self.fewest:
            return f"at least {self.fewest}"
        return "an even number" if self.even and asked % 2 else None

    def why_not_ranks(self, asked: int) -> str | None:
        """Return what it takes instead of so many ranks per node, None if it takes them."""
        if not self.ranks:
            return "none: its number of ranks per node is fixed"
        return None if asked > 0 else "at least 1"

    def sweeps(self, nodes: int) -> bool:
        """Return whether its sweep can run on so many nodes."""
        return self.swept and (not self.powers or (nodes <= self.powers and not nodes & (nodes - 1)))


#: Message sizes in steps of 4, and of 2 with `-S full=1`; in bytes.
QUICK_SIZES = tuple(4**n for n in range(12))
FULL_SIZES = tuple(2**n for n in range(23))
#: Message size of a probe of one rail alone, in bytes: large enough that bandwidth counts, small enough for a rail at a
#: tenth of its rate.
PROBE_SIZE_BYTES = 1 << 20
#: Up to this size, in bytes, a probe's value is a time and not a rate.
PROBE_DELAY_BYTES = 4 << 10
#: Message size, in bytes, of a probe that looks for a delay if large messages found no slow rail.
PROBE_DELAY_SIZE_BYTES = 1 << 10


def sizes_within(smallest: int, largest: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return those of the sizes (rising, from 1) that are from smallest to largest, in bytes.

    If a system allows none of a check's sizes, such as its one size of 4 MiB, it is the largest allowed size.
    """
    allowed = [size for size in sizes if size <= largest]
    return tuple(size for size in allowed if size >= smallest) or (allowed[-1],)


def doubled(smallest: int, largest: int) -> tuple[int, ...]:
    """Return the sizes, in bytes, of a tool that doubles the smallest until it reaches the largest."""
    return tuple(smallest << n for n in range((largest // smallest).bit_length()))


def largest_allowed(largest: int, measure: Measure, nodes: int, rails: int) -> int:
    """Return the largest message that the system's file allows a check over so many nodes and rails, in bytes.

    Collectives cut their message into one piece per node. If the pieces are smaller than that, a stack may send them
    all over one of several rails. So over several rails, a collective's messages are larger by the number of nodes.
    """
    if measure.largest is None:
        return largest
    pieces = nodes if nodes > 2 and rails > 1 else 1
    return min(largest, pieces * measure.largest)
