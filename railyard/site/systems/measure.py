"""The part of systems/*.yaml that says how a system is measured, where the checks' own ways do not suit it."""

from typing import Annotated

from pydantic import Field

from railyard.base.fields import Count, Duration, Model, Size
from railyard.benchmarks.table.applications import nodes_of_key
from railyard.site.systems.fields import MeasuredBenchmark


class Again(Model):
    """How often a measurement that was disturbed is made again within the same run."""

    times: int = Field(strict=True, ge=0, le=10, description="At most so many times")
    within: Duration = Field("60s", description="Begun at most so long after the first one ended")


class StatedAmounts(Model):
    """How often one benchmark repeats, in place of what its link has time for, and on how many nodes and ranks."""

    repetitions: Count | None = Field(None, description="Repetitions of each size")
    warm_up: Annotated[int, Field(strict=True, ge=0)] | None = Field(
        None, description="Untimed repetitions before those, of a tool that takes them"
    )
    window: Count | None = Field(None, description="Messages in flight, of a benchmark with windows")

    nodes: Count | None = Field(None, description="Nodes, of a check that takes other numbers than its own")
    ranks_per_node: Count | None = Field(None, description="Ranks on each node, of such a check")

    @property
    def given(self) -> dict[str, int]:
        """The amounts that are stated, by the names of their fields."""
        return self.model_dump(exclude_none=True, exclude={"nodes", "ranks_per_node"})

    def over(self, other: "StatedAmounts") -> "StatedAmounts":
        """Return these numbers, and another's where it lacks some."""
        return other.model_copy(update=self.model_dump(exclude_none=True))


class Measure(Model):
    """How this system is measured, where the checks' own ways do not suit it."""

    largest: Size | None = Field(None, description="Largest message; over several rails a collective sends one a node")
    passes: Count | None = Field(None, description="No benchmark measures everything more often in one job")
    duration: Duration | None = Field(
        None,
        description="How long all sizes of a benchmark may take together, which sets repetitions and windows; left "
        "out: 30s, and over rails slower than Gigabit Ethernet the fewest repetitions",
    )
    benchmarks: dict[MeasuredBenchmark, StatedAmounts] = Field(
        {},
        description="Benchmark, such as osu/osu_latency, or an application's tool, such as npb: its repetitions and "
        "window, whatever the link, and its nodes and ranks",
    )
    largest_sweep: Count | None = Field(
        None, description="Most nodes of a sweep (HplScaling …); left out: powers of two, and all nodes that there are"
    )
    again: Again = Field(
        default_factory=lambda: Again.model_validate({"times": 0}),
        description="Disturbed measurements are made again; by default never",
    )
    probes_within: Duration = Field(
        "10m",
        description="Under a scheduler each rail is measured alone after a failure, in a job of its own that may wait "
        "so long for its nodes; 0s: never",
    )

    def stated(self, benchmark: str) -> StatedAmounts | None:
        """Return what is stated for a benchmark, on whatever number of nodes: its own numbers above its tool's."""
        key = nodes_of_key(benchmark)[0]
        own, of_tool = self.benchmarks.get(key), self.benchmarks.get(key.partition("/")[0])
        return own.over(of_tool) if own is not None and of_tool is not None else own or of_tool
